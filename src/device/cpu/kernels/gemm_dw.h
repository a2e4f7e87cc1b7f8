/* gemm_dw: dW += dy^T x over rows of the batch and steps, in the accumulation blocks of acc_blocks.h. x is read at the
 * step, or is the state that enters it. Active rows are copied to be adjacent, so that products get plain matrices for
 * all views, shards, resets and row ends. */

/* Kept in the L2 cache: units and columns of a block of dW, rows of dy and x, and the unfinished sums of a long
 * accumulation block. */
enum { DW_UNITS = 96, DW_COLUMNS = 32 * PANEL, DW_ROWS = 256, DW_WAITING = DW_UNITS * DW_COLUMNS };

struct dw {
    const struct call *call;
    struct steps dy, x;
    struct gates gates; /* of dy; adjacent ones are treated as one */
    size_t dw_row, dw_gate;
    struct lasting rows;
    const uint8_t *reset;
    const real *init;
    size_t reset_t, init_b;
};

/* Adjacent gates are treated as one if their rows in dw are adjacent, too. */
static struct dw dw_of(const struct call *call)
{
    const struct tensor *v = call->view, *dw = &v[GEMM_DW_DW];
    const size_t row = dw->stride[dw->rank - 2], gate = dw->rank == 4 ? dw->stride[1] : 0;
    struct gates g = gates_of(&v[GEMM_DW_DY], 2);
    if (g.stride == g.units && (g.count == 1 || gate == g.units * row))
        g = (struct gates){1, g.count * g.units, 0};
    return (struct dw){
        .call = call,
        .dy = steps_of(&v[GEMM_DW_DY]),
        .x = steps_of(&v[GEMM_DW_X]),
        .gates = g,
        .dw_row = row,
        .dw_gate = gate,
        .rows = lasting_of(&v[GEMM_DW_X], v[GEMM_DW_LENGTHS].at),
        .reset = v[GEMM_DW_RESET].at,
        .init = v[GEMM_DW_INIT].at,
        .reset_t = v[GEMM_DW_RESET].stride[0],
        .init_b = v[GEMM_DW_INIT].stride[0],
    };
}

/* ---- rows ------------------------------------------------------------------------------ */

/* Returns the state that enters step t of row b; NULL: zeros. */
static const real *entering(const struct dw *d, size_t t, size_t b)
{
    if (d->reset && d->reset[t * d->reset_t + b])
        return NULL;
    bool first = t == 0;
    if (d->call->direction)
        first = t == d->rows.steps - 1 || !lasts(&d->rows, t + 1, b);
    if (first)
        return d->init ? d->init + b * d->init_b : NULL;
    return d->x.at + (d->call->direction ? t + 1 : t - 1) * d->x.t + b * d->x.b;
}

/* Returns the number of active rows of an accumulation block. */
static size_t acc_block_size(const struct dw *d, const struct acc_block *acc_block)
{
    size_t n = 0;
    if (!d->rows.lengths)
        return (acc_block->step.end - acc_block->step.first) * (acc_block->row.end - acc_block->row.first);
    for (size_t t = acc_block->step.first; t < acc_block->step.end; t++)
        for (size_t b = acc_block->row.first; b < acc_block->row.end; b++) n += lasts(&d->rows, t, b);
    return n;
}

/* Rows of both factors that are summed together. */
struct dw_found {
    size_t count;
    const real *dy[DW_ROWS], *x[DW_ROWS];
};

/* Rows of several whole accumulation blocks, with a chain for each, or some rows of one block; and columns of their x
 * in panels. */
struct dw_rows {
    struct dw_found at;
    size_t chains, end[DW_ROWS];
    _Alignas(64) real panel[DW_ROWS * DW_COLUMNS];
};

/* dy's units of these rows, in strips. If more units follow, COPIED are written, more than the width of a strip; the
 * next row or the padding of the strip absorbs the excess. */
enum { COPIED = 16, STRIP_NUMBERS = STRIP * DW_ROWS + COPIED };

struct dw_kept {
    struct dw_rows rows;
    _Alignas(64) real sum[DW_WAITING], units[DW_UNITS / STRIP * STRIP_NUMBERS];
};

/* Collects rows from position (*t, *b) of an accumulation block on, until DW_ROWS are found. Returns false if there are
 * none. */
static bool find_rows(const struct dw *d, const struct acc_block *acc_block, size_t *t, size_t *b, struct dw_found *r)
{
    for (; *t < acc_block->step.end; ++*t, *b = acc_block->row.first)
        for (; *b < acc_block->row.end; ++*b) {
            if (!lasts(&d->rows, *t, *b))
                continue;
            if (r->count == DW_ROWS)
                return true;
            r->dy[r->count] = d->dy.at + *t * d->dy.t + *b * d->dy.b;
            r->x[r->count++] = d->call->shift ? entering(d, *t, *b) : d->x.at + *t * d->x.t + *b * d->x.b;
        }
    return r->count > 0;
}

/* Copies row by row, in the order of memory: reading panels of distant rows would miss the cache in each row. */
static void take_columns(struct dw_rows *r, struct range column)
{
    for (size_t i = 0; i < r->at.count; i++) {
        const real *from = r->at.x[i];
        real *to = r->panel + i * PANEL;
        for (size_t c = column.first; c < column.end; c += PANEL, to += DW_ROWS * PANEL) {
            size_t width = column.end - c < PANEL ? column.end - c : PANEL;
            if (from)
                copy_numbers(to, from + c, width);
            else
                memset(to, 0, width * sizeof *to);
        }
    }
}

/* ---- blocks of dW ---------------------------------------------------------------------- */

/* Returns the units from n on that are adjacent in dy, at most DW_UNITS. */
static struct range next_units(const struct dw *d, size_t n, size_t end)
{
    size_t gate_end = (n / d->gates.units + 1) * d->gates.units;
    end = end < gate_end ? end : gate_end;
    return (struct range){n, end - n < DW_UNITS ? end : n + DW_UNITS};
}

static size_t dy_at(const struct dw *d, size_t unit)
{
    return unit / d->gates.units * d->gates.stride + unit % d->gates.units;
}

static size_t dw_at(const struct dw *d, size_t unit)
{
    return unit / d->gates.units * d->dw_gate + unit % d->gates.units * d->dw_row;
}

/* The current rows, if they fill a range of memory. The order of accumulation blocks determines which rows follow. */
struct dy_range {
    const real *low;
    size_t row;
};

static struct dy_range range_of(const struct dw_rows *r)
{
    const real *low = r->at.dy[0], *high = r->at.dy[0];
    for (size_t i = 1; i < r->at.count; i++) {
        low = r->at.dy[i] < low ? r->at.dy[i] : low;
        high = r->at.dy[i] > high ? r->at.dy[i] : high;
    }
    size_t row = r->at.count > 1 ? (size_t)(high - low) / (r->at.count - 1) : 0;
    return (struct dy_range){low, (size_t)(high - low) == row * (r->at.count - 1) ? row : 0};
}

/* Prefetches dy while units are summed. If rows are short, prefetches this block's share of the next rows in order,
 * which is fastest. Otherwise prefetches the next units; after the last ones, the first units of the next rows. */
static void ask_for_units(const struct dw *d, const struct dw_rows *r, const struct dy_range *dy, struct range unit,
                          struct range done, bool rising, struct product *p)
{
    enum { SHORT = 2048 }; /* bytes */
    bool last = done.end >= unit.end;
    struct range next = next_units(d, last ? unit.first : done.end, unit.end);
    const ptrdiff_t on = rising ? (ptrdiff_t)r->at.count : -(ptrdiff_t)r->at.count, rows = last ? on : 0;
    if (dy->row == 0)
        return;
    if (dy->row * sizeof(real) <= SHORT) {
        const size_t all = r->at.count * dy->row, blocks = (unit.end - unit.first + DW_UNITS - 1) / DW_UNITS;
        p->wanted = dy->low + on * (ptrdiff_t)dy->row + (done.first - unit.first) / DW_UNITS * (all / blocks);
        p->wanted_bytes = all / blocks * sizeof(real);
        return;
    }
    p->wanted = dy->low + rows * (ptrdiff_t)dy->row + dy_at(d, next.first);
    p->wanted_bytes = (next.end - next.first) * sizeof(real);
    p->wanted_row = dy->row * sizeof(real);
}

static void take_units(const struct dw_rows *r, size_t from, size_t count, real *to)
{
    for (size_t i = 0; i < r->at.count; i++)
        for (size_t u = 0, s = 0; u < count; u += STRIP, s += STRIP_NUMBERS)
            if (count - u >= COPIED)
                copy_numbers(to + s + i * STRIP, r->at.dy[i] + from + u, COPIED);
            else
                copy_numbers(to + s + i * STRIP, r->at.dy[i] + from + u, count - u < STRIP ? count - u : STRIP);
}

/* Returns the distance in memory between consecutive rows if it is constant and a near cache holds the rows; they are
 * then read in place. Otherwise returns 0. */
static ptrdiff_t near_distance(const struct dw_rows *r)
{
    enum { HELD = 32 << 10 };
    const ptrdiff_t distance = r->at.count > 1 ? r->at.dy[1] - r->at.dy[0] : 0;
    for (size_t i = 2; i < r->at.count; i++)
        if (r->at.dy[i] - r->at.dy[i - 1] != distance)
            return 0;
    return r->at.count * (size_t)(distance < 0 ? -distance : distance) * sizeof(real) <= HELD ? distance : 0;
}

/* Computes dy^T x of the current rows, for a range of units and the columns in the panels. */
static void dw_units(const struct dw *d, const struct dw_rows *r, struct range unit, size_t columns, enum start start,
                     real *to, size_t to_row, bool dense)
{
    real *a = KERNEL_KEEPS(struct dw_kept)->units;
    const struct dy_range dy = range_of(r);
    const ptrdiff_t distance = near_distance(r);
    const bool rising = start != ZERO_THEN_ADD || d->call->direction;
    struct range n = next_units(d, unit.first, unit.end);
    for (; n.first < unit.end; n = next_units(d, n.end, unit.end)) {
        const size_t count = n.end - n.first, from = dy_at(d, n.first);
        if (!distance)
            take_units(r, from, count, a);
        struct product p = {.m = count,
                            .n = columns,
                            .k = r->at.count,
                            .a = distance ? r->at.dy[0] + from : a,
                            .a_row = 1,
                            .a_col = distance ? distance : STRIP,
                            .a_strip = distance ? 0 : STRIP_NUMBERS,
                            .b = r->panel,
                            .b_row = PANEL,
                            .b_panel = DW_ROWS * PANEL,
                            .c = to + (dense ? (n.first - unit.first) * to_row : dw_at(d, n.first)),
                            .c_row = to_row,
                            .start = start,
                            .end = r->end,
                            .chains = start == ZERO_THEN_ADD ? r->chains : 0};
        ask_for_units(d, r, &dy, unit, n, rising, &p);
        d->call->isa->product(&p);
    }
}

/* Processes an accumulation block that exceeds the rows of a pass. Its sums are accumulated separately and added to dW
 * at the end. `rows` is empty. */
static void dw_long_acc_block(const struct dw *d, const struct acc_block *acc_block, struct dw_rows *rows,
                              const struct portion *part, real *dw)
{
    real *sum = KERNEL_KEEPS(struct dw_kept)->sum;
    for (size_t c = part->column.first; c < part->column.end; c += DW_COLUMNS) {
        struct range column = {c, part->column.end - c < DW_COLUMNS ? part->column.end : c + DW_COLUMNS};
        const size_t columns = column.end - column.first, row = (columns + PANEL - 1) / PANEL * PANEL;
        const size_t units = DW_WAITING / row;
        for (size_t n = part->row.first; n < part->row.end; n += units) {
            struct range unit = {n, part->row.end - n < units ? part->row.end : n + units};
            size_t t = acc_block->step.first, b = acc_block->row.first;
            for (enum start start = ZERO; find_rows(d, acc_block, &t, &b, &rows->at);
                 start = AS_IS, rows->at.count = 0) {
                take_columns(rows, column);
                dw_units(d, rows, unit, columns, start, sum, row, true);
            }
            for (size_t u = unit.first; u < unit.end; u++)
                add_numbers(dw + dw_at(d, u) + c, sum + (u - unit.first) * row, columns);
        }
    }
}

/* Processes whole accumulation blocks; each is a chain that is added to dW directly. */
static void dw_short_acc_blocks(const struct dw *d, struct dw_rows *rows, const struct portion *part, real *dw)
{
    for (size_t c = part->column.first; c < part->column.end && rows->at.count; c += DW_COLUMNS) {
        struct range column = {c, part->column.end - c < DW_COLUMNS ? part->column.end : c + DW_COLUMNS};
        take_columns(rows, column);
        dw_units(d, rows, part->row, column.end - column.first, ZERO_THEN_ADD, dw + c, d->dw_row, false);
    }
    rows->at.count = rows->chains = 0;
}

/* Computes this thread's part of dW [(G), U, K] of one shard, block by block; short blocks are processed together. */
static void dw_shard(const struct dw *d, struct acc_blocks *acc_blocks, const struct portion *part, real *dw)
{
    struct dw_rows *rows = &KERNEL_KEEPS(struct dw_kept)->rows;
    rows->at.count = rows->chains = 0;
    while (next_acc_block(acc_blocks)) {
        const struct acc_block *acc_block = &acc_blocks->at;
        size_t size = acc_block_size(d, acc_block), t = acc_block->step.first, b = acc_block->row.first;
        if (rows->at.count + size > DW_ROWS)
            dw_short_acc_blocks(d, rows, part, dw);
        if (size > DW_ROWS) {
            dw_long_acc_block(d, acc_block, rows, part, dw);
        } else if (size > 0) {
            find_rows(d, acc_block, &t, &b, &rows->at);
            rows->end[rows->chains++] = rows->at.count;
        }
    }
    dw_short_acc_blocks(d, rows, part, dw);
}

/* ---- few columns ----------------------------------------------------------------------- */

/* With few columns of x, packing dy does not pay: dW^T = x^T dy, and dy is read once, in place. */
enum { DW_NARROW = 2, DW_NARROW_UNITS = 512 };

/* Adds the products of evenly spaced rows from row b of step t on to sum^T. */
static void narrow_rows(const struct dw *d, size_t t, size_t b, size_t rows, struct range unit, size_t columns,
                        real *sum, enum start start)
{
    d->call->isa->product(&(struct product){.m = columns,
                                            .n = unit.end - unit.first,
                                            .k = rows,
                                            .a = d->x.at + t * d->x.t + b * d->x.b,
                                            .a_row = 1,
                                            .a_col = (ptrdiff_t)d->x.b,
                                            .b = d->dy.at + t * d->dy.t + b * d->dy.b + dy_at(d, unit.first),
                                            .b_row = d->dy.b,
                                            .b_panel = PANEL,
                                            .c = sum,
                                            .c_row = DW_NARROW_UNITS,
                                            .start = start});
}

/* Processes one accumulation block of some units of one gate, in runs of evenly spaced active rows. */
static void narrow_acc_block(const struct dw *d, const struct acc_block *acc_block, struct range unit, size_t columns,
                             real *dw)
{
    real sum[DW_NARROW * DW_NARROW_UNITS];
    const size_t rows = acc_block->row.end - acc_block->row.first;
    bool even = !d->rows.lengths && d->x.t == rows * d->x.b && d->dy.t == rows * d->dy.b;
    enum start start = ZERO;
    for (size_t t = acc_block->step.first; t < acc_block->step.end; t += even ? acc_block->step.end - t : 1)
        for (size_t b = acc_block->row.first, end; b < acc_block->row.end; b = end) {
            for (end = b; end < acc_block->row.end && lasts(&d->rows, t, end) == lasts(&d->rows, t, b); end++) {}
            if (!lasts(&d->rows, t, b))
                continue;
            narrow_rows(d, t, b, even ? rows * (acc_block->step.end - t) : end - b, unit, columns, sum, start);
            start = AS_IS;
        }
    for (size_t u = unit.first; u < unit.end && start == AS_IS; u++)
        for (size_t k = 0; k < columns; k++) dw[dw_at(d, u) + k] += sum[k * DW_NARROW_UNITS + u - unit.first];
}

static void dw_narrow(const struct dw *d, struct acc_blocks *acc_blocks, const struct portion *part, size_t columns,
                      real *dw)
{
    while (next_acc_block(acc_blocks))
        for (size_t n = part->row.first, end; n < part->row.end; n = end) {
            end = (n / d->gates.units + 1) * d->gates.units;
            end = end < part->row.end ? end : part->row.end;
            end = end - n < DW_NARROW_UNITS ? end : n + DW_NARROW_UNITS;
            narrow_acc_block(d, &acc_blocks->at, (struct range){n, end}, columns, dw);
        }
}

/* Returns whether dW is set, not added to; it is then never read. */
static bool dw_is_set(const struct call *call) { return call->view[GEMM_DW_DW].access == WRITE; }

static void clear_portion(const struct dw *d, const struct portion *part, real *dw)
{
    for (size_t u = part->row.first; u < part->row.end && part->column.first < part->column.end; u++)
        memset(dw + dw_at(d, u) + part->column.first, 0, (part->column.end - part->column.first) * sizeof *dw);
}

static void count_dw(struct work *work, const struct call *call, const struct portion *part, size_t rows, int me)
{
    const size_t units = part->row.end - part->row.first, columns = part->column.end - part->column.first;
    count_portion(work, call, part, GEMM_DW_DY, GEMM_DW_X, GEMM_DW_DW, me);
    count_view(work, call, GEMM_DW_INIT, me);
    count_view(work, call, GEMM_DW_LENGTHS, me);
    count_view(work, call, GEMM_DW_RESET, me);
    work->flops += 2.0 * (double)units * (double)columns * (double)rows;
}

/* dw (+)= dy^T x for each shard; threads divide the units or the columns. */
static __attribute__((unused)) unroll_status kernel_gemm_dw(const struct call *call, int me, int team,
                                                            struct work *work)
{
    const struct tensor *dy = &call->view[GEMM_DW_DY], *dw = &call->view[GEMM_DW_DW];
    const struct dw d = dw_of(call);
    const struct gates g = gates_of(dy, 2);
    const size_t width = tensor_width(dw);
    const bool narrow = width <= DW_NARROW && !call->shift;
    struct portion part = my_portion(g.count * g.units, width, PANEL, me, team);
    for (uint32_t s = 0; s < dw->count[0]; s++) {
        struct acc_blocks acc_blocks = acc_blocks_of(call, dy, shard_rows(call, dy, dw, s));
        real *to = (real *)dw->at + s * dw->stride[0];
        if (dw_is_set(call))
            clear_portion(&d, &part, to);
        if (!narrow)
            dw_shard(&d, &acc_blocks, &part, to);
        else if (part.column.first < part.column.end)
            dw_narrow(&d, &acc_blocks, &part, width, to);
    }
    count_dw(work, call, &part, d.rows.count, me);
    return UNROLL_OK;
}

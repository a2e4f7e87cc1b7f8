/* gemm_dw: dW += dy^T x over rows of the batch and steps, in the leaves of leaves.h. x is at the step
 * or the state that enters it. Rows of a leaf are copied side by side, so the product sees plain
 * matrices whatever the views, the shards, the resets and the ends of rows are. */

/* A block that stays in the L2 cache: units and columns of dW, rows of a leaf. */
enum { DW_UNITS = 96, DW_COLUMNS = 8 * PANEL, DW_ROWS = 256 };

struct dw {
    const struct call *call;
    struct steps dy, x;
    const int32_t *lengths;
    const uint8_t *reset;
    const real    *init;
    size_t reset_t, init_b, steps, origin_t;
};

static struct dw dw_of(const struct call *call)
{
    const struct tensor *v = call->view;
    return (struct dw){
        .call = call, .dy = steps_of(&v[GEMM_DW_DY]), .x = steps_of(&v[GEMM_DW_X]),
        .lengths = v[GEMM_DW_LENGTHS].at, .reset = v[GEMM_DW_RESET].at, .init = v[GEMM_DW_INIT].at,
        .reset_t = v[GEMM_DW_RESET].stride[0], .init_b = v[GEMM_DW_INIT].stride[0],
        .steps = v[GEMM_DW_X].count[0], .origin_t = v[GEMM_DW_X].origin[0],
    };
}

/* The state that enters step t of row b; NULL: zeros. */
static const real *entering(const struct dw *d, size_t t, size_t b)
{
    if (d->reset && d->reset[t * d->reset_t + b])
        return NULL;
    bool first = t == 0;
    if (d->call->op->direction)
        first = t == d->steps - 1 || (d->lengths && d->origin_t + t + 1 == (size_t)d->lengths[b]);
    if (first)
        return d->init ? d->init + b * d->init_b : NULL;
    return d->x.at + (d->call->op->direction ? t + 1 : t - 1) * d->x.t + b * d->x.b;
}

/* Up to DW_ROWS rows of a leaf: where they lie, and columns of their x in panels. */
struct dw_rows {
    size_t count;
    const real *dy[DW_ROWS], *x[DW_ROWS];
    real panel[DW_ROWS * DW_COLUMNS];
};

static size_t leaf_size(const struct leaf *leaf)
{
    return (leaf->step.end - leaf->step.first) * (leaf->row.end - leaf->row.first);
}

static void find_rows(const struct dw *d, const struct leaf *leaf, size_t first, struct dw_rows *r)
{
    size_t batch = leaf->row.end - leaf->row.first, left = leaf_size(leaf) - first;
    size_t t = leaf->step.first + first / batch, b = leaf->row.first + first % batch;
    r->count = left < DW_ROWS ? left : DW_ROWS;
    for (size_t i = 0; i < r->count; i++) {
        r->dy[i] = d->dy.at + t * d->dy.t + b * d->dy.b;
        r->x[i] = d->call->op->shift ? entering(d, t, b) : d->x.at + t * d->x.t + b * d->x.b;
        if (++b == leaf->row.end) {
            b = leaf->row.first;
            t++;
        }
    }
}

static void take_rows(const struct dw *d, const struct leaf *leaf, size_t first, struct range column,
                      struct dw_rows *r)
{
    real *to = r->panel;
    find_rows(d, leaf, first, r);
    for (size_t c = column.first; c < column.end; c += PANEL, to += DW_ROWS * PANEL) {
        size_t width = column.end - c < PANEL ? column.end - c : PANEL;
        for (size_t i = 0; i < r->count; i++)
            if (r->x[i])
                copy_numbers(to + i * PANEL, r->x[i] + c, width);
            else
                memset(to + i * PANEL, 0, width * sizeof *to);
    }
}

/* A block of dW: units that begin at number `unit` of dy's rows, and columns. A leaf that fits one block of
 * rows is summed in registers and added at once; rows of others are taken in turn, by each block anew. */
static void dw_block(const struct dw *d, const struct leaf *leaf, struct dw_rows *r, struct range unit,
                     struct range column, real *dw, size_t dw_row)
{
    real a[DW_ROWS * DW_UNITS], sum[DW_UNITS * DW_COLUMNS];
    size_t units = unit.end - unit.first, columns = column.end - column.first, all = leaf_size(leaf);
    bool at_once = all <= DW_ROWS;
    for (size_t first = 0; first < all; first += DW_ROWS) {
        if (!at_once)
            take_rows(d, leaf, first, column, r);
        for (size_t i = 0; i < r->count; i++)
            copy_numbers(a + i * DW_UNITS, r->dy[i] + unit.first, units);
        d->call->isa->product(&(struct product){
            .m = units, .n = columns, .k = r->count, .a = a, .a_row = 1, .a_col = DW_UNITS,
            .b = r->panel, .b_row = PANEL, .b_panel = DW_ROWS * PANEL,
            .c = at_once ? dw : sum, .c_row = at_once ? dw_row : DW_COLUMNS,
            .start = at_once ? ZERO_THEN_ADD : first == 0 ? ZERO : AS_IS,
        });
    }
    for (size_t u = 0; u < units && !at_once; u++)
        add_numbers(dw + u * dw_row, sum + u * DW_COLUMNS, columns);
}

/* This thread's part of dW [(G), U, K] of one shard, for one leaf. Gates side by side are one. */
static void dw_leaf(const struct dw *d, const struct leaf *leaf, const struct portion *part, real *dw)
{
    const struct tensor *sum = &d->call->view[GEMM_DW_DW];
    struct gates dy = gates_of(&d->call->view[GEMM_DW_DY], 2);
    const size_t row = sum->stride[sum->rank - 2], gate_stride = sum->rank == 4 ? sum->stride[1] : 0;
    struct dw_rows rows;
    if (dy.stride == dy.units && (dy.count == 1 || gate_stride == dy.units * row))
        dy = (struct gates){ 1, dy.count * dy.units, 0 };
    for (size_t c = part->column.first; c < part->column.end; c += DW_COLUMNS) {
        size_t end = part->column.end - c < DW_COLUMNS ? part->column.end : c + DW_COLUMNS;
        struct range column = { c, end };
        if (leaf_size(leaf) <= DW_ROWS)
            take_rows(d, leaf, 0, column, &rows);
        for (size_t n = part->row.first, next; n < part->row.end; n = next) {
            size_t gate = n / dy.units, unit = n % dy.units;
            next = (gate + 1) * dy.units < part->row.end ? (gate + 1) * dy.units : part->row.end;
            next = next - n < DW_UNITS ? next : n + DW_UNITS;
            struct range units = { gate * dy.stride + unit, gate * dy.stride + unit + next - n };
            dw_block(d, leaf, &rows, units, column, dw + gate * gate_stride + unit * row + c, row);
        }
    }
}

static unroll_status kernel_gemm_dw(const struct call *call, int me, int team, struct work *work)
{
    const struct tensor *dy = &call->view[GEMM_DW_DY], *dw = &call->view[GEMM_DW_DW];
    const struct dw d = dw_of(call);
    const struct gates g = gates_of(dy, 2);
    struct portion part = my_portion(g.count * g.units, tensor_width(dw), PANEL, me, team);
    for (uint32_t s = 0; s < dw->count[0]; s++) {
        struct leaves leaves = leaves_of(call, dy, shard_rows(call, dy, dw, s));
        while (leaf_next(&leaves))
            dw_leaf(&d, &leaves.at, &part, (real *)dw->at + s * dw->stride[0]);
    }
    count_portion(work, call, &part, GEMM_DW_DY, GEMM_DW_X, GEMM_DW_DW, me);
    count_view(work, call, GEMM_DW_INIT, me);
    count_view(work, call, GEMM_DW_LENGTHS, me);
    count_view(work, call, GEMM_DW_RESET, me);
    size_t units = part.row.end - part.row.first, columns = part.column.end - part.column.first;
    work->flops += 2.0 * (double)units * (double)columns * (double)dy->count[0] * (double)dy->count[1];
    return UNROLL_OK;
}

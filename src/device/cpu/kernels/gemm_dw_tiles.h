/* gemm_dw on tiles: dW^T += x^T dy, with both factors as bf16x3 splits of floats (nn/vector/v_tiles.h). x, the smaller
 * one, is the left factor: its columns become rows. dy is the right factor: its rows already have the order that tiles
 * need. An element of dW is one chain that starts from dW's value and adds accumulation blocks in the order of
 * acc_blocks.h, each in steps of BF16X3_K rows, padded with zeros. An accumulation block never spans chunks of time, so
 * the bits are independent of chunks, threads and the number of rows per pass. */

/* Kept in the L2 cache while all rows of a call are processed: the left factor of DW_LEFT columns of x, and DW_SUMS
 * elements of dW. */
enum { DW_STEPS = DW_ROWS / BF16X3_K, DW_LEFT = 256, DW_SUMS = DW_LEFT * 512 };
enum { DW_BLOCK = 2 * BF16X3_COLUMNS }; /* units of one gate per product */

struct dw_scratch {
    _Alignas(64) char left[DW_LEFT * DW_STEPS * LEFT_ROW];
    _Alignas(64) char right[2][2 * DW_STEPS * RIGHT_BYTES];
    _Alignas(64) real sums[DW_SUMS];
};

/* Columns of x by units of dy. */
struct dw_part {
    const struct dw *d;
    struct range column, unit;
    struct dw_scratch *room;
};

static const real dw_zeros[BF16X3_COLUMNS];

/* Loads elements of a row; zeros if row is NULL. */
CELL_CODE V dw_load(const real *row, size_t from, __mmask16 which)
{
    return _mm512_maskz_loadu_ps(which, row ? row + from : dw_zeros);
}

/* ---- the left factor -------------------------------------------------------------------- */

/* Transposes BF16X3_ROWS rows, every second one from k on. */
CELL_CODE void dw_left_turn(const struct dw_found *r, size_t k, size_t column, __mmask16 which,
                            __m512i turned[BF16X3_ROWS])
{
#pragma GCC unroll 16
    for (size_t i = 0; i < BF16X3_ROWS; i++) turned[i] = _mm512_castps_si512(dw_load(r->x[k + 2 * i], column, which));
    bf16x3_transpose(turned);
}

/* Converts a step of rows by at most BF16X3_ROWS columns, part of a block of of_block columns. */
static void dw_left_piece(const struct dw_found *r, size_t k, size_t column, size_t columns, char *to, size_t of_block)
{
    __m512i even[BF16X3_ROWS], odd[BF16X3_ROWS];
    dw_left_turn(r, k, column, v_first(columns), even);
    dw_left_turn(r, k + 1, column, v_first(columns), odd);
    for (size_t c = 0; c < columns; c++) {
        __m512i pair[TILE_PARTS];
        bf16x3_of_pairs(_mm512_castsi512_ps(even[c]), _mm512_castsi512_ps(odd[c]), pair);
#pragma GCC unroll 3
        for (size_t i = 0; i < TILE_PARTS; i++) _mm512_store_si512(to + (i * of_block + c) * LEFT_PART, pair[i]);
    }
}

static void dw_left(const struct dw_part *p, const struct dw_found *r)
{
    const size_t columns = p->column.end - p->column.first;
    for (size_t k = 0; k < r->count; k += BF16X3_K)
        for (size_t c = 0; c < columns; c += BF16X3_ROWS) {
            const size_t at = p->column.first + c, block = c / LEFT_ROWS * LEFT_ROWS;
            const size_t of_block = at_most(columns - block, LEFT_ROWS);
            char *to = p->room->left + (block * r->count / BF16X3_K + k / BF16X3_K * of_block) * LEFT_ROW;
            for (size_t i = k + BF16X3_K; i < k + 2 * BF16X3_K && i < r->count; i++)
                _mm_prefetch(r->x[i] ? r->x[i] + at : dw_zeros, _MM_HINT_T0);
            dw_left_piece(r, k, at, at_most(columns - c, BF16X3_ROWS), to + (c - block) * LEFT_PART, of_block);
        }
}

/* ---- the right factor ------------------------------------------------------------------- */

/* A block of units whose right factor is being created, one pair of rows at a time. This is interleaved in equal shares
 * with the product of another block, like the prefetching of that block's next sums: L2 latency is higher than the time
 * until they are needed. */
struct dw_right {
    const struct dw_found *rows;
    size_t unit, units; /* in dy, and their number */
    size_t pairs, made, due, shares;
    char *to;
    const real *sums; /* next sums to prefetch, and the number of tile rows per call */
    size_t asked;
};

/* Pairs of rows to prefetch ahead, about the latency of L3. More would be evicted: rows of dy are often powers of two
 * apart. */
enum { DW_AHEAD = 8 };

CELL_CODE void dw_right_ask(const struct dw_right *r, size_t k)
{
    const real *const *dy = r->rows->dy + k;
    for (size_t u = r->unit; u < r->unit + r->units; u += BF16X3_COLUMNS) {
        _mm_prefetch(dy[0] ? dy[0] + u : dw_zeros, _MM_HINT_T0);
        _mm_prefetch(dy[1] ? dy[1] + u : dw_zeros, _MM_HINT_T0);
    }
}

static __attribute__((noinline)) void dw_right_pair(struct dw_right *r)
{
    const size_t k = 2 * r->made++;
    const real *const *dy = r->rows->dy + k;
    char *to = r->to + k / BF16X3_K * RIGHT_BYTES + k % BF16X3_K / 2 * sizeof(__m512i);
    if (k + DW_AHEAD < r->rows->count)
        dw_right_ask(r, k + DW_AHEAD);
    for (size_t u = 0; u < r->units; u += BF16X3_COLUMNS, to += r->rows->count / BF16X3_K * RIGHT_BYTES) {
        const __mmask16 which = v_first(at_most(r->units - u, BF16X3_COLUMNS));
        __m512i pair[TILE_PARTS];
        bf16x3_of_pairs(dw_load(dy[0], r->unit + u, which), dw_load(dy[1], r->unit + u, which), pair);
#pragma GCC unroll 3
        for (int i = 0; i < TILE_PARTS; i++) _mm512_store_si512(to + RIGHT_AT(i), pair[i]);
    }
}

/* Calls per step that prefetch, out of TILES_TIMES; the last sums still arrive early enough. */
enum { DW_ASKING = TILES_TIMES < 4 ? TILES_TIMES : 4 };

CELL_CODE void dw_right_share(void *of, int time)
{
    struct dw_right *r = of;
    for (size_t i = 0; i < r->asked && time < DW_ASKING; i++, r->sums += BF16X3_COLUMNS)
        _mm_prefetch(r->sums, _MM_HINT_T0);
    for (r->due += r->pairs; r->due >= r->shares; r->due -= r->shares) dw_right_pair(r);
}

/* ---- sums ------------------------------------------------------------------------------- */

/* Returns the block of units from n on: adjacent in dy. */
static struct range next_block(const struct dw *d, size_t n, size_t end)
{
    const size_t gate_end = (n / d->gates.units + 1) * d->gates.units;
    return (struct range){n, at_most(at_most(end, gate_end), n + DW_BLOCK)};
}

/* Returns blocks of units whose sums fit. */
static struct range next_part(const struct dw *d, size_t n, size_t end, size_t columns)
{
    struct range part = {n, n};
    for (size_t room = DW_SUMS / (columns * DW_BLOCK); room > 0 && part.end < end; room--)
        part.end = next_block(d, part.end, end).end;
    return part;
}

/* Copies and transposes dW [unit][column] to or from a tile of sums [column][unit]. */
static void dw_turn_tile(real *tile, real *dw, size_t dw_row, size_t units, size_t columns, bool back)
{
    __m512i row[BF16X3_ROWS];
    for (size_t i = 0; i < BF16X3_ROWS; i++)
        if (back)
            row[i] = i < columns ? _mm512_load_si512(tile + i * BF16X3_COLUMNS) : _mm512_setzero_si512();
        else
            row[i] = i < units ? _mm512_maskz_loadu_epi32(v_first(columns), dw + i * dw_row) : _mm512_setzero_si512();
    bf16x3_transpose(row);
    for (size_t i = 0; i < BF16X3_ROWS; i++)
        if (!back && i < columns)
            _mm512_store_si512(tile + i * BF16X3_COLUMNS, row[i]);
        else if (back && i < units)
            _mm512_mask_storeu_epi32(dw + i * dw_row, v_first(columns), row[i]);
}

/* Copies all tiles of a part, in the order of multiplication. */
static void dw_turn(const struct dw_part *p, real *dw, bool back)
{
    const size_t dw_row = p->d->dw_row;
    real *sums = p->room->sums;
    struct range unit = next_block(p->d, p->unit.first, p->unit.end);
    for (; unit.first < p->unit.end; unit = next_block(p->d, unit.end, p->unit.end))
        for (size_t c = p->column.first, rows; c < p->column.end; c += rows, sums += DW_BLOCK * rows) {
            const size_t units = unit.end - unit.first;
            real *at = dw + dw_at(p->d, unit.first) + c;
            rows = at_most(p->column.end - c, LEFT_ROWS);
            for (size_t u = 0; u < units; u += BF16X3_COLUMNS)
                for (size_t i = 0; i < rows; i += BF16X3_ROWS)
                    dw_turn_tile(sums + u * rows + i * BF16X3_COLUMNS, at + u * dw_row + i, dw_row,
                                 at_most(units - u, BF16X3_COLUMNS), at_most(rows - i, BF16X3_ROWS), back);
        }
}

/* Initializes sums to zero. */
static void dw_clear(const struct dw_part *p)
{
    const size_t count = DW_BLOCK * (p->column.end - p->column.first);
    real *sums = p->room->sums;
    struct range unit = next_block(p->d, p->unit.first, p->unit.end);
    for (; unit.first < p->unit.end; unit = next_block(p->d, unit.end, p->unit.end), sums += count)
        memset(sums, 0, count * sizeof *sums);
}

/* ---- products --------------------------------------------------------------------------- */

/* Starts the right factor of a block of units of some rows. */
static void dw_right_begin(struct dw_right *r, const struct dw *d, const struct dw_found *rows, struct range unit,
                           size_t shares, char *to)
{
    r->rows = rows;
    r->unit = dy_at(d, unit.first);
    r->units = unit.end - unit.first;
    r->pairs = rows->count / 2;
    r->made = r->due = 0;
    r->shares = shares;
    r->to = to;
    for (size_t k = 0; k < DW_AHEAD && k < rows->count; k += 2) dw_right_ask(r, k);
}

/* Multiplies one or two tiles of columns of x by one or two tiles of units. */
CELL_CODE void dw_tiles(const char *left, size_t rows, const char *right, size_t steps, real *sums,
                        struct dw_right *next, const bool second, const bool wide)
{
    real *sums_1 = sums + rows * BF16X3_COLUMNS;
    tiles_load(sums, sums_1, BF16X3_COLUMNS, rows, second, wide);
    next->sums = sums + 2 * rows * BF16X3_COLUMNS;
    next->asked = (2 * rows + DW_ASKING * steps - 1) / (DW_ASKING * steps);
    tiles_add(left, rows, right, right + steps * RIGHT_BYTES, steps, dw_right_share, next, second, wide);
    tiles_store(sums, sums_1, BF16X3_COLUMNS, rows, second, wide);
}

/* Multiplies a block of units by all columns of a part. Returns the sums of the next block. */
static real *dw_block(const struct dw_part *p, const char *right, bool wide, size_t steps, struct dw_right *next,
                      real *sums)
{
    const size_t columns = p->column.end - p->column.first;
    const char *left = p->room->left;
    for (size_t c = 0, rows, configured = 0; c < columns; c += rows) {
        rows = at_most(columns - c, LEFT_ROWS);
        if (rows != configured)
            tiles_begin(configured = rows);
        if (wide && rows > BF16X3_ROWS)
            dw_tiles(left, rows, right, steps, sums, next, true, true);
        else if (wide)
            dw_tiles(left, rows, right, steps, sums, next, false, true);
        else if (rows > BF16X3_ROWS)
            dw_tiles(left, rows, right, steps, sums, next, true, false);
        else
            dw_tiles(left, rows, right, steps, sums, next, false, false);
        left += steps * rows * LEFT_ROW;
        sums += DW_BLOCK * rows;
    }
    return sums;
}

/* Adds some rows to the sums of a part. `right` is the first block of units of these rows, and on return that of the
 * next rows. */
static void dw_bf16x3_rows(const struct dw_part *p, const struct dw_found *r, const struct dw_found *next,
                           struct dw_right *right)
{
    const size_t steps = r->count / BF16X3_K, blocks = (p->column.end - p->column.first + LEFT_ROWS - 1) / LEFT_ROWS;
    struct range unit = next_block(p->d, p->unit.first, p->unit.end);
    const struct range first = unit;
    real *sums = p->room->sums;
    dw_left(p, r);
    while (unit.first < p->unit.end) {
        const struct range after = next_block(p->d, unit.end, p->unit.end);
        const bool is_last = unit.end == p->unit.end;
        const char *made = right->to;
        while (right->made < right->pairs) dw_right_pair(right);
        dw_right_begin(right, p->d, is_last ? next : r, is_last ? first : after, blocks * steps * TILES_TIMES,
                       p->room->right[made == p->room->right[0]]);
        sums = dw_block(p, made, unit.end - unit.first > BF16X3_COLUMNS, steps, right, sums);
        comm_poll();
        unit = after;
    }
    tiles_end();
}

/* The position of a search for rows: the accumulation block, and the place in it. */
struct dw_walk {
    struct acc_blocks acc_blocks;
    size_t t, b;
    bool in_acc_block;
};

/* Collects the next DW_ROWS rows, or those that remain. */
static void dw_walk_on(const struct dw *d, struct dw_walk *w, struct dw_found *r)
{
    const struct acc_block *acc_block = &w->acc_blocks.at;
    r->count = 0;
    while (r->count < DW_ROWS && (w->in_acc_block || next_acc_block(&w->acc_blocks))) {
        if (!w->in_acc_block)
            w->t = acc_block->step.first, w->b = acc_block->row.first;
        find_rows(d, acc_block, &w->t, &w->b, r);
        w->in_acc_block = w->t < acc_block->step.end;
        for (; !w->in_acc_block && r->count % BF16X3_K; r->count++) r->dy[r->count] = r->x[r->count] = NULL;
    }
}

/* Adds all rows of a shard to a part of dw, and prepares the next rows meanwhile. */
static void dw_bf16x3_part(const struct dw_part *p, const struct acc_blocks *acc_blocks, real *dw)
{
    struct dw_walk walk = {.acc_blocks = *acc_blocks};
    struct dw_found rows[2];
    struct dw_right right = {.rows = NULL};
    if (dw_is_set(p->d->call))
        dw_clear(p);
    else
        dw_turn(p, dw, false);
    dw_walk_on(p->d, &walk, &rows[0]);
    dw_right_begin(&right, p->d, &rows[0], next_block(p->d, p->unit.first, p->unit.end), 1, p->room->right[0]);
    for (int i = 0; rows[i].count > 0; i = !i) {
        dw_walk_on(p->d, &walk, &rows[!i]);
        dw_bf16x3_rows(p, &rows[i], &rows[!i], &right);
    }
    dw_turn(p, dw, true);
}

/* Computes this thread's portion of dW [(G), U, K] of one shard. */
static void dw_bf16x3_shard(const struct dw *d, const struct acc_blocks *acc_blocks, const struct portion *portion,
                            real *dw)
{
    struct dw_part p = {.d = d, .room = KERNEL_KEEPS(struct dw_scratch)};
    for (size_t c = portion->column.first; c < portion->column.end; c = p.column.end) {
        p.column = (struct range){c, at_most(portion->column.end, c + DW_LEFT)};
        for (size_t u = portion->row.first; u < portion->row.end; u = p.unit.end) {
            p.unit = next_part(d, u, portion->row.end, p.column.end - c);
            dw_bf16x3_part(&p, acc_blocks, dw);
        }
    }
}

/* bf16x3 splits need whole tiles of columns: with fewer, most of a tile would be empty. */
static unroll_status kernel_gemm_dw_bf16x3(const struct call *call, int me, int team, struct work *work)
{
    const struct tensor *dy = &call->view[GEMM_DW_DY], *dw = &call->view[GEMM_DW_DW];
    const size_t width = tensor_width(dw);
    if (!call->by_tiles || width < BF16X3_COLUMNS)
        return cpu_avx512.kernel[OP_GEMM_DW](call, me, team, work);
    const struct dw d = dw_of(call);
    const size_t units = d.gates.count * d.gates.units;
    const bool by_units = units >= width || width < (size_t)team * PANEL; /* all threads create the other factor */
    struct portion part = portion_by(by_units, units, width, PANEL, me, team);
    for (uint32_t s = 0; s < dw->count[0]; s++) {
        struct acc_blocks acc_blocks = acc_blocks_of(call, dy, shard_rows(call, dy, dw, s));
        dw_bf16x3_shard(&d, &acc_blocks, &part, (real *)dw->at + s * dw->stride[0]);
    }
    count_dw(work, call, &part, d.rows.count, me);
    return UNROLL_OK;
}

/* gemm_dw on tiles: dW += dy^T x, both factors as thirds of floats (cells/v/v_tiles.h). dy is the left factor, its units
 * are rows; x is the right one. An element of dW is one chain that begins with what dW holds: leaf by leaf as leaves.h
 * orders them, each leaf in steps of THIRDS_K of its rows, zeros where it ends. A leaf never spans chunks of time, so
 * neither chunks nor threads nor how many rows are at hand show in the bits. */

/* The right factor at hand stays in the L2 cache: rows and columns of it. */
enum { DW_STEPS = DW_ROWS / THIRDS_K, DW_TILES = 32, DW_TILE_COLUMNS = DW_TILES * THIRDS_COLUMNS };

static const real dw_zeros[THIRDS_COLUMNS];

CELL_CODE V dw_load(const real *row, size_t from, __mmask16 which)
{
    return _mm512_maskz_loadu_ps(which, row ? row + from : dw_zeros);
}

/* ---- the right factor ------------------------------------------------------------------- */

/* Columns of x of all rows at hand. */
static void dw_right(const struct dw_found *r, struct range column, char *to)
{
    const size_t steps = r->count / THIRDS_K, columns = column.end - column.first;
    for (size_t k = 0; k < r->count; k += 2) {
        char *at = to + k / THIRDS_K * RIGHT_BYTES + k % THIRDS_K / 2 * sizeof(__m512i);
        for (size_t c = 0; c < columns; c += THIRDS_COLUMNS, at += steps * RIGHT_BYTES) {
            const __mmask16 which = v_first(columns - c < THIRDS_COLUMNS ? columns - c : THIRDS_COLUMNS);
            __m512i pair[3];
            thirds_of_pairs(dw_load(r->x[k], column.first + c, which), dw_load(r->x[k + 1], column.first + c, which),
                            pair);
#pragma GCC unroll 3
            for (int i = 0; i < 3; i++)
                _mm512_store_si512(at + RIGHT_AT(i), pair[i]);
        }
    }
}

/* ---- the left factor -------------------------------------------------------------------- */

/* A block of units whose left factor is being made, in pieces of THIRDS_ROWS of them and THIRDS_K rows. That is done
 * between the products of another block, which leave the vector units idle. */
struct dw_left {
    const struct dw_found *rows;
    size_t unit, units;                     /* in dy, and how many */
    size_t after;                           /* the units in dy that will be wanted next */
    size_t pieces, made, due;
    char *to;
};

/* Each second row from k on, THIRDS_ROWS of them, becomes a column. */
CELL_CODE void dw_left_columns(const struct dw_found *r, size_t k, size_t unit, __mmask16 which,
                               __m512i column[THIRDS_ROWS])
{
#pragma GCC unroll 16
    for (size_t i = 0; i < THIRDS_ROWS; i++)
        column[i] = _mm512_castps_si512(dw_load(r->dy[k + 2 * i], unit, which));
    thirds_transpose(column);
}

/* The step of rows after that of row k; after the last one the first, of the units that are wanted then. */
static void dw_left_ask(const struct dw_left *l, size_t k, size_t first)
{
    const bool last = k + THIRDS_K == l->rows->count;
    const real *const *dy = l->rows->dy + (last ? 0 : k + THIRDS_K);
    const size_t unit = (last ? l->after : l->unit) + first;
    for (size_t i = 0; i < THIRDS_K; i++)
        _mm_prefetch(dy[i] ? dy[i] + unit : dw_zeros, _MM_HINT_T0);
}

static __attribute__((noinline)) void dw_left_piece(struct dw_left *l)
{
    const size_t tiles = l->units > THIRDS_ROWS ? 2 : 1, step = l->made / tiles;
    const size_t k = step * THIRDS_K, first = l->made % tiles * THIRDS_ROWS;
    const size_t units = l->units - first < THIRDS_ROWS ? l->units - first : THIRDS_ROWS;
    char *to = l->to + step * l->units * LEFT_ROW + first * LEFT_PART;
    __m512i even[THIRDS_ROWS], odd[THIRDS_ROWS];
    dw_left_columns(l->rows, k, l->unit + first, v_first(units), even);
    dw_left_columns(l->rows, k + 1, l->unit + first, v_first(units), odd);
    for (size_t u = 0; u < units; u++) {
        __m512i pair[3];
        thirds_of_pairs(_mm512_castsi512_ps(even[u]), _mm512_castsi512_ps(odd[u]), pair);
#pragma GCC unroll 3
        for (size_t i = 0; i < 3; i++)
            _mm512_store_si512(to + (i * l->units + u) * LEFT_PART, pair[i]);
    }
    dw_left_ask(l, k, first);
    l->made++;
}

/* One share of `of` equal ones. */
CELL_CODE void dw_left_share(struct dw_left *l, size_t of)
{
    for (l->due += l->pieces; l->due >= of; l->due -= of)
        dw_left_piece(l);
}

/* ---- blocks of dW ---------------------------------------------------------------------- */

/* Of one block of units: its left factor, the right one, and where their products go. */
struct dw_block {
    const char *left, *right;
    size_t units, steps, columns;
    real *dw;
    size_t dw_row;
    struct dw_left *next;                   /* is made meanwhile, a share with each step of each tile */
    size_t shares;
};

/* dW's next tiles of columns: a share of them with each step. */
CELL_CODE void dw_ask(const struct dw_block *b, size_t step, const real *c, size_t c_row)
{
    const size_t share = (b->units + b->steps - 1) / b->steps;
    for (size_t u = step * share; u < (step + 1) * share && u < b->units; u++) {
        _mm_prefetch(c + u * c_row, _MM_HINT_T0);
        _mm_prefetch(c + u * c_row + THIRDS_COLUMNS, _MM_HINT_T0);
    }
}

static void dw_copy_block(real *to, size_t to_row, const real *from, size_t from_row, size_t units, size_t columns)
{
    for (size_t u = 0; u < units; u++)
        copy_numbers(to + u * to_row, from + u * from_row, columns);
}

/* dW of one tile of columns, or of two that lie side by side, and of one tile of units or two. */
CELL_CODE void dw_tiles(const struct dw_block *b, size_t column, real *c, size_t c_row, const bool second, const bool wide)
{
    const char *right = b->right + column / THIRDS_COLUMNS * b->steps * RIGHT_BYTES, *left = b->left;
    const char *right_1 = right + b->steps * RIGHT_BYTES;
    tiles_load(c, c + THIRDS_COLUMNS, c_row, b->units, second, wide);
    for (size_t s = 0; s < b->steps; s++) {
        tiles_add(left + s * b->units * LEFT_ROW, b->units, right + s * RIGHT_BYTES, right_1 + s * RIGHT_BYTES, 1, second,
                  wide);
        dw_left_share(b->next, b->shares);
        dw_ask(b, s, c + 2 * THIRDS_COLUMNS, c_row);
    }
    tiles_store(c, c + THIRDS_COLUMNS, c_row, b->units, second, wide);
}

static void dw_block(const struct dw_block *b)
{
    enum { WIDE = 2 * THIRDS_COLUMNS };
    _Alignas(64) real end[LEFT_ROWS * WIDE];
    for (size_t c = 0; c < b->columns; c += WIDE) {
        const size_t columns = b->columns - c < WIDE ? b->columns - c : WIDE;
        const bool whole = columns == WIDE || columns == THIRDS_COLUMNS;
        real *at = whole ? b->dw + c : end;
        const size_t row = whole ? b->dw_row : WIDE;
        if (!whole)
            dw_copy_block(end, WIDE, b->dw + c, b->dw_row, b->units, columns);
        if (columns > THIRDS_COLUMNS && b->units > THIRDS_ROWS)
            dw_tiles(b, c, at, row, true, true);
        else if (columns > THIRDS_COLUMNS)
            dw_tiles(b, c, at, row, false, true);
        else if (b->units > THIRDS_ROWS)
            dw_tiles(b, c, at, row, true, false);
        else
            dw_tiles(b, c, at, row, false, false);
        if (!whole)
            dw_copy_block(b->dw + c, b->dw_row, end, WIDE, b->units, columns);
    }
}

/* The units from n on that are a block: side by side in dy. */
static struct range next_block(const struct dw *d, size_t n, size_t end)
{
    const struct range unit = next_units(d, n, end);
    return (struct range){ n, unit.end - n > LEFT_ROWS ? n + LEFT_ROWS : unit.end };
}

static void dw_left_begin(struct dw_left *l, const struct dw *d, struct range unit, size_t after, char *to)
{
    l->unit = dy_at(d, unit.first);
    l->units = unit.end - unit.first;
    l->after = dy_at(d, after);
    l->pieces = l->rows->count / THIRDS_K * ((l->units + THIRDS_ROWS - 1) / THIRDS_ROWS);
    l->made = l->due = 0;
    l->to = to;
}

/* Adds the rows at hand to some columns of dW. */
static void dw_thirds_columns(const struct dw *d, const struct dw_found *r, struct range units, struct range column, real *dw)
{
    _Alignas(64) char right[DW_TILES * DW_STEPS * RIGHT_BYTES], left[2][DW_STEPS * LEFT_ROWS * LEFT_ROW];
    struct dw_left next = { .rows = r };
    struct range unit = next_block(d, units.first, units.end);
    const size_t wide = (column.end - column.first + 2 * THIRDS_COLUMNS - 1) / (2 * THIRDS_COLUMNS);
    const size_t shares = wide * (r->count / THIRDS_K);
    size_t configured = 0;
    dw_right(r, column, right);
    dw_left_begin(&next, d, unit, unit.first, left[0]);
    for (int i = 0; unit.first < units.end; i = !i) {
        const struct range after = unit.end < units.end ? next_block(d, unit.end, units.end) : (struct range){ 0, 0 };
        while (next.made < next.pieces)
            dw_left_piece(&next);
        dw_left_begin(&next, d, after, after.end < units.end ? after.end : units.first, left[!i]);
        if (configured != unit.end - unit.first)
            tiles_begin(configured = unit.end - unit.first);
        dw_block(&(struct dw_block){
            .left = left[i], .right = right, .units = configured, .steps = r->count / THIRDS_K,
            .columns = column.end - column.first, .dw = dw + dw_at(d, unit.first), .dw_row = d->dw_row,
            .next = &next, .shares = shares,
        });
        comm_poll();
        unit = after.end > 0 ? after : (struct range){ units.end, units.end };
    }
    tiles_end();
}

static void dw_thirds_rows(const struct dw *d, struct dw_found *r, const struct portion *part, real *dw)
{
    for (size_t c = part->column.first; c < part->column.end && r->count; c += DW_TILE_COLUMNS) {
        struct range column = { c, part->column.end - c < DW_TILE_COLUMNS ? part->column.end : c + DW_TILE_COLUMNS };
        dw_thirds_columns(d, r, part->row, column, dw + c);
    }
    r->count = 0;
}

/* This thread's part of dW [(G), U, K] of one shard. */
static void dw_thirds_shard(const struct dw *d, struct leaves *leaves, const struct portion *part, real *dw)
{
    struct dw_found r;
    r.count = 0;
    while (leaf_next(leaves)) {
        const struct leaf *leaf = &leaves->at;
        for (size_t t = leaf->step.first, b = leaf->row.first; t < leaf->step.end;) {
            if (r.count == DW_ROWS)
                dw_thirds_rows(d, &r, part, dw);
            find_rows(d, leaf, &t, &b, &r);
        }
        for (; r.count % THIRDS_K; r.count++)
            r.dy[r.count] = r.x[r.count] = NULL;
    }
    dw_thirds_rows(d, &r, part, dw);
}

/* Thirds have tiles of columns: of fewer ones most of a tile is nothing. */
static unroll_status kernel_gemm_dw_thirds(const struct call *call, int me, int team, struct work *work)
{
    const struct tensor *dy = &call->view[GEMM_DW_DY], *dw = &call->view[GEMM_DW_DW];
    const size_t width = tensor_width(dw);
    if (!call->plan->thirds || width < THIRDS_COLUMNS)
        return kernel_gemm_dw(call, me, team, work);
    const struct dw d = dw_of(call);
    struct portion part = my_portion(d.gates.count * d.gates.units, width, PANEL, me, team);
    for (uint32_t s = 0; s < dw->count[0] && part.row.first < part.row.end && part.column.first < part.column.end; s++) {
        struct leaves leaves = leaves_of(call, dy, shard_rows(call, dy, dw, s));
        dw_thirds_shard(&d, &leaves, &part, (real *)dw->at + s * dw->stride[0]);
    }
    count_dw(work, call, &part, d.rows.count, me);
    return UNROLL_OK;
}

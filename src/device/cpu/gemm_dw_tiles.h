/* gemm_dw on tiles: dW += dy^T x, both factors as thirds of floats (cells/v/v_tiles.h). dy is the left factor, its units
 * are rows; x is the right one. An element of dW is one chain that begins with what dW holds: leaf by leaf as leaves.h
 * orders them, each leaf in steps of THIRDS_K of its rows, zeros where it ends. A leaf never spans chunks of time, so
 * neither chunks nor threads nor how many rows are at hand show in the bits. */

/* The right factor at hand stays in the L2 cache: rows and columns of it. */
enum { DW_STEPS = DW_ROWS / THIRDS_K, DW_TILES = 16, DW_TILE_COLUMNS = DW_TILES * THIRDS_COLUMNS };

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
            __m512i part[3];
            thirds_of(dw_load(r->x[k], column.first + c, which), dw_load(r->x[k + 1], column.first + c, which), part);
#pragma GCC unroll 3
            for (int i = 0; i < 3; i++)
                _mm512_store_si512(at + RIGHT_AT(i), thirds_pairs(part[i]));
        }
    }
}

/* ---- the left factor -------------------------------------------------------------------- */

/* A block of units whose left factor is being made: THIRDS_ROWS of them in THIRDS_K rows after the other. It is made a
 * pair of rows at a time, between the products of another block, which leave the vector units idle. */
struct dw_left {
    const struct dw_found *rows;
    size_t unit, units;                     /* in dy, and how many */
    size_t after;                           /* the units in dy that will be wanted next */
    size_t pairs, made;
    char *to;
    __m512i part[3][THIRDS_ROWS];
};

enum { DW_AHEAD = 64 };                     /* rows of dy that are asked for before their turn */

static size_t dw_left_pairs(const struct dw_found *r, size_t units)
{
    return r->count / 2 * ((units + THIRDS_ROWS - 1) / THIRDS_ROWS);
}

CELL_CODE void dw_left_columns(struct dw_left *l, char *to, size_t units)
{
    for (int i = 0; i < 3; i++, to += l->units * LEFT_PART) {
        __m512i row[THIRDS_ROWS];
        memcpy(row, l->part[i], sizeof row);
        thirds_transpose(row);
#pragma GCC unroll 16
        for (size_t u = 0; u < THIRDS_ROWS; u++)
            if (u < units)
                _mm512_store_si512(to + u * LEFT_PART, row[u]);
    }
}

CELL_CODE void dw_left_pair(struct dw_left *l)
{
    const struct dw_found *r = l->rows;
    const size_t halves = (l->units + THIRDS_ROWS - 1) / THIRDS_ROWS, i = l->made % THIRDS_ROWS;
    const size_t step = l->made / THIRDS_ROWS / halves, first = l->made / THIRDS_ROWS % halves * THIRDS_ROWS;
    const size_t k = step * THIRDS_K + 2 * i, units = l->units - first;
    const __mmask16 which = v_first(units < THIRDS_ROWS ? units : THIRDS_ROWS);
    __m512i part[3];
    thirds_of(dw_load(r->dy[k], l->unit + first, which), dw_load(r->dy[k + 1], l->unit + first, which), part);
#pragma GCC unroll 3
    for (int p = 0; p < 3; p++)
        l->part[p][i] = thirds_pairs(part[p]);
    for (size_t on = k + DW_AHEAD; on < k + DW_AHEAD + 2; on++) {
        const real *row = r->dy[on < r->count ? on : on % r->count];
        _mm_prefetch(row ? row + (on < r->count ? l->unit : l->after) + first : dw_zeros, _MM_HINT_T0);
    }
    l->made++;
    if (i == THIRDS_ROWS - 1)
        dw_left_columns(l, l->to + step * l->units * LEFT_ROW + first * LEFT_PART, units);
}

CELL_CODE void dw_left_some(struct dw_left *l, size_t pairs)
{
    for (; pairs > 0 && l->made < l->pairs; pairs--)
        dw_left_pair(l);
}

/* ---- blocks of dW ---------------------------------------------------------------------- */

/* Of one block of units: its left factor, the right one, and where their products go. */
struct dw_block {
    const char *left, *right;
    size_t units, steps, columns;
    real *dw;
    size_t dw_row;
    struct dw_left *next;                   /* is made meanwhile, so many pairs a step */
    size_t pairs;
};

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
        dw_left_some(b->next, b->pairs);
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
    struct range unit = next_units(d, n, end);
    if (unit.end - n > LEFT_ROWS)
        unit.end = n + LEFT_ROWS;
    return unit;
}

static void dw_left_begin(struct dw_left *l, const struct dw *d, struct range unit, size_t after, char *to)
{
    l->unit = dy_at(d, unit.first);
    l->units = unit.end - unit.first;
    l->after = dy_at(d, after);
    l->pairs = l->units > 0 ? dw_left_pairs(l->rows, l->units) : 0;
    l->made = 0;
    l->to = to;
}

/* Adds the rows at hand to some columns of dW. */
static void dw_thirds_columns(const struct dw *d, const struct dw_found *r, struct range units, struct range column, real *dw)
{
    _Alignas(64) char right[DW_TILES * DW_STEPS * RIGHT_BYTES], left[2][DW_STEPS * LEFT_ROWS * LEFT_ROW];
    struct dw_left next = { .rows = r };
    struct range unit = next_block(d, units.first, units.end);
    size_t configured = 0;
    dw_right(r, column, right);
    dw_left_begin(&next, d, unit, unit.first, left[0]);
    for (int i = 0; unit.first < units.end; i = !i) {
        const struct range after = unit.end < units.end ? next_block(d, unit.end, units.end) : (struct range){ 0, 0 };
        const size_t wide = (column.end - column.first + 2 * THIRDS_COLUMNS - 1) / (2 * THIRDS_COLUMNS);
        dw_left_some(&next, next.pairs);
        dw_left_begin(&next, d, after, after.end < units.end ? after.end : units.first, left[!i]);
        if (configured != unit.end - unit.first)
            tiles_begin(configured = unit.end - unit.first);
        dw_block(&(struct dw_block){
            .left = left[i], .right = right, .units = configured, .steps = r->count / THIRDS_K,
            .columns = column.end - column.first, .dw = dw + dw_at(d, unit.first), .dw_row = d->dw_row,
            .next = &next, .pairs = (next.pairs + wide * r->count / THIRDS_K - 1) / (wide * r->count / THIRDS_K),
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

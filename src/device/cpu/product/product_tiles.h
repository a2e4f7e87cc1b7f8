/* bf16x3 products on tiles (nn/vector/v_tiles.h): converts rows to left factors and weights to right ones, and
 * multiplies them in blocks of two by two tiles. Callers iterate over steps, gates and batches. Included after
 * v_tiles.h. */

/* ---- left factors ---------------------------------------------------------------------- */

/* Loads elements [k, k + 32) of a row, padded with zeros. */
CELL_CODE void load_step(const float *row, size_t k, size_t end, V *low, V *high)
{
    const size_t left = end - k;
    if (left >= BF16X3_K) {
        *low = v_load(row + k);
        *high = v_load(row + k + V_WIDTH);
        return;
    }
    *low = v_load_some(row + k, left < V_WIDTH ? left : V_WIDTH);
    *high = v_load_some(row + k + V_WIDTH, left < V_WIDTH ? 0 : left - V_WIDTH);
}

/* Loads the last elements of a row for tiles_add_bf16: pairs are aligned to the end of the step. */
static void load_last_pairs(const float *row, size_t k, size_t end, V *low, V *high)
{
    float step[BF16X3_K] = {0};
    const size_t left = end - k;
    memcpy(step + BF16X3_K - (left + left % 2), row + k, left * sizeof *step);
    load_step(step, 0, BF16X3_K, low, high);
}

/* Converts one row of a block of `rows`, starting at its position in the first step. */
static void left_row(char *to, size_t rows, const float *row, size_t k, bool of_bf16)
{
    for (size_t at = 0; at < k; at += BF16X3_K, to += rows * LEFT_ROW) {
        __m512i part[TILE_PARTS];
        V low, high;
        if (of_bf16 && k - at < BF16X3_K)
            load_last_pairs(row, at, k, &low, &high);
        else
            load_step(row, at, k, &low, &high);
        bf16x3_of(low, high, part);
#pragma GCC unroll 3
        for (size_t i = 0; i < TILE_PARTS; i++) _mm512_store_si512(to + i * rows * LEFT_PART, part[i]);
    }
}

static void left_rows(const struct left_rows *l)
{
    const size_t max = l->of_bf16 ? BF16_ROWS : LEFT_ROWS;
    for (size_t r = 0; r < l->rows; r++) {
        const size_t block = r / max * max;
        const size_t rows = l->rows - block < max ? l->rows - block : max;
        char *to = l->to + block * l->steps * LEFT_ROW + l->first * rows * LEFT_ROW + (r - block) * LEFT_PART;
        const float *row = l->each ? l->each[r] : (const float *)l->at + (l->list ? l->list[r] : r) * l->row;
        left_row(to, rows, row + l->from, l->k, l->of_bf16);
    }
}

/* ---- right factors --------------------------------------------------------------------- */

/* Stores a step of one tile from its elements, k by k, as bf16x3 splits or whole. Returns the position of the next
 * step. */
static char *store_right(char *to, const V number[BF16X3_K], bool whole)
{
    for (size_t k = 0; k < BF16X3_K && whole; k++) v_store((float *)(void *)to + k * BF16X3_COLUMNS, number[k]);
    for (size_t k = 0; k < BF16X3_K && !whole; k += 2) {
        __m512i pair[TILE_PARTS];
        bf16x3_of_pairs(number[k], number[k + 1], pair);
        for (size_t i = 0; i < TILE_PARTS; i++) _mm512_store_si512(to + RIGHT_AT(i) + k / 2 * sizeof *pair, pair[i]);
    }
    return to + right_bytes(TILE_PARTS, whole);
}

/* Prefetches a sixteenth of the next step's destination. Neither it nor the next weights are in a near cache, and the
 * hardware prefetcher does not predict rows of weights that are far apart. */
CELL_CODE void ask_for_place(const char *to, size_t sixteenth, bool whole)
{
    const size_t lines = right_bytes(TILE_PARTS, whole) / sizeof(V) / BF16X3_COLUMNS;
    for (size_t i = lines * sixteenth; i < lines * (sixteenth + 1); i++)
        __builtin_prefetch(to + right_bytes(TILE_PARTS, whole) + i * sizeof(V), 1);
}

/* Converts W [n, k] dense: column i of a tile is row i, of length k. */
static void right_of_rows(char *to, const float *w, size_t row, size_t columns, size_t k, bool whole)
{
    for (size_t at = 0; at < k; at += BF16X3_K) {
        V number[BF16X3_K];
        for (size_t i = 0; i < BF16X3_COLUMNS; i++) {
            number[i] = number[i + BF16X3_COLUMNS] = v_const(0);
            if (i < columns)
                load_step(w + i * row, at, k, &number[i], &number[i + BF16X3_COLUMNS]);
            ask_for_place(to, i, whole);
            _mm_prefetch(w + (i + BF16X3_COLUMNS) * row + at, _MM_HINT_T0);
            _mm_prefetch(w + (i + BF16X3_COLUMNS) * row + at + V_WIDTH, _MM_HINT_T0);
        }
        bf16x3_transpose((__m512i *)number);
        bf16x3_transpose((__m512i *)(number + BF16X3_COLUMNS));
        to = store_right(to, number, whole);
    }
}

/* Converts W [k, n] dense: column i of a tile is column i. */
static void right_of_columns(char *to, const float *w, size_t row, size_t columns, size_t k, bool whole)
{
    for (size_t at = 0; at < k; at += BF16X3_K) {
        V number[BF16X3_K];
        for (size_t i = 0; i < BF16X3_K; i++) {
            number[i] = v_load_some(w + (at + i) * row, at + i < k ? columns : 0);
            _mm_prefetch(w + (at + i + BF16X3_K) * row, _MM_HINT_T0);
            if (i % 2)
                ask_for_place(to, i / 2, whole);
        }
        to = store_right(to, number, whole);
    }
}

/* ---- products -------------------------------------------------------------------------- */

/* A block of rows by one or two tiles of columns. */
struct tiles_block {
    const char *left, *right, *right_1;
    size_t rows, columns, steps;
    float *c;
    size_t c_row;
    void *const *each; /* or the addresses of its rows, `column` columns before the block */
    size_t column;
    const float *bias;
    enum start start;
    struct tiles_ahead ahead;
};

CELL_CODE float *block_row(const struct tiles_block *b, size_t r)
{
    return b->each ? (float *)b->each[r] + b->column : b->c + r * b->c_row;
}

/* Scratch for tiles of c with missing columns or scattered rows. */
enum { WAITING_ROW = 2 * BF16X3_COLUMNS };

/* Loads the initial sums. */
static void begin_block(const struct tiles_block *b, float *c)
{
    for (size_t r = 0; r < b->rows; r++)
        for (size_t j = 0; j < b->columns; j += V_WIDTH)
            v_store(c + r * WAITING_ROW + j, v_load_some((b->bias ? b->bias : block_row(b, r)) + j,
                                                         b->columns - j < V_WIDTH ? b->columns - j : V_WIDTH));
}

static void end_block(const struct tiles_block *b, const float *c)
{
    for (size_t r = 0; r < b->rows; r++)
        for (size_t j = 0; j < b->columns; j += V_WIDTH)
            v_store_some(block_row(b, r) + j, v_load(c + r * WAITING_ROW + j),
                         b->columns - j < V_WIDTH ? b->columns - j : V_WIDTH);
}

/* Prefetches that also include the destination of sums. */
struct tiles_wanted {
    struct tiles_ahead ahead;
    const struct tiles_block *block;
    size_t row, some; /* rows already prefetched, and rows per call */
};

CELL_CODE void ask_meanwhile(void *of, int time)
{
    struct tiles_wanted *w = of;
    tiles_ask(&w->ahead, time);
    for (size_t i = 0; i < w->some && w->row < w->block->rows; i++, w->row++) {
        const float *c = block_row(w->block, w->row);
        __builtin_prefetch(c, 1);
        if (w->block->columns > V_WIDTH)
            __builtin_prefetch(c + V_WIDTH, 1);
    }
}

/* Multiplies a block. Sums start from c, from the bias (the same row for all), or from zero. */
CELL_CODE void multiply_block(const struct tiles_block *b, const bool second, const bool wide, const bool whole)
{
    _Alignas(64) float waiting[LEFT_ROWS * WAITING_ROW];
    const bool full = b->columns == (wide ? 2 * BF16X3_COLUMNS : BF16X3_COLUMNS), scatters = !full || b->each;
    const bool begins = b->bias || b->start == AS_IS, gathers = begins && (!full || (b->each && !b->bias));
    if (gathers)
        begin_block(b, waiting);
    const float *begin = gathers ? waiting : b->bias ? b->bias : b->c;
    if (begins)
        tiles_load(begin, begin + BF16X3_COLUMNS,
                   gathers   ? WAITING_ROW
                   : b->bias ? 0
                             : b->c_row,
                   b->rows, second, wide);
    else
        tiles_clear(second, wide);
    struct tiles_wanted wanted = {b->ahead, b, 0, 1 + b->rows / (b->steps * TILES_TIMES)};
    tiles_add_right(b->left, b->rows, b->right, b->right_1, b->steps, whole, ask_meanwhile, &wanted, second, wide);
    float *c = scatters ? waiting : b->c;
    tiles_store(c, c + BF16X3_COLUMNS, scatters ? WAITING_ROW : b->c_row, b->rows, second, wide);
    if (scatters)
        end_block(b, waiting);
}

#define MULTIPLY_BLOCK(name, second, wide)                                                                            \
    static void multiply_##name(const struct tiles_block *b)        { multiply_block(b, second, wide, false); }      \
    static void multiply_whole_##name(const struct tiles_block *b)  { multiply_block(b, second, wide, true); }

MULTIPLY_BLOCK(one_narrow, false, false)
MULTIPLY_BLOCK(one_wide, false, true)
MULTIPLY_BLOCK(two_narrow, true, false)
MULTIPLY_BLOCK(two_wide, true, true)

/* Indexed by: the right factor is whole; two tiles of rows; two tiles of columns. */
static void (*const multiply_blocks[2][2][2])(const struct tiles_block *) = {
    {{multiply_one_narrow, multiply_one_wide}, {multiply_two_narrow, multiply_two_wide}},
    {{multiply_whole_one_narrow, multiply_whole_one_wide}, {multiply_whole_two_narrow, multiply_whole_two_wide}}};

/* Returns the prefetches for `blocks` blocks: the right factor of the columns after those from n on, or the caller's
 * memory. */
static struct tiles_ahead ahead_of(const struct product_bf16x3 *p, size_t n, size_t blocks)
{
    const size_t next = p->reverse ? n - 2 * BF16X3_COLUMNS : n + 2 * BF16X3_COLUMNS, steps = blocks * p->steps;
    struct tiles_ahead ahead = {p->right + next / BF16X3_COLUMNS * p->right_steps * RIGHT_BYTES,
                                (2 * p->steps * RIGHT_BYTES / AHEAD_PIECE + steps - 1) / steps, AHEAD_PIECE};
    if (next >= p->n) /* also before the first */
        ahead = (struct tiles_ahead){p->wanted, (p->wanted_pieces + steps - 1) / steps, p->wanted_distance};
    else if (p->right_steps != p->steps || p->whole)
        ahead.pieces = 0;
    ahead.pieces = ahead.pieces > AHEAD_MAX ? 0 : ahead.pieces;
    return ahead;
}

/* Multiplies all columns by the blocks of rows [row, row_end), which have one height. The blocks of a tile of columns
 * are processed in sequence, so that its more distant right factor is read once. */
static void product_of_height(const struct product_bf16x3 *p, size_t row, size_t row_end, size_t height)
{
    tiles_begin(height);
    const size_t pairs = (p->n + 2 * BF16X3_COLUMNS - 1) / (2 * BF16X3_COLUMNS);
    const size_t bytes = right_bytes(TILE_PARTS, p->whole);
    for (size_t i = 0; i < pairs; i++) {
        const size_t n = (p->reverse ? pairs - 1 - i : i) * 2 * BF16X3_COLUMNS;
        const size_t columns = p->n - n < 2 * BF16X3_COLUMNS ? p->n - n : 2 * BF16X3_COLUMNS;
        struct tiles_block b = {.rows = height,
                                .columns = columns,
                                .steps = p->steps,
                                .c_row = p->c_row,
                                .column = n,
                                .start = p->start,
                                .right = p->right + (n / BF16X3_COLUMNS * p->right_steps + p->right_first) * bytes,
                                .bias = p->bias ? p->bias + n : NULL};
        b.right_1 = b.right + p->right_steps * bytes;
        b.ahead = ahead_of(p, n, (row_end - row) / height);
        for (size_t m = row; m < row_end; m += height, b.ahead.at += p->steps * b.ahead.pieces * b.ahead.distance) {
            b.left = p->left + m * p->left_steps * LEFT_ROW + p->left_first * height * LEFT_ROW;
            b.c = p->each ? NULL : p->c + m * p->c_row + n;
            b.each = p->each ? p->each + m : NULL;
            multiply_blocks[p->whole][height > BF16X3_ROWS][columns > BF16X3_COLUMNS](&b);
        }
        comm_poll();
    }
}

static void product_bf16x3(const struct product_bf16x3 *p)
{
    const size_t whole = p->m / LEFT_ROWS * LEFT_ROWS;
    if (whole)
        product_of_height(p, 0, whole, LEFT_ROWS);
    if (whole < p->m)
        product_of_height(p, whole, p->m, p->m - whole);
    tiles_end();
}

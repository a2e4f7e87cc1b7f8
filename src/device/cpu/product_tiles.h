/* Products of thirds on AMX (cells/v/v_tiles.h): rows that become left factors, weights that become right ones, and the
 * product of both in blocks of two by two tiles. Walks over steps, gates and batches are others' business. Included
 * after v_tiles.h. */

/* ---- left factors ---------------------------------------------------------------------- */

/* Numbers [k, k + 32) of a row, zeros where it ends. */
CELL_CODE void load_step(const float *row, size_t k, size_t end, V *low, V *high)
{
    const size_t left = end - k;
    if (left >= THIRDS_K) {
        *low = v_load(row + k);
        *high = v_load(row + k + V_WIDTH);
        return;
    }
    *low = v_load_some(row + k, left < V_WIDTH ? left : V_WIDTH);
    *high = v_load_some(row + k + V_WIDTH, left < V_WIDTH ? 0 : left - V_WIDTH);
}

/* One row of a block of `rows`, from its place in the first step on. */
static void left_row(char *to, size_t rows, const float *row, size_t k)
{
    for (size_t at = 0; at < k; at += THIRDS_K, to += rows * LEFT_ROW) {
        __m512i part[3];
        V low, high;
        load_step(row, at, k, &low, &high);
        thirds_of(low, high, part);
#pragma GCC unroll 3
        for (size_t i = 0; i < 3; i++)
            _mm512_store_si512(to + i * rows * LEFT_PART, part[i]);
    }
}

static void left_rows(const struct left_rows *l)
{
    for (size_t r = 0; r < l->rows; r++) {
        const size_t block = r / LEFT_ROWS * LEFT_ROWS;
        const size_t rows = l->rows - block < LEFT_ROWS ? l->rows - block : LEFT_ROWS;
        char *to = l->to + block * l->steps * LEFT_ROW + l->first * rows * LEFT_ROW + (r - block) * LEFT_PART;
        const float *row = l->each ? l->each[r] : (const float *)l->at + (l->list ? l->list[r] : r) * l->row;
        left_row(to, rows, row + l->from, l->k);
    }
}

/* ---- right factors --------------------------------------------------------------------- */

/* A step of one tile: 16 vectors of pairs in each part. */
CELL_CODE void store_right(char *to, __m512i part[3][THIRDS_COLUMNS])
{
#pragma GCC unroll 3
    for (size_t i = 0; i < 3; i++)
#pragma GCC unroll 16
        for (size_t j = 0; j < THIRDS_K / 2; j++)
            _mm512_store_si512(to + RIGHT_AT(i) + j * THIRDS_COLUMNS * 4, part[i][j]);
}

/* A sixteenth of where the next step will go. Neither it nor the weights that are next are near, and rows of weights are
 * so far apart that memory does not run ahead by itself. */
CELL_CODE void ask_for_place(const char *to, size_t i)
{
    for (size_t j = 3 * i; j < 3 * (i + 1); j++)
        __builtin_prefetch(to + RIGHT_BYTES + j * sizeof(__m512i), 1);
}

/* Of W [n, k] dense: column i of a tile is row i, k numbers long. */
static void right_of_rows(char *to, const float *w, size_t row, size_t columns, size_t k)
{
    for (size_t at = 0; at < k; at += THIRDS_K, to += RIGHT_BYTES) {
        __m512i part[3][THIRDS_COLUMNS];
        for (size_t i = 0; i < THIRDS_COLUMNS; i++) {
            __m512i of_row[3];
            V low = v_const(0), high = v_const(0);
            if (i < columns)
                load_step(w + i * row, at, k, &low, &high);
            ask_for_place(to, i);
            _mm_prefetch(w + (i + THIRDS_COLUMNS) * row + at, _MM_HINT_T0);
            _mm_prefetch(w + (i + THIRDS_COLUMNS) * row + at + V_WIDTH, _MM_HINT_T0);
            thirds_of(low, high, of_row);
            for (size_t j = 0; j < 3; j++)
                part[j][i] = of_row[j];
        }
        for (size_t j = 0; j < 3; j++)
            thirds_transpose(part[j]);
        store_right(to, part);
    }
}

/* Of W [k, n] dense: column i of a tile is column i. */
static void right_of_columns(char *to, const float *w, size_t row, size_t columns, size_t k)
{
    for (size_t at = 0; at < k; at += THIRDS_K, to += RIGHT_BYTES) {
        __m512i part[3][THIRDS_COLUMNS];
        for (size_t i = 0; i < THIRDS_K / 2; i++) {
            __m512i pair[3];
            const size_t first = at + 2 * i;
            ask_for_place(to, i);
            _mm_prefetch(w + (first + THIRDS_K) * row, _MM_HINT_T0);
            _mm_prefetch(w + (first + THIRDS_K + 1) * row, _MM_HINT_T0);
            thirds_of(v_load_some(w + first * row, first < k ? columns : 0),
                      v_load_some(w + (first + 1) * row, first + 1 < k ? columns : 0), pair);
            for (size_t j = 0; j < 3; j++)
                part[j][i] = thirds_pairs(pair[j]);
        }
        store_right(to, part);
    }
}

/* ---- products -------------------------------------------------------------------------- */

/* A block of rows by one tile of columns, or two. */
struct tiles_block {
    const char *left, *right, *right_1;
    size_t rows, columns, steps;
    float *c;
    size_t c_row;
    const float *bias;
    enum start start;
    struct tiles_ahead ahead;
};

/* Tiles of c where columns are missing wait here. */
enum { WAITING_ROW = 2 * THIRDS_COLUMNS };

/* What the sums begin with, rows `row` numbers apart. */
static void begin_block(const struct tiles_block *b, const float *from, size_t row, float *c)
{
    for (size_t r = 0; r < b->rows; r++)
        for (size_t j = 0; j < b->columns; j += V_WIDTH)
            v_store(c + r * WAITING_ROW + j,
                    v_load_some(from + r * row + j, b->columns - j < V_WIDTH ? b->columns - j : V_WIDTH));
}

static void end_block(const struct tiles_block *b, const float *c)
{
    for (size_t r = 0; r < b->rows; r++)
        for (size_t j = 0; j < b->columns; j += V_WIDTH)
            v_store_some(b->c + r * b->c_row + j, v_load(c + r * WAITING_ROW + j),
                         b->columns - j < V_WIDTH ? b->columns - j : V_WIDTH);
}

/* Where sums will go is asked for meanwhile, too. */
struct tiles_wanted {
    struct tiles_ahead ahead;
    const float *c;
    size_t c_row, columns, rows, some;      /* rows that are left, and how many to ask for at a time */
};

CELL_CODE void ask_meanwhile(void *of, int time)
{
    struct tiles_wanted *w = of;
    tiles_ask(&w->ahead, time);
    for (size_t i = 0; i < w->some && w->rows > 0; i++, w->rows--, w->c += w->c_row) {
        __builtin_prefetch(w->c, 1);
        if (w->columns > V_WIDTH)
            __builtin_prefetch(w->c + V_WIDTH, 1);
    }
}

/* Sums begin with c, with the bias, which is the same row again and again, or with zeros. */
CELL_CODE void multiply_block(const struct tiles_block *b, const bool second, const bool wide)
{
    _Alignas(64) float waiting[LEFT_ROWS * WAITING_ROW];
    const bool whole = b->columns == (wide ? 2 * THIRDS_COLUMNS : THIRDS_COLUMNS);
    const float *begin = b->bias ? b->bias : b->start == AS_IS ? b->c : NULL;
    size_t begin_row = b->bias ? 0 : b->c_row;
    if (begin && !whole) {
        begin_block(b, begin, begin_row, waiting);
        begin = waiting;
        begin_row = WAITING_ROW;
    }
    if (begin)
        tiles_load(begin, begin + THIRDS_COLUMNS, begin_row, b->rows, second, wide);
    else
        tiles_clear(second, wide);
    struct tiles_wanted wanted = { b->ahead, b->c, b->c_row, b->columns, b->rows, 1 + b->rows / (b->steps * TILES_TIMES) };
    tiles_add(b->left, b->rows, b->right, b->right_1, b->steps, ask_meanwhile, &wanted, second, wide);
    float *c = whole ? b->c : waiting;
    tiles_store(c, c + THIRDS_COLUMNS, whole ? b->c_row : WAITING_ROW, b->rows, second, wide);
    if (!whole)
        end_block(b, waiting);
}

static void multiply_one_narrow(const struct tiles_block *b)    { multiply_block(b, false, false); }
static void multiply_one_wide(const struct tiles_block *b)      { multiply_block(b, false, true); }
static void multiply_two_narrow(const struct tiles_block *b)    { multiply_block(b, true, false); }
static void multiply_two_wide(const struct tiles_block *b)      { multiply_block(b, true, true); }

/* For `blocks` blocks to ask for: the right factor of the columns after those from n on, or what the caller wants. */
static struct tiles_ahead ahead_of(const struct product_thirds *p, size_t n, size_t blocks)
{
    const size_t next = p->reverse ? n - 2 * THIRDS_COLUMNS : n + 2 * THIRDS_COLUMNS, steps = blocks * p->steps;
    struct tiles_ahead ahead = { p->right + next / THIRDS_COLUMNS * p->right_steps * RIGHT_BYTES,
                                 (2 * p->steps * RIGHT_BYTES / AHEAD_PIECE + steps - 1) / steps, AHEAD_PIECE };
    if (next >= p->n)                       /* also before the first */
        ahead = (struct tiles_ahead){ p->wanted, (p->wanted_pieces + steps - 1) / steps, p->wanted_distance };
    else if (p->right_steps != p->steps)
        ahead.pieces = 0;
    ahead.pieces = ahead.pieces > AHEAD_MOST ? 0 : ahead.pieces;
    return ahead;
}

/* All columns of the blocks of rows [row, row_end), which are of one height: those of a tile of columns after each
 * other, so that its right factor, which comes from farther away, is read once. */
static void product_of_height(const struct product_thirds *p, size_t row, size_t row_end, size_t height)
{
    tiles_begin(height);
    const size_t pairs = (p->n + 2 * THIRDS_COLUMNS - 1) / (2 * THIRDS_COLUMNS);
    for (size_t i = 0; i < pairs; i++) {
        const size_t n = (p->reverse ? pairs - 1 - i : i) * 2 * THIRDS_COLUMNS;
        const size_t columns = p->n - n < 2 * THIRDS_COLUMNS ? p->n - n : 2 * THIRDS_COLUMNS;
        const bool wide = columns > THIRDS_COLUMNS;
        struct tiles_block b = {
            .rows = height, .columns = columns, .steps = p->steps, .c_row = p->c_row, .start = p->start,
            .right = p->right + (n / THIRDS_COLUMNS * p->right_steps + p->right_first) * RIGHT_BYTES,
            .bias = p->bias ? p->bias + n : NULL,
        };
        b.right_1 = b.right + p->right_steps * RIGHT_BYTES;
        b.ahead = ahead_of(p, n, (row_end - row) / height);
        for (size_t m = row; m < row_end; m += height, b.ahead.at += p->steps * b.ahead.pieces * b.ahead.distance) {
            b.left = p->left + m * p->left_steps * LEFT_ROW + p->left_first * height * LEFT_ROW;
            b.c = p->c + m * p->c_row + n;
            if (height > THIRDS_ROWS)
                (wide ? multiply_two_wide : multiply_two_narrow)(&b);
            else
                (wide ? multiply_one_wide : multiply_one_narrow)(&b);
        }
        comm_poll();
    }
}

static void product_thirds(const struct product_thirds *p)
{
    const size_t whole = p->m / LEFT_ROWS * LEFT_ROWS;
    if (whole)
        product_of_height(p, 0, whole, LEFT_ROWS);
    if (whole < p->m)
        product_of_height(p, whole, p->m, p->m - whole);
    tiles_end();
}

/* As peak.h's, of products of floats as sums of six of their thirds: that is the least that six multiplications of
 * tiles take. */
static uint64_t peak_of_tiles(uint64_t rounds, void *sink)
{
    enum { PRODUCTS = 6, TILES = 4 };
    float c[THIRDS_ROWS * THIRDS_COLUMNS] = { 0 };
    tiles_begin(LEFT_ROWS);
    for (uint64_t round = 0; round < rounds; round++)
#pragma GCC unroll 6
        for (int i = 0; i < PRODUCTS; i++)
            TILES_MULTIPLY_(true, true);
    _tile_stored(SUM_00, c, LEFT_PART);
    tiles_end();
    TILES_FENCE();
    *(float *)sink = c[0];
    return rounds * TILES * THIRDS_ROWS * THIRDS_COLUMNS * THIRDS_K * 2;
}

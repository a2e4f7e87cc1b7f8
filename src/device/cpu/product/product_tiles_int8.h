/* The product with int8 weights on AMX: a tile of 16 rows of the operand, 64 bytes each, by 16 columns of a panel of
 * weights, stored as tiles read them (product_low_precision.h). Sums are exact: the bits are those of every ISA.
 * Included after v_tiles.h and product_low_precision.h. */

enum {
    BYTES_STEP = 16,              /* words of k in a tile */
    BYTES_ROWS = 2 * BF16X3_ROWS, /* of a block */
    BYTES_OPEN = 16               /* as TILES_OPEN */
};
_Static_assert(PANEL == 2 * BF16X3_COLUMNS, "a panel is two tiles wide");

/* The block's rows of the operand from word `first` on, where those before word `fresh` count as zeros. */
static void int8_last_step(const struct lowp_tile *t, size_t rows, size_t first, size_t fresh, uint32_t *to)
{
    const size_t before = fresh - first;
    memset(to, 0, rows * BYTES_STEP * sizeof *to);
    for (size_t r = 0; r < rows; r++)
        memcpy(to + r * BYTES_STEP + before, t->a + r * t->a_row + fresh, (BYTES_STEP - before) * sizeof *to);
}

#define BYTES_MULTIPLY_(a, a_row, b)                                                                    \
    do {                                                                                                \
        _tile_loadd(LEFT_0, a, (a_row) * 4);                                                            \
        _tile_loadd(RIGHT_0, b, PANEL * 4);                                                             \
        _tile_dpbusd(SUM_00, LEFT_0, RIGHT_0);                                                          \
        _tile_loadd(RIGHT_1, (b) + BF16X3_COLUMNS * 4, PANEL * 4);                                      \
        _tile_dpbusd(SUM_01, LEFT_0, RIGHT_1);                                                          \
        if (second) {                                                                                   \
            _tile_loadd(LEFT_1, (a) + BF16X3_ROWS * (a_row), (a_row) * 4);                              \
            _tile_dpbusd(SUM_10, LEFT_1, RIGHT_0);                                                      \
            _tile_dpbusd(SUM_11, LEFT_1, RIGHT_1);                                                      \
        }                                                                                               \
    } while (0)

/* All k of a block. What is left of them at the end is in one more step, of the last words there are. */
CELL_CODE void int8_sums(const struct lowp_tile *t, int32_t *sum, const bool second)
{
    const size_t words = operand_words(t->k) - 1, rest = words % BYTES_STEP;
    const real *a = t->a;
    const char *b = t->b;
    uint32_t last[BYTES_ROWS * BYTES_STEP];
    if (rest)
        int8_last_step(t, second ? BYTES_ROWS : BF16X3_ROWS, words - BYTES_STEP, words - rest, last);
    TILES_FENCE();
    tiles_clear(second, true);
    for (size_t step = 0; step < words / BYTES_STEP; step++, a += BYTES_STEP, b += BYTES_STEP * PANEL * 4) {
        BYTES_MULTIPLY_(a, t->a_row, b);
        if (step % BYTES_OPEN == BYTES_OPEN - 1)
            tiles_keep_open(0);
    }
    if (rest) {
        b = t->b + (words - BYTES_STEP) * PANEL * 4;
        BYTES_MULTIPLY_(last, BYTES_STEP, b);
    }
    tiles_store((float *)(void *)sum, (float *)(void *)(sum + BF16X3_COLUMNS), PANEL, second ? BYTES_ROWS : BF16X3_ROWS,
                second, true);
}

/* As int8_tile_of ends. */
static void int8_end(const struct lowp_tile *t, const int32_t *sum, size_t rows, size_t columns)
{
    const size_t words = operand_words(t->k) - 1;
    const char *end = t->b + words * PANEL * 4;
    for (size_t j = 0; j * V_WIDTH < columns; j++) {
        const size_t last = columns - j * V_WIDTH < V_WIDTH ? columns - j * V_WIDTH : V_WIDTH;
        const V scale = v_load((const real *)(const void *)lowp_at(end, t->b_panel, j));
        const VC zero = vc_load(lowp_at(end + PANEL * 4, t->b_panel, j));
        for (size_t r = 0; r < rows; r++) {
            const V dot = vc_to_float(vc_sub(vc_load(sum + r * PANEL + j * V_WIDTH), zero));
            const V by = v_mul(scale, v_const(t->a[r * t->a_row + words]));
            const V y = v_fma(dot, by, lowp_start(t, r, j, last));
            tile_store(t->c + r * t->c_row + j * V_WIDTH, y, last);
        }
    }
}

static void int8_block(const struct lowp_tile *t, size_t rows, size_t columns)
{
    _Alignas(64) int32_t sum[BYTES_ROWS * PANEL];
    if (rows == BYTES_ROWS)
        int8_sums(t, sum, true);
    else
        int8_sums(t, sum, false);
    int8_end(t, sum, rows, columns);
}

/* The rows that fill tiles; the others as without tiles, and those whose k fill none. */
static void product_int8_of_tiles(const struct product *p)
{
    const size_t tiled = operand_words(p->k) - 1 < BYTES_STEP ? 0 : p->m / BF16X3_ROWS * BF16X3_ROWS;
    struct product rest = *p;
    if (tiled)
        tiles_begin(BYTES_ROWS);
    for (size_t n = 0; tiled && n < p->n; n += PANEL)
        for (size_t m = 0, rows; m < tiled; m += rows) {
            const struct lowp_tile t = lowp_tile_at(p, m, n);
            rows = tiled - m < BYTES_ROWS ? BF16X3_ROWS : BYTES_ROWS;
            int8_block(&t, rows, p->n - n < PANEL ? p->n - n : PANEL);
        }
    if (tiled)
        tiles_end();
    rest.m -= tiled;
    rest.a = (const real *)p->a + tiled * p->a_row;
    rest.c = (real *)p->c + tiled * p->c_row;
    if (rest.m)
        product_int8_avx512_vnni(&rest);
}

/* The matrix product with bf16 or int8 weights in panels, on V, as specified in kernel.h. Like product_simd.h it uses
 * tiles of c that stay in registers. A tile covers all of k, because int8 sums are integers until the end. Included
 * after product_simd.h and v_low_precision.h; not for a scalar V. */

enum {
    LOWP_ROWS = V_WIDTH == 16 ? 8 : 4, /* of a tile of two vectors */
    LOWP_WIDE = 8                      /* vectors of a tile of one row */
};

/* Offsets in b's panels are in bytes. */
struct lowp_tile {
    size_t k;
    const real *a;
    size_t a_row;
    const char *b;
    size_t b_panel;
    real *c;
    size_t c_row;
    const real *bias;
    enum start start;
};

CELL_CODE const char *lowp_at(const char *b, size_t b_panel, size_t vector)
{
    return b + vector * V_WIDTH / PANEL * b_panel + vector * V_WIDTH % PANEL * 4;
}

/* Returns the initial value of a sum. The last vector of a tile has `last` columns. */
CELL_CODE V lowp_start(const struct lowp_tile *t, size_t r, size_t j, size_t last)
{
    V start = t->start == AS_IS ? tile_load(t->c + r * t->c_row + j * V_WIDTH, last) : v_const(0);
    return t->bias ? v_add(tile_load(t->bias + j * V_WIDTH, last), start) : start;
}

/* ---- bf16 ------------------------------------------------------------------------------ */

/* Adds the products of row k to all sums of a tile. */
CELL_CODE void bf16_add(V sum[][LOWP_WIDE], const struct lowp_tile *t, size_t k, const char *b, const size_t rows,
                        const size_t vectors)
{
    V w[LOWP_WIDE];
#pragma GCC unroll 8
    for (size_t j = 0; j < vectors; j++) {
        VC word = vc_load(lowp_at(b, t->b_panel, j));
        w[j] = k % 2 ? vc_second_bf16(word) : vc_first_bf16(word);
    }
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; r++) {
        V x = v_const(t->a[r * t->a_row + k]);
#pragma GCC unroll 8
        for (size_t j = 0; j < vectors; j++) sum[r][j] = v_fma(x, w[j], sum[r][j]);
    }
}

/* rows and vectors are constants in each call. */
CELL_CODE void bf16_tile_of(const struct lowp_tile *tile, const size_t rows, const size_t vectors, const size_t last)
{
    const struct lowp_tile t = *tile;
    V sum[LOWP_ROWS][LOWP_WIDE];
    const char *b = t.b;
    size_t k = 0;
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (size_t j = 0; j < vectors; j++) sum[r][j] = lowp_start(&t, r, j, last);
    for (; k + 2 <= t.k; k += 2, b += PANEL * 4) {
        bf16_add(sum, &t, k, b, rows, vectors);
        bf16_add(sum, &t, k | 1, b, rows, vectors);
    }
    if (k < t.k)
        bf16_add(sum, &t, k, b, rows, vectors);
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (size_t j = 0; j < vectors; j++) tile_store(t.c + r * t.c_row + j * V_WIDTH, sum[r][j], last);
}

/* ---- int8 ------------------------------------------------------------------------------ */

CELL_CODE void int8_dots(VC sum[][LOWP_WIDE], const struct lowp_tile *t, const size_t rows, const size_t vectors)
{
    const char *b = t->b;
    for (size_t quad = 0; quad < operand_words(t->k) - 1; quad++, b += PANEL * 4) {
        VC w[LOWP_WIDE];
#pragma GCC unroll 8
        for (size_t j = 0; j < vectors; j++) w[j] = vc_load(lowp_at(b, t->b_panel, j));
#pragma GCC unroll 8
        for (size_t r = 0; r < rows; r++) {
            VC x = vc_bits(v_const(t->a[r * t->a_row + quad]));
#pragma GCC unroll 8
            for (size_t j = 0; j < vectors; j++) sum[r][j] = vc_dot(sum[r][j], x, w[j]);
        }
    }
}

/* Computes a tile of int8 products: exact sums, then scales and the start value. */
CELL_CODE void int8_tile_of(const struct lowp_tile *tile, const size_t rows, const size_t vectors, const size_t last)
{
    const struct lowp_tile t = *tile;
    const size_t quads = operand_words(t.k) - 1;
    const char *end = t.b + quads * PANEL * 4;
    VC sum[LOWP_ROWS][LOWP_WIDE];
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (size_t j = 0; j < vectors; j++) sum[r][j] = vc_const(0);
    int8_dots(sum, &t, rows, vectors);
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (size_t j = 0; j < vectors; j++) {
            const char *scale = lowp_at(end, t.b_panel, j), *zero = scale + PANEL * 4;
            V by = v_mul(v_load((const real *)(const void *)scale), v_const(t.a[r * t.a_row + quads]));
            V y = v_fma(vc_to_float(vc_sub(sum[r][j], vc_load(zero))), by, lowp_start(&t, r, j, last));
            tile_store(t.c + r * t.c_row + j * V_WIDTH, y, last);
        }
}

/* ---- tiles ----------------------------------------------------------------------------- */

/* One function per height: for two vectors, and for one vector of some columns. */
#if V_WIDTH == 16
#define LOWP_HEIGHTS(H, type) H(type, 1) H(type, 2) H(type, 3) H(type, 4) H(type, 5) H(type, 6) H(type, 7) H(type, 8)
#else
#define LOWP_HEIGHTS(H, type) H(type, 1) H(type, 2) H(type, 3) H(type, 4)
#endif
#define LOWP_FUNCTIONS(type, rows)                                                                        \
    static void type##_tile_##rows(const struct lowp_tile *t)     { type##_tile_of(t, rows, 2, V_WIDTH); } \
    static void type##_some_##rows(const struct lowp_tile *t, size_t n) { type##_tile_of(t, rows, 1, n); }
#define LOWP_TILE(type, rows) type##_tile_##rows,
#define NARROW_SOME(type, rows) type##_some_##rows,
#define LOWP_TYPE(type)                                                                                   \
    LOWP_HEIGHTS(LOWP_FUNCTIONS, type)                                                                  \
    static void type##_wide(const struct lowp_tile *t) { type##_tile_of(t, 1, LOWP_WIDE, V_WIDTH); }    \
    static const struct lowp_type type##_tiles = {                                                        \
        type##_wide, { NULL, LOWP_HEIGHTS(LOWP_TILE, type) }, { NULL, LOWP_HEIGHTS(NARROW_SOME, type) } }

struct lowp_type {
    void (*wide)(const struct lowp_tile *);
    void (*tile[LOWP_ROWS + 1])(const struct lowp_tile *);
    void (*some[LOWP_ROWS + 1])(const struct lowp_tile *, size_t columns);
};

LOWP_TYPE(bf16);
LOWP_TYPE(int8);

static struct lowp_tile lowp_tile_at(const struct product *p, size_t m, size_t n)
{
    return (struct lowp_tile){.k = p->k,
                              .a = (const real *)p->a + m * p->a_row,
                              .a_row = p->a_row,
                              .b = (const char *)p->b + (n / PANEL * p->b_panel + n % PANEL) * 4,
                              .b_panel = p->b_panel * 4,
                              .c = (real *)p->c + m * p->c_row + n,
                              .c_row = p->c_row,
                              .bias = p->bias ? (const real *)p->bias + n : NULL,
                              .start = p->start};
}

/* Processes panel by panel, so that one stays in cache while all rows are processed; rows are in tiles of nearly equal
 * height. */
static void product_narrow(const struct product *p, const struct lowp_type *type)
{
    enum { TWO = 2 * V_WIDTH };
    size_t n = 0;
    for (; p->m == 1 && n + LOWP_WIDE * V_WIDTH <= p->n; n += LOWP_WIDE * V_WIDTH) {
        struct lowp_tile t = lowp_tile_at(p, 0, n);
        type->wide(&t);
    }
    for (size_t columns; n < p->n; n += columns) {
        columns = p->n - n >= TWO ? TWO : p->n - n < V_WIDTH ? p->n - n : V_WIDTH;
        for (size_t m = 0, tiles = tiles_over(p->m, LOWP_ROWS), rows; tiles > 0; tiles--, m += rows) {
            struct lowp_tile t = lowp_tile_at(p, m, n);
            rows = (p->m - m) / tiles;
            if (columns == TWO)
                type->tile[rows](&t);
            else
                type->some[rows](&t, columns);
        }
    }
}

/* Extensions of AVX-512 use some of this file. */
static __attribute__((unused)) void product_int8(const struct product *p) { product_narrow(p, &int8_tiles); }

/* ---- many rows with bf16 --------------------------------------------------------------- */

static void widen_panel(real *to, const char *from, size_t k)
{
    for (size_t i = 0; i < k; i++, to += PANEL)
#pragma GCC unroll 8
        for (size_t j = 0; j < PANEL; j += V_WIDTH) {
            VC word = vc_load(from + i / 2 * PANEL * 4 + j * 4);
            v_store(to + j, i % 2 ? vc_second_bf16(word) : vc_first_bf16(word));
        }
}

/* Converts a block of a panel to floats once for all rows. */
static __attribute__((unused)) void product_bf16(const struct product *p)
{
    if (p->m <= LOWP_ROWS) {
        product_narrow(p, &bf16_tiles);
        return;
    }
    real *panel = PRODUCT_KEEPS(struct product_kept)->panel;
    for (size_t n = 0; n < p->n; n += PANEL)
        for (size_t k = 0; k == 0 || k < p->k; k += BLOCK_K) {
            struct product block = *p;
            block.n = p->n - n < PANEL ? p->n - n : PANEL;
            block.k = p->k - k < BLOCK_K ? p->k - k : BLOCK_K;
            block.a = (const real *)p->a + k;
            block.b = panel;
            block.c = (real *)p->c + n;
            block.bias = k == 0 && p->bias ? (const real *)p->bias + n : NULL;
            block.start = k == 0 ? p->start : AS_IS;
            block.wanted = NULL;
            widen_panel(panel, (const char *)p->b + (n / PANEL * p->b_panel + k / 2 * PANEL) * 4, block.k);
            product(&block);
        }
}

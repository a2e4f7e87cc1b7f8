/* The matrix product on V, in tiles of c that stay in registers over a block of k. Each element of c is one chain in
 * rising k for all tiles and blocks, so the bits are those of product_reference.h. Not for a scalar V. */

/* A tile has at most TILE_ROWS x TILE_VECTORS sums. With the vectors of b and one of a they fill the registers (32 in
 * AVX-512 and NEON, 16 in AVX2). TILE_COLUMNS divides PANEL, TILE_ROWS divides a strip. */
#if V_WIDTH == 16
enum { TILE_ROWS = 12, TILE_VECTORS = 2 };
#elif V_WIDTH == 8
enum { TILE_ROWS = 6, TILE_VECTORS = 2 };
#else
enum { TILE_ROWS = 6, TILE_VECTORS = 4 };
#endif
enum {
    TILE_COLUMNS = TILE_VECTORS * V_WIDTH,
    MASKS_ARE_FREE = V_WIDTH == 16, /* partial vectors are loaded and stored as fast as whole ones */
    SOME_COLUMNS = MASKS_ARE_FREE ? TILE_COLUMNS : V_WIDTH, /* maximum columns of a partial tile */
    BLOCK_ROWS = 8 * TILE_ROWS * (V_WIDTH == 16 ? 1 : 2),   /* a block of a stays in the L2 cache .. */
    BLOCK_K = 512,   /* .. with BLOCK_K rows of a panel of b, 64 KB; c is rarely loaded */
    SPARE = 16,      /* elements between rows of a copy of a */
    WIDE_VECTORS = 8 /* few rows: more columns, for enough chains */
};

/* Keeps the compiler from recomputing one pointer from another. */
#define HIDE_ORIGIN(pointer) __asm__("" : "+r"(pointer))

/* Memory to prefetch: `step` bytes per k. The next tile's prefetches start `tile` bytes after this one's. */
struct ahead {
    const char *at;
    size_t step, tile;
};

/* One tile. While it is summed, it prefetches c's rows and part of the next panel of b, or of the caller's `wanted`
 * memory if b is near enough. */
struct tile {
    size_t k;
    const size_t *end;
    size_t chains; /* the last one ends before k */
    const real *a;
    size_t a_row, a_strip;
    ptrdiff_t a_col;
    const real *b;
    size_t b_row, b_panel;
    real *c;
    size_t c_row;
    const real *bias;
    enum start start;
    struct ahead ahead;
};

/* rows and vectors are constants in each call. The last vector has `last` columns. */
CELL_CODE size_t tile_width(size_t j, const size_t vectors, size_t last) { return j + 1 < vectors ? V_WIDTH : last; }

/* Returns whether n columns need no mask. If masks are free, there is only one version of the code. */
CELL_CODE bool tile_is_whole(size_t n) { return n == V_WIDTH && (!MASKS_ARE_FREE || __builtin_constant_p(n)); }

CELL_CODE V tile_load(const real *at, size_t n) { return tile_is_whole(n) ? v_load(at) : v_load_some(at, n); }

CELL_CODE void tile_store(real *at, V a, size_t n)
{
    if (tile_is_whole(n))
        v_store(at, a);
    else
        v_store_some(at, a, n);
}

/* Scratch of a product: a packed panel of a dense b, or of low-precision weights as floats; and rows of a. */
struct product_kept {
    _Alignas(64) real panel[BLOCK_K * PANEL], rows[BLOCK_ROWS * (BLOCK_K + SPARE)];
};

static size_t tiles_over(size_t n, size_t tile) { return (n + tile - 1) / tile; }

#ifdef PRODUCT_ELSEWHERE /* another file has compiled the rest for the same V */
static void product(const struct product *p) { PRODUCT_ELSEWHERE(p); }
#else

/* Passes over c's rows. Each recomputes the addresses, so that none is kept in registers during the sums. */
CELL_CODE void tile_load_all(V to[][WIDE_VECTORS], const real *c, size_t c_row, const size_t rows, const size_t vectors,
                             const size_t last)
{
#pragma GCC unroll 16
    for (size_t r = 0; r < rows; r++, c += c_row)
#pragma GCC unroll 8
        for (size_t j = 0; j < vectors; j++) to[r][j] = tile_load(c + j * V_WIDTH, tile_width(j, vectors, last));
}

CELL_CODE void tile_store_all(real *c, size_t c_row, V from[][WIDE_VECTORS], const size_t rows, const size_t vectors,
                              const size_t last)
{
    HIDE_ORIGIN(c);
#pragma GCC unroll 16
    for (size_t r = 0; r < rows; r++, c += c_row)
#pragma GCC unroll 8
        for (size_t j = 0; j < vectors; j++) tile_store(c + j * V_WIDTH, from[r][j], tile_width(j, vectors, last));
}

/* In place: sum += from. A row stride of zero adds the same row to all. */
CELL_CODE void tile_add_all(V sum[][WIDE_VECTORS], const real *from, size_t row, const size_t rows,
                            const size_t vectors, const size_t last)
{
    HIDE_ORIGIN(from);
#pragma GCC unroll 16
    for (size_t r = 0; r < rows; r++, from += row)
#pragma GCC unroll 8
        for (size_t j = 0; j < vectors; j++)
            sum[r][j] = v_add(tile_load(from + j * V_WIDTH, tile_width(j, vectors, last)), sum[r][j]);
}

/* Prefetches rows of c that are needed after this tile's sums: its own, or those of the next tile. */
CELL_CODE void tile_ask(const real *c, size_t c_row, const size_t rows, const size_t vectors)
{
    HIDE_ORIGIN(c);
#pragma GCC unroll 16
    for (size_t r = 0; r < rows; r++, c += c_row)
#pragma GCC unroll 8
        for (size_t j = 0; j < vectors; j++) __builtin_prefetch(c + (j + 1) * V_WIDTH - 1, 1);
}

CELL_CODE void tile_clear(V sum[][WIDE_VECTORS], const size_t rows, const size_t vectors)
{
#pragma GCC unroll 16
    for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (size_t j = 0; j < vectors; j++) sum[r][j] = v_const(0);
}

/* Adds the products of one k. Rows of a are grouped in fours: three pointers and two strides address all 12 without
 * exhausting the address registers. */
CELL_CODE void tile_add(V sum[][WIDE_VECTORS], const real *const a[], size_t a_row, const real *b, size_t b_panel,
                        const size_t rows, const size_t vectors, const size_t last)
{
    V column[WIDE_VECTORS];
#pragma GCC unroll 8
    for (size_t j = 0; j < vectors; j++)
        column[j] = tile_load(b + j * V_WIDTH / PANEL * b_panel + j * V_WIDTH % PANEL, tile_width(j, vectors, last));
#pragma GCC unroll 16
    for (size_t r = 0; r < rows; r++) {
        V row = v_const(a[r / 4][r % 4 * a_row]);
#pragma GCC unroll 8
        for (size_t j = 0; j < vectors; j++) sum[r][j] = v_fma(row, column[j], sum[r][j]);
    }
}

/* Chains of one product each, like the accumulation blocks of a lone row of at most 64 steps: c stays in registers. */
CELL_CODE void tile_add_acc_blocks(const struct tile *t, const size_t rows, const size_t vectors, const size_t last)
{
    V sum[TILE_ROWS][WIDE_VECTORS], column[WIDE_VECTORS];
    const real *b = t->b;
    tile_load_all(sum, t->c, t->c_row, rows, vectors, last);
    for (size_t k = 0; k < t->k; k++, b += t->b_row) {
#pragma GCC unroll 8
        for (size_t j = 0; j < vectors; j++)
            column[j] =
                tile_load(b + j * V_WIDTH / PANEL * t->b_panel + j * V_WIDTH % PANEL, tile_width(j, vectors, last));
        const real *a = t->a + (ptrdiff_t)k * t->a_col;
        HIDE_ORIGIN(a);
#pragma GCC unroll 16
        for (size_t r = 0; r < rows; r++, a += t->a_row) {
            V row = v_const(*a);
#pragma GCC unroll 8
            for (size_t j = 0; j < vectors; j++) sum[r][j] = v_add(v_fma(row, column[j], v_const(0)), sum[r][j]);
        }
    }
    tile_store_all(t->c, t->c_row, sum, rows, vectors, last);
}

/* Short chains: c stays in registers next to the sums, so there is room for half as many. The additions use otherwise
 * idle units of the processor. */
static void tile_of_short_chains(const struct tile *tile)
{
    enum { ROWS = TILE_ROWS / 2 };
    const struct tile t = *tile;
    V c[ROWS][WIDE_VECTORS], sum[ROWS][WIDE_VECTORS];
    const real *a[(ROWS + 3) / 4], *b = t.b;
    const char *ahead = t.ahead.at;
    const real *next = t.c + ROWS * t.c_row;
    const size_t asked = tiles_over(ROWS, t.chains);
    tile_load_all(c, t.c, t.c_row, ROWS, TILE_VECTORS, V_WIDTH);
#pragma GCC unroll 4
    for (size_t i = 0; i < (ROWS + 3) / 4; i++) {
        a[i] = t.a + 4 * i * t.a_row;
        HIDE_ORIGIN(a[i]);
    }
    for (size_t chain = 0, k = 0; chain < t.chains; chain++) {
        tile_clear(sum, ROWS, TILE_VECTORS);
        for (size_t i = 0; i < asked; i++, next += t.c_row) tile_ask(next, 0, 1, TILE_VECTORS);
        for (; k < t.end[chain]; k++, b += t.b_row, ahead += t.ahead.step) {
            __builtin_prefetch(ahead, 0, 2);
            tile_add(sum, a, t.a_row, b, t.b_panel, ROWS, TILE_VECTORS, V_WIDTH);
#pragma GCC unroll 4
            for (size_t i = 0; i < (ROWS + 3) / 4; i++) a[i] += t.a_col;
        }
#pragma GCC unroll 16
        for (size_t r = 0; r < ROWS; r++)
#pragma GCC unroll 8
            for (size_t j = 0; j < TILE_VECTORS; j++) c[r][j] = v_add(c[r][j], sum[r][j]);
    }
    tile_store_all(t.c, t.c_row, c, ROWS, TILE_VECTORS, V_WIDTH);
}

/* Computes a tile of a product, one chain of additions after another. The sizes are constants after inlining. */
CELL_CODE void tile_of(const struct tile *tile, const size_t rows, const size_t vectors, const size_t last)
{
    const struct tile t = *tile;
    V sum[TILE_ROWS][WIDE_VECTORS];
    if (t.start == ZERO_THEN_ADD && t.chains == t.k) {
        tile_add_acc_blocks(&t, rows, vectors, last);
        return;
    }

    if (t.start == AS_IS)
        tile_load_all(sum, t.c, t.c_row, rows, vectors, last);
    else
        tile_clear(sum, rows, vectors);
    tile_ask(t.start == AS_IS ? t.c + rows * t.c_row : t.c, t.c_row, rows, vectors);
    if (t.bias)
        tile_add_all(sum, t.bias, 0, rows, vectors, last);
    const real *a[(TILE_ROWS + 3) / 4], *b = t.b;
    const char *ahead = t.ahead.at;
#pragma GCC unroll 4
    for (size_t i = 0; i < (rows + 3) / 4; i++) {
        a[i] = t.a + 4 * i * t.a_row;
        HIDE_ORIGIN(a[i]);
    }
    for (size_t chain = 0, k = 0; chain < t.chains; chain++) {
        if (chain)
            tile_clear(sum, rows, vectors);
        for (; k < t.end[chain]; k++, b += t.b_row, ahead += t.ahead.step) {
            __builtin_prefetch(ahead, 0, 2);
            tile_add(sum, a, t.a_row, b, t.b_panel, rows, vectors, last);
#pragma GCC unroll 4
            for (size_t i = 0; i < (rows + 3) / 4; i++) a[i] += t.a_col;
        }
        if (t.start == ZERO_THEN_ADD)
            tile_add_all(sum, t.c, t.c_row, rows, vectors, last);
        tile_store_all(t.c, t.c_row, sum, rows, vectors, last);
    }
}

/* One function per height: for whole tiles, and for some columns. */
#if V_WIDTH == 16
#define TILE_HEIGHTS(H) H(1) H(2) H(3) H(4) H(5) H(6) H(7) H(8) H(9) H(10) H(11) H(12)
#else
#define TILE_HEIGHTS(H) H(1) H(2) H(3) H(4) H(5) H(6)
#endif
#define TILE_FUNCTIONS(rows)                                                                            \
    static void tile_##rows(const struct tile *t)               { tile_of(t, rows, TILE_VECTORS, V_WIDTH); } \
    static void tile_some_##rows(const struct tile *t, size_t n)                                        \
    {                                                                                                   \
        if (MASKS_ARE_FREE && n > V_WIDTH)                                                              \
            tile_of(t, rows, 2, n - V_WIDTH);                                                           \
        else                                                                                            \
            tile_of(t, rows, 1, n);                                                                     \
    }
TILE_HEIGHTS(TILE_FUNCTIONS)

static void tile_wide_1(const struct tile *t) { tile_of(t, 1, WIDE_VECTORS, V_WIDTH); }
static void tile_wide_2(const struct tile *t) { tile_of(t, 2, WIDE_VECTORS / 2, V_WIDTH); }

#define TILE_NAME(rows)      tile_##rows,
#define TILE_SOME_NAME(rows) tile_some_##rows,
static void (*const tile_whole[])(const struct tile *) = {NULL, TILE_HEIGHTS(TILE_NAME)};
static void (*const tile_some[])(const struct tile *, size_t) = {NULL, TILE_HEIGHTS(TILE_SOME_NAME)};

/* Returns the height of the next tile: nearly equal heights, but the full height for strips. */
static size_t next_height(const struct tile *t, size_t rows)
{
    if (t->a_strip)
        return rows < TILE_ROWS ? rows : TILE_ROWS;
    return rows / tiles_over(rows, TILE_ROWS);
}

static bool has_short_chains(const struct tile *t)
{
    enum { SHORT = 80 };
    return t->start == ZERO_THEN_ADD && !t->bias && t->chains < t->k && t->k < SHORT * t->chains;
}

/* Processes all rows of a block by n columns: those of a tile, or fewer in groups of SOME_COLUMNS. The struct is
 * modified in place: copying it would stall, because its fields were just written one by one and would be loaded as
 * vectors. */
static void tile_column(struct tile *t, size_t rows, size_t n)
{
    const real *a = t->a, *b = t->b, *bias = t->bias;
    real *c = t->c;
    for (size_t row = 0, height; row < rows; row += height) {
        height = next_height(t, rows - row);
        t->a = t->a_strip ? a + row / STRIP * t->a_strip + row % STRIP * t->a_row : a + row * t->a_row;
        t->c = c + row * t->c_row;
        if (n == TILE_COLUMNS && height == TILE_ROWS && has_short_chains(t)) {
            tile_of_short_chains(t);
            t->a += TILE_ROWS / 2 * t->a_row;
            t->c += TILE_ROWS / 2 * t->c_row;
            tile_of_short_chains(t);
        } else if (n == TILE_COLUMNS)
            tile_whole[height](t);
        else
            for (size_t j = 0; j < n; j += SOME_COLUMNS, t->c += SOME_COLUMNS) {
                t->b = b + j;
                t->bias = bias ? bias + j : NULL;
                tile_some[height](t, n - j < SOME_COLUMNS ? n - j : SOME_COLUMNS);
            }
        t->ahead.at += t->ahead.tile;
    }
    t->a = a;
}

/* Packs a panel of a dense b. Prefetches it, because the hardware does not predict distant rows. */
static void copy_panel(real *to, const real *from, size_t from_row, size_t k, size_t columns)
{
    for (; columns == PANEL && k > 0; k--, to += PANEL, from += from_row) {
        __builtin_prefetch(from + 16 * from_row);
        __builtin_prefetch(from + 16 * from_row + PANEL / 2);
#pragma GCC unroll 8
        for (size_t j = 0; j < PANEL; j += V_WIDTH) v_store(to + j, v_load(from + j));
    }
    for (; k > 0; k--, to += PANEL, from += from_row)
        for (size_t j = 0; j < columns; j += V_WIDTH)
            v_store(to + j, columns - j < V_WIDTH ? v_load_some(from + j, columns - j) : v_load(from + j));
}

/* Processes one or two rows. Returns the number of finished columns. */
static size_t product_wide(const struct product *p, struct tile *t)
{
    const size_t columns = (p->m == 1 ? WIDE_VECTORS : WIDE_VECTORS / 2) * V_WIDTH;
    const real *b = t->b, *bias = t->bias;
    real *c = t->c;
    size_t n = 0;
    for (; n + columns <= p->n; n += columns) {
        t->b = b + n / PANEL * p->b_panel + n % PANEL;
        t->c = c + n;
        t->bias = bias ? bias + n : NULL;
        if (p->m == 1)
            tile_wide_1(t);
        else
            tile_wide_2(t);
    }
    return n;
}

/* Returns the prefetches of `tiles` tiles for b's columns from n on. Only packed panels are prefetched. */
static struct ahead next_panel(const struct product *p, const struct tile *t, const real *b, size_t n, size_t tiles)
{
    bool packed = p->b_row == PANEL;
    size_t step = packed ? PANEL * sizeof(real) / tiles : 0;
    return (struct ahead){(const char *)(b + (packed ? n / PANEL * p->b_panel + n % PANEL : 0)), step, t->k * step};
}

/* If one tile is as wide as b, each row of a is read once: the tiles prefetch the rows of the next one. */
static struct ahead next_rows_of_a(const struct product *p, const struct tile *t)
{
    size_t bytes = TILE_ROWS * t->a_row * sizeof(real);
    return (struct ahead){(const char *)t->a + bytes, p->a_col == 1 ? bytes / (t->k + 1) : 0, bytes};
}

/* Spreads the caller's `wanted` memory over all tiles: a part for each k of each tile, or a column of all rows for
 * each. Returns nothing if b is too large to stay in cache. */
static struct ahead wanted_by_caller(const struct product *p, size_t depth)
{
    enum { NEAR = 1 << 20 }; /* bytes of b, the size of a small L2 cache */
    size_t tiles = tiles_over(p->m, TILE_ROWS) * tiles_over(p->n, TILE_COLUMNS) + 1;
    size_t step = tiles_over(p->wanted_bytes, tiles * p->k + 1);
    if (!p->wanted || p->n * p->k * sizeof(real) > NEAR)
        return (struct ahead){NULL, 0, 0};
    if (p->wanted_row)
        return (struct ahead){p->wanted, p->wanted_row, tiles_over(p->wanted_bytes, tiles)};
    return (struct ahead){p->wanted, step, depth * step};
}

/* Processes all columns of a block of rows and of k. The tiles of one panel of b prefetch the next panel. */
static void product_block(const struct product *p, struct tile *t, size_t rows, const struct ahead *wanted)
{
    const real *b = t->b, *bias = t->bias;
    real *c = t->c;
    bool copies = p->b_row != PANEL && rows > 2 * TILE_ROWS && t->k <= BLOCK_K;
    real *panel = copies ? PRODUCT_KEEPS(struct product_kept)->panel : NULL;
    size_t tiles = tiles_over(rows, TILE_ROWS);
    for (size_t n = p->m <= 2 ? product_wide(p, t) : 0; n < p->n; n += TILE_COLUMNS) {
        size_t rest = p->n - n, in_panel = n % PANEL;
        const real *from = b + n / PANEL * p->b_panel;
        comm_poll();
        if (copies && in_panel == 0)
            copy_panel(panel, from, p->b_row, t->k, rest < PANEL ? rest : PANEL);
        t->b = (copies ? panel : from) + in_panel;
        t->b_row = copies ? PANEL : p->b_row;
        t->c = c + n;
        t->bias = bias ? bias + n : NULL;
        t->ahead = *wanted;
        if (wanted->at)
            t->ahead.at += n / TILE_COLUMNS * tiles * wanted->tile;
        else if (p->n <= TILE_COLUMNS)
            t->ahead = next_rows_of_a(p, t);
        else
            t->ahead = next_panel(p, t, b, n + TILE_COLUMNS, tiles);
        tile_column(t, rows, rest < TILE_COLUMNS ? rest : TILE_COLUMNS);
    }
}

/* Rows of a with a stride of 4 KB map to the same sets of the L1 cache and evict each other. They are copied to be
 * adjacent if there are enough columns to amortize it. */
static bool copies_rows(const struct product *p)
{
    enum { DISTANCE = 2048, COLUMNS = 4 * PANEL };
    return !p->a_strip && p->a_col == 1 && p->a_row * sizeof(real) % DISTANCE == 0 && p->n >= COLUMNS &&
           p->m > TILE_ROWS;
}

static void product_block_of_copy(const struct product *p, struct tile *t, size_t rows, const struct ahead *wanted)
{
    real *copy = PRODUCT_KEEPS(struct product_kept)->rows, *to = copy;
    const real *from = t->a;
    for (size_t r = 0; r < rows; r++, to += BLOCK_K + SPARE, from += t->a_row)
        for (size_t k = 0; k < t->k; k += V_WIDTH)
            v_store(to + k, t->k - k < V_WIDTH ? v_load_some(from + k, t->k - k) : v_load(from + k));
    t->a = copy;
    t->a_row = BLOCK_K + SPARE;
    product_block(p, t, rows, wanted);
}

/* A lone row as wide as a tile is limited by the latency of its chains. Few other instructions let the processor
 * already start the code that follows. */
static void product_lone(const struct product *p)
{
    enum { STEPS = 8 };
    V sum[1][WIDE_VECTORS];
    const real *a = p->a, *b = p->b;
    size_t k = 0;
    if (p->start == AS_IS)
        tile_load_all(sum, p->c, 0, 1, TILE_VECTORS, V_WIDTH);
    else
        tile_clear(sum, 1, TILE_VECTORS);
    for (; k + STEPS <= p->k; k += STEPS, a += STEPS, b += STEPS * PANEL)
#pragma GCC unroll 8
        for (size_t i = 0; i < STEPS; i++)
            tile_add(sum, &(const real *){a + i}, 0, b + i * PANEL, 0, 1, TILE_VECTORS, V_WIDTH);
    for (; k < p->k; k++, a++, b += PANEL) tile_add(sum, &(const real *){a}, 0, b, 0, 1, TILE_VECTORS, V_WIDTH);
    tile_store_all(p->c, 0, sum, 1, TILE_VECTORS, V_WIDTH);
}

/* So few weights are in a near cache: no prefetches. */
static bool is_lone_tile(const struct product *p)
{
    return p->m == 1 && p->n == TILE_COLUMNS && p->k <= BLOCK_K && p->a_col == 1 && p->b_row == PANEL && !p->bias &&
           !p->chains && p->start != ZERO_THEN_ADD && !p->wanted;
}

static void product(const struct product *p)
{
    if (is_lone_tile(p)) {
        product_lone(p);
        return;
    }
    size_t k = 0, max = p->start == ZERO_THEN_ADD ? p->k : BLOCK_K, columns = tiles_over(p->n, TILE_COLUMNS);
    const char *wanted = p->wanted;
    const bool copies = copies_rows(p);
    do { /* at least once: k may be 0, and c must still be set */
        size_t depth = p->k - k < max ? p->k - k : max;
        struct ahead ahead = wanted_by_caller(p, depth);
        for (size_t m = 0; m < p->m; m += BLOCK_ROWS) {
            size_t rows = p->m - m < BLOCK_ROWS ? p->m - m : BLOCK_ROWS;
            struct tile t = {.k = depth,
                             .end = p->chains ? p->end : &depth,
                             .chains = p->chains ? p->chains : 1,
                             .a = (const real *)p->a + (p->a_strip ? m / STRIP * p->a_strip : m * p->a_row) +
                                  (ptrdiff_t)k * p->a_col,
                             .a_row = p->a_row,
                             .a_col = p->a_col,
                             .a_strip = p->a_strip,
                             .b = (const real *)p->b + k * p->b_row,
                             .b_row = p->b_row,
                             .b_panel = p->b_panel,
                             .c = (real *)p->c + m * p->c_row,
                             .c_row = p->c_row,
                             .bias = k == 0 ? p->bias : NULL,
                             .start = k == 0 ? p->start : AS_IS,
                             .ahead.at = p->b};
            if (ahead.at)
                ahead.at = wanted;
            (copies && depth <= BLOCK_K ? product_block_of_copy : product_block)(p, &t, rows, &ahead);
            wanted += ahead.at ? tiles_over(rows, TILE_ROWS) * columns * ahead.tile : 0;
        }
        k += depth;
    } while (k < p->k);
}
#endif

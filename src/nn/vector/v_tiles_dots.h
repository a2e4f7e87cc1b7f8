/* Tiles emulated by AVX-512's dot products of bf16 pairs (AVX512_BF16), for floats rounded to bf16. Up to DOT_ROWS rows
 * by two vectors of columns stay in registers over all steps of a call. Between calls sums are kept in memory of the
 * thread. A part of v_tiles.h, which documents the factors and sums. */
#ifndef __AVX512BF16__
#error "v_tiles_dots.h needs -mavx512bf16"
#endif
#if TILE_PARTS != 1
#error "sums of two products require TILE_PARTS 1"
#endif

/* 24 sums, two vectors of the right factor and one element of the left one use the 32 registers. */
enum { DOT_ROWS = 12, DOT_ROW = 2 * BF16X3_COLUMNS };

static _Thread_local _Alignas(64) float tiles_own[LEFT_ROWS * DOT_ROW];

/* Location of the sums: rows `row` elements apart, and a separate second tile of columns. NULL: they are zeros. Row
 * stride 0: all rows start from the same row, which is read-only. */
struct dot_sums {
    float *at, *at_1;
    size_t row;
};
static _Thread_local struct dot_sums tiles_sums;

CELL_CODE void tiles_begin(size_t rows) { (void)rows; }
CELL_CODE void tiles_end(void) {}
CELL_CODE void tiles_keep_open(size_t step) { (void)step; }

CELL_CODE void tiles_clear(const bool second, const bool wide)
{
    (void)second, (void)wide;
    tiles_sums = (struct dot_sums){.at = NULL};
}

/* Sums are added to the place they were loaded from. tiles_store copies them if its destination differs. */
CELL_CODE void tiles_load(const float *c, const float *c_1, size_t c_row, size_t rows, const bool second,
                          const bool wide)
{
    (void)rows, (void)second, (void)wide;
    tiles_sums = (struct dot_sums){(float *)c, (float *)c_1, c_row};
}

/* ---- rows in registers ----------------------------------------------------------------- */

struct dot_block {
    const char *left, *right, *right_1;
    size_t left_step, steps; /* bytes from one step of the left factor to the next */
    struct dot_sums from, to;
};

CELL_CODE float *dot_at(const struct dot_sums *s, size_t r, size_t j)
{
    float *at = j ? s->at_1 : s->at;
    return at ? at + r * s->row : NULL;
}

/* rows and vectors are constants in each call. */
CELL_CODE void dot_block_of(const struct dot_block *block, const size_t rows, const size_t vectors)
{
    const struct dot_block b = *block;
    const char *left = b.left, *right = b.right, *right_1 = b.right_1;
    V sum[DOT_ROWS][2];
#pragma GCC unroll 12
    for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (size_t j = 0; j < vectors; j++) sum[r][j] = b.from.at ? v_load(dot_at(&b.from, r, j)) : v_const(0);
    for (size_t step = b.steps; step > 0; step--, left += b.left_step - LEFT_PART)
#pragma GCC unroll 2
        for (size_t pair = 0; pair < BF16X3_K / 2; pair++, left += 4, right += sizeof(V), right_1 += sizeof(V)) {
            __m512i w[2] = {_mm512_load_si512(right)};
            if (vectors > 1)
                w[1] = _mm512_load_si512(right_1);
#pragma GCC unroll 12
            for (size_t r = 0; r < rows; r++) {
                int32_t two;
                memcpy(&two, left + r * LEFT_PART, sizeof two);
                const __m512i x = _mm512_set1_epi32(two);
#pragma GCC unroll 2
                for (size_t j = 0; j < vectors; j++)
                    sum[r][j] = _mm512_dpbf16_ps(sum[r][j], (__m512bh)x, (__m512bh)w[j]);
            }
        }
#pragma GCC unroll 12
    for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (size_t j = 0; j < vectors; j++) v_store(dot_at(&b.to, r, j), sum[r][j]);
}

#define DOT_HEIGHTS(H) H(1) H(2) H(3) H(4) H(5) H(6) H(7) H(8) H(9) H(10) H(11) H(12)
#define DOT_FUNCTIONS(rows)                                                                     \
    static void dot_narrow_##rows(const struct dot_block *b) { dot_block_of(b, rows, 1); }      \
    static void dot_wide_##rows(const struct dot_block *b)   { dot_block_of(b, rows, 2); }
#define DOT_NARROW(rows) dot_narrow_##rows,
#define DOT_WIDE(rows) dot_wide_##rows,
DOT_HEIGHTS(DOT_FUNCTIONS)

static void (*const dot_blocks[2][DOT_ROWS + 1])(const struct dot_block *) = {{NULL, DOT_HEIGHTS(DOT_NARROW)},
                                                                              {NULL, DOT_HEIGHTS(DOT_WIDE)}};

/* ---- blocks ---------------------------------------------------------------------------- */

CELL_CODE struct dot_sums dot_rows_from(struct dot_sums s, size_t row)
{
    return s.at ? (struct dot_sums){s.at + row * s.row, s.at_1 + row * s.row, s.row} : s;
}

/* Processes rows in blocks of nearly equal height; calls `meanwhile` after each. */
CELL_CODE void tiles_add(const char *left, size_t rows, const char *right, const char *right_1, size_t steps,
                         tiles_meanwhile *meanwhile, void *of, const bool second, const bool wide)
{
    const size_t blocks = (rows + DOT_ROWS - 1) / DOT_ROWS;
    const struct dot_sums from = tiles_sums, own = {tiles_own, tiles_own + BF16X3_COLUMNS, DOT_ROW};
    (void)second;
    tiles_sums = from.at && from.row ? from : own;
    for (size_t i = 0, row = 0, n, times = 0; i < blocks; i++, row += n) {
        n = (rows - row) / (blocks - i);
        dot_blocks[wide][n](&(struct dot_block){.left = left + row * LEFT_PART,
                                                .right = right,
                                                .right_1 = right_1,
                                                .left_step = rows * LEFT_ROW,
                                                .steps = steps,
                                                .from = dot_rows_from(from, row),
                                                .to = dot_rows_from(tiles_sums, row)});
        for (; times < (i + 1) * steps / blocks; times++) meanwhile(of, 0);
    }
}

/* Stores the sums of a block of rows to c[row * c_row + column], the second tile of columns to c_1; all columns of a
 * tile. */
CELL_CODE void tiles_store(float *c, float *c_1, size_t c_row, size_t rows, const bool second, const bool wide)
{
    const struct dot_sums from = tiles_sums;
    (void)second;
    for (size_t r = 0; r < rows && from.at != c; r++) {
        v_store(c + r * c_row, from.at ? v_load(dot_at(&from, r, 0)) : v_const(0));
        if (wide)
            v_store(c_1 + r * c_row, from.at ? v_load(dot_at(&from, r, 1)) : v_const(0));
    }
}

/* Measures the peak like peak.h, for dot products of pairs. */
__attribute__((unused)) /* in files of cells */
static uint64_t
peak_of_tiles(uint64_t rounds, void *sink)
{
    enum { CHAINS = 12 };
    __m512i one = _mm512_set1_epi32(0x3f803f80), small = _mm512_set1_epi32(0x3c003c00);
    V sum[CHAINS];
#pragma GCC unroll 16
    for (int i = 0; i < CHAINS; i++) sum[i] = v_const((float)i);
    for (uint64_t round = 0; round < rounds; round++) {
        __asm__("" : "+v"(one), "+v"(small));
#pragma GCC unroll 16
        for (int i = 0; i < CHAINS; i++) sum[i] = _mm512_dpbf16_ps(sum[i], (__m512bh)one, (__m512bh)small);
    }
#pragma GCC unroll 16
    for (int i = 1; i < CHAINS; i++) sum[0] = v_add(sum[0], sum[i]);
    v_store(sink, sum[0]);
    return rounds * CHAINS * V_WIDTH * 4;
}

/* Products of floats on AMX, which multiplies tiles of bf16: a float is the sum of three bf16, and of the nine products
 * of two such sums the six that count go to the same sum of floats. What is left out is below 2^-26 of a product, a
 * quarter of what one rounding loses; an infinite factor gives NaN. Where weights are bf16 themselves three products do
 * (the end of this file). Included after v_avx512.h.
 *
 * Six products of bf16 take less time than one of floats takes a multiply-add: 512 multiply-adds of bf16 a cycle
 * against 32 (Intel's optimization manual, chapter on AMX).
 *
 * A factor lies in memory as bf16x3 splits: for each step of BF16X3_K k its first bf16, its second ones, its third
 * ones. Left, of rows: blocks of LEFT_ROWS rows, the last of as many as there are: [steps][3][rows][BF16X3_K] bf16.
 * Right, of columns: tiles of BF16X3_COLUMNS columns: [steps][3][BF16X3_K / 2][BF16X3_COLUMNS][2] bf16, the last part
 * first, which is the order in which they are read: memory then runs ahead by itself. Zeros where k ends.
 *
 * A right factor that is far away and multiplied by few rows takes longer to read than to multiply. So it may lie there
 * whole, in 2/3 of the bytes: tiles of [steps][BF16X3_K][BF16X3_COLUMNS] floats, which are split step by
 * step. */
#ifndef V_TILES_H
#define V_TILES_H
#ifndef __AMX_BF16__
#error "v_tiles.h needs -mamx-tile -mamx-bf16 -mavx512bf16"
#endif
#include "cells/bf16x3.h"
#include <stdbool.h>
#include <string.h>

/* ---- bf16x3 splits ---------------------------------------------------------------------------- */

/* 32 numbers as bf16, those of `low` first. Subnormal numbers become zeros. */
CELL_CODE __m512i bf16x3_round(V low, V high) { return (__m512i)_mm512_cvtne2ps_pbh(high, low); }

CELL_CODE V bf16x3_rest(V a, __m256i rounded)
{
    return v_sub(a, _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(rounded), 16)));
}

/* low[i], high[i] become part[0] + part[1] + part[2], exactly but for what is subnormal. */
CELL_CODE void bf16x3_of(V low, V high, __m512i part[3])
{
#pragma GCC unroll 3
    for (int i = 0; i < 3; i++) {
        part[i] = bf16x3_round(low, high);
        low = bf16x3_rest(low, _mm512_castsi512_si256(part[i]));
        high = bf16x3_rest(high, _mm512_extracti64x4_epi64(part[i], 1));
    }
}

/* The same side by side: low[i], high[i] are a pair. Halves are rounded away from zero, in bits: a NaN whose rounding
 * overflows is still one in the last part, which is exact as it is. */
CELL_CODE void bf16x3_of_pairs(V low, V high, __m512i pair[3])
{
    const __m512i half = _mm512_set1_epi32(0x8000), first = _mm512_set1_epi32(-0x10000);
#pragma GCC unroll 3
    for (int i = 0; i < 3; i++) {
        __m512i l = _mm512_castps_si512(low), h = _mm512_castps_si512(high);
        l = i < 2 ? _mm512_add_epi32(l, half) : l;
        h = i < 2 ? _mm512_add_epi32(h, half) : h;
        pair[i] = _mm512_ternarylogic_epi32(_mm512_srli_epi32(l, 16), h, first, 0xf8); /* or(l, and(h, first)) */
        low = v_sub(low, _mm512_castsi512_ps(_mm512_and_si512(l, first)));
        high = v_sub(high, _mm512_castsi512_ps(_mm512_and_si512(h, first)));
    }
}

/* 16 rows of 16 pairs become 16 columns. */
CELL_CODE void bf16x3_transpose(__m512i row[16])
{
    __m512i a[16];
#pragma GCC unroll 8
    for (int i = 0; i < 16; i += 2) {
        a[i] = _mm512_unpacklo_epi32(row[i], row[i + 1]);
        a[i + 1] = _mm512_unpackhi_epi32(row[i], row[i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4) {
        row[i] = _mm512_unpacklo_epi64(a[i], a[i + 2]);
        row[i + 1] = _mm512_unpackhi_epi64(a[i], a[i + 2]);
        row[i + 2] = _mm512_unpacklo_epi64(a[i + 1], a[i + 3]);
        row[i + 3] = _mm512_unpackhi_epi64(a[i + 1], a[i + 3]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        a[i] = _mm512_shuffle_i32x4(row[i], row[i + 4], 0x88);
        a[i + 4] = _mm512_shuffle_i32x4(row[i], row[i + 4], 0xdd);
        a[i + 8] = _mm512_shuffle_i32x4(row[i + 8], row[i + 12], 0x88);
        a[i + 12] = _mm512_shuffle_i32x4(row[i + 8], row[i + 12], 0xdd);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        row[i] = _mm512_shuffle_i32x4(a[i], a[i + 8], 0x88);
        row[i + 8] = _mm512_shuffle_i32x4(a[i], a[i + 8], 0xdd);
    }
}

/* ---- memory ---------------------------------------------------------------------------- */

/* A line of memory past the caches, which else would read it first. */
CELL_CODE void v_stream(float *line, V a) { _mm512_stream_ps(line, a); }

/* Before other threads may read what was stored so. */
CELL_CODE void v_stream_end(void) { _mm_sfence(); }

/* ---- tiles ----------------------------------------------------------------------------- */

/* The registers of a block: sums of two tiles of rows by two of columns, the left factors, the right ones. Macros,
 * because the compiler wants the digits. */
#define SUM_00  0
#define SUM_01  1
#define SUM_10  2
#define SUM_11  3
#define LEFT_0  4
#define LEFT_1  5
#define RIGHT_0 6
#define RIGHT_1 7

/* The compiler does not know what memory tiles are loaded from and stored to. */
#define TILES_FENCE()       __asm__ volatile("" ::: "memory")
#define TILES_READ(pointer) __asm__ volatile("" :: "r"(pointer) : "memory")

/* Rows of the first tile of a block of `rows` <= LEFT_ROWS; of few rows there is no second. */
CELL_CODE size_t tiles_first_rows(size_t rows) { return rows <= BF16X3_ROWS ? rows : (rows + 1) / 2; }

/* Before the products of blocks of so many rows: time is proportional to them. Clears all tiles. */
CELL_CODE void tiles_begin(size_t rows)
{
    struct {
        uint8_t palette, start, unused[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } config = {.palette = 1};
    const size_t first = tiles_first_rows(rows), second = rows > first ? rows - first : first;
    for (int i = 0; i < 8; i++) {
        bool is_second = i == SUM_10 || i == SUM_11 || i == LEFT_1;
        config.bytes[i] = 64;
        config.rows[i] = (uint8_t)(i >= RIGHT_0 ? BF16X3_K / 2 : is_second ? second : first);
    }
    TILES_READ(&config);
    _tile_loadconfig(&config);
}

CELL_CODE void tiles_end(void) { _tile_release(); }

/* Both products of a right factor after each other: to take another one in lasts longer than to multiply few rows. */
#define TILES_MULTIPLY_(second, wide)                                           \
    do {                                                                        \
        _tile_dpbf16ps(SUM_00, LEFT_0, RIGHT_0);                                \
        if (second)                                                             \
            _tile_dpbf16ps(SUM_10, LEFT_1, RIGHT_0);                            \
        if (second && (wide))                                                   \
            _tile_dpbf16ps(SUM_11, LEFT_1, RIGHT_1);                            \
        if (wide)                                                               \
            _tile_dpbf16ps(SUM_01, LEFT_0, RIGHT_1);                            \
    } while (0)
#define TILES_LEFT_(part, second)                                               \
    do {                                                                        \
        _tile_loadd(LEFT_0, left + (part) * plane, LEFT_PART);                  \
        if (second)                                                             \
            _tile_loadd(LEFT_1, left + (part) * plane + after, LEFT_PART);      \
    } while (0)
#define TILES_RIGHT_(part, wide)                                                \
    do {                                                                        \
        _tile_loadd(RIGHT_0, right + RIGHT_AT(part), BF16X3_COLUMNS * 4);  \
        if (wide)                                                               \
            _tile_loadd(RIGHT_1, right_1 + RIGHT_AT(part), BF16X3_COLUMNS * 4);    \
    } while (0)

/* On an Intel Xeon (model 167) a tile that is stored after a thousand cycles without one waits as long again, a third
 * of the time of 256 k; one that is stored now and then, every TILES_OPEN steps of k, keeps the way open and costs
 * nothing. */
enum { TILES_OPEN = 4 };

CELL_CODE void tiles_keep_open(void)
{
    _Alignas(64) char nowhere[BF16X3_ROWS * LEFT_PART];
    _tile_stored(LEFT_0, nowhere, LEFT_PART);
}

/* What is done while tiles are multiplied, which leaves the other units idle: six times in each step of k, numbered. */
typedef void tiles_meanwhile(void *of, int time);
enum { TILES_TIMES = 6 };

CELL_CODE void tiles_idle(void *of, int time)
{
    (void)of;
    (void)time;
}

/* Adds `steps` of k to the sums of a block of rows, of which `second` says whether there are two tiles, by one tile of
 * columns, or two if `wide`: both constants at each use, as `meanwhile` is. Small products first. */
CELL_CODE void tiles_add(const char *left, size_t rows, const char *right, const char *right_1, size_t steps,
                         tiles_meanwhile *meanwhile, void *of, const bool second, const bool wide)
{
    const size_t plane = rows * LEFT_PART, after = tiles_first_rows(rows) * LEFT_PART;
    TILES_FENCE();
    for (; steps > 0; steps--, left += rows * LEFT_ROW, right += RIGHT_BYTES, right_1 += RIGHT_BYTES) {
        TILES_LEFT_(0, second);
        TILES_RIGHT_(2, wide);
        TILES_MULTIPLY_(second, wide);
        meanwhile(of, 0);
        TILES_RIGHT_(1, wide);
        TILES_MULTIPLY_(second, wide);
        meanwhile(of, 1);
        TILES_LEFT_(1, second);
        TILES_MULTIPLY_(second, wide);
        meanwhile(of, 2);
        TILES_RIGHT_(0, wide);
        TILES_MULTIPLY_(second, wide);
        meanwhile(of, 3);
        TILES_LEFT_(2, second);
        TILES_MULTIPLY_(second, wide);
        meanwhile(of, 4);
        TILES_LEFT_(0, second);
        TILES_MULTIPLY_(second, wide);
        meanwhile(of, 5);
        if (steps % TILES_OPEN == 0)
            tiles_keep_open();
    }
}

/* A step of one or two tiles of a whole right factor, which is split while the step before it is multiplied. */
struct tiles_split {
    const char *from, *from_1; /* NULL: there is none */
    char *to;
    tiles_meanwhile *meanwhile;
    void *of;
};

CELL_CODE void tiles_split_pair(const char *from, char *to, size_t pair)
{
    const float *number = (const float *)(const void *)from + pair * 2 * BF16X3_COLUMNS;
    __m512i part[3];
    bf16x3_of_pairs(v_load(number), v_load(number + BF16X3_COLUMNS), part);
#pragma GCC unroll 3
    for (int i = 0; i < 3; i++) _mm512_store_si512(to + RIGHT_AT(i) + pair * sizeof *part, part[i]);
}

static __attribute__((noinline)) void tiles_split_pairs(const struct tiles_split *s, size_t pair, size_t end)
{
    for (; pair < end; pair++) {
        tiles_split_pair(s->from, s->to, pair);
        if (s->from_1)
            tiles_split_pair(s->from_1, s->to + RIGHT_BYTES, pair);
    }
}

CELL_CODE void tiles_split_meanwhile(void *of, int time)
{
    enum { PAIRS = BF16X3_K / 2, SHARE = (PAIRS + TILES_TIMES - 1) / TILES_TIMES };
    const struct tiles_split *s = of;
    const size_t pair = (size_t)time * SHARE;
    s->meanwhile(s->of, time);
    if (s->from)
        tiles_split_pairs(s, pair, pair + SHARE < PAIRS ? pair + SHARE : PAIRS);
}

/* tiles_add of a whole right factor. */
CELL_CODE void tiles_add_whole(const char *left, size_t rows, const char *whole, const char *whole_1, size_t steps,
                               tiles_meanwhile *meanwhile, void *of, const bool second, const bool wide)
{
    _Alignas(64) char made[2][2 * RIGHT_BYTES];
    struct tiles_split split = {whole, wide ? whole_1 : NULL, made[0], meanwhile, of};
    tiles_split_pairs(&split, 0, BF16X3_K / 2);
    for (size_t i = 0; i < steps; i++, left += rows * LEFT_ROW) {
        const char *right = split.to;
        split.to = made[i % 2 == 0];
        split.from = i + 1 < steps ? whole + (i + 1) * WHOLE_BYTES : NULL;
        split.from_1 = wide ? whole_1 + (i + 1) * WHOLE_BYTES : NULL;
        tiles_add(left, rows, right, right + RIGHT_BYTES, 1, tiles_split_meanwhile, &split, second, wide);
        if (i % TILES_OPEN == 0)
            tiles_keep_open();
    }
}

/* tiles_add of either right factor. */
CELL_CODE void tiles_add_right(const char *left, size_t rows, const char *right, const char *right_1, size_t steps,
                               const bool whole, tiles_meanwhile *meanwhile, void *of, const bool second,
                               const bool wide)
{
    if (whole)
        tiles_add_whole(left, rows, right, right_1, steps, meanwhile, of, second, wide);
    else
        tiles_add(left, rows, right, right_1, steps, meanwhile, of, second, wide);
}

/* Memory to bring nearer meanwhile: so many pieces of two cache lines at each step of k, `distance` bytes apart. Not
 * more than AHEAD_MAX: they keep the tiles' own loads waiting. */
enum { AHEAD_PIECE = 128, AHEAD_MAX = 2 * TILES_TIMES };

struct tiles_ahead {
    const char *at;
    size_t pieces, distance;
};

CELL_CODE void tiles_ask(void *of, int time)
{
    struct tiles_ahead *ahead = of;
    const size_t first = 2 * (size_t)time;
    for (size_t i = first; i < first + 2 && i < ahead->pieces; i++, ahead->at += ahead->distance) {
        _mm_prefetch(ahead->at, _MM_HINT_T1);
        _mm_prefetch(ahead->at + AHEAD_PIECE / 2, _MM_HINT_T1);
    }
}

CELL_CODE void tiles_clear(const bool second, const bool wide)
{
    _tile_zero(SUM_00);
    if (wide)
        _tile_zero(SUM_01);
    if (second)
        _tile_zero(SUM_10);
    if (second && wide)
        _tile_zero(SUM_11);
}

/* The sums of a block of rows to c[row * c_row + column], c_1 the second tile of columns; all columns of a tile. */
CELL_CODE void tiles_store(float *c, float *c_1, size_t c_row, size_t rows, const bool second, const bool wide)
{
    const size_t bytes = c_row * sizeof *c, after = tiles_first_rows(rows) * c_row;
    _tile_stored(SUM_00, c, bytes);
    if (wide)
        _tile_stored(SUM_01, c_1, bytes);
    if (second)
        _tile_stored(SUM_10, c + after, bytes);
    if (second && wide)
        _tile_stored(SUM_11, c_1 + after, bytes);
    TILES_FENCE();
}

/* And from there. */
CELL_CODE void tiles_load(const float *c, const float *c_1, size_t c_row, size_t rows, const bool second,
                          const bool wide)
{
    const size_t bytes = c_row * sizeof *c, after = tiles_first_rows(rows) * c_row;
    TILES_FENCE();
    _tile_loadd(SUM_00, c, bytes);
    if (wide)
        _tile_loadd(SUM_01, c_1, bytes);
    if (second)
        _tile_loadd(SUM_10, c + after, bytes);
    if (second && wide)
        _tile_loadd(SUM_11, c_1 + after, bytes);
}

/* ---- weights that are bf16 ------------------------------------------------------------- */

/* They need no splitting: all three parts of up to BF16_ROWS rows are the rows of one tile, each with a sum of its own,
 * by `count` tiles of columns (a constant at each use, at most TILES_SUMS) side by side: lines of pairs, so many bytes
 * apart. */
struct tiles_bf16 {
    const char *at;
    size_t lines, line;
};

enum { TILES_SUMS = 4, TILES_LINE = 4 * BF16X3_COLUMNS };

#define TILES_ADD_BF16_(sum, right, j)                                          \
    do {                                                                        \
        if (count > (j)) {                                                      \
            _tile_loadd(right, at + (j) * TILES_LINE, w->line);                 \
            _tile_dpbf16ps(sum, LEFT_0, right);                                 \
        }                                                                       \
    } while (0)

/* Left: [steps][rows][BF16X3_K]. Where lines end within a step, that step is one of the last lines there are, and the
 * left factor has zeros for those before. */
CELL_CODE void tiles_add_bf16(const char *left, size_t rows, const struct tiles_bf16 *w, tiles_meanwhile *meanwhile,
                              void *of, const size_t count)
{
    enum { LINES = BF16X3_K / 2 };
    TILES_FENCE();
    for (size_t line = 0; line < w->lines; line += LINES, left += rows * LEFT_PART) {
        const char *at = w->at + (line + LINES <= w->lines ? line : w->lines - LINES) * w->line;
        _tile_loadd(LEFT_0, left, LEFT_PART);
        TILES_ADD_BF16_(SUM_00, RIGHT_0, 0);
        TILES_ADD_BF16_(SUM_01, RIGHT_1, 1);
        meanwhile(of, 0);
        TILES_ADD_BF16_(SUM_10, RIGHT_0, 2);
        TILES_ADD_BF16_(SUM_11, RIGHT_1, 3);
        if (line / LINES % TILES_OPEN == TILES_OPEN - 1)
            tiles_keep_open();
    }
}

/* The sums, side by side, each part [rows] of its own. */
CELL_CODE void tiles_store_bf16(float *c, size_t c_row, const size_t count)
{
    const size_t bytes = c_row * sizeof *c;
    _tile_stored(SUM_00, c, bytes);
    if (count > 1)
        _tile_stored(SUM_01, c + BF16X3_COLUMNS, bytes);
    if (count > 2)
        _tile_stored(SUM_10, c + 2 * BF16X3_COLUMNS, bytes);
    if (count > 3)
        _tile_stored(SUM_11, c + 3 * BF16X3_COLUMNS, bytes);
    TILES_FENCE();
}

/* A sum, from those of its bf16x3 splits, which are so many numbers apart. */
CELL_CODE V tiles_sum_bf16(const float *third, size_t apart)
{
    return v_add(v_load(third), v_add(v_load(third + apart), v_load(third + 2 * apart)));
}

#endif

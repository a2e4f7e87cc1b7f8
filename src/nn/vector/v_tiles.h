/* Products of floats by tiles of bf16. A float is the sum of three bf16. Of the nine products of two such sums, the six
 * significant ones are added to one float sum. The others are below 2^-26 of a product, a quarter of a rounding error.
 * An infinite factor gives NaN. With TILE_PARTS 1, a float is rounded to one bf16 (precision bf16). Included after
 * v_avx512.h.
 *
 * Tiles are AMX's, or emulated by AVX-512's dot products of pairs (TILES_BY_DOTS). With AMX six products of bf16 take
 * less time than one multiply-add of floats: 512 bf16 multiply-adds per cycle instead of 32 (Intel's optimization
 * manual, chapter on AMX).
 *
 * Factors are stored as bf16x3 splits: for each step of BF16X3_K k the first bf16, then the second ones, then the third
 * ones. A left factor has blocks of LEFT_ROWS rows; the last block has the remaining ones:
 * [steps][parts][rows][BF16X3_K] bf16. A right factor has tiles of BF16X3_COLUMNS columns: [steps][parts][BF16X3_K /
 * 2][BF16X3_COLUMNS][2] bf16. Its last part comes first: it is read in this order, which the hardware prefetches. The
 * end of k is padded with zeros.
 *
 * A distant right factor that is multiplied by few rows takes longer to load than to multiply. It may therefore be
 * stored whole, in 2/3 of the bytes of three parts: tiles of [steps][BF16X3_K][BF16X3_COLUMNS] floats, which are split
 * step by step. */
#ifndef V_TILES_H
#define V_TILES_H
#include "nn/cells/step/bf16x3.h"
#include <stdbool.h>
#include <string.h>

#ifndef TILE_PARTS
#error "define TILE_PARTS, the bf16 of each float: 3 or 1"
#endif
enum { LEFT_ROW = TILE_PARTS * LEFT_PART, RIGHT_BYTES = TILE_PARTS * RIGHT_PART };

/* Offset of a part in a step of a right factor: the last part comes first. */
#define RIGHT_AT(part) ((TILE_PARTS - 1 - (part)) * RIGHT_PART)

/* ---- bf16x3 splits ---------------------------------------------------------------------------- */

/* Rounds 32 floats to bf16, those of `low` first. Denormals become zeros. */
CELL_CODE __m512i bf16x3_round(V low, V high) { return (__m512i)_mm512_cvtne2ps_pbh(high, low); }

CELL_CODE V bf16x3_rest(V a, __m256i rounded)
{
    return v_sub(a, _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(rounded), 16)));
}

/* Splits low[i], high[i] into part[0] + part[1] + part[2], exactly except for denormals; with one part, rounds to the
 * nearest bf16. */
CELL_CODE void bf16x3_of(V low, V high, __m512i part[TILE_PARTS])
{
#pragma GCC unroll 3
    for (int i = 0; i < TILE_PARTS; i++) {
        part[i] = bf16x3_round(low, high);
        low = bf16x3_rest(low, _mm512_castsi512_si256(part[i]));
        high = bf16x3_rest(high, _mm512_extracti64x4_epi64(part[i], 1));
    }
}

/* Does the same with low[i], high[i] stored as pairs. Ties of three parts are rounded away from zero, in integers. If
 * rounding a NaN overflows, the last part, which is exact, is still NaN. */
CELL_CODE void bf16x3_of_pairs(V low, V high, __m512i pair[TILE_PARTS])
{
#if TILE_PARTS == 1
    const __m512i side_by_side = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7,
                                                  22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    pair[0] = _mm512_permutexvar_epi16(side_by_side, bf16x3_round(low, high));
#else
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
#endif
}

/* Transposes 16 rows of 16 pairs. */
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

/* Stores a cache line without reading it into the caches first. */
CELL_CODE void v_stream(float *line, V a) { _mm512_stream_ps(line, a); }

/* Call it before other threads read lines stored by v_stream. */
CELL_CODE void v_stream_end(void) { _mm_sfence(); }

/* Work interleaved with tile products, which leave the other units idle. Called TILES_TIMES times per step of k,
 * numbered, once per product of two parts. */
typedef void tiles_meanwhile(void *of, int time);
enum { TILES_TIMES = TILE_PARTS == 3 ? 6 : 1, TILES_SUMS = 4 }; /* sums of a block */

CELL_CODE void tiles_idle(void *of, int time)
{
    (void)of;
    (void)time;
}

#ifdef TILES_BY_DOTS
#include "nn/vector/v_tiles_dots.h"
#else
#include "nn/vector/v_tiles_amx.h"
#endif

/* A step of one or two tiles of a whole right factor, split while the step before is multiplied. */
struct tiles_split {
    const char *from, *from_1; /* NULL: none */
    char *to;
    tiles_meanwhile *meanwhile;
    void *of;
};

CELL_CODE void tiles_split_pair(const char *from, char *to, size_t pair)
{
    const float *number = (const float *)(const void *)from + pair * 2 * BF16X3_COLUMNS;
    __m512i part[TILE_PARTS];
    bf16x3_of_pairs(v_load(number), v_load(number + BF16X3_COLUMNS), part);
#pragma GCC unroll 3
    for (int i = 0; i < TILE_PARTS; i++) _mm512_store_si512(to + RIGHT_AT(i) + pair * sizeof *part, part[i]);
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

/* Implements tiles_add for a whole right factor. */
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
        tiles_keep_open(i);
    }
}

/* Implements tiles_add for either right factor. */
CELL_CODE void tiles_add_right(const char *left, size_t rows, const char *right, const char *right_1, size_t steps,
                               const bool whole, tiles_meanwhile *meanwhile, void *of, const bool second,
                               const bool wide)
{
    if (whole)
        tiles_add_whole(left, rows, right, right_1, steps, meanwhile, of, second, wide);
    else
        tiles_add(left, rows, right, right_1, steps, meanwhile, of, second, wide);
}

/* Memory to prefetch meanwhile: `pieces` pieces of two cache lines per step of k, `distance` bytes apart. At most
 * AHEAD_MAX: more would delay the tiles' own loads. */
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

#endif

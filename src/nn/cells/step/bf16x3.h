/* Sizes of the tiles in which a device multiplies parts of floats (nn/vector/v_tiles.h), for plans that allocate such
 * copies of weights. Contains no instructions. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum {
    BF16X3_K = 32,    /* k per step */
    BF16X3_ROWS = 16, /* rows of a tile, and its columns */
    BF16X3_COLUMNS = 16,
    LEFT_ROWS = 32,              /* at most, per block: two tiles */
    BF16_ROWS = BF16X3_ROWS / 3, /* per block whose bf16x3 splits are all rows of one tile (bf16_by_tiles) */
    LEFT_PART = 2 * BF16X3_K,    /* bytes of a row in one part of a step; of a tile of columns: */
    RIGHT_PART = 2 * BF16X3_K * BF16X3_COLUMNS,
    WHOLE_BYTES = 4 * BF16X3_K * BF16X3_COLUMNS, /* as floats */
    BF16X3_PARTS = 3,                            /* at most: bf16 values whose sum is a float */
    BF16_PARTS = 1                               /* for floats rounded to bf16 */
};

/* Bytes of a row and step of k of a left factor, and of a tile and step of k of a right one. */
static inline size_t left_row_bytes(int parts) { return (size_t)parts * LEFT_PART; }
static inline size_t right_bytes(int parts, bool whole) { return whole ? WHOLE_BYTES : (size_t)parts * RIGHT_PART; }

static inline size_t bf16x3_steps(size_t k) { return (k + BF16X3_K - 1) / BF16X3_K; }

static inline size_t bf16x3_tiles(size_t columns) { return (columns + BF16X3_COLUMNS - 1) / BF16X3_COLUMNS; }

/* Returns whether tiles multiply bf16 weights with k elements. The weights need no splitting; each of the three parts
 * of the other factor has its own sum. From the lower limit on this is faster than unpacking the weights, for any
 * number of rows. The upper limit is the room in operands. */
static inline bool bf16_by_tiles(size_t k)
{
    enum { FEWEST = 3 * BF16X3_K, MAX = 16384 };
    return k >= FEWEST && k <= MAX;
}

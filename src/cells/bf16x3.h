/* The sizes of tiles in which a device multiplies parts of floats (v/v_tiles.h says how), as plans that make room for
 * such copies of weights see them. No instruction is in here. */
#ifndef CELLS_BF16X3_H
#define CELLS_BF16X3_H
#include <stdbool.h>
#include <stddef.h>

enum {
    BF16X3_K = 32,    /* of a step: so many k are multiplied at a time */
    BF16X3_ROWS = 16, /* of a tile, and its columns */
    BF16X3_COLUMNS = 16,
    LEFT_ROWS = 32,              /* of a block, at most: two tiles */
    BF16_ROWS = BF16X3_ROWS / 3, /* of a block whose bf16x3 splits are all rows of one tile (bf16_by_tiles) */
    LEFT_PART = 2 * BF16X3_K,    /* bytes of a row in one part of a step; of a tile of columns: */
    RIGHT_PART = 2 * BF16X3_K * BF16X3_COLUMNS,
    WHOLE_BYTES = 4 * BF16X3_K * BF16X3_COLUMNS, /* as floats */
    BF16X3_PARTS = 3,                            /* of a float as the sum of bf16; at most */
    BF16_PARTS = 1                               /* of one that is rounded to bf16 */
};

/* Bytes of a row and step of k of a left factor; of a tile and step of k of a right one. */
static inline size_t left_row_bytes(int parts) { return (size_t)parts * LEFT_PART; }
static inline size_t right_bytes(int parts, bool whole) { return whole ? WHOLE_BYTES : (size_t)parts * RIGHT_PART; }

static inline size_t bf16x3_steps(size_t k) { return (k + BF16X3_K - 1) / BF16X3_K; }

static inline size_t bf16x3_tiles(size_t columns) { return (columns + BF16X3_COLUMNS - 1) / BF16X3_COLUMNS; }

/* bf16 weights need no splitting: tiles multiply them with all three parts of the other factor, each part a sum of its
 * own. From so many k on that is faster than to unpack them, whatever the number of rows; up to as many as operands
 * have room for. */
static inline bool bf16_by_tiles(size_t k)
{
    enum { FEWEST = 3 * BF16X3_K, MAX = 16384 };
    return k >= FEWEST && k <= MAX;
}

#endif

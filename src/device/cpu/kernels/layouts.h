/* Layouts of weights for the CPU's kernels, and their bytes. operands.c assigns layouts to operations. */
#pragma once
#include "base/dtype.h"

enum layout {
    LAYOUT_DENSE,   /* row by row, the last axis contiguous */
    LAYOUT_PANELS,  /* for [.., U, K]: for each first index, panels of PANEL units: [words][PANEL], padded with zeros */
    LAYOUT_COLUMNS, /* for [.., U, K]: panels of PANEL columns of all rows: [.. U][PANEL], padded with zeros */
    LAYOUT_GATES,   /* for [G, U, K]: tiles of CELL_TILE units of all gates: [words][G][CELL_TILE], padded with zeros */
    LAYOUT_BF16X3,  /* for [.., U, K] f32: for each first index, the right factor (nn/cells/step/bf16x3.h) of U columns,
                     * length K */
    LAYOUT_BF16X3_BACK, /* likewise, the right factor of K columns; U is padded to steps of BF16X3_K for each first
                         * index */
    LAYOUT_WHOLE,       /* like LAYOUT_BF16X3, but with floats that a product splits */
    LAYOUT_WHOLE_BACK   /* like LAYOUT_BF16X3_BACK, likewise */
};

/* Returns whether it is a right factor of bf16x3 products .. */
static inline bool layout_is_right(enum layout layout) { return layout >= LAYOUT_BF16X3; }

static inline bool layout_is_whole(enum layout layout) { return layout >= LAYOUT_WHOLE; }

/* .. of K columns. */
static inline bool layout_is_right_back(enum layout layout)
{
    return layout == LAYOUT_BF16X3_BACK || layout == LAYOUT_WHOLE_BACK;
}

enum {
    PANEL = 32,
    MAX_INT8_PRODUCTS = 131064, /* of at most 127 * 127, in an int32 */
    MAX_GATHERED_COLUMNS = 2048 /* symbols whose sums of gradients stay in cache */
};

/* A word is a unit's part of a panel at one place: a float, a double, or 4 bytes with two bf16 or four int8 of
 * consecutive k, padded with zeros. int8 rows end with two more words per unit: the scale of its weights, a float, and
 * 128 times their sum, an int32 (device/cpu/kernels/low_precision.h). The words of one k, or of 2 or 4, are adjacent:
 * [words][PANEL]. */
static inline size_t words_of(enum dtype dtype, size_t k)
{
    return dtype == DTYPE_I8 ? (k + 3) / 4 + 2 : dtype == DTYPE_BF16 ? (k + 1) / 2 : k;
}

static inline size_t word_bytes(enum dtype dtype) { return dtype == DTYPE_F64 ? 8 : 4; }

/* How the CPU's kernels want weights to lie: numbers of layouts, and their bytes. Which operation reads which is
 * operands.c's. */
#ifndef DEVICE_CPU_LAYOUTS_H
#define DEVICE_CPU_LAYOUTS_H
#include "base/dtype.h"

enum layout {
    LAYOUT_DENSE,   /* row by row, the last axis contiguous */
    LAYOUT_PANELS,  /* of [.., U, K]: for each first index, panels of PANEL units: [words][PANEL], zeros at the end */
    LAYOUT_COLUMNS, /* of [.., U, K]: panels of PANEL columns of all rows: [.. U][PANEL], zeros at the end */
    LAYOUT_GATES,   /* of [G, U, K]: tiles of CELL_TILE units of all gates: [words][G][CELL_TILE], zeros at the end */
    LAYOUT_BF16X3, /* of [.., U, K] f32: for each first index, the right factor (cells/bf16x3.h) of U columns, K long */
    LAYOUT_BF16X3_BACK, /* likewise, the right factor of K columns, all U long that a step of BF16X3_K ends each first
                           index */
    LAYOUT_WHOLE,       /* as LAYOUT_BF16X3, but whole numbers, which a product splits */
    LAYOUT_WHOLE_BACK   /* as LAYOUT_BF16X3_BACK, likewise */
};

/* Right factors of bf16x3 products. */
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
    MAX_GATHERED_COLUMNS = 2048 /* symbols of a pick, whose sums of gradients stay in cache */
};

/* A word is what a panel holds of a unit at one place: a float or a double; or, in 4 bytes, two bf16 or four int8
 * of consecutive k, zeros where k ends. int8 end with two more words of each unit: the scale of its weights, a
 * float, and 128 times their sum, an int32 (device/cpu/low_precision.h). The words of one k, or of 2 or 4, lie side by
 * side: [words][PANEL]. */
static inline size_t words_of(enum dtype dtype, size_t k)
{
    return dtype == DTYPE_I8 ? (k + 3) / 4 + 2 : dtype == DTYPE_BF16 ? (k + 1) / 2 : k;
}

static inline size_t word_bytes(enum dtype dtype) { return dtype == DTYPE_F64 ? 8 : 4; }

#endif

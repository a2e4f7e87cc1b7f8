/* The tables of the test cells, in the order of toy_table.h. */
#ifndef TESTS_CELLS_TOYS_H
#define TESTS_CELLS_TOYS_H
#include "nn/cells/cell.h"
#include "nn/record/record.h"

extern const struct cell_kernels *const toys_scalar[];
extern const struct cell_kernels *const toys_f64[];
extern const struct cell_kernels *const toys_avx2[];
extern const struct cell_kernels *const cells_int8_avx2[]; /* the library's cells: only fused steps with int8 weights */
extern const struct cell_kernels *const toys_avx512[];
extern const struct cell_kernels *const toys_amx[];            /* only steps with bf16x3 splits */
extern const struct cell_kernels *const toys_two_registers[];  /* AVX-512, V of 32 floats, pointwise */
extern const struct cell_kernels *const cells_two_registers[]; /* and the library's cells for the same V */
extern const struct cell_kernels *const toys_neon[];
extern const struct cell_recorder toy_recorders[];

#endif

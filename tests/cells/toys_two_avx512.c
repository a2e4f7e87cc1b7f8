/* The cells of the tests and of the library with a V of two AVX-512 registers, wider than a tile: pointwise only. */
#include "toys.h"
#include "nn/vector/v_avx512x2.h"
#include "nn/vector/v_low_precision.h"
#define CELL_POINTWISE
#define CELL_USER "nn/cells/step/cell_loops.h"
#include "nn/cells/cell_table.h"
#include "toy_table.h"

#define KERNELS(name) &name##_kernels,
const struct cell_kernels *const toys_two_registers[] = {ALL_TOYS(KERNELS) NULL};
const struct cell_kernels *const cells_two_registers[] = {ALL_CELLS(KERNELS) NULL};

/* The test cells for AVX-512. */
#include "toys.h"
#include "nn/vector/v_avx512.h"
#include "nn/vector/v_low_precision.h"
#define CELL_USER "nn/cells/step/cell_loops.h"
#include "toy_table.h"

#define KERNELS(name) &name##_kernels,
const struct cell_kernels *const toys_avx512[] = {ALL_TOYS(KERNELS) NULL};

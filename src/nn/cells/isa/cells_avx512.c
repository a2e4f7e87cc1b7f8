/* All cells for AVX-512. The build sets the flags; v_avx512.h checks them. */
#include "nn/cells/cell.h"
#include "nn/vector/v_avx512.h"
#include "nn/vector/v_low_precision.h"
#define CELL_USER "nn/cells/step/cell_loops.h"
#include "nn/cells/cell_table.h"

#define KERNELS(name) &name##_kernels,
const struct cell_kernels *const cells_avx512[] = {ALL_CELLS(KERNELS) NULL};

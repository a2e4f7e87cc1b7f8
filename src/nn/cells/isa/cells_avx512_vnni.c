/* The fused steps of all cells for AVX-512 with VNNI, only for int8 weights. cells_avx512.c handles the others. The
 * build sets the flags. */
#include "nn/cells/cell.h"
#include "nn/vector/v_avx512.h"
#include "nn/vector/v_low_precision.h"
#define FUSED_INT8_ALONE 1
#define CELL_FUSED_ALONE
#define CELL_USER "nn/cells/step/cell_loops.h"
#include "nn/cells/cell_table.h"

#define KERNELS(name) &name##_kernels,
const struct cell_kernels *const cells_avx512_vnni[] = {ALL_CELLS(KERNELS) NULL};

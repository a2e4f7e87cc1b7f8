/* All cells for NEON on a 64-bit ARM. */
#include "nn/cells/cell.h"
#include "nn/vector/v_neon.h"
#include "nn/vector/v_low_precision.h"
#define CELL_USER "nn/cells/step/cell_loops.h"
#include "nn/cells/cell_table.h"

#define KERNELS(name) &name##_kernels,
const struct cell_kernels *const cells_neon[] = {ALL_CELLS(KERNELS) NULL};

/* All cells in double, for checks by finite differences. */
#include "nn/cells/cell.h"
#include "nn/vector/v_f64.h"
#define CELL_USER "nn/cells/step/cell_loops.h"
#include "nn/cells/cell_table.h"

#define KERNELS(name) &name##_kernels,
const struct cell_kernels *const cells_f64[] = {ALL_CELLS(KERNELS) NULL};

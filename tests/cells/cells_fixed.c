/* All cells in simulated 16-bit fixed point. */
#include "nn/cells/cell.h"
#include "v_fixed.h"
#define CELLS_WITHOUT_CHOICE
#define CELL_POINTWISE
#define CELL_USER "nn/cells/step/cell_loops.h"
#include "nn/cells/cell_table.h"

#define KERNELS(name) &name##_kernels,
const struct cell_kernels *const cells_fixed[] = {ALL_CELLS(KERNELS) NULL};

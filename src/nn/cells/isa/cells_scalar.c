/* All cells for one float at a time: the reference. */
#include "nn/cells/cell.h"
#include "nn/vector/v_f32.h"
#include "nn/vector/v_low_precision.h"
#define CELL_USER "nn/cells/step/cell_loops.h"
#include "nn/cells/cell_table.h"

#define KERNELS(name) &name##_kernels,
const struct cell_kernels *const cells_scalar[] = {ALL_CELLS(KERNELS) NULL};

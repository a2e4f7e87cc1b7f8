/* The test cells for one double at a time. */
#include "toys.h"
#include "nn/vector/v_f64.h"
#define CELL_USER "nn/cells/step/cell_loops.h"
#include "toy_table.h"

#define KERNELS(name) &name##_kernels,
const struct cell_kernels *const toys_f64[] = {ALL_TOYS(KERNELS) NULL};

/* The test cells for one float at a time. */
#include "toys.h"
#include "nn/vector/v_f32.h"
#include "nn/vector/v_low_precision.h"
#define CELL_USER "nn/cells/step/cell_loops.h"
#include "toy_table.h"

#define KERNELS(name) &name##_kernels,
const struct cell_kernels *const toys_scalar[] = {ALL_TOYS(KERNELS) NULL};

/* The test cells for NEON. */
#include "toys.h"
#include "nn/vector/v_neon.h"
#include "nn/vector/v_low_precision.h"
#define CELL_USER "nn/cells/step/cell_loops.h"
#include "toy_table.h"

#define KERNELS(name) &name##_kernels,
const struct cell_kernels *const toys_neon[] = {ALL_TOYS(KERNELS) NULL};

/* All cells in simulated 16-bit fixed point. */
#include "cells/cell.h"
#include "v_fixed.h"
#define CELLS_WITHOUT_CHOICE
#define CELL_POINTWISE
#define CELL_USER "cells/cell_loops.h"
#include "cells/cell_table.h"

#define KERNELS(name) &name##_kernels,
const struct cell_kernels *const cells_fixed[] = {ALL_CELLS(KERNELS) NULL};

/* All cells in double, for checks by finite differences. */
#include "cells/cell.h"
#include "cells/v/v_f64.h"
#define CELL_USER "cells/cell_loops.h"
#include "cells/cell_table.h"

#define KERNELS(name) &name##_kernels,
const struct cell_kernels *const cells_f64[] = {ALL_CELLS(KERNELS) NULL};

/* All cells for one float at a time: the reference. */
#include "cells/cell.h"
#include "cells/v/v_f32.h"
#include "cells/v/v_low_precision.h"
#define CELL_USER "cells/cell_loops.h"
#include "cells/cell_table.h"

#define KERNELS(name) &name##_kernels,
const struct cell_kernels *const cells_scalar[] = {ALL_CELLS(KERNELS) NULL};

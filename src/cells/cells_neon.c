/* All cells for NEON on a 64-bit ARM. */
#include "cells/cell.h"
#include "cells/v/v_neon.h"
#include "cells/v/v_low_precision.h"
#define CELL_USER "cells/cell_loops.h"
#include "cells/cell_table.h"

#define KERNELS(name) &name##_kernels,
const struct cell_kernels *const cells_neon[] = {ALL_CELLS(KERNELS) NULL};

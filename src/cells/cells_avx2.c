/* All cells for AVX2. The build gives the flags, v_avx2.h insists on them. */
#include "cells/cell.h"
#include "cells/v/v_avx2.h"
#include "cells/v/v_low_precision.h"
#define CELL_USER "cells/cell_loops.h"
#include "cells/cell_table.h"

#define KERNELS(name) &name##_kernels,
const struct cell_kernels *const cells_avx2[] = {ALL_CELLS(KERNELS) NULL};

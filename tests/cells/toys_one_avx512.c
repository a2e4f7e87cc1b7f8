/* The tests' cells for AVX-512, one register at a time, and the library's cells likewise. */
#include "toys.h"
#include "cells/v/v_avx512.h"
#include "cells/v/v_narrow.h"
#define CELL_USER "cells/cell_loops.h"
#include "cells/cell_table.h"
#include "toy_table.h"

#define KERNELS(name) &name##_kernels,
const struct cell_kernels *const toys_one_register[] = { ALL_TOYS(KERNELS) NULL };
const struct cell_kernels *const cells_one_register[] = { ALL_CELLS(KERNELS) NULL };

/* The tests' cells for AVX-512. */
#include "toys.h"
#include "cells/v/v_avx512.h"
#include "cells/v/v_low_precision.h"
#define CELL_USER "cells/cell_loops.h"
#include "toy_table.h"

#define KERNELS(name) &name##_kernels,
const struct cell_kernels *const toys_avx512[] = {ALL_TOYS(KERNELS) NULL};

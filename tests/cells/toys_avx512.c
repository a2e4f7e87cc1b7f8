/* The tests' cells for AVX-512, two registers at a time. */
#include "toys.h"
#include "cells/v/v_avx512x2.h"
#include "cells/v/v_narrow.h"
#define CELL_POINTWISE
#define CELL_USER "cells/cell_loops.h"
#include "toy_table.h"

#define KERNELS(name) &name##_kernels,
const struct cell_kernels *const toys_avx512[] = { ALL_TOYS(KERNELS) NULL };

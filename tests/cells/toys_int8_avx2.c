/* The library's fused steps for int8 weights alone, which it has for AVX-512 with VNNI, for AVX2: machines without VNNI
 * test this code, too. */
#include "toys.h"
#include "nn/vector/v_avx2.h"
#include "nn/vector/v_low_precision.h"
#define FUSED_INT8_ALONE 1
#define CELL_FUSED_ALONE
#define CELL_USER "nn/cells/step/cell_loops.h"
#include "nn/cells/cell_table.h"

#define KERNELS(name) &name##_kernels,
const struct cell_kernels *const cells_int8_avx2[] = {ALL_CELLS(KERNELS) NULL};

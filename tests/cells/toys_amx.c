/* The test cells for AVX-512 with AMX: steps with weights as bf16x3 splits. */
#include "toys.h"
#include "nn/vector/v_avx512.h"
#define TILE_PARTS 3
#include "nn/vector/v_tiles.h"
#define FUSED_TILES_ALONE 1
#define CELL_FUSED_ALONE
#define CELL_USER "nn/cells/step/cell_loops.h"
#include "toy_table.h"

#define KERNELS(name) &name##_kernels,
const struct cell_kernels *const toys_amx[] = {ALL_TOYS(KERNELS) NULL};

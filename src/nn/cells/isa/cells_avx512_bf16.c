/* The fused steps of all cells for AVX-512 with BF16, only for weights rounded to bf16. Their tiles are emulated by dot
 * products of pairs. cells_avx512.c handles the others. The build sets the flags. */
#include "nn/cells/cell.h"
#include "nn/vector/v_avx512.h"
#define TILE_PARTS 1
#define TILES_BY_DOTS
#include "nn/vector/v_tiles.h"
#define FUSED_TILES_ALONE 1
#define CELL_FUSED_ALONE
#define CELL_USER "nn/cells/step/cell_loops.h"
#include "nn/cells/cell_table.h"

#define KERNELS(name) &name##_kernels,
const struct cell_kernels *const cells_avx512_bf16[] = {ALL_CELLS(KERNELS) NULL};

/* The fused steps of all cells for AVX-512 with AMX, of weights that tiles multiply alone: all else is
 * cells_avx512.c's. The build gives the flags. */
#include "cells/cell.h"
#include "cells/v/v_avx512.h"
#define TILE_PARTS 3
#include "cells/v/v_tiles.h"
#define FUSED_TILES_ALONE 1
#define CELL_FUSED_ALONE
#define CELL_USER "cells/cell_loops.h"
#include "cells/cell_table.h"

#define KERNELS(name) &name##_kernels,
const struct cell_kernels *const cells_amx[] = {ALL_CELLS(KERNELS) NULL};

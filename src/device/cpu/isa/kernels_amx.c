/* All kernels for AVX-512 with AMX, which multiplies tiles: products of many rows are faster (nn/vector/v_tiles.h). The
 * others are those of AVX-512 with VNNI. The build sets the flags. */
#ifndef __AMX_BF16__
#error "kernels_amx.c needs -mamx-tile -mamx-bf16 -mamx-int8"
#endif
#include "nn/vector/v_avx512.h"
#define TILE_PARTS 3
#include "device/cpu/isa/kernels_of_tiles.h"

const struct cpu_isa cpu_amx = KERNELS_OF_TILES(amx, ISA_AMX);

/* All kernels for AVX-512 with AMX, which multiplies tiles: products of many rows gain (cells/v/v_tiles.h), all else is
 * as with AVX-512 and VNNI. The build gives the flags. */
#ifndef __AMX_BF16__
#error "kernels_amx.c needs -mamx-tile -mamx-bf16 -mamx-int8"
#endif
#include "cells/v/v_avx512.h"
#define TILE_PARTS 3
#include "device/cpu/kernels_of_tiles.h"

const struct cpu_isa cpu_amx = KERNELS_OF_TILES(amx, ISA_AMX);

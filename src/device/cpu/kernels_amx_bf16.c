/* All kernels for AVX-512 with AMX where products of many rows multiply floats rounded to bf16 (precision bf16,
 * cells/v/v_tiles.h): all else is as with AVX-512 and VNNI. The build gives the flags. */
#ifndef __AMX_BF16__
#error "kernels_amx_bf16.c needs -mamx-tile -mamx-bf16"
#endif
#include "cells/v/v_avx512.h"
#define TILE_PARTS 1
#include "device/cpu/kernels_of_tiles.h"

const struct cpu_isa cpu_amx_bf16 = KERNELS_OF_TILES(amx_bf16, ISA_AMX);

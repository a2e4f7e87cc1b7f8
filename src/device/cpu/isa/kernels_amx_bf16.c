/* All kernels for AVX-512 with AMX and precision bf16: products of many rows multiply floats rounded to bf16
 * (nn/vector/v_tiles.h). The others are those of AVX-512 with VNNI. The build sets the flags. */
#ifndef __AMX_BF16__
#error "kernels_amx_bf16.c needs -mamx-tile -mamx-bf16"
#endif
#include "nn/vector/v_avx512.h"
#define TILE_PARTS 1
#include "device/cpu/isa/kernels_of_tiles.h"

const struct cpu_isa cpu_amx_bf16 = KERNELS_OF_TILES(amx_bf16, ISA_AMX);

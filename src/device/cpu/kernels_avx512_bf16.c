/* All kernels for AVX-512 with BF16 where products of many rows multiply floats rounded to bf16 (precision bf16,
 * cells/v/v_tiles.h): all else is as with AVX-512 and VNNI. The build gives the flags. */
#ifndef __AVX512BF16__
#error "kernels_avx512_bf16.c needs -mavx512bf16"
#endif
#include "cells/v/v_avx512.h"
#define TILE_PARTS 1
#define TILES_BY_DOTS
#include "device/cpu/kernels_of_tiles.h"

const struct cpu_isa cpu_avx512_bf16 = KERNELS_OF_TILES(avx512_bf16, ISA_AVX512_VNNI);

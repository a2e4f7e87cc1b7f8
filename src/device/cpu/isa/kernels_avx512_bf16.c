/* All kernels for AVX-512 with BF16 and precision bf16: products of many rows multiply floats rounded to bf16
 * (nn/vector/v_tiles.h). The others are those of AVX-512 with VNNI. The build sets the flags. */
#ifndef __AVX512BF16__
#error "kernels_avx512_bf16.c needs -mavx512bf16"
#endif
#include "nn/vector/v_avx512.h"
#define TILE_PARTS 1
#define TILES_BY_DOTS
#include "device/cpu/isa/kernels_of_tiles.h"

const struct cpu_isa cpu_avx512_bf16 = KERNELS_OF_TILES(avx512_bf16, ISA_AVX512_VNNI);

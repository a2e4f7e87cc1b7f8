/* All kernels for AVX-512 with AMX where products of many rows multiply floats rounded to bf16 (precision bf16,
 * cells/v/v_tiles.h): all else is as with AVX-512 and VNNI. The build gives the flags. */
#ifndef __AVX512BF16__
#error "kernels_amx_bf16.c needs -mavx512bf16"
#endif
#include "device/cpu/isa.h"
#include "cells/v/v_avx512.h"
#define TILE_PARTS 1
#include "cells/v/v_tiles.h"

typedef float real;
#include "device/cpu/low_precision.h"
#define PRODUCT_ELSEWHERE product_avx512
#include "device/cpu/product_simd.h"
#include "device/cpu/product_low_precision.h"
#include "device/cpu/kernels_on_v.h"

const struct cpu_isa cpu_amx_bf16 = {.name = "amx_bf16",
                                     .isa = ISA_AMX,
                                     .real = DTYPE_F32,
                                     .cells = cells_avx512,
                                     .int8_words = cells_avx512_vnni,
                                     .product = product_avx512,
                                     .peak = peak_of_tiles,
                                     .activate = activate,
                                     .parts = TILE_PARTS,
                                     .left_rows = left_rows,
                                     .product_bf16x3 = product_bf16x3,
                                     .tiled_cells = cells_amx_bf16,
                                     LOWP,
                                     .kernel = {KERNELS, [OP_RNN] = kernel_rnn, [OP_RNN_BACK] = kernel_rnn_back}};

/* The kernels of an instruction set with tiles (cells/v/v_tiles.h): all that its kernels_*.c has beyond the flags and
 * what its tiles are. Included once, after v_avx512.h and TILE_PARTS; cpu_NAME is filled with KERNELS_OF_TILES. Not for
 * sets without tiles. */
#include "device/cpu/isa.h"
#include "cells/v/v_tiles.h"

typedef float real;
#include "device/cpu/low_precision.h"
#define PRODUCT_ELSEWHERE product_avx512
#include "device/cpu/product_simd.h"
#include "device/cpu/product_low_precision.h"
#include "device/cpu/kernels_on_v.h"

/* All else is as with AVX-512 and VNNI. */
#define KERNELS_OF_TILES(set, of_isa)                                                   \
    {                                                                                   \
        .name = #set, .isa = of_isa, .real = DTYPE_F32, .cells = cells_avx512,          \
        .int8_words = cells_avx512_vnni, .product = product_avx512,                     \
        .peak = peak_of_tiles, .activate = activate, .parts = TILE_PARTS, .update_outside = update_outside, \
        .left_rows = left_rows, .product_bf16x3 = product_bf16x3,                       \
        .tiled_cells = cells_##set, LOWP, .kernel = {                                   \
            KERNELS,                                                                    \
            [OP_RNN] = kernel_rnn,                                                      \
            [OP_RNN_BACK] = kernel_rnn_back                                             \
        }                                                                               \
    }

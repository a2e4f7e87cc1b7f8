/* The kernels of an instruction set with tiles (nn/vector/v_tiles.h), shared by their kernels_*.c files. Included once,
 * after v_avx512.h and TILE_PARTS; KERNELS_OF_TILES fills cpu_NAME. */
#include "device/cpu/isa/isa.h"
#include "nn/vector/v_tiles.h"

typedef float real;
#include "device/cpu/kernels/low_precision.h"
#define PRODUCT_ELSEWHERE product_avx512
#include "device/cpu/product/product_simd.h"
#include "device/cpu/product/product_low_precision.h"
#include "device/cpu/isa/kernels_on_v.h"

/* The other kernels are those of AVX-512 with VNNI. */
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

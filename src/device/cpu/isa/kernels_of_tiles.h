/* The kernels that multiply tiles (nn/vector/v_tiles.h), shared by the kernels_*.c files of instruction sets with
 * tiles. Included once, after v_avx512.h and TILE_PARTS; KERNELS_OF_TILES fills cpu_NAME. The other kernels are those
 * of AVX-512 with VNNI. */
#include "device/cpu/isa/isa.h"
#include "nn/vector/v_tiles.h"
#include "nn/vector/v_low_precision.h"
#include <string.h>

typedef float real;
#define PRODUCT_ELSEWHERE product_avx512
#include "device/cpu/kernels/acc_blocks.h"
#include "device/cpu/kernels/vectors.h"
#include "device/cpu/kernels/steps.h"
#include "device/cpu/product/product_simd.h"
#include "device/cpu/product/product_low_precision.h"
#include "device/cpu/kernels/gemm.h"
#include "device/cpu/kernels/gemm_dw.h"
#include "device/cpu/kernels/pack.h"
#include "device/cpu/product/product_tiles.h"
#include "device/cpu/kernels/gemm_dw_tiles.h"
#include "device/cpu/kernels/pack_tiles.h"

#if TILE_PARTS == 3 /* low-precision weights, too */
#include "device/cpu/product/product_tiles_bf16.h"
#include "device/cpu/product/product_tiles_int8.h"
#define PRODUCT_BF16   product_bf16_of_tiles
#define PRODUCT_INT8   product_int8_of_tiles
#else
#define PRODUCT_BF16   product_bf16_avx512
#define PRODUCT_INT8   product_int8_avx512_vnni
#endif

#define KERNELS_OF_TILES(set, of_isa)                                                   \
    {                                                                                   \
        .name = #set, .isa = of_isa, .product_bf16 = PRODUCT_BF16, .product_int8 = PRODUCT_INT8, \
        .peak = peak_of_tiles, .parts = TILE_PARTS, .left_rows = left_rows,             \
        .product_bf16x3 = product_bf16x3, .tiled_cells = cells_##set, LIKE_AVX512,      \
        .kernel = {                                                                     \
            [OP_GEMM_DW] = kernel_gemm_dw_bf16x3,                                       \
            [OP_PACK] = kernel_pack_with_bf16x3                                         \
        }                                                                               \
    }

/* All kernels for AVX-512 with VNNI, which adds four products of bytes per instruction: int8 weights are faster. The
 * others are those of AVX-512. The build sets the flags. */
#ifndef __AVX512VNNI__
#error "kernels_avx512_vnni.c needs -mavx512vnni"
#endif
#include "device/cpu/isa/isa.h"
#include "nn/vector/v_avx512.h"

typedef float real;
#include "device/cpu/kernels/low_precision.h"
#define PRODUCT_ELSEWHERE product_avx512
#include "device/cpu/product/product_simd.h"
#include "device/cpu/product/product_low_precision.h"
#include "device/cpu/isa/kernels_on_v.h"

const struct cpu_isa cpu_avx512_vnni = {.name = "avx512_vnni",
                                        .isa = ISA_AVX512_VNNI,
                                        .real = DTYPE_F32,
                                        .cells = cells_avx512,
                                        .int8_words = cells_avx512_vnni,
                                        .product = product_avx512,
                                        .peak = peak,
                                        .update_outside = update_outside,
                                        .activate = activate,
                                        LOWP,
                                        .kernel = {KERNELS, [OP_RNN] = kernel_rnn, [OP_RNN_BACK] = kernel_rnn_back}};

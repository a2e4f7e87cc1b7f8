/* The int8 product for AVX-512 with VNNI, which adds four products of bytes per instruction. The other kernels are
 * those of AVX-512. The build sets the flags. */
#ifndef __AVX512VNNI__
#error "kernels_avx512_vnni.c needs -mavx512vnni"
#endif
#include "device/cpu/isa/isa.h"
#include "nn/vector/v_avx512.h"
#include "nn/vector/v_low_precision.h"
#include <string.h>

typedef float real;
#define PRODUCT_ELSEWHERE product_avx512
#include "device/cpu/product/product_simd.h"
#include "device/cpu/product/product_low_precision.h"

void product_int8_avx512_vnni(const struct product *p) { product_int8(p); }

const struct cpu_isa cpu_avx512_vnni = {.name = "avx512_vnni",
                                        .isa = ISA_AVX512_VNNI,
                                        .product_bf16 = product_bf16_avx512,
                                        .product_int8 = product_int8,
                                        .peak = peak_avx512,
                                        LIKE_AVX512};

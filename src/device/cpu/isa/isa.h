/* The tables of the instruction sets, one per kernels_*.c. Callers use cpu_isa_find (kernel.h). */
#pragma once
#include "device/cpu/kernels/kernel.h"

extern const struct cpu_isa cpu_scalar, cpu_double, cpu_avx2, cpu_avx512, cpu_avx512_vnni, cpu_amx, cpu_neon;

/* Tables whose products multiply floats rounded to bf16. */
extern const struct cpu_isa cpu_avx512_bf16, cpu_amx_bf16;

/* The functions of AVX-512 that its extensions share, and the int8 product of VNNI. */
product_kernel product_avx512, product_bf16_avx512, product_int8_avx512_vnni;
void quantize_avx512(const void *row, size_t k, void *words);
void pack_lowp_avx512(enum dtype, void *word, size_t row, const float *weights, size_t k);
void activate_avx512(const struct activation *, const void *x, void *y, size_t n);
void update_outside_avx512(const struct outside_update *);
uint64_t peak_avx512(uint64_t rounds, void *sink);

/* What a table of an extension of AVX-512 has in common with cpu_avx512, which also has its other kernels. */
#define LIKE_AVX512                                                                                                    \
    .real = DTYPE_F32, .cells = cells_avx512, .int8_words = cells_avx512_vnni, .product = product_avx512,              \
    .quantize = quantize_avx512, .pack_lowp = pack_lowp_avx512, .activate = activate_avx512,                           \
    .update_outside = update_outside_avx512, .others = &cpu_avx512

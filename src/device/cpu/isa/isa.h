/* The tables of the instruction sets, one per kernels_*.c. Callers use cpu_isa_find (kernel.h). */
#pragma once
#include "device/cpu/kernels/kernel.h"

extern const struct cpu_isa cpu_scalar, cpu_double, cpu_avx2, cpu_avx512, cpu_avx512_vnni, cpu_amx, cpu_neon;

/* Tables whose products multiply floats rounded to bf16. */
extern const struct cpu_isa cpu_avx512_bf16, cpu_amx_bf16;

/* The AVX-512 product, shared by its extensions. */
product_kernel product_avx512;

/* The tables of the instruction sets, one from each kernels_*.c. Users ask cpu_isa_find (kernel.h). */
#ifndef DEVICE_CPU_ISA_H
#define DEVICE_CPU_ISA_H
#include "device/cpu/kernel.h"

extern const struct cpu_isa cpu_scalar, cpu_double, cpu_avx2, cpu_avx512, cpu_avx512_vnni, cpu_amx, cpu_neon;

/* Of products that multiply floats rounded to bf16. */
extern const struct cpu_isa cpu_avx512_bf16, cpu_amx_bf16;

/* The product of AVX-512, for those that go beyond it. */
product_kernel product_avx512;

#endif

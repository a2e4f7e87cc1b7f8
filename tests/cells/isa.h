/* The tables of kernels that this machine can run and that must give the bits of the scalar ones. */
#ifndef TESTS_CELLS_ISA_H
#define TESTS_CELLS_ISA_H
#include "toys.h"

struct isa {
    const char *name;
    const struct cell_kernels *const *cells, *const *toys;
};

/* Ended by a NULL name. */
static inline void find_isas(struct isa isa[4])
{
    int count = 0;
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        isa[count++] = (struct isa){ "avx2", cells_avx2, toys_avx2 };
    if (__builtin_cpu_supports("avx512f")) {
        isa[count++] = (struct isa){ "avx512", cells_avx512, toys_avx512 };
        isa[count++] = (struct isa){ "avx512, one", cells_one_register, toys_one_register };
    }
#endif
#ifdef __aarch64__
    isa[count++] = (struct isa){ "neon", cells_neon, toys_neon };
#endif
    isa[count].name = NULL;
}

#endif

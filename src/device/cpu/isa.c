/* Which tables of kernels this build has, and which of them this machine can run. */
#include "device/cpu/isa.h"

static const struct cpu_isa *const tables[] = {
    &cpu_scalar, &cpu_double,
#if defined(__x86_64__)
    &cpu_avx2, &cpu_avx512, &cpu_avx512_vnni,
#elif defined(__aarch64__)
    &cpu_neon,
#endif
};

const struct cpu_isa *cpu_isa_find(enum isa isa, enum dtype real)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (tables[i]->isa == isa && tables[i]->real == real)
            return isa_available(isa) ? tables[i] : NULL;
    return NULL;
}

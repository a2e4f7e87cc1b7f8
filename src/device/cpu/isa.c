/* Which tables of kernels this build has, and which of them this machine can run. */
#include "device/cpu/isa.h"
#include "base/status.h"

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

unroll_status cpu_isa_choose(const char *name, enum dtype real, const struct cpu_isa **chosen)
{
    bool in_double = real == DTYPE_F64;
    enum isa isa = in_double ? ISA_SCALAR : isa_best();
    if (name && !isa_parse(name, &isa))
        return fail(UNROLL_USAGE, "there is no isa '%s'; choose one of scalar, avx2, avx512, avx512_vnni, neon",
                    name);
    if (in_double && isa != ISA_SCALAR)
        return fail(UNROLL_UNSUPPORTED, "double precision runs on the reference kernels only (isa scalar)");
    const struct cpu_isa *found = cpu_isa_find(isa, real);
    if (!found)
        return fail(UNROLL_UNSUPPORTED, "this machine or this build has no '%s'", isa_name(isa));
    *chosen = found;
    return UNROLL_OK;
}

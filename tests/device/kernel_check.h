/* One check for every kind of operation: the overlays against the reference bit by bit, teams, the work counted, and
 * the reference against a plain formula in double. */
#ifndef KERNEL_CHECK_H
#define KERNEL_CHECK_H
#include "kernel_fixture.h"

/* A sanitizer slows a case down so much that only some are tried. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SLOWER = 8 };
#else
enum { SLOWER = 1 };
#endif

/* build makes the same call for floats and doubles; plain computes it in double with simple loops. */
struct kind_case {
    const char *name;
    struct fixture *(*build)(uint64_t seed, enum dtype real);
    void (*plain)(struct fixture *);
    int cases;
    double float_error, double_error;
};

static const enum isa simd_isas[] = {ISA_AVX2, ISA_AVX512, ISA_NEON};
enum { SIMD_ISAS = sizeof simd_isas / sizeof *simd_isas };

/* Every ISA and team must give the results of `reference`, which was run on the scalar one. */
static inline void check_isa(const struct kind_case *c, uint64_t seed, const struct cpu_isa *isa,
                             const struct fixture *reference)
{
    for (int team = 1; team <= 3; team++) {
        struct fixture *f = c->build(seed, isa->real);
        struct work work = run_on(f, isa, team);
        CHECK(same_bits(f, reference), "%s seed %d: %s, team of %d", c->name, (int)seed, isa->name, team);
        CHECK(only_views_changed(f), "%s seed %d: %s, team of %d", c->name, (int)seed, isa->name, team);
        CHECK(work.flops == f->flops, "%s seed %d: %g flops, not %g", c->name, (int)seed, work.flops, f->flops);
        CHECK(work.bytes == bytes_of(f), "%s seed %d: %g bytes, not %g", c->name, (int)seed, work.bytes, bytes_of(f));
        fixture_free(f);
    }
}

static inline void check_plain(const struct kind_case *c, uint64_t seed, const struct fixture *in_float)
{
    struct fixture *expected = c->build(seed, DTYPE_F64), *found = c->build(seed, DTYPE_F64);
    c->plain(expected);
    run_on(found, cpu_isa_find(ISA_SCALAR, DTYPE_F64), 1);
    for (int slot = 0; slot < OP_VIEWS; slot++) {
        if (!expected->call.view[slot].at)
            continue;
        double d = distance(expected, found, slot), s = distance(expected, in_float, slot);
        CHECK(d <= c->double_error, "%s seed %d view %d: %g from the formula", c->name, (int)seed, slot, d);
        CHECK(s <= c->float_error, "%s seed %d view %d: floats %g from the formula", c->name, (int)seed, slot, s);
    }
    fixture_free(expected);
    fixture_free(found);
}

static inline void check_kind(const struct kind_case *c)
{
    const struct cpu_isa *scalar = cpu_isa_find(ISA_SCALAR, DTYPE_F32);
    for (int seed = 1; seed <= c->cases / SLOWER; seed++) {
        struct fixture *reference = c->build((uint64_t)seed, DTYPE_F32);
        run_on(reference, scalar, 1);
        check_isa(c, (uint64_t)seed, scalar, reference);
        for (int i = 0; i < SIMD_ISAS; i++)
            if (cpu_isa_find(simd_isas[i], DTYPE_F32))
                check_isa(c, (uint64_t)seed, cpu_isa_find(simd_isas[i], DTYPE_F32), reference);
        check_plain(c, (uint64_t)seed, reference);
        fixture_free(reference);
    }
}

#endif

/* Selects the tables of kernels that this build contains and this machine supports. */
#include "device/cpu/isa/isa.h"
#include "base/status.h"
#include <string.h>
#ifdef UNROLL_DEBUG
#include "base/number.h"
#include "base/philox.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#endif

_Thread_local char *workspace_of_thread;

static const struct cpu_isa *const tables[] = {
    &cpu_scalar, &cpu_double,
#if defined(__x86_64__)
    &cpu_avx2,   &cpu_avx512, &cpu_avx512_vnni, &cpu_amx,
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

const struct cell_kernels *cpu_isa_cell(const struct cpu_isa *isa, const char *name, enum dtype weights, bool by_tiles)
{
    bool is_int8 = weights == DTYPE_I8 && isa->int8_words;
    const struct cell_kernels *const *table = by_tiles ? isa->tiled_cells : is_int8 ? isa->int8_words : isa->cells;
    return table ? cell_find(table, name) : NULL;
}

#ifdef UNROLL_DEBUG
static int64_t draw_seed;

static void choose_draw_seed(void)
{
    const char *given = getenv("UNROLL_ISA_SEED");
    draw_seed = (int64_t)time(NULL) * 65536 + (int64_t)getpid();
    if (given && number_whole_integer(given, 0, INT64_MAX, &draw_seed) != NUMBER_OK)
        fprintf(stderr, "UNROLL_ISA_SEED is '%s', not an integer from 0 to %lld: a random seed is used\n", given,
                (long long)INT64_MAX);
    fprintf(stderr, "debug build: ISAs are chosen at random; UNROLL_ISA_SEED=%lld repeats this choice\n",
            (long long)draw_seed);
}

/* Returns a random available ISA, so that tests also run the kernels of older machines. */
static enum isa isa_unless_given(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static atomic_uint draws;
    enum isa choice[ISA_COUNT];
    uint32_t word[4], count = 0;
    pthread_once(&once, choose_draw_seed);
    for (int isa = 0; isa < ISA_COUNT; isa++)
        if (cpu_isa_find((enum isa)isa, DTYPE_F32))
            choice[count++] = (enum isa)isa;
    philox((uint32_t[2]){(uint32_t)draw_seed, (uint32_t)(draw_seed >> 32)}, (uint32_t[4]){atomic_fetch_add(&draws, 1)},
           word);
    return choice[word[0] % count];
}
#else
static enum isa isa_unless_given(void) { return isa_best(); }
#endif

bool cpu_isa_has_bf16x3(const char *name)
{
#ifdef UNROLL_DEBUG
    if (!name)
        return false;
#endif
    enum isa isa = isa_best();
    const struct cpu_isa *found = name && !isa_parse(name, &isa) ? NULL : cpu_isa_find(isa, DTYPE_F32);
    return found && found->product_bf16x3;
}

const struct cpu_isa *cpu_isa_with_bf16(const struct cpu_isa *isa)
{
#if defined(__x86_64__)
    if (isa->real != DTYPE_F32 || isa->isa < ISA_AVX512 || isa->isa > ISA_AMX || !processor_has_bf16())
        return NULL;
    return isa->isa == ISA_AMX ? &cpu_amx_bf16 : &cpu_avx512_bf16;
#else
    return (void)isa, NULL;
#endif
}

unroll_status cpu_isa_of_kernels(const char *name, const struct cpu_isa **found)
{
    for (int isa = ISA_AVX512; name && isa <= ISA_AMX; isa++) {
        const struct cpu_isa *floats = cpu_isa_find((enum isa)isa, DTYPE_F32);
        *found = floats ? cpu_isa_with_bf16(floats) : NULL;
        if (*found && !strcmp((*found)->name, name))
            return UNROLL_OK;
    }
    return cpu_isa_choose(name, DTYPE_F32, found);
}

const struct cpu_isa *cpu_isa_without_tiles(const struct cpu_isa *isa)
{
    return isa->isa == ISA_AMX ? cpu_isa_find(ISA_AVX512_VNNI, isa->real) : isa;
}

static const char *name_of(int index) { return index < ISA_COUNT ? isa_name((enum isa)index) : NULL; }

/* Finds the kernels for `name`, or the best ones if it is NULL. Fails if they cannot run here. */
unroll_status cpu_isa_choose(const char *name, enum dtype real, const struct cpu_isa **chosen)
{
    bool in_double = real == DTYPE_F64;
    char known[128];
    if (isa_unknown_limit())
        return fail(
            UNROLL_UNSUPPORTED,
            "UNROLL_ISA_LIMIT in the environment is '%s', which this machine does not have; fix: unset it or set it to one "
            "that 'unroll devices' lists",
            isa_unknown_limit());
    enum isa isa = in_double || name ? ISA_SCALAR : isa_unless_given();
    if (name && !isa_parse(name, &isa))
        return fail(UNROLL_USAGE, "there is no isa '%s'; fix: choose one of %s", name,
                    list_names(name_of, known, sizeof known));
    if (in_double && isa != ISA_SCALAR)
        return fail(UNROLL_UNSUPPORTED, "double precision requires the reference kernels; fix: use isa scalar");
    const struct cpu_isa *found = cpu_isa_find(isa, real);
    if (!found)
        return fail(
            UNROLL_UNSUPPORTED,
            "this machine, this build or UNROLL_ISA_LIMIT does not allow '%s'; fix: leave the isa out to use the best one",
            isa_name(isa));
    *chosen = found;
    return UNROLL_OK;
}

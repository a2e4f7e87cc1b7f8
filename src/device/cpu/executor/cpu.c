/* The CPU as a device: implements device.h by executable.h. Its memory is the host's, so reading a buffer is a copy. */
#include "base/extension.h"
#include "device/cpu/executor/executable_parts.h"
#include "device/cpu/executor/operands.h"
#include "device/cpu/executor/adaptive_threads.h"
#include "device/device.h"
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

static unroll_status cpu_about(char *text, size_t size)
{
    const struct cpu_isa *isa;
    TRY(cpu_isa_choose(NULL, DTYPE_F32, &isa));
    snprintf(text, size, "%s, %d processor%s", isa->name, cpu_count(), cpu_count() == 1 ? "" : "s");
    return UNROLL_OK;
}

static const struct executable *of(const void *executable) { return executable; }

static unroll_status cpu_store_new(const struct plan *plan, void **store)
{
    struct store *made;
    TRY(store_new(plan, &made));
    *store = made;
    return UNROLL_OK;
}

/* Debug builds choose a random ISA for kernels, but not here. */
static enum isa isa_of(const char *name)
{
    enum isa isa = isa_best();
    return name && !isa_parse(name, &isa) ? ISA_SCALAR : isa;
}

static bool rounds_to_bf16(const char *name)
{
    const struct cpu_isa *isa = cpu_isa_find(isa_of(name), DTYPE_F32);
    return isa && cpu_isa_with_bf16(isa);
}

static struct device_traits traits_of(const char *isa)
{
    struct device_traits traits = cpu_traits;
    traits.splits = cpu_isa_has_bf16x3(isa);
    traits.rounds = rounds_to_bf16(isa);
    return traits;
}

/* Returns whether the plan contains products for tiles. */
static bool has_use_for_tiles(const struct plan *plan)
{
    bool bf16 = false;
    for (int i = 0; i < plan->buffers; i++) bf16 = bf16 || reads_bf16_by_tiles(plan, i);
    return plan->splits || bf16 || plan->config.weights == DTYPE_I8;
}

/* Chooses kernels that multiply bf16. With precision bf16 there is no fallback to floats: unsupported combinations
 * fail. */
static unroll_status choose_bf16(const struct plan *plan, const char *name, const struct cpu_isa **isa)
{
    const struct plan_config *c = &plan->config;
    if (c->weights != DTYPE_F32)
        return fail(UNROLL_UNSUPPORTED,
                    "precision = bf16 requires weights in fp32, but `dtype` is %s; fix: use precision fp32",
                    dtype_name(c->weights));
    if (c->exact || c->mesh[M_HIDDEN] > 1 || c->mesh[M_TIME] > 1)
        return fail(UNROLL_UNSUPPORTED,
                    "precision = bf16 on the CPU cannot be combined with `exact` or a cut of hidden units or time; "
                    "fix: use precision fp32");
    const struct cpu_isa *floats = cpu_isa_find(isa_of(name), DTYPE_F32),
                         *found = floats ? cpu_isa_with_bf16(floats) : NULL;
    if (!found)
        return fail(UNROLL_UNSUPPORTED,
                    "precision = bf16: %s kernels on this processor cannot multiply bf16 (AVX512_BF16 or AMX is "
                    "required); fix: use precision fp32",
                    isa_name(isa_of(name)));
    *isa = plan->splits ? found : cpu_isa_without_tiles(floats);
    return UNROLL_OK;
}

static unroll_status choose_kernels(const struct plan *plan, const char *name, const struct cpu_isa **isa)
{
    if (plan->config.precision == PRECISION_BF16)
        return choose_bf16(plan, name, isa);
    TRY(cpu_isa_choose(name, plan->config.real, isa));
    *isa = has_use_for_tiles(plan) ? *isa : cpu_isa_without_tiles(*isa);
    return UNROLL_OK;
}

/* Creates an executable with the kernels of the chosen or the best ISA. */
static unroll_status cpu_executable_new(const struct plan *plan, void *store, const struct device_options *options,
                                        void **executable)
{
    struct executable_config config = {.threads = options->threads ? options->threads : cpu_count(),
                                       .comm = options->comm,
                                       .silent = options->silent,
                                       .profile = options->profile,
                                       .allocator = options->allocator};
    struct executable *made;
    if (options->which)
        return fail(UNROLL_USAGE, "device cpu:%s: the device cpu has no suffix; fix: use device cpu", options->which);
    TRY(adaptive_parse(getenv("UNROLL_ADAPTIVE"), &config.chooses));
    TRY(choose_kernels(plan, options->isa, &config.isa));
    TRY(executable_new(plan, store, &config, &made));
    *executable = made;
    return UNROLL_OK;
}

static unroll_status find_bytes(struct executable *executable, const char *name, uint64_t first, uint64_t bytes,
                                char **at)
{
    const struct plan *plan = of(executable)->plan;
    int index = plan_find_buffer(plan, name);
    char *buffer = executable_buffer(executable, name);
    if (index < 0 || !buffer)
        return fail(UNROLL_USAGE,
                    "the plan has no buffer '%s' on this rank; fix: give the name of an array of this session", name);
    if (first > plan->buffer[index].bytes || bytes > plan->buffer[index].bytes - first)
        return fail(UNROLL_USAGE, "'%s' has %llu bytes; fix: give this number of bytes", name,
                    (unsigned long long)plan->buffer[index].bytes);
    *at = buffer + first;
    return UNROLL_OK;
}

static unroll_status cpu_read(void *executable, const char *buffer, uint64_t first, uint64_t bytes, void *to)
{
    char *at;
    TRY(find_bytes(executable, buffer, first, bytes, &at));
    memcpy(to, at, bytes);
    return UNROLL_OK;
}

static unroll_status cpu_write(void *executable, const char *buffer, uint64_t first, uint64_t bytes, const void *from)
{
    char *at;
    TRY(find_bytes(executable, buffer, first, bytes, &at));
    memcpy(at, from, bytes);
    return UNROLL_OK;
}

static unroll_status cpu_run(void *executable, enum phase first, enum phase last)
{
    bool overlap = first <= PHASE_BACKWARD && last >= PHASE_SUM && plan_overlaps(of(executable)->plan);
    for (int phase = (int)first; phase <= (int)last; phase++)
        if (!overlap || phase != PHASE_SUM)
            TRY(executable_run(executable, overlap && phase == PHASE_BACKWARD ? (enum phase)PHASE_BACKWARD_SUM
                                                                              : (enum phase)phase));
    return UNROLL_OK;
}

static void cpu_update(void *executable, const struct outside_update *update)
{
    uint64_t mode = cpu_flush_denormals();
    of(executable)->isa->update_outside(update);
    cpu_restore_float_mode(mode);
}

static uint64_t cpu_memory_estimate(const struct plan *plan, int threads)
{
    return executable_memory_estimate(plan, threads ? threads : cpu_count());
}

static void cpu_store_free(void *store) { store_free(store); }
static void cpu_executable_free(void *executable) { executable_free(executable); }
static void *cpu_host(void *executable, const char *buffer) { return executable_buffer(executable, buffer); }
static uint64_t cpu_bytes(const void *executable) { return of(executable)->bytes; }
static const char *cpu_isa_of(const void *executable) { return of(executable)->isa->name; }
static const struct op_time *cpu_time(const void *executable, int op)
{
    return of(executable)->time ? &of(executable)->time[op] : NULL;
}
static const struct piece_counts *cpu_pieces(const void *executable, int op)
{
    return of(executable)->pieces ? &of(executable)->pieces[op] : NULL;
}
static int cpu_threads(const void *executable) { return of(executable)->threads; }

static const struct device device_cpu = {.name = "cpu",
                                         .traits = traits_of,
                                         .precisions = 1 << PRECISION_FP32 | 1 << PRECISION_BF16,
                                         .skips_ended = true,
                                         .forks = true,
                                         .about = cpu_about,
                                         .store_new = cpu_store_new,
                                         .store_free = cpu_store_free,
                                         .executable_new = cpu_executable_new,
                                         .executable_free = cpu_executable_free,
                                         .run = cpu_run,
                                         .host = cpu_host,
                                         .read = cpu_read,
                                         .write = cpu_write,
                                         .update = cpu_update,
                                         .memory_estimate = cpu_memory_estimate,
                                         .bytes = cpu_bytes,
                                         .isa = cpu_isa_of,
                                         .threads = cpu_threads,
                                         .pieces = cpu_pieces,
                                         .time = cpu_time};

const struct extension_row extension_processor[] = {{"device", &device_cpu}, {NULL, NULL}};

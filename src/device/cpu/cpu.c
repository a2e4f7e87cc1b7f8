/* The CPU as a device: instances of instance.h behind the functions of device.h. All its memory is the
 * host's, so reading a buffer is a copy. */
#include "device/cpu/instance.h"
#include "device/cpu/isa.h"
#include "device/cpu/operands.h"
#include "device/cpu/pace.h"
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

static unroll_status cpu_store_new(const struct plan *plan, void **store)
{
    struct store *made;
    TRY(store_new(plan, &made));
    *store = made;
    return UNROLL_OK;
}

static struct device_traits traits_of(const char *isa)
{
    struct device_traits traits = cpu_traits;
    traits.splits = cpu_isa_has_thirds(isa);
    return traits;
}

/* Is there anything that tiles multiply? */
static bool has_use_for_tiles(const struct plan *plan)
{
    bool bf16 = false;
    for (int i = 0; i < plan->buffers; i++)
        bf16 = bf16 || reads_bf16_by_tiles(plan, i);
    return plan->splits || bf16 || plan->config.weights == DTYPE_I8;
}

static unroll_status cpu_instance_new(const struct plan *plan, void *store, const struct device_options *options,
                                      void **instance)
{
    struct instance_config config = { .threads = options->threads ? options->threads : cpu_count(),
                                      .comm = options->comm, .profile = options->profile };
    struct instance *made;
    if (options->which)
        return fail(UNROLL_USAGE, "device cpu:%s: nothing comes after cpu; fix: cpu", options->which);
    TRY(pace_parse(getenv("RNN_PACE"), &config.chooses));
    TRY(cpu_isa_choose(options->isa, plan->config.real, &config.isa));
    config.isa = has_use_for_tiles(plan) ? config.isa : cpu_isa_without_tiles(config.isa);
    TRY(instance_new(plan, store, &config, &made));
    *instance = made;
    return UNROLL_OK;
}

static unroll_status find_bytes(struct instance *instance, const char *name, uint64_t first, uint64_t bytes, char **at)
{
    const struct plan *plan = instance_plan(instance);
    int index = plan_find_buffer(plan, name);
    char *buffer = instance_buffer(instance, name);
    if (index < 0 || !buffer)
        return fail(UNROLL_USAGE, "the plan has no buffer '%s' here", name);
    if (first > plan->buffer[index].bytes || bytes > plan->buffer[index].bytes - first)
        return fail(UNROLL_USAGE, "'%s' has %llu bytes", name, (unsigned long long)plan->buffer[index].bytes);
    *at = buffer + first;
    return UNROLL_OK;
}

static unroll_status cpu_read(void *instance, const char *buffer, uint64_t first, uint64_t bytes, void *to)
{
    char *at;
    TRY(find_bytes(instance, buffer, first, bytes, &at));
    memcpy(to, at, bytes);
    return UNROLL_OK;
}

static unroll_status cpu_write(void *instance, const char *buffer, uint64_t first, uint64_t bytes, const void *from)
{
    char *at;
    TRY(find_bytes(instance, buffer, first, bytes, &at));
    memcpy(at, from, bytes);
    return UNROLL_OK;
}

static unroll_status cpu_run(void *instance, enum part first, enum part last)
{
    bool overlap = first <= PART_BACKWARD && last >= PART_SUM && plan_overlaps(instance_plan(instance));
    for (int part = (int)first; part <= (int)last; part++)
        if (!overlap || part != PART_SUM)
            TRY(instance_run(instance, overlap && part == PART_BACKWARD ? (enum part)PART_BACKWARD_SUM : (enum part)part));
    return UNROLL_OK;
}

static uint64_t cpu_forecast(const struct plan *plan, int threads)
{
    return instance_forecast(plan, threads ? threads : cpu_count());
}

static void cpu_store_free(void *store)                       { store_free(store); }
static void cpu_instance_free(void *instance)                 { instance_free(instance); }
static void *cpu_host(void *instance, const char *buffer)     { return instance_buffer(instance, buffer); }
static uint64_t cpu_bytes(const void *instance)               { return instance_bytes(instance); }
static const char *cpu_isa_of(const void *instance)           { return instance_isa(instance)->name; }
static const struct op_time *cpu_time(const void *instance, int op)  { return instance_time(instance, op); }
static int cpu_threads(const void *instance)                  { return instance_threads(instance); }

const struct device device_cpu = {
    .name = "cpu",                          .traits = traits_of,
    .precisions = 1 << PRECISION_FP32,
    .skips_ended = true,                    .forks = true,      .about = cpu_about,
    .store_new = cpu_store_new,             .store_free = cpu_store_free,
    .instance_new = cpu_instance_new,       .instance_free = cpu_instance_free,
    .run = cpu_run,                         .host = cpu_host,
    .read = cpu_read,                       .write = cpu_write,
    .forecast = cpu_forecast,               .bytes = cpu_bytes,
    .isa = cpu_isa_of,                      .threads = cpu_threads,
    .time = cpu_time,
};

/* The recurrence in one launch that keeps weights on chip: asks the planner (tiling.h), and launches its choice
 * (persistent.h). The kernels need clusters or cooperative grids (sm_90). */
#include "base/number.h"
#include "extensions/cuda/persistent.h"
#include "extensions/cuda/persistent_fixed.h"
#include "extensions/cuda/rnn_persistent.h"
#include "extensions/cuda/stopped.h"
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static_assert((int)OPERAND_F32 == (int)PRECISION_FP32 && (int)OPERAND_TF32 == (int)PRECISION_TF32 &&
                  (int)OPERAND_BF16 == (int)PRECISION_BF16 && (int)OPERAND_F16 == (int)PRECISION_FP16,
              "operands are a plan's precisions");

enum { PERSISTENT_CAPABILITY = 90, NAME = CUDA_KERNEL_NAME };

/* ---- the problem -------------------------------------------------------------------------- */

static struct tiling_problem problem_of(const struct rnn *r, bool back)
{
    struct tiling_problem p = {.steps = r->steps,
                               .rows = r->batch,
                               .units = (uint32_t)r->units,
                               .backward = back,
                               .operand = (enum gpu_operand)r->w->plan->config.precision,
                               .projected = r->projected,
                               .shared_by_ranks = !r->projected && r->units != r->width};
    persistent_describe(r->cell, &p);
    return p;
}

static void measure(const struct rnn *r, bool back)
{
    const struct tiling_problem p = problem_of(r, back);
    (void)scratch_take(r->w, tiling_exchange_max(&p));
}

/* Reads UNROLL_CUDA_ALGORITHM from the environment, for tests and measurements: only "portable", "cluster" or
 * "grid". */
static unroll_status read_algorithm(enum tiling_algorithm *only, bool *allowed)
{
    static const struct {
        const char *name;
        enum tiling_algorithm only;
    } known[] = {{"", ALGORITHM_PORTABLE},
                 {"portable", ALGORITHM_PORTABLE},
                 {"cluster", ALGORITHM_CLUSTER},
                 {"grid", ALGORITHM_GRID}};
    const char *set = getenv("UNROLL_CUDA_ALGORITHM");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(set ? set : "", known[i].name)) {
            *only = known[i].only;
            *allowed = i != 1;
            return UNROLL_OK;
        }
    return fail(UNROLL_USAGE, "UNROLL_CUDA_ALGORITHM is '%s'; fix: use portable, cluster or grid, or leave it out",
                set);
}

/* Reads UNROLL_CUDA_TILING=GROUPS,ROWS,TILES from the environment, for measurements: allows only tilings with these
 * values, 0 for any. */
static unroll_status read_tiling(struct tiling_device *d)
{
    enum { NUMBERS = 3, MOST = 1 << 16 };
    uint32_t *const to[NUMBERS] = {&d->only_groups, &d->only_rows, &d->only_tiles};
    const char *set = getenv("UNROLL_CUDA_TILING"), *at = set;
    for (int i = 0; set && *set && i < NUMBERS; i++) {
        int64_t value;
        const char after = i + 1 < NUMBERS ? ',' : '\0';
        if (number_integer(&at, NULL, 0, MOST, &value) != NUMBER_OK || *at != after)
            return fail(UNROLL_USAGE, "UNROLL_CUDA_TILING is '%s'; fix: three numbers GROUPS,ROWS,TILES such as 2,8,2",
                        set);
        *to[i] = (uint32_t)value;
        at += after != '\0';
    }
    return UNROLL_OK;
}

/* ---- the device --------------------------------------------------------------------------- */

/* Counts the clusters that can run at once; 0 if the GPU does not allow their size. */
static unroll_status count_clusters(struct cuda_context *c, cu_function function, int size, int *count)
{
    struct cu_launch_attribute attribute = {.id = CU_LAUNCH_CLUSTER};
    struct cu_launch l = {.grid_x = (unsigned)size,
                          .grid_y = 1,
                          .grid_z = 1,
                          .block_x = TILING_WARPS * 32,
                          .block_y = 1,
                          .block_z = 1,
                          .shared_bytes = (unsigned)c->shared_per_block,
                          .attribute = &attribute,
                          .attributes = 1};
    attribute.value.cluster.x = (unsigned)size;
    attribute.value.cluster.y = attribute.value.cluster.z = 1;
    cu_result result = cu.cuOccupancyMaxActiveClusters(count, function, &l);
    if (result == CU_INVALID_CLUSTER_SIZE && size > CUDA_PORTABLE_CLUSTER) {
        *count = 0;
        return UNROLL_OK;
    }
    return cuda_check(result, "asking how many clusters run at once");
}

/* Counts the clusters of each size that run at once, if each block has a whole multiprocessor. This is the same for
 * all persistent kernels, so only one of them is queried, once. */
static unroll_status learn_clusters(struct cuda_context *c, const char *kernel)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    cu_function function;
    pthread_mutex_lock(&lock);
    unroll_status status = c->clusters_known ? UNROLL_OK : cuda_find_kernel(c, kernel, &function);
    if (!c->clusters_known && status == UNROLL_OK)
        status = cuda_check(cu.cuFuncSetAttribute(function, CU_MAX_DYNAMIC_SHARED, c->shared_per_block),
                            "asking for shared memory");
    if (!c->clusters_known && status == UNROLL_OK)
        status = cuda_check(cu.cuFuncSetAttribute(function, CU_NON_PORTABLE_CLUSTER_SIZE, 1), "asking for a cluster");
    for (int i = 0; i < CUDA_CLUSTER_SIZES && !c->clusters_known && status == UNROLL_OK; i++)
        status = count_clusters(c, function, 1 << i, &c->clusters_at_once[i]);
    c->clusters_known = c->clusters_known || status == UNROLL_OK;
    pthread_mutex_unlock(&lock);
    return status;
}

/* Queues run concurrently: each gets its share. */
static struct tiling_device device_of(const struct rnn *r)
{
    const struct cuda_context *c = cuda_of(r->w);
    const uint32_t queues = (uint32_t)r->w->plan->config.queues;
    struct tiling_device d = {.multiprocessors = (uint32_t)c->processors / queues,
                              .shared_bytes = (uint32_t)c->shared_per_block,
                              .registers = (uint32_t)c->registers,
                              .cooperative = c->cooperative};
    for (int i = 0; i < CUDA_CLUSTER_SIZES && c->clusters; i++)
        d.clusters[i] = (uint32_t)c->clusters_at_once[i] / queues;
    return d;
}

unroll_status rnn_persistent_choose(const struct rnn *r, bool back, struct tiling *t, const char **why)
{
    const struct tiling_problem problem = problem_of(r, back);
    enum tiling_algorithm only;
    char name[NAME];
    memset(t, 0, sizeof *t);
    bool allowed;
    TRY(read_algorithm(&only, &allowed));
    *why = !allowed                                            ? "UNROLL_CUDA_ALGORITHM forbids it"
           : cuda_of(r->w)->capability < PERSISTENT_CAPABILITY ? "the GPU is older than sm_90"
                                                               : NULL;
    if (*why)
        return UNROLL_OK;
    persistent_name(r->cell, problem.operand, back, name, sizeof name);
    if (problem.fields[0] > 0) /* else the kernel is empty, and the planner returns the reason */
        TRY(learn_clusters(cuda_of(r->w), name));
    struct tiling_device device = device_of(r);
    TRY(read_tiling(&device));
    tiling_choose(&problem, &device, only, t, why);
    return UNROLL_OK;
}

/* ---- the launch --------------------------------------------------------------------------- */

/* Views of [T, B, (F), U]; states_at_end: of [S, B, U] or [B, U]. */
static struct persistent_view over_time(const struct rnn *r, int slot)
{
    const struct gpu_view *x = &r->view[slot];
    if (!x->at)
        return (struct persistent_view){0};
    return (struct persistent_view){(float *)(void *)x->at, (uint32_t)x->stride[0], (uint32_t)x->stride[1],
                                    x->rank == 4 ? (uint32_t)x->stride[2] : 0, 0};
}

static struct persistent_view states_at_end(const struct rnn *r, int slot)
{
    const struct gpu_view *x = &r->view[slot];
    if (!x->at)
        return (struct persistent_view){0};
    return (struct persistent_view){(float *)(void *)x->at, 0, (uint32_t)x->stride[x->rank - 2],
                                    x->rank == 3 ? (uint32_t)x->stride[0] : 0, 0};
}

/* Returns the kernel arguments of a recurrence. */
static struct persistent_args args_of(const struct rnn *r, const struct tiling *t)
{
    const struct op *op = r->call->op;
    struct persistent_args a = {
        .tiling = *t,
        .g = over_time(r, RNN_G),
        .y = over_time(r, RNN_Y),
        .s = over_time(r, RNN_S),
        .intermediate = over_time(r, RNN_INTERMEDIATE),
        .h0 = states_at_end(r, RNN_H0),
        .s0 = states_at_end(r, RNN_S0),
        .hn = states_at_end(r, RNN_HN),
        .sn = states_at_end(r, RNN_SN),
        .vector = {(float *)(void *)r->view[RNN_VECTOR].at, 0, 0, (uint32_t)r->view[RNN_VECTOR].stride[0], 0},
        .weights = (const float *)(void *)r->view[RNN_W].at,
        .bias = (const float *)(void *)r->view[RNN_BIAS].at,
        .lengths = r->ends.lengths,
        .origin = r->ends.origin,
        .reset = r->resets.at,
        .reset_row = (uint32_t)r->resets.step,
        .steps = r->steps,
        .rows = r->batch,
        .units = (uint32_t)r->units,
        .direction = r->reverse,
        .trained = r->w->plan->config.mode >= MODE_TRAIN,
        .clip = r->options->clip};
    persistent_gates(r->cell, a.gate);
    if (op->kind != OP_RNN_BACK)
        return a;
    a.dy = over_time(r, RNN_DY);
    a.dv = over_time(r, RNN_DV);
    a.dhn = states_at_end(r, RNN_DHN);
    a.dsn = states_at_end(r, RNN_DSN);
    a.dh0 = states_at_end(r, RNN_DH0);
    a.ds0 = states_at_end(r, RNN_DS0);
    a.add_dh0 = op->view[RNN_DH0].access == ADD;
    a.add_ds0 = op->view[RNN_DS0].access == ADD;
    return a;
}

/* Marks all packets as empty: all bits 1. */
static unroll_status empty_exchange(const struct rnn *r, const struct tiling *t, struct persistent_args *a)
{
    if (t->exchange_bytes == 0)
        return UNROLL_OK;
    a->exchange = scratch_take(r->w, t->exchange_bytes);
    if (r->w->walk != LAUNCH)
        return UNROLL_OK;
    return cuda_check(cu.cuMemsetD8Async((cu_ptr)(uintptr_t)a->exchange, 0xff, t->exchange_bytes, r->w->stream),
                      "emptying what blocks exchange");
}

static unroll_status run(const struct rnn *r, bool back, const struct tiling *t)
{
    struct persistent_args a = args_of(r, t);
    const struct launch_shape shape = {.x = (uint64_t)t->groups * t->cluster,
                                       .y = 1,
                                       .threads = TILING_WARPS * 32,
                                       .shared_bytes = t->shared_bytes,
                                       .cluster = t->algorithm == ALGORITHM_CLUSTER ? t->cluster : 0,
                                       .cooperative = t->algorithm == ALGORITHM_GRID};
    char name[NAME];
    TRY(empty_exchange(r, t, &a));
    const enum gpu_operand operand = persistent_operand(r->cell, (enum gpu_operand)r->w->plan->config.precision);
    persistent_name(r->cell, operand, back, name, sizeof name);
    TRY(stopped_prepare(&a, name, operand));
    TRY(persistent_fix(cuda_of(r->w), &a, r->cell->name, operand, back, name, sizeof name));
    return launch_shaped(r->w, name, &shape, ARGS(&a));
}

unroll_status rnn_persistent(const struct rnn *r, bool back, bool *done)
{
    struct tiling tiling;
    const char *why;
    *done = false;
    if (r->w->walk == MEASURE) {
        measure(r, back);
        return UNROLL_OK;
    }
    TRY(rnn_persistent_choose(r, back, &tiling, &why));
    *done = tiling.algorithm != ALGORITHM_PORTABLE;
    return *done ? run(r, back, &tiling) : UNROLL_OK;
}

/* Executables: memory and threads for a plan. executable_bind.c binds operations, executable_run.c runs them. */
#include "device/cpu/executor/executable_parts.h"
#include "device/cpu/kernels/tensor.h"
#include "base/system/clock.h"
#include "base/memory.h"
#include "base/system/process.h"
#include <stdlib.h>
#include <string.h>

/* ---- stores ------------------------------------------------------------------------------ */

struct store {
    const struct unroll_model *model;
    int mesh[M_N], at[M_N];
    enum dtype real;
    void *base[SEG_N];
    uint64_t bytes[SEG_N];
};

static bool is_stored(int segment)
{
    return segment == SEG_PARAM || segment == SEG_COPY || segment == SEG_OPT || segment == SEG_GRAD;
}

unroll_status store_new(const struct plan *plan, struct store **store)
{
    struct store *s;
    TRY(ALLOCATE(s, 1, "for a store of weights"));
    s->model = plan->model;
    s->real = plan->config.real;
    memcpy(s->mesh, plan->config.mesh, sizeof s->mesh);
    memcpy(s->at, plan->config.at, sizeof s->at);
    *store = s;
    return UNROLL_OK;
}

void store_free(struct store *store)
{
    for (int i = 0; store && i < SEG_N; i++) release(store->base[i]);
    release(store);
}

static unroll_status check_store(const struct store *s, const struct plan *p)
{
    if (s->model != p->model || s->real != p->config.real || memcmp(s->mesh, p->config.mesh, sizeof s->mesh) ||
        memcmp(s->at, p->config.at, sizeof s->at))
        return fail(
            UNROLL_USAGE,
            "a plan cannot use a weight store of another model, mesh coordinate or number format; fix: " REPORT_BUG);
    return UNROLL_OK;
}

/* Returns the store's segment for a plan, allocated for the first plan that needs it. */
static unroll_status use_segment(struct store *s, enum segment segment, uint64_t bytes, void **base)
{
    if (!bytes)
        return UNROLL_OK;
    if (!s->base[segment]) {
        s->base[segment] = allocate_zeroed(bytes, 1);
        if (!s->base[segment])
            return fail(UNROLL_RESOURCE, "no memory for %llu bytes of %s; fix: use a smaller model or more ranks",
                        (unsigned long long)bytes, segment_name(segment));
        s->bytes[segment] = bytes;
    }
    if (s->bytes[segment] < bytes)
        return fail(UNROLL_FAILURE,
                    "a plan needs %llu bytes of %s, but the segment of the weight store has %llu; fix: " REPORT_BUG,
                    (unsigned long long)bytes, segment_name(segment), (unsigned long long)s->bytes[segment]);
    *base = s->base[segment];
    return UNROLL_OK;
}

/* ---- memory ---------------------------------------------------------------------------- */

uint64_t executable_memory_estimate(const struct plan *plan, int threads)
{
    uint64_t bytes = (uint64_t)plan->ops * sizeof(struct call) + (uint64_t)threads * workspace_bytes(plan->config.real);
    for (int i = 0; i < SEG_N; i++) bytes += is_stored(i) ? 0 : plan->segment_bytes[i];
    return bytes;
}

/* Allocates the memory of segments, threads and statistics. The caller frees it, also after a failure. */
static unroll_status get_memory(struct executable *in, struct store *store, bool profile)
{
    for (int i = 0; i < SEG_N; i++) {
        uint64_t bytes = in->plan->segment_bytes[i];
        if (is_stored(i)) {
            in->has_new_weights |= i == SEG_PARAM && bytes && !store->base[i];
            TRY(use_segment(store, (enum segment)i, bytes, &in->base[i]));
            continue;
        }
        in->base[i] = allocate_with(&in->allocator, bytes);
        if (!in->base[i])
            return fail(UNROLL_RESOURCE,
                        "no memory for %llu bytes of %s; fix: use a smaller batch or fewer steps at once (`steps`)",
                        (unsigned long long)bytes, segment_name((enum segment)i));
    }
    in->call = allocate_zeroed((size_t)in->plan->ops, sizeof *in->call);
    in->team = allocate_zeroed((size_t)in->teams, sizeof *in->team);
    in->work = allocate_zeroed((size_t)in->threads, sizeof *in->work);
    in->workspace = allocate_zeroed((size_t)in->threads, sizeof *in->workspace);
    in->time = profile ? allocate_zeroed((size_t)in->plan->ops, sizeof *in->time) : NULL;
    const bool in_pieces = plan_repairs(&in->plan->config);
    in->pieces = in_pieces ? allocate_zeroed((size_t)in->plan->ops, sizeof *in->pieces) : NULL;
    bool good =
        in->call && in->team && in->work && in->workspace && (in->time || !profile) && (in->pieces || !in_pieces);
    const size_t workspace = workspace_bytes(in->isa->real);
    for (int i = 0; i < in->threads && good; i++) good = (in->workspace[i] = allocate(workspace)) != NULL;
    if (!good)
        return fail(UNROLL_RESOURCE, "no memory for %d operations on %d threads", in->plan->ops, in->threads);
    in->bytes = executable_memory_estimate(in->plan, in->threads) + sizeof *in +
                (uint64_t)in->teams * sizeof *in->team +
                (uint64_t)in->threads * (sizeof *in->work + sizeof *in->workspace) +
                (profile ? (uint64_t)in->plan->ops * sizeof *in->time : 0);
    return UNROLL_OK;
}

/* ---- operations ------------------------------------------------------------------------ */

static unroll_status bind_all(struct executable *in)
{
    enum division division;
    TRY(division_parse(getenv("UNROLL_DIVISION"), &division));
    for (int i = 0; i < in->plan->ops; i++) TRY(bind_op(in, &in->plan->op[i], division, &in->call[i]));
    return UNROLL_OK;
}

/* ---- threads --------------------------------------------------------------------------- */

/* Divides the threads into consecutive teams. If they cannot be equal, the first ones have one thread more. */
static void make_teams(struct executable *in)
{
    int next = 0;
    for (int i = 0; i < in->teams; i++) {
        struct queue_team *t = &in->team[i];
        t->first = next;
        t->size = in->threads / in->teams + (i < in->threads % in->teams);
        barrier_init(&t->barrier, t->size);
        next += t->size;
    }
}

/* Touches weights from all threads before the host writes them, so that pages are spread over the threads' NUMA nodes
 * in the same way as updates. */
static void touch_weights(void *of, int me)
{
    enum { PAGE = 4096 };
    const struct executable *in = of;
    const size_t bytes = in->plan->segment_bytes[SEG_PARAM];
    const struct range share = my_share(bytes, me, in->threads, PAGE);
    for (size_t i = share.first; i < share.end; i += PAGE) ((char *)in->base[SEG_PARAM])[i] = 0;
}

static unroll_status get_threads(struct executable *in)
{
    make_teams(in);
    int error = pthread_mutex_init(&in->lock, NULL);
    if (!error && (error = clock_condition(&in->change)) != 0)
        pthread_mutex_destroy(&in->lock);
    if (error)
        return fail(UNROLL_RESOURCE, "cannot create a lock: %s; fix: end other processes", strerror(error));
    in->has_lock = true;
    if (in->threads == 1)
        return UNROLL_OK;
    TRY(team_new(in->threads, &in->all));
    return in->has_new_weights ? team_run(in->all, touch_weights, in) : UNROLL_OK;
}

/* ---- executables ----------------------------------------------------------------------- */

/* Checks that the plan matches the store, the kernels and the communicator. */
static unroll_status check_arguments(const struct plan *plan, const struct store *store,
                                     const struct executable_config *config)
{
    int ranks = plan_ranks(plan), rank = plan_rank(plan);
    TRY(check_store(store, plan));
    if (config->threads < 1)
        return fail(UNROLL_USAGE, "`threads` = %d is not possible; fix: use 1 or more", config->threads);
    if (config->isa->real != plan->config.real)
        return fail(UNROLL_USAGE, "the plan computes in %s, but the %s kernels compute in %s; fix: " REPORT_BUG,
                    dtype_name(plan->config.real), config->isa->name, dtype_name(config->isa->real));
    if (plan->splits && plan->splits != config->isa->parts)
        return fail(UNROLL_USAGE,
                    "the plan splits floats into %d bf16, which the %s kernels do not support; fix: " REPORT_BUG,
                    plan->splits, config->isa->name);
    if (ranks > 1 && !config->comm && !config->silent)
        return fail(UNROLL_USAGE, "the plan is for rank %d of %d, but there is no communicator; fix: " REPORT_BUG, rank,
                    ranks);
    if (config->comm && comm_rank(config->comm) != rank)
        return fail(UNROLL_USAGE, "the plan is for rank %d, but this is rank %d; fix: " REPORT_BUG, rank,
                    comm_rank(config->comm));
    return UNROLL_OK;
}

unroll_status executable_new(const struct plan *plan, struct store *store, const struct executable_config *config,
                             struct executable **executable)
{
    TRY(check_arguments(plan, store, config));
    struct executable *in;
    TRY(ALLOCATE(in, 1, "for an executable of a plan"));
    in->plan = plan;
    in->isa = config->isa;
    in->comm = config->comm;
    in->allocator = config->allocator ? *config->allocator : (unroll_allocator){0};
    in->threads = config->threads;
    in->process = process_number();
    in->chooses = config->chooses && config->threads > 1 && !config->comm;
    for (int phase = 0; phase < PHASE_N; phase++) adaptive_init(&in->adaptive[phase], plan, (enum phase)phase);
    in->teams = plan->config.queues < config->threads ? plan->config.queues : config->threads;
    unroll_status status = get_memory(in, store, config->profile);
    if (status == UNROLL_OK)
        status = get_threads(in);
    if (status == UNROLL_OK)
        status = bind_all(in);
    if (status != UNROLL_OK) {
        executable_free(in);
        return status;
    }
    *executable = in;
    return UNROLL_OK;
}

void executable_free(struct executable *in)
{
    if (!in)
        return;
    team_free(in->all);
    if (in->has_lock && in->process == process_number()) { /* in a forked child, absent threads of the parent may still
                                                            * wait */
        pthread_cond_destroy(&in->change);
        pthread_mutex_destroy(&in->lock);
    }
    for (int i = 0; i < SEG_N; i++)
        if (!is_stored(i))
            release_with(&in->allocator, in->base[i], in->plan->segment_bytes[i]);
    for (int i = 0; i < in->threads && in->workspace; i++) release(in->workspace[i]);
    release(in->workspace);
    release(in->time);
    release(in->pieces);
    release(in->work);
    release(in->team);
    release(in->call);
    release(in);
}

void *executable_buffer(struct executable *in, const char *name)
{
    int i = plan_find_buffer(in->plan, name);
    if (i < 0 || !in->plan->buffer[i].bytes)
        return NULL;
    return (char *)in->base[in->plan->buffer[i].segment] + in->plan->buffer[i].offset;
}

struct work executable_work(const struct executable *in)
{
    struct work sum = {0, 0};
    for (int i = 0; i < in->threads; i++) {
        sum.flops += in->work[i].work.flops;
        sum.bytes += in->work[i].work.bytes;
    }
    return sum;
}

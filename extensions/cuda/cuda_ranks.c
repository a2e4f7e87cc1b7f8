/* Communication between ranks on GPUs through NCCL (gpu_driver.h): one communicator for each group of a plan and for
 * each pair of ranks that exchange messages. Waits have a timeout. After a rank is lost, all communicators are
 * aborted, which ends the NCCL kernels that wait on the GPU. */
#include "base/memory.h"
#include "extensions/cuda/context.h"
#include "extensions/gpu/gpu_ranks.h"
#include <stdio.h>
#include <string.h>

enum { TAG_ID = TAG_CONTROL | 16 };

/* The communicators of a model, shared by all its executables. */
struct ranks {
    struct unroll_comm *comm; /* distributes NCCL's ids, and measures the timeout */
    struct member {
        struct group group;
        nccl_comm comm;
    } *member;
    int members;
    void (*let_go)(void *owner); /* destroys graphs that contain messages, before the communicators */
    void *owner;
    bool lost; /* a rank is lost: the communicators were aborted */
    char words[512];
};

/* Chooses the rank's position among the ranks of the machine, modulo the number of GPUs. */
static unroll_status ranks_choose(const struct unroll_comm *comm, char *number, size_t size)
{
    int count = 0;
    TRY(cuda_load());
    TRY(cuda_check(cu.cuDeviceGetCount(&count), "counting GPUs"));
    snprintf(number, size, "%d", count > 0 ? comm_local_rank(comm) % count : 0);
    return UNROLL_OK;
}

/* ---- lost ranks --------------------------------------------------------------------------- */

/* Keeps the thread's error message for later calls and aborts the communicators. let_go comes first, because
 * aborting a communicator waits for the graphs that use it. */
static unroll_status lose(struct ranks *r)
{
    if (!r->lost)
        snprintf(r->words, sizeof r->words, "%s", unroll_last_error());
    r->lost = true;
    r->let_go(r->owner);
    for (int i = 0; i < r->members; i++) {
        if (r->member[i].comm)
            (void)nccl.ncclCommAbort(r->member[i].comm);
        r->member[i].comm = NULL;
    }
    return UNROLL_COMMUNICATION;
}

static unroll_status report_lost(const struct ranks *r)
{
    return r->lost ? fail(UNROLL_COMMUNICATION, "%s", r->words) : UNROLL_OK;
}

/* Writes "rank 1" or "ranks 1, 2": the other ranks of a group. */
static const char *name_others(const struct ranks *r, const struct group *g, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, g->size > 2 ? "ranks" : "rank");
    const char *between = " ";
    for (int i = 0; i < g->size && used < size; i++)
        if (g->rank[i] != comm_rank(r->comm)) {
            used += (size_t)snprintf(text + used, size - used, "%s%d", between, g->rank[i]);
            between = ", ";
        }
    return text;
}

static unroll_status late(struct ranks *r, const struct group *g, const char *doing)
{
    char others[128], silence[SILENCE_SIZE];
    (void)fail(UNROLL_COMMUNICATION,
               "'%s': rank %d waited %g seconds for %s%s; fix: see whether a rank is stopped or its "
               "machine lost, or allow more time (`timeout`)",
               doing, comm_rank(r->comm), comm_timeout(r->comm), name_others(r, g, others, sizeof others),
               comm_silence(r->comm, silence));
    return lose(r);
}

/* Reports an NCCL error, with NCCL's own message if it has one. */
static unroll_status broken(struct ranks *r, const struct member *m, int error, const char *doing)
{
    char others[128];
    const char *text = nccl.ncclGetErrorString(error), *more = nccl.ncclGetLastError(m->comm);
    (void)fail(
        UNROLL_COMMUNICATION,
        "'%s': rank %d could not reach %s: NCCL: %s%s%.200s (%d); fix: check the network between the machines, with NCCL_DEBUG=WARN",
        doing, comm_rank(r->comm), name_others(r, &m->group, others, sizeof others), text ? text : "an unknown error",
        more && *more ? ": " : "", more ? more : "", error);
    return lose(r);
}

/* ---- calls -------------------------------------------------------------------------------- */

/* Waits until NCCL's background work on the communicator is finished. */
static unroll_status settle(struct ranks *r, const struct member *m, int result, const char *doing)
{
    struct wait_timeout wait_timeout = {0};
    while (result == NCCL_IN_PROGRESS && comm_within_timeout(r->comm, &wait_timeout)) {
        int asked = nccl.ncclCommGetAsyncError(m->comm, &result);
        result = asked ? asked : result;
    }
    if (result == NCCL_IN_PROGRESS)
        return late(r, &m->group, doing);
    return result ? broken(r, m, result, doing) : UNROLL_OK;
}

/* Waits for the result of an NCCL call on this communicator. */
static unroll_status ranks_called(struct ranks *r, nccl_comm comm, int result, const char *doing)
{
    int i = 0;
    while (r->member[i].comm != comm) i++;
    return settle(r, &r->member[i], result, doing);
}

/* ---- joining ------------------------------------------------------------------------------ */

static const struct member *find(const struct ranks *r, const struct group *g)
{
    for (int i = 0; i < r->members; i++)
        if (!memcmp(&r->member[i].group, g, sizeof *g))
            return &r->member[i];
    return NULL;
}

static int place_in(const struct ranks *r, const struct group *g)
{
    int place = 0;
    while (g->rank[place] != comm_rank(r->comm)) place++;
    return place;
}

/* The first rank of a group creates its id and sends it to the others. */
static unroll_status share_id(struct ranks *r, const struct group *g, struct nccl_id *id)
{
    if (place_in(r, g) > 0)
        return comm_recv(r->comm, g->rank[0], TAG_ID, id, sizeof *id);
    int error = nccl.ncclGetUniqueId(id);
    if (error)
        return fail(
            UNROLL_COMMUNICATION,
            "NCCL could not begin: %s; NCCL_DEBUG=WARN in the environment lets it say more; fix: NCCL_DEBUG=WARN in the environment lets it say more",
            nccl.ncclGetErrorString(error));
    for (int i = 1; i < g->size; i++) TRY(comm_send(r->comm, g->rank[i], TAG_ID, id, sizeof *id));
    return UNROLL_OK;
}

static unroll_status join(struct ranks *r, const struct group *g)
{
    struct nccl_config config = {sizeof config, NCCL_CONFIG_MAGIC, NCCL_CONFIG_VERSION, 0};
    struct nccl_id id = {""};
    struct member *m = &r->member[r->members];
    *m = (struct member){.group = *g};
    TRY(share_id(r, g, &id));
    int result = nccl.ncclCommInitRankConfig(&m->comm, g->size, id, place_in(r, g), &config);
    r->members++;
    return settle(r, m, result, "joining");
}

/* Joins all groups of the plan that have no communicator yet. */
static unroll_status ranks_join(struct ranks *r, const struct plan *p)
{
    struct group *group;
    int groups;
    TRY(report_lost(r));
    unroll_status status = plan_meetings(p, UINT32_MAX, &group, &groups);
    struct member *all = allocate_zeroed((size_t)(r->members + groups) + 1, sizeof *all);
    if (status == UNROLL_OK && !all)
        status = fail(UNROLL_RESOURCE, "no memory for %d groups of ranks", groups);
    if (status == UNROLL_OK) {
        if (r->members)
            memcpy(all, r->member, (size_t)r->members * sizeof *all);
        release(r->member);
        r->member = all;
    }
    for (int i = 0; i < groups && status == UNROLL_OK; i++)
        if (!find(r, &group[i]))
            status = join(r, &group[i]);
    release(group);
    return status;
}

/* Returns the communicator of an operation, NULL before it joined; *size and *place: the group's size and this
 * rank's position in it. */
static nccl_comm ranks_of(const struct ranks *r, const struct plan *p, const struct op *op, int *size, int *place)
{
    const struct group g = op_group(p, op);
    const struct member *m = find(r, &g);
    *size = g.size;
    *place = place_in(r, &g);
    return m ? m->comm : NULL;
}

/* Fails if NCCL is missing. */
static unroll_status ranks_new(struct unroll_comm *comm, void (*let_go)(void *), void *owner, struct ranks **ranks)
{
    TRY(nccl_load());
    TRY(ALLOCATE(*ranks, 1, "for the ranks of a model"));
    (*ranks)->comm = comm;
    (*ranks)->let_go = let_go;
    (*ranks)->owner = owner;
    return UNROLL_OK;
}

/* Finalizes the communicators. The timeout bounds the wait for ranks that have already gone. */
static void ranks_free(struct ranks *r)
{
    for (int i = 0; r && i < r->members && !r->lost; i++)
        (void)settle(r, &r->member[i], nccl.ncclCommFinalize(r->member[i].comm), "leaving");
    for (int i = 0; r && i < r->members && !r->lost; i++) (void)nccl.ncclCommDestroy(r->member[i].comm);
    if (r)
        release(r->member);
    release(r);
}

/* ---- exchanging --------------------------------------------------------------------------- */

/* Refuses divisions that GPUs do not support. */
static unroll_status ranks_check(const struct plan *p)
{
    if (p->config.mesh[M_HIDDEN] > 1)
        return fail(UNROLL_UNSUPPORTED,
                    "hidden=%d: ranks do not share the units of a layer across GPUs yet; fix: cut the "
                    "batch or the layers, or run on the cpu",
                    p->config.mesh[M_HIDDEN]);
    if (p->config.exact)
        return fail(UNROLL_UNSUPPORTED,
                    "exact: NCCL adds in an order of its own, not in that of one process; fix: leave "
                    "out exact, or run on the cpu");
    if (p->config.sum != COMM_AUTO && p->config.sum != COMM_NATIVE)
        return fail(UNROLL_UNSUPPORTED, "`sum` = %s: between GPUs NCCL chooses how it adds; fix: use `sum` auto",
                    algorithm_name(p->config.sum));
    if (p->chunk_axis == AX_B && p->config.chunks > 1)
        return fail(UNROLL_UNSUPPORTED,
                    "layers that read both directions are cut into chunks of rows, which GPUs do not "
                    "multiply; fix: one chunk, or run on the cpu");
    if (p->config.precision == PRECISION_FP16 && p->config.mesh[M_LAYER] > 1)
        return fail(UNROLL_UNSUPPORTED,
                    "fp16 with layer=%d: no rank sees all gradients, which the scale of the losses "
                    "follows; fix: use bf16, or cut the batch alone",
                    p->config.mesh[M_LAYER]);
    return UNROLL_OK;
}

static unroll_status ranks_exchange(const struct recorder *w, const struct op *op, char *at, uint64_t count,
                                    enum dtype dtype)
{
    char label[96];
    int size, place;
    TRY(report_lost(w->device_comm->ranks));
    nccl_comm comm = ranks_of(w->device_comm->ranks, w->plan, op, &size, &place);
    const cu_stream stream = w->device_comm->stream;
    const int type = dtype == DTYPE_F64 ? NCCL_FLOAT64 : NCCL_FLOAT32;
    const int peer = 1 - place; /* the other end of a message */
    int result = op->kind == OP_SEND   ? nccl.ncclSend(at, count, type, peer, comm, stream)
                 : op->kind == OP_RECV ? nccl.ncclRecv(at, count, type, peer, comm, stream)
                                       : nccl.ncclAllReduce(at, at, count, type, NCCL_SUM, comm, stream);
    return ranks_called(w->device_comm->ranks, comm, result, op_label(w->plan, op, label, sizeof label));
}

/* ---- waiting ------------------------------------------------------------------------------ */

static unroll_status look_for_lost(struct ranks *r, const char *doing)
{
    for (int i = 0; i < r->members; i++) {
        int error = NCCL_OK, asked = nccl.ncclCommGetAsyncError(r->member[i].comm, &error);
        if (asked || (error && error != NCCL_IN_PROGRESS))
            return broken(r, &r->member[i], asked ? asked : error, doing);
    }
    return UNROLL_OK;
}

/* The timeout starts when an operation begins to exchange data, and does not run while this rank computes. */
static unroll_status ranks_wait(struct gpu_comm *t, const struct plan *p, gpu_stream stream)
{
    struct wait_timeout wait_timeout = {0};
    char label[96] = "computing";
    uint32_t before = 0;
    TRY(report_lost(t->ranks));
    for (;;) {
        const cu_result result = cu.cuStreamQuery(stream);
        const uint32_t now = *t->under_way;
        if (result != CU_NOT_READY)
            return cuda_check(result, "running a part");
        if (now)
            op_label(p, &p->op[now - 1], label, sizeof label);
        TRY(look_for_lost(t->ranks, label));
        if (!now || now != before)
            wait_timeout = (struct wait_timeout){0};
        before = now;
        if (!comm_within_timeout(t->ranks->comm, &wait_timeout)) {
            const struct group g = op_group(p, &p->op[now - 1]);
            return late(t->ranks, &g, label);
        }
    }
}

const struct gpu_ranks_driver nccl_ranks = {.check = ranks_check,
                                            .choose = ranks_choose,
                                            .make = ranks_new,
                                            .free = ranks_free,
                                            .join = ranks_join,
                                            .exchange = ranks_exchange,
                                            .wait = ranks_wait};

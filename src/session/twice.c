/* Runs the previous rank's plan in a second session, forward and backward, without messages. */
#include "session/session.h"

#include <string.h>

#include "base/memory.h"
#include "base/system/process.h"
#include "comm/comm.h"
#include "session/mesh.h"

enum { TAG_CARRIED = TAG_CONTROL | 12 };
enum { PIECE = 16384 }; /* bytes on the stack at a time */

struct twice {
    unroll_session *of;           /* this rank's own session */
    struct unroll_session again;  /* with the plan of the previous rank */
    struct shared_weights shared; /* used only by that session */
    int before, behind;           /* the previous and the next rank */
    char *carried;                /* the initial states of the previous rank */
    const unroll_batch *batch;
    double *hash; /* [3, ranks, 2] hashes of gradients of each rank: its own, the previous rank's, and the latter
                   * recomputed */
};

/* ---- creation ---- */

static bool is_comparable(const unroll_session *s)
{
    const struct plan_config *c = &s->plan->config;
    return is_one_of_many(s) && c->mesh[M_BATCH] == unroll_comm_ranks(s->config.machine.comm) && c->workers == 1 &&
           !s->staged && !s->device->whole_steps && s->config.mode == UNROLL_TRAIN;
}

static uint64_t carried_bytes(const struct plan *p)
{
    uint64_t bytes = 0;
    for (int i = 0; i < p->buffers; i++) bytes += p->buffer[i].segment == SEG_CARRY ? p->buffer[i].bytes : 0;
    return bytes;
}

/* Creates the second session with its own store. */
static unroll_status open_again(struct twice *t)
{
    const unroll_session *s = t->of;
    unroll_session *again = &t->again;
    struct plan_config c = s->plan->config;
    plan_config_at(&c, t->before);
    *again = (struct unroll_session){.model = s->model, .config = s->config, .device = s->device, .shared = &t->shared};
    again->process = process_number();
    again->config.machine.comm = NULL;
    t->shared = (struct shared_weights){.device = s->device, .process = again->process, .real = c.real};
    TRY(plan_new(s->model, &c, &again->plan));
    TRY(s->device->store_new(again->plan, &t->shared.store));
    const struct device_options options = {.threads = session_threads(s), .isa = s->config.machine.isa, .silent = true};
    TRY(s->device->executable_new(again->plan, t->shared.store, &options, &again->executable));
    return ALLOCATE(t->carried, (size_t)carried_bytes(again->plan) + 1, "for the states of another rank");
}

unroll_status twice_new(unroll_session *s, struct twice **twice)
{
    *twice = NULL;
    if (!is_comparable(s))
        return UNROLL_OK;
    const int ranks = unroll_comm_ranks(s->config.machine.comm), own = unroll_comm_rank(s->config.machine.comm);
    struct twice *t;
    TRY(ALLOCATE(t, 1, "to compute gradients twice"));
    t->of = s;
    t->before = (own + ranks - 1) % ranks;
    t->behind = (own + 1) % ranks;
    unroll_status status = ALLOCATE(t->hash, 6 * (size_t)ranks, "to compute gradients twice");
    if (status == UNROLL_OK)
        status = open_again(t);
    if (status != UNROLL_OK) {
        twice_free(t);
        return status;
    }
    *twice = t;
    return UNROLL_OK;
}

void twice_free(struct twice *t)
{
    if (!t)
        return;
    if (t->again.executable)
        t->of->device->executable_free(t->again.executable);
    if (t->shared.store)
        t->of->device->store_free(t->shared.store);
    plan_free(t->again.plan);
    release(t->carried);
    release(t->hash);
    release(t);
}

uint64_t twice_memory_estimate(const struct twice *t)
{
    const uint64_t *bytes = t ? t->again.plan->segment_bytes : NULL;
    return t ? unroll_session_memory_estimate(&t->again) + bytes[SEG_PARAM] + bytes[SEG_COPY] + bytes[SEG_OPT] +
                   bytes[SEG_GRAD] + carried_bytes(t->again.plan)
             : 0;
}

/* ---- inputs ---- */

static unroll_status copy_buffer(const unroll_session *from, const unroll_session *to, const struct buffer *b)
{
    char piece[PIECE];
    for (uint64_t at = 0; at < b->bytes; at += PIECE) {
        const uint64_t count = b->bytes - at < PIECE ? b->bytes - at : PIECE;
        TRY(from->device->read(from->executable, b->name, at, count, piece));
        TRY(to->device->write(to->executable, b->name, at, count, piece));
    }
    return UNROLL_OK;
}

/* Copies weights and the values of the update: seed, counters, loss scale. */
static unroll_status copy_session(struct twice *t)
{
    const struct plan *from = t->of->plan, *to = t->again.plan;
    for (int i = 0; i < to->buffers; i++) {
        const struct buffer *b = &to->buffer[i];
        const bool wanted = (b->segment == SEG_PARAM && !b->layout) || b->segment == SEG_VALUES;
        const int same = wanted ? plan_find_buffer(from, b->name) : -1;
        if (same >= 0 && from->buffer[same].bytes == b->bytes)
            TRY(copy_buffer(t->of, &t->again, b));
    }
    ((int64_t *)session_host(&t->again, "run"))[1]++; /* as in the forward pass that follows */
    return UNROLL_OK;
}

/* Sends this rank's carried states to the next rank and receives those of the previous one. */
static unroll_status exchange_carried(struct twice *t)
{
    unroll_comm *comm = t->of->config.machine.comm;
    const struct plan *p = t->of->plan;
    const uint64_t own = carried_bytes(p), theirs = carried_bytes(t->again.plan);
    char *mine = NULL;
    if (own > 0)
        TRY(ALLOCATE(mine, (size_t)own, "for the states of another rank"));
    unroll_status status = UNROLL_OK;
    char *at = mine;
    for (int i = 0; i < p->buffers && status == UNROLL_OK; i++)
        if (p->buffer[i].segment == SEG_CARRY && p->buffer[i].bytes > 0) {
            status = t->of->device->read(t->of->executable, p->buffer[i].name, 0, p->buffer[i].bytes, at);
            at += p->buffer[i].bytes;
        }
    if (status == UNROLL_OK && own > 0)
        status = comm_send(comm, t->behind, TAG_CARRIED, mine, own);
    if (status == UNROLL_OK && theirs > 0)
        status = comm_recv(comm, t->before, TAG_CARRIED, t->carried, theirs);
    release(mine);
    return status;
}

unroll_status twice_begin(struct twice *t, const unroll_batch *batch)
{
    t->batch = batch;
    TRY(exchange_carried(t));
    return copy_session(t);
}

/* ---- computing and comparing ---- */

static void put_hash(double *to, uint64_t hash)
{
    to[0] = (double)(hash >> 32);
    to[1] = (double)(hash & 0xffffffff);
}

/* Computes the previous rank's gradients and hashes them. */
static unroll_status compute_hash(struct twice *t, uint64_t *hash)
{
    unroll_session *s = &t->again;
    const struct plan *p = s->plan;
    const char *at = t->carried;
    for (int i = 0; i < p->buffers; i++)
        if (p->buffer[i].segment == SEG_CARRY && p->buffer[i].bytes > 0) {
            TRY(s->device->write(s->executable, p->buffer[i].name, 0, p->buffer[i].bytes, at));
            at += p->buffer[i].bytes;
        }
    TRY(session_clear(s, SEG_GRAD));
    batch_take(s, t->batch);
    TRY(session_run(s, PHASE_PACK, PHASE_PACK));
    TRY(session_run(s, PHASE_FORWARD, PHASE_FORWARD));
    TRY(session_run(s, PHASE_BACKWARD, PHASE_BACKWARD));
    return session_hash(s, 1u << SEG_GRAD, hash);
}

/* Exchanges the hashes of all ranks, those from number `which` on. */
static unroll_status share(struct twice *t, int which, unroll_status status, const uint64_t *hash, int hashes)
{
    unroll_comm *comm = t->of->config.machine.comm;
    const int ranks = unroll_comm_ranks(comm), own = unroll_comm_rank(comm);
    double *to = t->hash + 2 * which * ranks;
    TRY(unroll_comm_agree(comm, status));
    memset(to, 0, 2 * (size_t)(hashes * ranks) * sizeof *to);
    for (int i = 0; i < hashes; i++) put_hash(to + 2 * (i * ranks + own), hash[i]);
    return unroll_comm_sum(comm, to, 2 * hashes * ranks);
}

static bool differ(const double *a, const double *b) { return memcmp(a, b, 2 * sizeof *a) != 0; }

/* Returns whether the next rank got different gradients for this rank's share. */
static bool is_disputed(const double *hash, int ranks, int rank)
{
    return differ(hash + 2 * rank, hash + 2 * (ranks + (rank + 1) % ranks));
}

/* Returns a rank that differs from both neighbors, or -1. With two ranks that both differ, returns 0. */
static int differs_twice(const double *hash, int ranks)
{
    for (int r = 0; r < ranks; r++)
        if (is_disputed(hash, ranks, r) && is_disputed(hash, ranks, (r + ranks - 1) % ranks))
            return r;
    return -1;
}

/* Returns whether the rank that recomputes gets the same result again. */
static bool repeats(const double *hash, int ranks, int rank)
{
    return !differ(hash + 2 * (ranks + rank), hash + 2 * (2 * ranks + rank));
}

/* Finds the wrong rank of a disputed share. */
static void find_wrong_rank(const double *hash, int ranks, int *rank, int *suspects)
{
    *rank = differs_twice(hash, ranks);
    *suspects = *rank >= 0 ? ranks == 2 ? 2 : 1 : 0;
    for (int r = 0; r < ranks && *suspects != 1; r++) {
        const int again = (r + 1) % ranks;
        if (!is_disputed(hash, ranks, r) || (*suspects == 2 && repeats(hash, ranks, again)))
            continue;
        *rank = repeats(hash, ranks, again) ? r : again;
        *suspects = 1;
    }
}

unroll_status twice_compare(struct twice *t, int *rank, int *ranks)
{
    const int all = unroll_comm_ranks(t->of->config.machine.comm);
    uint64_t hash[2] = {HASH_BEGIN, HASH_BEGIN}, third = HASH_BEGIN;
    bool disputed = false;
    *rank = -1, *ranks = 0;
    unroll_status status = session_hash(t->of, 1u << SEG_GRAD, &hash[0]);
    if (status == UNROLL_OK)
        status = compute_hash(t, &hash[1]);
    TRY(share(t, 0, status, hash, 2));
    for (int r = 0; r < all; r++) disputed = disputed || is_disputed(t->hash, all, r);
    if (!disputed)
        return UNROLL_OK;
    TRY(share(t, 2, compute_hash(t, &third), &third, 1));
    find_wrong_rank(t->hash, all, rank, ranks);
    return UNROLL_OK;
}

#include "session/mesh.h"
#include "base/hash.h"
#include "base/memory.h"
#include "comm/comm.h"
#include "comm/transport.h"
#include "base/extension.h"
#include "device/device_list.h"
#include "session/weights.h"
#include <string.h>

/* ---- the public comm ------------------------------------------------------------------- */

unroll_status unroll_comm_open(const char *transport, double timeout, unroll_comm **comm)
{
    return comm_open(transport, timeout, comm);
}

static unroll_status find_worlds(const struct world_row **worlds)
{
    *worlds = extension_row("world", 0);
    return *worlds ? UNROLL_OK : extension_refuse("world", "");
}

unroll_status unroll_comm_address(char text[UNROLL_ADDRESS])
{
    const struct world_row *worlds;
    TRY(find_worlds(&worlds));
    return worlds->address(text);
}

unroll_status unroll_comm_open_world(int64_t number, int rank, int ranks, const char *const *addresses, double timeout,
                                     unroll_comm **comm)
{
    const struct world_row *worlds;
    TRY(find_worlds(&worlds));
    return worlds->open(number, rank, ranks, addresses, timeout, comm);
}

void unroll_comm_interrupt(unroll_comm *comm) { comm_interrupt(comm); }
void unroll_comm_close(unroll_comm *comm) { comm_close(comm); }
int unroll_comm_rank(const unroll_comm *comm) { return comm ? comm_rank(comm) : 0; }
int unroll_comm_ranks(const unroll_comm *comm) { return comm ? comm_ranks(comm) : 1; }
int unroll_comm_launched(void) { return comm_launched_ranks(); }
unroll_status unroll_comm_agree(unroll_comm *comm, unroll_status mine) { return comm_agree(comm, mine, 0, ""); }
int unroll_comm_first(const unroll_comm *comm) { return comm ? comm_first(comm) : -1; }
void unroll_comm_abort(unroll_comm *comm, int code) { comm_abort(comm, code); }

void unroll_comm_seconds(const unroll_comm *comm, double *communication, double *exposed)
{
    struct comm_totals totals = comm ? comm_totals(comm) : (struct comm_totals){0};
    *communication = totals.communication;
    *exposed = totals.exposed;
}

uint64_t unroll_comm_sent(const unroll_comm *comm) { return comm ? comm_totals(comm).sent : 0; }

unroll_status unroll_comm_sum(unroll_comm *comm, double *numbers, int count)
{
    int world[RANKS_MAX];
    if (!comm || comm_ranks(comm) == 1)
        return UNROLL_OK;
    for (int i = 0; i < comm_ranks(comm) && i < RANKS_MAX; i++) world[i] = i;
    unroll_status status = comm_all_reduce(comm, world, comm_ranks(comm), TAG_CONTROL | 3, numbers, (size_t)count, 1);
    if (status == UNROLL_COMMUNICATION)
        set_error("'all_reduce' of control values: %s", unroll_last_error());
    return status;
}

/* ---- places ---------------------------------------------------------------------------- */

static int ranks_along(int asked) { return asked ? asked : 1; }

unroll_status mesh_place(const unroll_machine *m, int ranks, struct plan_config *p)
{
    const int workers = ranks_along(m->workers);
    const int sizes[M_N] = {[M_BATCH] = workers * ranks_along(m->split.batch),
                            [M_TIME] = ranks_along(m->split.time),
                            [M_LAYER] = ranks_along(m->split.layer),
                            [M_HIDDEN] = ranks_along(m->split.hidden)};
    int rank = unroll_comm_rank(m->comm);
    long product = 1;
    if (workers < 1 || workers > RANKS_MAX || ranks_along(m->split.batch) > RANKS_MAX)
        return fail(UNROLL_USAGE,
                    "%d workers of %d ranks along batch are outside 1..%d; fix: use numbers in this range", workers,
                    ranks_along(m->split.batch), RANKS_MAX);
    if (workers > 1 && m->exact)
        return fail(UNROLL_UNSUPPORTED,
                    "exact: workers do not sum their gradients, so their results differ from those of one process; "
                    "fix: leave out exact, or the workers");
    p->workers = p->mode >= MODE_TRAIN ? workers : 1;
    for (int i = 0; i < M_N; i++) {
        if (sizes[i] < 1 || sizes[i] > RANKS_MAX)
            return fail(UNROLL_USAGE,
                        "%d ranks along an axis of the mesh are outside 1..%d; fix: use a number in this range",
                        sizes[i], RANKS_MAX);
        product *= sizes[i];
        p->mesh[i] = sizes[i];
    }
    if (ranks && product != ranks)
        return fail(UNROLL_USAGE,
                    "the mesh batch=%d,time=%d,layer=%d,hidden=%d has %ld ranks, but %d %s; fix: start as many "
                    "ranks as the mesh has (mpirun -n %ld), or cut for %d (`split` batch=%d)",
                    sizes[M_BATCH], sizes[M_TIME], sizes[M_LAYER], sizes[M_HIDDEN], product, ranks,
                    ranks == 1 ? "is running" : "were started", product, ranks, ranks);
    mesh_coordinate(sizes, rank, p->at);
    TRY(algorithm_find(m->sum, m->exact > 0, &p->sum));
    p->exact = m->exact > 0;
    return UNROLL_OK;
}

unroll_status mesh_default_cut(unroll_machine *m)
{
    const unroll_split *cut = &m->split;
    struct entries e;
    if (!is_device_list(m->device) || cut->batch > 1 || cut->layer > 1 || cut->hidden > 1 || m->workers > 1)
        return UNROLL_OK;
    TRY(entries_read(m->device, &e));
    m->split.layer = e.count;
    return UNROLL_OK;
}

unroll_status mesh_traits(const unroll_machine *m, const int mesh[M_N], struct device_traits **traits)
{
    const int ranks = mesh[M_BATCH] * mesh[M_LAYER] * mesh[M_HIDDEN];
    struct entries e;
    TRY(entries_read(m->device, &e));
    TRY(entries_check(&e, ranks));
    return entries_traits(&e, m->isa, ranks, traits);
}

unroll_status mesh_plans(const struct unroll_model *model, struct plan_config c, struct plan *plans[RANKS_MAX],
                         int *ranks)
{
    *ranks = 1;
    for (int m = 0; m < M_N; m++) *ranks *= c.mesh[m];
    for (int rank = 0; rank < *ranks; rank++) { /* plan_new fails for rank 0 if there are too many */
        plan_config_at(&c, rank);
        TRY(plan_new(model, &c, &plans[rank]));
    }
    return check_mesh(plans, *ranks);
}

void mesh_free(struct plan *plans[RANKS_MAX])
{
    for (int i = 0; i < RANKS_MAX; i++) plan_free(plans[i]);
}

unroll_status mesh_join(const struct unroll_session *s)
{
    struct group *group;
    int groups;
    if (!is_one_of_many(s))
        return UNROLL_OK;
    if (s->device->join)
        return s->device->join(s->executable);
    if (s->plan->config.sum != COMM_NATIVE)
        return UNROLL_OK;
    unroll_status status = plan_meetings(s->plan, 1u << OP_SUM_BEGIN, &group, &groups);
    for (int i = 0; i < groups && status == UNROLL_OK; i++)
        status = comm_join(s->config.machine.comm, group[i].rank, group[i].size);
    release(group);
    return status;
}

/* Hashes what the layer computes. The sizes of its parameters represent its shape. */
static uint64_t hash_layer(uint64_t hash, const struct unroll_model *model, int index)
{
    unroll_layer l = {.size = sizeof l};
    if (unroll_model_layer(model, index, &l) != UNROLL_OK)
        return hash;
    const int numbers[] = {l.reverse, l.input_forget, l.sources};
    const float rates[] = {l.dropout, l.clip};
    hash = hash_bytes(hash, numbers, sizeof numbers);
    hash = hash_bytes(hash, l.source, sizeof *l.source * (size_t)l.sources);
    hash = hash_bytes(hash, rates, sizeof rates);
    return hash_text(hash_text(hash_text(hash_text(hash, l.kind), l.activations), l.activation), l.pool);
}

/* Hashes the traits of a device that other ranks depend on. */
static uint64_t hash_traits(uint64_t hash, const struct device_traits *t)
{
    const uint64_t numbers[] = {t->operands != NULL, t->splits, t->rounds, t->rendezvous};
    return hash_bytes(hash, numbers, sizeof numbers);
}

/* Hashes everything that must be equal on all ranks. */
uint64_t mesh_fingerprint(const struct unroll_model *model, const struct plan_config *c)
{
    const uint64_t numbers[] = {c->mode,
                                c->real,
                                c->weights,
                                c->T,
                                c->B,
                                (uint64_t)c->chunks,
                                (uint64_t)c->workers,
                                c->checkpoint,
                                (uint64_t)c->pieces,
                                c->shards,
                                c->exact,
                                c->precision,
                                (uint64_t)c->sum,
                                c->lengths,
                                c->resets,
                                c->results,
                                c->stateful,
                                (uint64_t)c->optimizer,
                                c->class_weights,
                                c->updates,
                                (uint64_t)model->layers,
                                (uint64_t)model->parameters};
    uint64_t hash = hash_bytes(hash_bytes(HASH_BEGIN, numbers, sizeof numbers), c->mesh, sizeof c->mesh);
    if (!c->traits_of)
        hash = hash_traits(hash, &c->traits);
    for (int i = 0; i < model->parameters; i++) hash = hash_number(hash, model->parameter[i].count);
    for (int i = 0; i < model->layers; i++) hash = hash_layer(hash, model, i);
    for (int i = 0; c->rate && i < c->mesh[M_BATCH] * c->mesh[M_LAYER] * c->mesh[M_HIDDEN]; i++)
        hash = hash_bytes(hash, &c->rate[i], sizeof c->rate[i]);
    for (int i = 0; c->traits_of && i < c->mesh[M_BATCH] * c->mesh[M_LAYER] * c->mesh[M_HIDDEN]; i++)
        hash = hash_traits(hash, &c->traits_of[i]);
    hash = hash_bytes(hash, &c->label_smoothing, sizeof c->label_smoothing);
    hash = hash_bytes(hash, &c->time_tolerance, sizeof c->time_tolerance);
    return hash_text(hash, model->loss.text);
}

/* ---- shares of a buffer --------------------------------------------------------------- */

/* A rank's part of a buffer; here = 0: it has none, or another rank provides it. */
struct rank_slice {
    int32_t here;
    uint32_t first[BUFFER_AXES], count[BUFFER_AXES];
};

size_t mesh_count(const struct buffer *b)
{
    size_t n = 1;
    for (int i = 0; i < b->rank; i++) n *= b->whole[i];
    return n;
}

static bool is_used(const struct plan *p, int buffer)
{
    for (int i = 0; i < p->ops; i++)
        for (int k = 0; k < p->op[i].views; k++)
            if (p->op[i].view[k].buffer == buffer)
                return true;
    return p->buffer[buffer].is_kept;
}

static struct rank_slice slice_of(const struct plan *p, const struct buffer *b)
{
    struct rank_slice slice = {.here = b->bytes && is_used(p, (int)(b - p->buffer))};
    for (int i = 0; i < BUFFER_AXES; i++) {
        slice.first[i] = i < b->rank ? b->origin[i] : 0;
        slice.count[i] = i < b->rank ? b->size[i] : 1;
    }
    return slice;
}

/* The first of a worker's ranks with the same part owns it. The axis of layers is not compared: a rank of another stage
 * does not use the buffer. */
static bool is_owner(const struct plan *p, const struct buffer *b, int worker)
{
    for (int m = 0; m < M_N; m++)
        if (m != M_LAYER && b->state[m] != SPLIT &&
            p->config.at[m] != (m == M_BATCH ? worker * plan_batch_ranks(p) : 0))
            return false;
    return true;
}

static size_t slice_size(const struct rank_slice *slice)
{
    return (size_t)slice->count[0] * slice->count[1] * slice->count[2] * slice->count[3];
}

/* Copies between a contiguous share and its elements in the whole buffer. */
static void move_slice(const struct buffer *b, const struct rank_slice *slice, float *shard, float *whole,
                       bool to_whole)
{
    size_t size[BUFFER_AXES], last = (size_t)b->rank - 1, run = slice->count[last], at[BUFFER_AXES] = {0};
    for (size_t i = 0; i < BUFFER_AXES; i++) size[i] = (int)i < b->rank ? b->whole[i] : 1;
    for (size_t rows = slice_size(slice) / run; rows-- > 0; shard += run) {
        size_t place = 0;
        for (size_t i = 0; i <= last; i++) place = place * size[i] + slice->first[i] + (i < last ? at[i] : 0);
        memcpy(to_whole ? whole + place : shard, to_whole ? shard : whole + place, run * sizeof *shard);
        for (size_t i = last; i-- > 0 && ++at[i] == slice->count[i];) at[i] = 0;
    }
}

/* Returns the share as floats, from the device or a copy of `own`. The caller releases it. */
static unroll_status read_shard(unroll_session *s, const struct buffer *b, const float *own, float **shard)
{
    size_t n = b->bytes / dtype_size(b->dtype);
    char *raw = own ? NULL : allocate_zeroed(1, b->bytes);
    *shard = allocate_zeroed(n, sizeof **shard);
    if (own && *shard) {
        memcpy(*shard, own, n * sizeof *own);
        return UNROLL_OK;
    }
    unroll_status status = raw && *shard ? s->device->read(s->executable, b->name, 0, b->bytes, raw)
                                         : fail(UNROLL_RESOURCE, "no memory to gather '%s'", b->name);
    if (status == UNROLL_OK)
        reals_to_floats(raw, b->dtype, *shard, n);
    release(raw);
    return status;
}

enum { TAG_SLICE = TAG_CONTROL | 4, TAG_SHARD, TAG_WHOLE };

static unroll_status take_shard(unroll_session *s, const struct buffer *b, int rank, float *whole)
{
    struct rank_slice slice;
    TRY(comm_recv(s->config.machine.comm, rank, TAG_SLICE, &slice, sizeof slice));
    if (!slice.here)
        return UNROLL_OK;
    float *shard = allocate_zeroed(slice_size(&slice), sizeof *shard);
    unroll_status status =
        shard ? comm_recv(s->config.machine.comm, rank, TAG_SHARD, shard, slice_size(&slice) * sizeof *shard)
              : fail(UNROLL_RESOURCE, "no memory to gather '%s'", b->name);
    if (status == UNROLL_OK)
        move_slice(b, &slice, shard, whole, true);
    release(shard);
    return status;
}

/* Sends this rank's part to rank `to`, or copies it to `whole` on that rank. */
static unroll_status give_shard(unroll_session *s, const struct buffer *b, int to, const float *own,
                                struct rank_slice *slice, float *whole)
{
    unroll_comm *comm = s->config.machine.comm;
    float *shard = NULL;
    unroll_status status = UNROLL_OK;
    if (slice->here)
        status = read_shard(s, b, own, &shard);
    if (status == UNROLL_OK && comm_rank(comm) == to && slice->here)
        move_slice(b, slice, shard, whole, true);
    if (status == UNROLL_OK && comm_rank(comm) != to)
        status = comm_send(comm, to, TAG_SLICE, slice, sizeof *slice);
    if (status == UNROLL_OK && comm_rank(comm) != to && slice->here)
        status = comm_send(comm, to, TAG_SHARD, shard, slice_size(slice) * sizeof *shard);
    release(shard);
    return status;
}

unroll_status mesh_gather_worker(unroll_session *s, const struct buffer *b, int worker, int to, const float *own,
                                 float *whole)
{
    const bool takes = comm_rank(s->config.machine.comm) == to;
    struct rank_slice slice = slice_of(s->plan, b);
    slice.here = slice.here && is_owner(s->plan, b, worker);
    if (takes)
        memset(whole, 0, mesh_count(b) * sizeof *whole);
    TRY(give_shard(s, b, to, own, &slice, whole));
    for (int rank = 0; takes && rank < comm_ranks(s->config.machine.comm); rank++)
        if (rank != to)
            TRY(take_shard(s, b, rank, whole));
    return UNROLL_OK;
}

unroll_status mesh_read_here(unroll_session *s, const struct buffer *b, float *to)
{
    float *here = NULL;
    if (b->dtype == DTYPE_F32)
        return s->device->read(s->executable, b->name, 0, b->bytes, to);
    unroll_status status = read_shard(s, b, NULL, &here);
    if (status == UNROLL_OK)
        memcpy(to, here, b->bytes / dtype_size(b->dtype) * sizeof *to);
    release(here);
    return status;
}

bool mesh_holds(const unroll_session *s, const struct buffer *b)
{
    return !is_one_of_many(s) || slice_of(s->plan, b).here;
}

unroll_status mesh_gather(unroll_session *s, const struct buffer *b, float *whole)
{
    TRY(mesh_gather_worker(s, b, 0, 0, NULL, whole));
    return comm_broadcast(s->config.machine.comm, TAG_WHOLE, whole, mesh_count(b) * sizeof *whole);
}

void mesh_share(const unroll_session *s, const struct buffer *b, const float *whole, float *share)
{
    struct rank_slice slice = slice_of(s->plan, b);
    if (b->bytes)
        move_slice(b, &slice, share, (float *)whole, false); /* move_slice only reads it */
}

unroll_status mesh_scatter(unroll_session *s, const struct buffer *b, const float *whole)
{
    if (!b->bytes)
        return UNROLL_OK;
    size_t n = b->bytes / dtype_size(b->dtype);
    float *shard = allocate_zeroed(n, sizeof *shard);
    char *raw = allocate_zeroed(1, b->bytes);
    unroll_status status = shard && raw ? UNROLL_OK : fail(UNROLL_RESOURCE, "no memory to divide '%s'", b->name);
    if (status == UNROLL_OK) {
        mesh_share(s, b, whole, shard);
        floats_to_reals(shard, b->dtype, raw, n);
        status = s->device->write(s->executable, b->name, 0, b->bytes, raw);
    }
    release(raw);
    release(shard);
    return status;
}

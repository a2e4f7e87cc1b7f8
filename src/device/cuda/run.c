/* Runs parts (instance.h): walks a part's list over lanes, as streams that wait for each other's events, and brings
 * to the device what the host changed. Inside a part nobody waits for the host. */
#include "device/cuda/instance.h"
#include "optim/optim.h"
#include <stdatomic.h>
#include <string.h>

/* ---- counts ------------------------------------------------------------------------------- */

static atomic_uint_fast64_t graphs, graph_launches, plain_runs;

struct cuda_counts cuda_counts(void)
{
    return (struct cuda_counts){ graphs, graph_launches, plain_runs };
}

void cuda_count(uint64_t made, uint64_t launched, uint64_t plain)
{
    graphs += made;
    graph_launches += launched;
    plain_runs += plain;
}

/* ---- one part ----------------------------------------------------------------------------- */

static cuda_kind *const kinds[OP_KIND_MAX] = {
    [OP_EMBED] = cuda_embed,       [OP_EMBED_GRAD] = cuda_embed_grad, [OP_GEMM] = cuda_gemm,
    [OP_GEMM_DX] = cuda_gemm_dx,   [OP_GEMM_DW] = cuda_gemm_dw,       [OP_SUM_ROWS] = cuda_sum_rows,
    [OP_RNN] = cuda_rnn,           [OP_RNN_BACK] = cuda_rnn_back,     [OP_DROPOUT] = cuda_dropout,
    [OP_ACTIVATE] = cuda_activate, [OP_ACTIVATE_BACK] = cuda_activate_back,
    [OP_LOSS] = cuda_loss,         [OP_COPY] = cuda_copy,             [OP_FILL] = cuda_fill,
    [OP_TREE] = cuda_tree,
};

/* Is there another of this kind from `first` on, before `end`? */
static bool has_kind(const struct plan *p, enum op_kind kind, int first, int end)
{
    while (first < end && p->op[first].kind != kind)
        first++;
    return first < end;
}

/* Norms are done together where the last of them stands, when all gradients are whole; updates where the first
 * stands, before what follows one of them clears its gradient. */
static unroll_status run_op(struct walker *w, int index)
{
    const struct op *op = &w->plan->op[index];
    struct cuda_call call;
    w->scratch_used = 0;
    if (op->kind == OP_NORM)
        return has_kind(w->plan, OP_NORM, index + 1, w->plan->ops) ? UNROLL_OK : cuda_norms(w);
    if (op->kind == OP_UPDATE)
        return has_kind(w->plan, OP_UPDATE, 0, index) ? UNROLL_OK : cuda_updates(w, op);
    if (!kinds[op->kind])
        return fail(UNROLL_UNSUPPORTED, "a GPU can't do '%s'", kind_info(op->kind)->name);
    call_at(w, op, &call);
    return kinds[op->kind](w, &call);
}

static unroll_status wait_for(cu_stream stream, cu_event event)
{
    return cuda_check(cu.cuStreamWaitEvent(stream, event, 0), "ordering streams");
}

static unroll_status record(cu_event event, cu_stream stream)
{
    return cuda_check(cu.cuEventRecord(event, stream), "ordering streams");
}

/* Norms and updates go over everything: those parts keep to one lane, on which the list is a correct program. */
static int lane_of(const struct cuda_instance *in, enum part part, const struct op *op)
{
    return part == PART_FORWARD || part == PART_BACKWARD ? op->lane % in->lanes : 0;
}

static unsigned lanes_used(const struct cuda_instance *in, enum part part)
{
    unsigned used = 1;
    for (int i = in->plan->part[part].first; i < in->plan->part[part].end; i++)
        used |= 1u << lane_of(in, part, &in->plan->op[i]);
    return used;
}

static unroll_status fork_lanes(const struct cuda_instance *in, unsigned used)
{
    if (used == 1)
        return UNROLL_OK;
    TRY(record(in->fork, in->stream[0]));
    for (int lane = 1; lane < in->lanes; lane++)
        if (used >> lane & 1)
            TRY(wait_for(in->stream[lane], in->fork));
    return UNROLL_OK;
}

static unroll_status join_lanes(const struct cuda_instance *in, unsigned used)
{
    for (int lane = 1; lane < in->lanes; lane++)
        if (used >> lane & 1) {
            TRY(record(in->join[lane], in->stream[lane]));
            TRY(wait_for(in->stream[0], in->join[lane]));
        }
    return UNROLL_OK;
}

static unroll_status walk_op(struct cuda_instance *in, enum part part, int index, bool launches)
{
    const struct op *op = &in->plan->op[index];
    const int lane = lane_of(in, part, op);
    struct walker *w = &in->walker;
    w->stream = in->stream[lane];
    w->kept = &in->kept[lane];
    if (w->walk != MEASURE) {
        w->workspace = (char *)(uintptr_t)(in->arena + in->layout.lane[lane]);
        w->scratch = w->workspace + WORKSPACE_BYTES;
        w->kept_at = w->scratch + in->layout.scratch;
    }
    for (int other = 0; launches && other < LANES_MAX; other++)
        if (op->wait[other] >= 0 && lane_of(in, part, &in->plan->op[op->wait[other]]) != lane)
            TRY(wait_for(w->stream, in->ended[op->wait[other]]));
    const uint64_t before = w->launches;
    if (launches)
        TRY(cuda_profile_mark(in, index, false));
    TRY(run_op(w, index));
    for (int i = 0; i < in->lanes; i++)
        narrow_forget(&in->kept[i], op);
    if (w->walk == PREPARE)
        TRY(cuda_profile_prepare(in, index, w->launches > before));
    if (launches)
        TRY(cuda_profile_mark(in, index, true));
    return launches && in->ended[index] ? record(in->ended[index], w->stream) : UNROLL_OK;
}

unroll_status cuda_walk(struct cuda_instance *in, enum part part, enum walk walk)
{
    const unsigned used = lanes_used(in, part);
    const bool launches = walk == LAUNCH;
    in->walker.walk = walk;
    for (int i = 0; i < in->lanes; i++)
        in->kept[i].buffer = -1;
    if (launches)
        TRY(fork_lanes(in, used));
    for (int i = in->plan->part[part].first; i < in->plan->part[part].end; i++)
        TRY(walk_op(in, part, i, launches));
    return launches ? join_lanes(in, used) : UNROLL_OK;
}

/* ---- the host's side of buffers ------------------------------------------------------------ */

/* A range of the mirror that moves as one: a buffer of IO, or all of VALUES. */
struct range { char *host; cu_ptr device; uint64_t bytes; unsigned char *newer; };

static struct range range_of(struct cuda_instance *in, int buffer)
{
    const struct buffer *b = &in->plan->buffer[buffer];
    if (b->segment == SEG_VALUES)
        return (struct range){ in->mirror + in->plan->segment_bytes[SEG_IO], in->arena + in->layout.segment[SEG_VALUES],
                               in->plan->segment_bytes[SEG_VALUES], &in->newer[in->plan->buffers] };
    return (struct range){ in->mirror + b->offset, in->arena + in->layout.segment[SEG_IO] + b->offset, b->bytes,
                           &in->newer[buffer] };
}

static bool is_mirrored(const struct buffer *b)
{
    return (b->segment == SEG_IO || b->segment == SEG_VALUES) && b->bytes;
}

static unroll_status settle(struct cuda_instance *in)
{
    if (!in->waiting)
        return UNROLL_OK;
    in->waiting = false;
    return cuda_check(cu.cuStreamSynchronize(in->stream[0]), "running a part");
}

static unroll_status to_device(struct cuda_instance *in, const struct range *r)
{
    if (*r->newer != ON_HOST)
        return UNROLL_OK;
    *r->newer = BOTH;
    return cuda_check(cu.cuMemcpyHtoDAsync(r->device, r->host, r->bytes, in->stream[0]), "copying to the GPU");
}

static unroll_status to_host(struct cuda_instance *in, const struct range *r)
{
    TRY(settle(in));
    if (*r->newer != ON_DEVICE)
        return UNROLL_OK;
    *r->newer = BOTH;
    TRY(cuda_check(cu.cuMemcpyDtoHAsync(r->host, r->device, r->bytes, in->stream[0]), "copying from the GPU"));
    return cuda_check(cu.cuStreamSynchronize(in->stream[0]), "copying from the GPU");
}

/* Before a part: what it touches and the host has changed. After: what it wrote is newer on the device. */
static unroll_status move_buffers(struct cuda_instance *in, enum part part, bool before)
{
    for (int i = in->plan->part[part].first; i < in->plan->part[part].end; i++)
        for (int k = 0; k < in->plan->op[i].views; k++) {
            const struct view *v = &in->plan->op[i].view[k];
            if (v->buffer < 0 || !is_mirrored(&in->plan->buffer[v->buffer]))
                continue;
            struct range r = range_of(in, v->buffer);
            if (before)
                TRY(to_device(in, &r));
            else if (access_writes(v->access))
                *r.newer = ON_DEVICE;
        }
    return UNROLL_OK;
}

/* ---- running ------------------------------------------------------------------------------ */

static unroll_status run_part(struct cuda_instance *in, enum part part)
{
    if (!in->launches[part])
        return UNROLL_OK;
    TRY(move_buffers(in, part, true));
    in->waiting = true;
    if (in->graph[part])
        TRY(cuda_check(cu.cuGraphLaunch(in->graph[part], in->stream[0]), "launching a graph"));
    else
        TRY(cuda_walk(in, part, LAUNCH));
    cuda_count(0, in->graph[part] != NULL, in->graph[part] == NULL);
    return move_buffers(in, part, false);
}

static unroll_status launch_step(struct cuda_instance *in, bool begins)
{
    in->waiting = true;
    in->walker.walk = LAUNCH;
    in->walker.stream = in->stream[0];
    return cuda_step(&in->walker, begins);
}

/* A whole step is not waited for: who asks for what it made waits. */
static unroll_status run_parts(struct cuda_instance *in, enum part first, enum part last)
{
    const bool whole = first == PART_FORWARD && last == PART_UPDATE;
    TRY(settle(in));
    if (whole) {
        TRY(move_buffers(in, PART_FORWARD, true));      /* the sums that it sets aside */
        TRY(launch_step(in, true));
    }
    for (int part = first; part <= (int)last; part++)
        TRY(run_part(in, (enum part)part));
    if (whole)
        TRY(launch_step(in, false));
    if (!whole || in->profile)
        TRY(settle(in));
    for (int part = first; part <= (int)last; part++)
        TRY(cuda_profile_collect(in, (enum part)part));
    return UNROLL_OK;
}

unroll_status cuda_run(void *instance, enum part first, enum part last)
{
    struct cuda_instance *in = instance;
    TRY(cuda_enter(in->context));
    unroll_status status = run_parts(in, first, last);
    cuda_leave();
    return status;
}

/* ---- looking inside ----------------------------------------------------------------------- */

/* What a step that failed made is not a number: whoever reads a loss sees that, and the next run fails, too. */
static void spoil(const struct cuda_instance *in, const struct range *r)
{
    if (r->newer == &in->newer[in->plan->buffers])
        memset(r->host, 0xff, r->bytes);
}

/* The host may change what it is given. */
void *cuda_host(void *instance, const char *buffer)
{
    struct cuda_instance *in = instance;
    int index = plan_find_buffer(in->plan, buffer);
    if (index < 0 || !is_mirrored(&in->plan->buffer[index]) || cuda_enter(in->context) != UNROLL_OK)
        return NULL;
    struct range r = range_of(in, index);
    unroll_status status = to_host(in, &r);
    cuda_leave();
    if (status != UNROLL_OK)
        spoil(in, &r);
    *r.newer = ON_HOST;
    const struct buffer *b = &in->plan->buffer[index];
    return b->segment == SEG_VALUES ? r.host + b->offset : r.host;
}

void cuda_begin_values(struct cuda_instance *in)
{
    const double scale = 4096;          /* a row's gradient is at most about 1: far from 65504 */
    int rates = plan_find_buffer(in->plan, "rates");
    if (in->plan->config.precision != PRECISION_FP16 || rates < 0)
        return;
    struct range r = range_of(in, rates);
    memcpy(r.host + in->plan->buffer[rates].offset + RATE_SCALE * sizeof scale, &scale, sizeof scale);
    *r.newer = ON_HOST;
}

static unroll_status find_buffer(const struct cuda_instance *in, const char *name, uint64_t first, uint64_t bytes,
                                 int *index)
{
    *index = plan_find_buffer(in->plan, name);
    if (*index < 0 || !in->plan->buffer[*index].bytes)
        return fail(UNROLL_USAGE, "the plan has no buffer '%s' here", name);
    const struct buffer *b = &in->plan->buffer[*index];
    if (first > b->bytes || bytes > b->bytes - first)
        return fail(UNROLL_USAGE, "'%s' has %llu bytes", name, (unsigned long long)b->bytes);
    return UNROLL_OK;
}

static unroll_status copy_bytes(struct cuda_instance *in, int index, uint64_t first, uint64_t bytes, void *to,
                                const void *from)
{
    const struct buffer *b = &in->plan->buffer[index];
    cu_ptr at = (cu_ptr)(uintptr_t)in->walker.base[b->segment] + b->offset + first;
    TRY(settle(in));
    TRY(cuda_check(to ? cu.cuMemcpyDtoHAsync(to, at, bytes, in->stream[0])
                      : cu.cuMemcpyHtoDAsync(at, from, bytes, in->stream[0]), "copying"));
    return cuda_check(cu.cuStreamSynchronize(in->stream[0]), "copying");
}

static unroll_status access_bytes(struct cuda_instance *in, const char *name, uint64_t first, uint64_t bytes, void *to,
                                  const void *from)
{
    int index;
    TRY(find_buffer(in, name, first, bytes, &index));
    if (!bytes)
        return UNROLL_OK;
    if (!is_mirrored(&in->plan->buffer[index])) {
        TRY(cuda_enter(in->context));
        unroll_status status = copy_bytes(in, index, first, bytes, to, from);
        cuda_leave();
        return status;
    }
    char *host = cuda_host(in, name);
    if (!host)
        return UNROLL_RESOURCE;
    memcpy(to ? to : host + first, to ? host + first : from, bytes);
    return UNROLL_OK;
}

unroll_status cuda_read(void *instance, const char *buffer, uint64_t first, uint64_t bytes, void *to)
{
    return access_bytes(instance, buffer, first, bytes, to, NULL);
}

unroll_status cuda_write(void *instance, const char *buffer, uint64_t first, uint64_t bytes, const void *from)
{
    return access_bytes(instance, buffer, first, bytes, NULL, from);
}

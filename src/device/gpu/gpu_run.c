/* Runs parts (gpu_instance.h): walks a part's list over lanes, as streams that wait for each other's events, and
 * brings to the device what the host changed. Inside a part nobody waits for the host. */
#include "device/gpu/gpu_instance.h"
#include "optim/optim.h"
#include <stdatomic.h>
#include <string.h>

/* ---- counts ------------------------------------------------------------------------------- */

static atomic_uint_fast64_t graphs, graph_launches, plain_runs;

struct gpu_counts gpu_counts(void)
{
    return (struct gpu_counts){ graphs, graph_launches, plain_runs };
}

void gpu_count(uint64_t made, uint64_t launched, uint64_t plain)
{
    graphs += made;
    graph_launches += launched;
    plain_runs += plain;
}

/* ---- one part ----------------------------------------------------------------------------- */

static gpu_op_function *const kinds[OP_KIND_MAX] = {
    [OP_EMBED] = gpu_op_embed,       [OP_EMBED_GRAD] = gpu_op_embed_grad, [OP_GEMM] = gpu_op_gemm,
    [OP_GEMM_DX] = gpu_op_gemm_dx,   [OP_GEMM_DW] = gpu_op_gemm_dw,       [OP_SUM_ROWS] = gpu_op_sum_rows,
    [OP_RNN] = gpu_op_rnn,           [OP_RNN_BACK] = gpu_op_rnn_back,     [OP_DROPOUT] = gpu_op_dropout,
    [OP_ACTIVATE] = gpu_op_activate, [OP_ACTIVATE_BACK] = gpu_op_activate_back,
    [OP_LOSS] = gpu_op_loss,         [OP_COPY] = gpu_op_copy,             [OP_FILL] = gpu_op_fill,
    [OP_TREE] = gpu_op_tree,         [OP_SEND] = gpu_op_send,             [OP_RECV] = gpu_op_recv,
    [OP_ALL_REDUCE] = gpu_op_all_reduce, [OP_SUM_BEGIN] = gpu_op_sum_begin, [OP_SUM_END] = gpu_op_sum_end,
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
    struct gpu_call call;
    w->scratch_used = 0;
    if (op->kind == OP_NORM)
        return has_kind(w->plan, OP_NORM, index + 1, w->plan->ops) ? UNROLL_OK : gpu_norms(w);
    if (op->kind == OP_UPDATE)
        return has_kind(w->plan, OP_UPDATE, 0, index) ? UNROLL_OK : gpu_updates(w, op);
    if (!kinds[op->kind])
        return fail(UNROLL_UNSUPPORTED, "a GPU can't do '%s'", kind_info(op->kind)->name);
    call_at(w, op, &call);
    return kinds[op->kind](w, &call);
}

/* Norms and updates go over everything: those parts keep to one lane, on which the list is a correct program. */
static int lane_of(const struct gpu_instance *in, const struct op *op)
{
    return op->part == PART_FORWARD || op->part == PART_BACKWARD ? op->lane % in->lanes : 0;
}

/* Operations [first, end) of which some are of the part; none where it is no part of this plan. */
static void range_of_part(const struct plan *p, enum part part, int *first, int *end)
{
    *first = *end = 0;
    if ((int)part != PART_BACKWARD_SUM || plan_overlaps(p))
        part_range(p, part, first, end);
}

static unsigned lanes_used(const struct gpu_instance *in, enum part part)
{
    unsigned used = 1;
    int i, end;
    for (range_of_part(in->plan, part, &i, &end); i < end; i++)
        if (is_in_part(&in->plan->op[i], part))
            used |= 1u << lane_of(in, &in->plan->op[i]);
    return used;
}

static unroll_status fork_lanes(const struct gpu_instance *in, unsigned used)
{
    if (used == 1)
        return UNROLL_OK;
    TRY(in->driver->event_record(in->fork, in->stream[0]));
    for (int lane = 1; lane < in->lanes; lane++)
        if (used >> lane & 1)
            TRY(in->driver->stream_after(in->stream[lane], in->fork));
    return UNROLL_OK;
}

static unroll_status join_lanes(const struct gpu_instance *in, unsigned used)
{
    for (int lane = 1; lane < in->lanes; lane++)
        if (used >> lane & 1) {
            TRY(in->driver->event_record(in->join[lane], in->stream[lane]));
            TRY(in->driver->stream_after(in->stream[0], in->join[lane]));
        }
    return UNROLL_OK;
}

/* The operation of the lane that op waits for in this part, or -1. Sums may be left out of backward: then the one
 * before. */
static int waits_for(const struct gpu_instance *in, enum part part, const struct op *op, int lane)
{
    const struct plan *p = in->plan;
    int i = op->wait[lane], first, end;
    range_of_part(p, part, &first, &end);
    while (i >= first && (p->op[i].lane != lane || !is_in_part(&p->op[i], part)))
        i--;
    return i >= first && lane_of(in, &p->op[i]) != lane_of(in, op) ? i : -1;
}

/* The lane's stream and memory. */
static void enter_lane(struct gpu_instance *in, const struct op *op)
{
    const int lane = lane_of(in, op);
    struct walker *w = &in->walker;
    w->stream = in->stream[lane];
    w->kept = &in->kept[lane];
    if (w->walk == MEASURE)
        return;
    w->workspace = (char *)(uintptr_t)(in->arena + in->layout.lane[lane]);
    w->scratch = w->workspace + in->driver->workspace_bytes;
    w->kept_at = w->scratch + in->layout.scratch;
}

static unroll_status walk_op(struct gpu_instance *in, enum part part, int index, bool launches)
{
    const struct op *op = &in->plan->op[index];
    struct walker *w = &in->walker;
    enter_lane(in, op);
    for (int other = 0; launches && other < LANES_MAX; other++) {
        const int earlier = waits_for(in, part, op, other);
        if (earlier >= 0)
            TRY(in->driver->stream_after(w->stream, in->ended[earlier]));
    }
    const uint64_t before = w->launches;
    if (launches)
        TRY(gpu_profile_mark(in, index, false));
    TRY(run_op(w, index));
    for (int i = 0; i < in->lanes; i++)
        narrow_forget(&in->kept[i], op);
    if (w->walk == PREPARE)
        TRY(gpu_profile_prepare(in, index, w->launches > before));
    if (launches)
        TRY(gpu_profile_mark(in, index, true));
    return launches && in->ended[index] ? in->driver->event_record(in->ended[index], w->stream) : UNROLL_OK;
}

unroll_status gpu_walk(struct gpu_instance *in, enum part part, enum walk walk)
{
    const unsigned used = lanes_used(in, part);
    const bool launches = walk == LAUNCH;
    in->walker.walk = walk;
    for (int i = 0; i < in->lanes; i++)
        in->kept[i].buffer = -1;
    if (launches)
        TRY(fork_lanes(in, used));
    int i, end;
    for (range_of_part(in->plan, part, &i, &end); i < end; i++)
        if (is_in_part(&in->plan->op[i], part))
            TRY(walk_op(in, part, i, launches));
    return launches ? join_lanes(in, used) : UNROLL_OK;
}

unroll_status gpu_greet(struct gpu_instance *in)
{
    in->walker.walk = PREPARE;
    for (int i = 0; i < in->plan->ops; i++) {
        if (!op_talks(&in->plan->op[i]))
            continue;
        enter_lane(in, &in->plan->op[i]);
        TRY(run_op(&in->walker, i));
    }
    return UNROLL_OK;
}

/* ---- the host's side of buffers ------------------------------------------------------------ */

/* A range of the mirror that moves as one: a buffer of IO, or all of VALUES. */
struct range { char *host; gpu_address device; uint64_t bytes; unsigned char *newer; };

static struct range range_of_values(struct gpu_instance *in)
{
    return (struct range){ in->mirror + in->layout.values, in->arena + in->layout.segment[SEG_VALUES],
                           in->plan->segment_bytes[SEG_VALUES], &in->newer[in->plan->buffers] };
}

static struct range range_of(struct gpu_instance *in, int buffer)
{
    const struct buffer *b = &in->plan->buffer[buffer];
    if (b->segment == SEG_VALUES)
        return range_of_values(in);
    return (struct range){ in->mirror + b->offset, in->arena + in->layout.segment[SEG_IO] + b->offset, b->bytes,
                           &in->newer[buffer] };
}

static bool is_mirrored(const struct buffer *b)
{
    return (b->segment == SEG_IO || b->segment == SEG_VALUES) && b->bytes;
}

static unroll_status settle(struct gpu_instance *in)
{
    if (!in->waiting)
        return UNROLL_OK;
    if (in->walker.talk)
        TRY(in->driver->ranks->wait(in->walker.talk, in->plan, in->stream[0]));
    in->waiting = false;
    return in->driver->stream_wait(in->stream[0], "running a part");
}

static unroll_status to_device(struct gpu_instance *in, const struct range *r)
{
    if (*r->newer != ON_HOST)
        return UNROLL_OK;
    *r->newer = BOTH;
    return in->driver->copy_in(in->stream[0], r->device, r->host, r->bytes, "copying to the GPU");
}

static unroll_status to_host(struct gpu_instance *in, const struct range *r)
{
    TRY(settle(in));
    if (*r->newer != ON_DEVICE)
        return UNROLL_OK;
    *r->newer = BOTH;
    TRY(in->driver->copy_out(in->stream[0], r->host, r->device, r->bytes, "copying from the GPU"));
    return in->driver->stream_wait(in->stream[0], "copying from the GPU");
}

/* Before a part: what it touches and the host has changed. After: what it wrote is newer on the device. */
static unroll_status move_buffers(struct gpu_instance *in, enum part part, bool before)
{
    int i, end;
    for (range_of_part(in->plan, part, &i, &end); i < end; i++)
        for (int k = 0; is_in_part(&in->plan->op[i], part) && k < in->plan->op[i].views; k++) {
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

static unroll_status run_part(struct gpu_instance *in, enum part part)
{
    if (!in->launches[part])
        return UNROLL_OK;
    TRY(move_buffers(in, part, true));
    in->waiting = true;
    if (in->graph[part])
        TRY(in->driver->graph_launch(in->graph[part], in->stream[0]));
    else
        TRY(gpu_walk(in, part, LAUNCH));
    gpu_count(0, in->graph[part] != NULL, in->graph[part] == NULL);
    return move_buffers(in, part, false);
}

/* Sets the sums of losses aside, and adds them in the end. */
static unroll_status launch_step(struct gpu_instance *in, bool begins)
{
    struct range values = range_of_values(in);
    TRY(to_device(in, &values));
    in->waiting = true;
    in->walker.walk = LAUNCH;
    in->walker.stream = in->stream[0];
    TRY(gpu_step(&in->walker, begins));
    *values.newer = ON_DEVICE;
    return UNROLL_OK;
}

/* A whole step is not waited for: who asks for what it made waits. */
static unroll_status run_parts(struct gpu_instance *in, enum part first, enum part last)
{
    const bool whole = first == PART_FORWARD && last == PART_UPDATE;
    TRY(settle(in));
    if (whole)
        TRY(launch_step(in, true));
    for (int part = first; part <= (int)last; part++) {
        const bool both = part == PART_BACKWARD && last >= PART_SUM && plan_overlaps(in->plan);
        TRY(run_part(in, (enum part)(both ? PART_BACKWARD_SUM : part)));
        part += both;
    }
    if (whole)
        TRY(launch_step(in, false));
    if (!whole || in->profile)
        TRY(settle(in));
    for (int part = first; part <= (int)last; part++)
        TRY(gpu_profile_collect(in, (enum part)part));
    return UNROLL_OK;
}

unroll_status gpu_wait(void *instance)
{
    struct gpu_instance *in = instance;
    TRY(in->driver->enter(in->gpu));
    unroll_status status = settle(in);
    in->driver->leave(in->gpu);
    return status;
}

unroll_status gpu_run(void *instance, enum part first, enum part last)
{
    struct gpu_instance *in = instance;
    TRY(in->driver->enter(in->gpu));
    unroll_status status = run_parts(in, first, last);
    in->driver->leave(in->gpu);
    return status;
}

/* ---- looking inside ----------------------------------------------------------------------- */

/* What a step that failed made is not a number: whoever reads a loss sees that, and the next run fails, too. */
static void spoil(const struct gpu_instance *in, const struct range *r)
{
    if (r->newer == &in->newer[in->plan->buffers])
        memset(r->host, 0xff, r->bytes);
}

/* The host may change what it is given. */
void *gpu_host(void *instance, const char *buffer)
{
    struct gpu_instance *in = instance;
    int index = plan_find_buffer(in->plan, buffer);
    if (index < 0 || !is_mirrored(&in->plan->buffer[index]) || in->driver->enter(in->gpu) != UNROLL_OK)
        return NULL;
    struct range r = range_of(in, index);
    unroll_status status = to_host(in, &r);
    in->driver->leave(in->gpu);
    if (status != UNROLL_OK)
        spoil(in, &r);
    *r.newer = ON_HOST;
    const struct buffer *b = &in->plan->buffer[index];
    return b->segment == SEG_VALUES ? r.host + b->offset : r.host;
}

void gpu_begin_values(struct gpu_instance *in)
{
    const double scale = 4096;          /* a row's gradient is at most about 1: far from 65504 */
    int rates = plan_find_buffer(in->plan, "rates");
    if (in->plan->config.precision != PRECISION_FP16 || rates < 0)
        return;
    struct range r = range_of(in, rates);
    memcpy(r.host + in->plan->buffer[rates].offset + RATE_SCALE * sizeof scale, &scale, sizeof scale);
    *r.newer = ON_HOST;
}

static unroll_status find_buffer(const struct gpu_instance *in, const char *name, uint64_t first, uint64_t bytes,
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

static unroll_status copy_bytes(struct gpu_instance *in, int index, uint64_t first, uint64_t bytes, void *to,
                                const void *from)
{
    const struct buffer *b = &in->plan->buffer[index];
    const gpu_address at = (gpu_address)(uintptr_t)in->walker.base[b->segment] + b->offset + first;
    TRY(settle(in));
    TRY(to ? in->driver->copy_out(in->stream[0], to, at, bytes, "copying")
           : in->driver->copy_in(in->stream[0], at, from, bytes, "copying"));
    return in->driver->stream_wait(in->stream[0], "copying");
}

static unroll_status access_bytes(struct gpu_instance *in, const char *name, uint64_t first, uint64_t bytes, void *to,
                                  const void *from)
{
    int index;
    TRY(find_buffer(in, name, first, bytes, &index));
    if (!bytes)
        return UNROLL_OK;
    if (!is_mirrored(&in->plan->buffer[index])) {
        TRY(in->driver->enter(in->gpu));
        unroll_status status = copy_bytes(in, index, first, bytes, to, from);
        in->driver->leave(in->gpu);
        return status;
    }
    char *host = gpu_host(in, name);
    if (!host)
        return UNROLL_RESOURCE;
    memcpy(to ? to : host + first, to ? host + first : from, bytes);
    return UNROLL_OK;
}

unroll_status gpu_read(void *instance, const char *buffer, uint64_t first, uint64_t bytes, void *to)
{
    return access_bytes(instance, buffer, first, bytes, to, NULL);
}

unroll_status gpu_write(void *instance, const char *buffer, uint64_t first, uint64_t bytes, const void *from)
{
    return access_bytes(instance, buffer, first, bytes, NULL, from);
}

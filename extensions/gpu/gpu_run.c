/* Runs phases (gpu_executable.h): walks a phase's list over queues, which are streams that wait for each other's
 * events, and copies what the host changed to the device. Inside a phase nothing waits for the host. */
#include "extensions/gpu/gpu_executable.h"
#include "nn/optim/optim.h"
#include <stdatomic.h>
#include <string.h>

/* ---- counts ------------------------------------------------------------------------------- */

static atomic_uint_fast64_t graphs, graph_launches, plain_runs, copied_in;

struct gpu_counts gpu_counts(void) { return (struct gpu_counts){graphs, graph_launches, plain_runs, copied_in}; }

void gpu_count(uint64_t made, uint64_t launched, uint64_t plain)
{
    graphs += made;
    graph_launches += launched;
    plain_runs += plain;
}

/* ---- one phase ----------------------------------------------------------------------------- */

static gpu_op_function *const kinds[OP_KIND_MAX] = {
    [OP_EMBED] = gpu_op_embed,
    [OP_EMBED_GRAD] = gpu_op_embed_grad,
    [OP_GEMM] = gpu_op_gemm,
    [OP_GEMM_DX] = gpu_op_gemm_dx,
    [OP_GEMM_DW] = gpu_op_gemm_dw,
    [OP_BIAS_GRAD] = gpu_op_bias_grad,
    [OP_RNN] = gpu_op_rnn,
    [OP_RNN_BACK] = gpu_op_rnn_back,
    [OP_DROPOUT] = gpu_op_dropout,
    [OP_ACTIVATE] = gpu_op_activate,
    [OP_ACTIVATE_BACK] = gpu_op_activate_back,
    [OP_POOL] = gpu_op_pool,
    [OP_POOL_BACK] = gpu_op_pool_back,
    [OP_LOSS] = gpu_op_loss,
    [OP_COPY] = gpu_op_copy,
    [OP_FILL] = gpu_op_fill,
    [OP_TREE] = gpu_op_tree,
    [OP_SEND] = gpu_op_send,
    [OP_RECV] = gpu_op_recv,
    [OP_ALL_REDUCE] = gpu_op_all_reduce,
    [OP_SUM_BEGIN] = gpu_op_sum_begin,
    [OP_SUM_END] = gpu_op_sum_end,
};

/* Returns whether [first, end) contains an operation of this kind. */
static bool has_kind(const struct plan *p, enum op_kind kind, int first, int end)
{
    while (first < end && p->op[first].kind != kind) first++;
    return first < end;
}

/* Norms run together at the last of them, when all gradients are complete. Updates run together at the first of
 * them, before a later operation clears a gradient. */
static unroll_status run_op(struct recorder *w, int index)
{
    const struct op *op = &w->plan->op[index];
    struct gpu_call call;
    w->scratch_used = 0;
    w->packs = 0;
    if (w->staged && op_communicates(op))
        return UNROLL_OK;
    if (op->kind == OP_NORM)
        return has_kind(w->plan, OP_NORM, index + 1, w->plan->ops) ? UNROLL_OK : gpu_norms(w);
    if (op->kind == OP_UPDATE)
        return has_kind(w->plan, OP_UPDATE, 0, index) ? UNROLL_OK : gpu_updates(w, op);
    if (!kinds[op->kind])
        return fail(UNROLL_UNSUPPORTED,
                    "a GPU can't do '%s'; fix: report it with the network and the options, or device cpu",
                    kind_info(op->kind)->name);
    call_at(w, op, &call);
    return kinds[op->kind](w, &call);
}

/* Norms and updates cover all parameters: those phases use one queue, on which the list is a correct program. */
static int queue_of(const struct gpu_executable *in, const struct op *op)
{
    return op->phase == PHASE_FORWARD || op->phase == PHASE_BACKWARD ? op->queue % in->queues : 0;
}

/* Returns operations [first, end), some of which belong to the phase; none if the plan has no such phase. */
static void range_of_phase(const struct plan *p, enum phase phase, int *first, int *end)
{
    *first = *end = 0;
    if ((int)phase != PHASE_BACKWARD_SUM || plan_overlaps(p))
        phase_range(p, phase, first, end);
}

static unsigned queues_used(const struct gpu_executable *in, enum phase phase)
{
    unsigned used = 1;
    int i, end;
    for (range_of_phase(in->plan, phase, &i, &end); i < end; i++)
        if (is_in_phase(&in->plan->op[i], phase))
            used |= 1u << queue_of(in, &in->plan->op[i]);
    return used;
}

static unroll_status fork_queues(const struct gpu_executable *in, unsigned used)
{
    if (used == 1)
        return UNROLL_OK;
    TRY(in->driver->event_record(in->fork, in->stream[0]));
    for (int queue = 1; queue < in->queues; queue++)
        if (used >> queue & 1)
            TRY(in->driver->stream_after(in->stream[queue], in->fork));
    return UNROLL_OK;
}

static unroll_status join_queues(const struct gpu_executable *in, unsigned used)
{
    for (int queue = 1; queue < in->queues; queue++)
        if (used >> queue & 1) {
            TRY(in->driver->event_record(in->join[queue], in->stream[queue]));
            TRY(in->driver->stream_after(in->stream[0], in->join[queue]));
        }
    return UNROLL_OK;
}

/* Returns the operation of `queue` that op waits for in this phase, or -1. Sums may be left out of backward; then it
 * is the previous one. */
static int waits_for(const struct gpu_executable *in, enum phase phase, const struct op *op, int queue)
{
    const struct plan *p = in->plan;
    int i = op->wait[queue], first, end;
    range_of_phase(p, phase, &first, &end);
    while (i >= first && (p->op[i].queue != queue || !is_in_phase(&p->op[i], phase))) i--;
    return i >= first && queue_of(in, &p->op[i]) != queue_of(in, op) ? i : -1;
}

/* Selects the queue's stream and memory. */
static void enter_queue(struct gpu_executable *in, const struct op *op)
{
    const int queue = queue_of(in, op);
    struct recorder *w = &in->recorder;
    w->stream = in->stream[queue];
    w->kept = &in->kept[queue];
    if (w->walk == MEASURE)
        return;
    w->workspace = (char *)(uintptr_t)(in->arena + in->layout.queue[queue]);
    w->scratch = w->workspace + in->driver->workspace_bytes;
    w->kept_at = w->scratch + in->layout.scratch;
}

/* Launches an operation under its name, if a profiler is attached. */
static unroll_status launch_op(struct gpu_executable *in, int index)
{
    char label[96];
    if (in->ranges)
        in->ranges->begin(op_label(in->plan, &in->plan->op[index], label, sizeof label));
    unroll_status status = run_op(&in->recorder, index);
    if (in->ranges)
        in->ranges->end();
    return status;
}

/* Prepares, measures or launches one operation, after the events of other queues that it depends on. */
static unroll_status walk_op(struct gpu_executable *in, enum phase phase, int index, bool launches)
{
    const struct op *op = &in->plan->op[index];
    struct recorder *w = &in->recorder;
    enter_queue(in, op);
    for (int other = 0; launches && other < QUEUES_MAX; other++) {
        const int earlier = waits_for(in, phase, op, other);
        if (earlier >= 0)
            TRY(in->driver->stream_after(w->stream, in->ended[earlier]));
    }
    const uint64_t before = w->launches;
    if (launches)
        TRY(gpu_profile_mark(in, index, false));
    TRY(launches ? launch_op(in, index) : run_op(w, index));
    for (int i = 0; i < in->queues; i++) lowp_forget(&in->kept[i], op);
    if (w->walk == PREPARE)
        TRY(gpu_profile_prepare(in, index, w->launches > before));
    if (launches)
        TRY(gpu_profile_mark(in, index, true));
    return launches && in->ended[index] ? in->driver->event_record(in->ended[index], w->stream) : UNROLL_OK;
}

static void forget_kept(struct gpu_executable *in)
{
    for (int i = 0; i < in->queues; i++) in->kept[i].buffer = -1;
}

unroll_status gpu_walk_range(struct gpu_executable *in, enum phase phase, int first, int end, enum walk walk)
{
    const unsigned used = queues_used(in, phase);
    const bool launches = walk == LAUNCH;
    in->recorder.walk = walk;
    forget_kept(in);
    if (launches)
        TRY(fork_queues(in, used));
    for (int i = first; i < end; i++) {
        if (!is_in_phase(&in->plan->op[i], phase))
            continue;
        if (in->recorder.staged && op_communicates(&in->plan->op[i]))
            forget_kept(in); /* as a walk of the next range does */
        TRY(walk_op(in, phase, i, launches));
    }
    return launches ? join_queues(in, used) : UNROLL_OK;
}

unroll_status gpu_walk(struct gpu_executable *in, enum phase phase, enum walk walk)
{
    int first, end;
    range_of_phase(in->plan, phase, &first, &end);
    return gpu_walk_range(in, phase, first, end, walk);
}

unroll_status gpu_greet(struct gpu_executable *in)
{
    in->recorder.walk = PREPARE;
    for (int i = 0; i < in->plan->ops; i++) {
        if (!op_communicates(&in->plan->op[i]))
            continue;
        enter_queue(in, &in->plan->op[i]);
        TRY(run_op(&in->recorder, i));
    }
    return UNROLL_OK;
}

/* ---- the host's side of buffers ------------------------------------------------------------ */

/* A range of the mirror that is copied as one: a buffer of IO, or all of VALUES. */
struct range {
    char *host;
    gpu_address device;
    uint64_t bytes;
    unsigned char *newer;
};

static struct range range_of_values(struct gpu_executable *in)
{
    return (struct range){in->mirror + in->layout.values, in->arena + in->layout.segment[SEG_VALUES],
                          in->plan->segment_bytes[SEG_VALUES], &in->newer[in->plan->buffers]};
}

static struct range range_of(struct gpu_executable *in, int buffer)
{
    const struct buffer *b = &in->plan->buffer[buffer];
    if (b->segment == SEG_VALUES)
        return range_of_values(in);
    return (struct range){in->mirror + b->offset, in->arena + in->layout.segment[SEG_IO] + b->offset, b->bytes,
                          &in->newer[buffer]};
}

static bool is_mirrored(const struct buffer *b)
{
    return (b->segment == SEG_IO || b->segment == SEG_VALUES) && b->bytes;
}

static unroll_status settle(struct gpu_executable *in)
{
    if (!in->waiting)
        return UNROLL_OK;
    if (in->recorder.device_comm)
        TRY(in->driver->ranks->wait(in->recorder.device_comm, in->plan, in->stream[0]));
    in->waiting = false;
    return in->driver->stream_wait(in->stream[0], "running a phase");
}

static unroll_status to_device(struct gpu_executable *in, const struct range *r)
{
    if (*r->newer != ON_HOST)
        return UNROLL_OK;
    *r->newer = BOTH;
    copied_in += r->bytes;
    return in->driver->copy_in(in->stream[0], r->device, r->host, r->bytes, "copying to the GPU");
}

static unroll_status to_host(struct gpu_executable *in, const struct range *r)
{
    TRY(settle(in));
    if (*r->newer != ON_DEVICE)
        return UNROLL_OK;
    *r->newer = BOTH;
    TRY(in->driver->copy_out(in->stream[0], r->host, r->device, r->bytes, "copying from the GPU"));
    return in->driver->stream_wait(in->stream[0], "copying from the GPU");
}

/* Before operations: copies what they access and the host has changed. After: marks what they wrote as newer on the
 * device. */
static unroll_status move_buffers(struct gpu_executable *in, enum phase phase, int first, int end, bool before)
{
    for (int i = first; i < end; i++)
        for (int k = 0; is_in_phase(&in->plan->op[i], phase) && k < in->plan->op[i].views; k++) {
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

static unroll_status run_phase(struct gpu_executable *in, enum phase phase)
{
    int first, end;
    if (!in->launches[phase])
        return UNROLL_OK;
    range_of_phase(in->plan, phase, &first, &end);
    TRY(move_buffers(in, phase, first, end, true));
    in->waiting = true;
    if (in->graph[phase])
        TRY(in->driver->graph_launch(in->graph[phase], in->stream[0]));
    else
        TRY(gpu_walk(in, phase, LAUNCH));
    gpu_count(0, in->graph[phase] != NULL, in->graph[phase] == NULL);
    return move_buffers(in, phase, first, end, false);
}

unroll_status gpu_run_range(void *executable, enum phase phase, int first, int end)
{
    struct gpu_executable *in = executable;
    TRY(settle(in));
    TRY(move_buffers(in, phase, first, end, true));
    in->waiting = true;
    TRY(gpu_walk_range(in, phase, first, end, LAUNCH));
    return move_buffers(in, phase, first, end, false);
}

static unroll_status run_list(struct gpu_executable *in, enum phase first, enum phase last)
{
    if (in->staged)
        return staged_run(in->staged, first, last);
    for (int phase = first; phase <= (int)last; phase++) {
        const bool both = phase == PHASE_BACKWARD && last >= PHASE_SUM && plan_overlaps(in->plan);
        TRY(run_phase(in, (enum phase)(both ? PHASE_BACKWARD_SUM : phase)));
        phase += both;
    }
    return UNROLL_OK;
}

/* Sets the loss sums aside, and adds them at the end. */
static unroll_status launch_step(struct gpu_executable *in, bool begins)
{
    struct range values = range_of_values(in);
    TRY(to_device(in, &values));
    in->waiting = true;
    in->recorder.walk = LAUNCH;
    in->recorder.stream = in->stream[0];
    TRY(gpu_step(&in->recorder, begins));
    *values.newer = ON_DEVICE;
    return UNROLL_OK;
}

/* Does not wait for a whole step: reading its results waits. */
static unroll_status run_phases(struct gpu_executable *in, enum phase first, enum phase last)
{
    const bool whole = first == PHASE_FORWARD && last == PHASE_UPDATE;
    TRY(settle(in));
    TRY(gpu_span_mark(in, false));
    if (whole)
        TRY(launch_step(in, true));
    TRY(run_list(in, first, last));
    if (whole)
        TRY(launch_step(in, false));
    TRY(gpu_span_mark(in, true));
    if (!whole || in->profile)
        TRY(settle(in));
    for (int phase = first; phase <= (int)last; phase++) TRY(gpu_profile_collect(in, (enum phase)phase));
    return UNROLL_OK;
}

unroll_status gpu_wait(void *executable)
{
    struct gpu_executable *in = executable;
    TRY(in->driver->enter(in->gpu));
    unroll_status status = settle(in);
    in->driver->leave(in->gpu);
    return status;
}

unroll_status gpu_run(void *executable, enum phase first, enum phase last)
{
    struct gpu_executable *in = executable;
    TRY(in->driver->enter(in->gpu));
    unroll_status status = run_phases(in, first, last);
    in->driver->leave(in->gpu);
    return status;
}

/* ---- looking inside ----------------------------------------------------------------------- */

/* Fills the values of a failed step with NaN, so that the loss shows the failure and the next run fails as well. */
static void spoil(const struct gpu_executable *in, const struct range *r)
{
    if (r->newer == &in->newer[in->plan->buffers])
        memset(r->host, 0xff, r->bytes);
}

/* Returns the host address of a buffer, or NULL. What the host writes there (changes) goes to the device before the
 * next run. */
static char *host_of(struct gpu_executable *in, int index, bool changes)
{
    if (index < 0 || !is_mirrored(&in->plan->buffer[index]) || in->driver->enter(in->gpu) != UNROLL_OK)
        return NULL;
    struct range r = range_of(in, index);
    unroll_status status = to_host(in, &r);
    in->driver->leave(in->gpu);
    if (status != UNROLL_OK)
        spoil(in, &r);
    if (changes || status != UNROLL_OK)
        *r.newer = ON_HOST;
    const struct buffer *b = &in->plan->buffer[index];
    return b->segment == SEG_VALUES ? r.host + b->offset : r.host;
}

/* The host may change the buffer. */
void *gpu_host(void *executable, const char *buffer)
{
    struct gpu_executable *in = executable;
    return host_of(in, plan_find_buffer(in->plan, buffer), true);
}

void gpu_begin_values(struct gpu_executable *in)
{
    const double scale = 4096; /* a row's gradient is at most about 1: far from 65504 */
    int rates = plan_find_buffer(in->plan, "rates");
    if (in->plan->config.precision != PRECISION_FP16 || rates < 0)
        return;
    struct range r = range_of(in, rates);
    memcpy(r.host + in->plan->buffer[rates].offset + RATE_SCALE * sizeof scale, &scale, sizeof scale);
    *r.newer = ON_HOST;
}

static unroll_status find_buffer(const struct gpu_executable *in, const char *name, uint64_t first, uint64_t bytes,
                                 int *index)
{
    *index = plan_find_buffer(in->plan, name);
    if (*index < 0 || !in->plan->buffer[*index].bytes)
        return fail(UNROLL_USAGE, "the plan has no buffer '%s' here; fix: give the name of an array of this session",
                    name);
    const struct buffer *b = &in->plan->buffer[*index];
    if (first > b->bytes || bytes > b->bytes - first)
        return fail(UNROLL_USAGE, "'%s' has %llu bytes; fix: as many bytes", name, (unsigned long long)b->bytes);
    return UNROLL_OK;
}

static unroll_status copy_bytes(struct gpu_executable *in, int index, uint64_t first, uint64_t bytes, void *to,
                                const void *from)
{
    const struct buffer *b = &in->plan->buffer[index];
    const gpu_address at = (gpu_address)(uintptr_t)in->recorder.base[b->segment] + b->offset + first;
    TRY(settle(in));
    TRY(to ? in->driver->copy_out(in->stream[0], to, at, bytes, "copying")
           : in->driver->copy_in(in->stream[0], at, from, bytes, "copying"));
    return in->driver->stream_wait(in->stream[0], "copying");
}

static unroll_status access_bytes(struct gpu_executable *in, const char *name, uint64_t first, uint64_t bytes, void *to,
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
    char *host = host_of(in, index, from != NULL);
    if (!host)
        return UNROLL_RESOURCE;
    memcpy(to ? to : host + first, to ? host + first : from, bytes);
    return UNROLL_OK;
}

unroll_status gpu_read(void *executable, const char *buffer, uint64_t first, uint64_t bytes, void *to)
{
    return access_bytes(executable, buffer, first, bytes, to, NULL);
}

unroll_status gpu_write(void *executable, const char *buffer, uint64_t first, uint64_t bytes, const void *from)
{
    return access_bytes(executable, buffer, first, bytes, NULL, from);
}

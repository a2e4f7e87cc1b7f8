/* Makes stores and executables (gpu_executable.h): lays out and allocates memory, prepares kernels and products, and
 * captures each phase into a graph, so that nothing is made later. */
#include "extensions/gpu/gpu_executable.h"
#include "extensions/gpu/gpu_rnn.h"
#include "base/memory.h"
#include <stdio.h>
#include <string.h>

/* A part with more launches gets no graph: a graph needs about a kilobyte for each. */
enum { GRAPH_LAUNCHES = 32768 };

static bool is_stored(int segment)
{
    return segment == SEG_PARAM || segment == SEG_COPY || segment == SEG_OPT || segment == SEG_GRAD;
}

/* ---- layout ------------------------------------------------------------------------------- */

/* Walks the list with placeholder addresses. A plan that cannot run is rejected later, with a message. */
static void measure(const struct gpu_driver *driver, const struct plan *plan, struct gpu_layout *l)
{
    struct gpu_executable in = {.driver = driver, .plan = plan, .queues = plan->config.queues};
    in.recorder = (struct recorder){.driver = driver, .plan = plan};
    for (int i = 0; i < SEG_N; i++) in.recorder.base[i] = (char *)(uintptr_t)SCRATCH_ALIGNMENT;
    in.recorder.fixed = in.recorder.scratch = in.recorder.kept_at = in.recorder.workspace = in.recorder.base[0];
    for (int phase = 0; phase < PHASE_N; phase++) (void)gpu_walk(&in, (enum phase)phase, MEASURE);
    l->scratch = in.recorder.scratch_max;
    l->kept = (in.recorder.kept_max + SCRATCH_ALIGNMENT - 1) / SCRATCH_ALIGNMENT * SCRATCH_ALIGNMENT;
}

/* With several ranks: the numbers of operations. The current one is copied to the host while it exchanges data. */
static uint64_t numbers_bytes(const struct plan *plan)
{
    return plan_ranks(plan) > 1 ? ((uint64_t)plan->ops + 1) * sizeof(uint32_t) : 0;
}

void gpu_lay_out(const struct gpu_driver *driver, const struct plan *plan, struct gpu_layout *l)
{
    *l = (struct gpu_layout){0};
    measure(driver, plan, l);
    for (int i = 0; i < SEG_N; i++)
        if (!is_stored(i))
            l->segment[i] = place_after(&l->total, plan->segment_bytes[i]);
    l->values = plan->segment_bytes[SEG_IO];
    l->under_way = l->values + plan->segment_bytes[SEG_VALUES];
    l->host = l->under_way + (plan_ranks(plan) > 1 ? SCRATCH_ALIGNMENT : 0);
    l->tables = place_after(&l->total, gpu_tables_bytes(plan));
    l->numbers = place_after(&l->total, numbers_bytes(plan));
    for (int i = 0; i < plan->config.queues; i++)
        l->queue[i] = place_after(&l->total, driver->workspace_bytes + l->scratch + l->kept);
}

uint64_t gpu_memory_estimate(const struct gpu_driver *driver, const struct plan *plan)
{
    struct gpu_layout layout;
    gpu_lay_out(driver, plan, &layout);
    return layout.total + layout.host;
}

/* ---- stores ------------------------------------------------------------------------------- */

unroll_status gpu_store_new(const struct gpu_driver *driver, const struct plan *plan, void **store)
{
    struct gpu_store *s;
    TRY(ALLOCATE(s, 1, "for a store of weights"));
    s->driver = driver;
    s->model = plan->model;
    *store = s;
    return UNROLL_OK;
}

void gpu_store_free(void *store)
{
    struct gpu_store *s = store;
    if (s && s->gpu && s->driver->enter(s->gpu) == UNROLL_OK) {
        for (int i = 0; i < SEG_N; i++) s->driver->free(s->gpu, s->base[i]);
        s->driver->stream_free(s->stream);
        if (s->ranks)
            s->driver->ranks->free(s->ranks);
        s->driver->leave(s->gpu);
    }
    release(s);
}

/* All executables use the GPU of the first one. */
static unroll_status use_gpu(struct gpu_store *s, const struct device_options *options, bool staged)
{
    struct gpu *gpu = s->gpu;
    const char *which = options->which;
    char number[16];
    if (!which && options->comm && !staged) {
        TRY(s->driver->ranks->choose(options->comm, number, sizeof number));
        which = number;
    }
    if (which || !gpu)
        TRY(s->driver->open(which, &gpu));
    if (s->gpu && s->gpu != gpu)
        return fail(UNROLL_UNSUPPORTED,
                    "the model has sessions on GPU %d: all of its sessions use one GPU; fix: free "
                    "those first, or load the model twice",
                    s->gpu->index);
    s->gpu = gpu;
    return UNROLL_OK;
}

static unroll_status use_segment(struct gpu_store *s, int segment, uint64_t bytes)
{
    static const char *const names[SEG_N] = {[SEG_PARAM] = "weights",
                                             [SEG_OPT] = "optimizer states",
                                             [SEG_GRAD] = "gradients",
                                             [SEG_COPY] = "copies of weights"};
    if (s->base[segment] && s->bytes[segment] < bytes)
        return fail(
            UNROLL_FAILURE,
            "a plan needs %llu bytes of %s, but the store has %llu; fix: report it with the network and the options, or device cpu",
            (unsigned long long)bytes, names[segment], (unsigned long long)s->bytes[segment]);
    if (s->base[segment] || !bytes)
        return UNROLL_OK;
    TRY(s->driver->alloc(s->gpu, bytes, names[segment], "a smaller model", &s->base[segment]));
    s->bytes[segment] = bytes;
    return UNROLL_OK;
}

/* ---- what cannot run ------------------------------------------------------------------------ */

static unroll_status check_cell(const struct gpu_executable *in, const struct op *op)
{
    const struct layer *layer = &in->plan->model->layer[op->depth - 1];
    const struct cell_declaration *cell = layer->cell;
    char kernel[GPU_CELL_KERNEL];
    gpu_kernel function;
    gpu_cell_kernel(cell, &layer->options, "forward", kernel, sizeof kernel);
    const unroll_status status = in->driver->kernel_find(in->gpu, kernel, &function);
    if (status == UNROLL_OK || !cell->chooses)
        return status;
    return fail(UNROLL_UNSUPPORTED,
                "there is no '%s' for GPUs, whose functions are chosen when it runs; fix: run it on the cpu",
                cell->name);
}

static unroll_status check_ranks(const struct gpu_executable *in, const struct device_options *options)
{
    if (!options->comm)
        return fail(UNROLL_USAGE,
                    "a plan for %d ranks runs on several processes, and this one is alone; fix: start it with mpirun",
                    plan_ranks(in->plan));
    return in->recorder.staged ? UNROLL_OK : in->driver->ranks->check(in->plan); /* staged_new checks */
}

/* Refuses plans with options or operations that GPUs do not support. */
static unroll_status check_plan(const struct gpu_executable *in, const struct device_options *options)
{
    const struct plan *p = in->plan;
    if (options->isa)
        return fail(UNROLL_UNSUPPORTED,
                    "GPUs have no instruction sets to choose from (`isa` = '%s'); fix: leave `isa` out", options->isa);
    if (plan_ranks(p) > 1)
        TRY(check_ranks(in, options));
    if (p->config.real != DTYPE_F32)
        return fail(UNROLL_UNSUPPORTED,
                    "GPUs compute in fp32, tf32, bf16 and fp16, not in double precision; fix: check on the cpu");
    if (p->config.weights != DTYPE_F32)
        return fail(UNROLL_UNSUPPORTED, "weights kept in bf16 or int8 are for the cpu; fix: use `precision` bf16");
    for (int i = 0; i < p->ops; i++) {
        const enum op_kind kind = p->op[i].kind;
        if (kind == OP_RNN)
            TRY(check_cell(in, &p->op[i]));
        if (kind == OP_ALL_GATHER || kind == OP_PACK || kind >= OP_BUILT_IN)
            return fail(UNROLL_UNSUPPORTED,
                        "a GPU can't do '%s'; fix: report it with the network and the options, or device cpu",
                        kind_info(kind)->name);
    }
    return UNROLL_OK;
}

/* ---- memory ------------------------------------------------------------------------------- */

/* Allocates the arena, the host mirror and the events, and sets the base of each segment. */
static unroll_status take_memory(struct gpu_executable *in)
{
    const struct plan *p = in->plan;
    void *mirror = NULL;
    for (int i = 0; i < SEG_N; i++)
        if (is_stored(i))
            TRY(use_segment(in->store, i, p->segment_bytes[i]));
    TRY(in->driver->alloc(in->gpu, in->layout.total, "activations and scratch",
                          "a smaller batch, fewer steps at once (`steps`) or `checkpoint_time` auto", &in->arena));
    if (in->layout.host)
        TRY(in->driver->host_alloc(in->gpu, in->layout.host, &mirror));
    in->mirror = mirror;
    if (mirror)
        memset(mirror, 0, in->layout.host);
    in->newer = allocate_zeroed((size_t)p->buffers + 1, 1);
    in->ended = allocate_zeroed((size_t)p->ops + 1, sizeof *in->ended);
    if (!in->newer || !in->ended)
        return fail(UNROLL_RESOURCE, "no memory for %d operations", p->ops);
    for (int i = 0; i < SEG_N; i++)
        in->recorder.base[i] =
            (char *)(uintptr_t)(is_stored(i) ? in->store->base[i] : in->arena + in->layout.segment[i]);
    in->recorder.fixed = (char *)(uintptr_t)(in->arena + in->layout.tables);
    return UNROLL_OK;
}

static unroll_status fill_tables(struct gpu_executable *in)
{
    const uint64_t numbers = in->layout.numbers - in->layout.tables, bytes = numbers + numbers_bytes(in->plan);
    char *host;
    TRY(ALLOCATE(host, bytes + 1, "for tables of parameters"));
    for (uint32_t i = 0; i < numbers_bytes(in->plan) / sizeof i; i++)
        memcpy(host + numbers + i * sizeof i, &i, sizeof i);
    unroll_status status = gpu_tables_fill(&in->recorder, host);
    if (status == UNROLL_OK && bytes)
        status = in->driver->copy_in(in->stream[0], in->arena + in->layout.tables, host, bytes, "copying tables");
    if (status == UNROLL_OK)
        status = in->driver->stream_wait(in->stream[0], "copying tables");
    release(host);
    return status;
}

/* ---- streams ------------------------------------------------------------------------------ */

static unroll_status make_event(const struct gpu_executable *in, gpu_event *event)
{
    return in->driver->event_new(in->gpu, false, event);
}

static unroll_status make_device_comm(struct gpu_executable *in)
{
    struct gpu_comm *t = &in->device_comm;
    t->ranks = in->store->ranks;
    t->number = in->arena + in->layout.numbers;
    t->under_way = (volatile uint32_t *)(void *)(in->mirror + in->layout.under_way);
    TRY(ALLOCATE(t->said, (size_t)in->plan->ops + 1, "for %d operations", in->plan->ops));
    TRY(in->driver->stream_new(in->gpu, &t->stream));
    TRY(make_event(in, &t->asked));
    for (int i = 0; i < in->plan->ops; i++)
        if (op_communicates(&in->plan->op[i]))
            TRY(make_event(in, &t->said[i]));
    return UNROLL_OK;
}

static unroll_status make_streams(struct gpu_executable *in)
{
    if (!in->store->stream)
        TRY(in->driver->stream_new(in->gpu, &in->store->stream));
    in->stream[0] = in->store->stream;
    TRY(make_event(in, &in->fork));
    for (int i = 1; i < in->queues; i++) {
        TRY(in->driver->stream_new(in->gpu, &in->stream[i]));
        TRY(make_event(in, &in->join[i]));
    }
    for (int i = 0; i < in->plan->ops; i++)
        for (int queue = 0; queue < QUEUES_MAX; queue++) {
            int op = in->queues > 1 && plan_overlaps(in->plan) ? i : in->plan->op[i].wait[queue]; /* see waits_for */
            if (op >= 0 && !in->ended[op])
                TRY(make_event(in, &in->ended[op]));
        }
    return in->store->ranks ? make_device_comm(in) : UNROLL_OK;
}

/* ---- graphs ------------------------------------------------------------------------------- */

static unroll_status capture(struct gpu_executable *in, enum phase phase)
{
    TRY(in->driver->graph_begin(in->stream[0]));
    in->captures = true;
    unroll_status status = gpu_walk(in, phase, LAUNCH);
    in->captures = false;
    if (status == UNROLL_OK)
        status = in->driver->graph_end(in->stream[0], &in->graph[phase]);
    else
        (void)in->driver->graph_end(in->stream[0], NULL);
    gpu_count(status == UNROLL_OK, 0, 0);
    return status;
}

/* Finds kernels and plans products. */
static unroll_status prepare(struct gpu_executable *in)
{
    for (int phase = 0; phase < PHASE_N; phase++) {
        in->recorder.launches = 0;
        TRY(gpu_walk(in, (enum phase)phase, PREPARE));
        in->launches[phase] = in->recorder.launches;
    }
    if (plan_overlaps(in->plan))
        in->launches[PHASE_BACKWARD_SUM] = in->launches[PHASE_BACKWARD] + in->launches[PHASE_SUM];
    return UNROLL_OK;
}

/* A graph is one launch, which profilers show under one name. */
static unroll_status make_graphs(struct gpu_executable *in)
{
    for (int phase = 0; phase < RUNS && in->driver->graph_begin && !in->ranges; phase++)
        if (in->launches[phase] > 0 && in->launches[phase] <= GRAPH_LAUNCHES)
            TRY(capture(in, (enum phase)phase));
    return in->driver->stream_wait(in->stream[0], "preparing");
}

static void drop_graphs(struct gpu_executable *in)
{
    for (int phase = 0; phase < RUNS && in->driver->graph_free; phase++) {
        in->driver->graph_free(in->graph[phase]);
        in->graph[phase] = NULL;
    }
}

/* Called when another rank was lost. */
static void let_go(void *store)
{
    const struct gpu_store *s = store;
    for (struct gpu_executable *in = s->executables; in; in = in->next) drop_graphs(in);
}

/* ---- the whole ---------------------------------------------------------------------------- */

static void drop_device_comm(const struct gpu_driver *driver, struct gpu_comm *t, int ops)
{
    driver->stream_free(t->stream);
    driver->event_free(t->asked);
    for (int i = 0; t->said && i < ops; i++) driver->event_free(t->said[i]);
    release(t->said);
}

/* Waits for the streams, then frees the graphs, events, streams and memory. */
static void drop_device_side(struct gpu_executable *in)
{
    const struct gpu_driver *driver = in->driver;
    if (in->stream[0] && gpu_wait(in) == UNROLL_OK)
        (void)driver->stream_wait(in->stream[0], NULL);
    drop_graphs(in);
    drop_device_comm(driver, &in->device_comm, in->plan->ops);
    gpu_profile_free(in);
    driver->event_free(in->span_begin);
    driver->event_free(in->span_end);
    for (int i = 0; in->ended && i < in->plan->ops; i++) driver->event_free(in->ended[i]);
    for (int i = 1; i < in->queues; i++) {
        driver->event_free(in->join[i]);
        driver->stream_free(in->stream[i]);
    }
    driver->event_free(in->fork);
    driver->host_free(in->gpu, in->mirror);
    driver->free(in->gpu, in->arena);
}

void gpu_executable_free(void *executable)
{
    struct gpu_executable *in = executable;
    if (!in)
        return;
    struct gpu_executable **at = &in->store->executables;
    while (*at && *at != in) at = &(*at)->next;
    if (*at)
        *at = in->next;
    if (in->gpu && in->driver->enter(in->gpu) == UNROLL_OK) {
        drop_device_side(in);
        in->driver->products_free(in->recorder.products);
        in->driver->leave(in->gpu);
    }
    staged_free(in->staged);
    release(in->newer);
    release(in->ended);
    release(in);
}

/* "sm_90 persistent": all recurrences need one launch; "partly": some do. */
static void name_isa(struct gpu_executable *in)
{
    const struct recorder *w = &in->recorder;
    snprintf(in->isa, sizeof in->isa, "%s%s", in->gpu->isa,
             w->persistent == 0               ? ""
             : w->persistent < w->recurrences ? " partly persistent"
                                              : " persistent");
}

static const struct staged_calls staged_calls = {gpu_run_range, gpu_read, gpu_write};

static unroll_status fill_executable(struct gpu_executable *in, const struct device_options *options)
{
    TRY(check_plan(in, options));
    if (in->driver->ranges)
        TRY(in->driver->ranges(&in->ranges));
    gpu_lay_out(in->driver, in->plan, &in->layout);
    TRY(take_memory(in));
    TRY(make_streams(in));
    if (options->profile)
        TRY(gpu_profile_new(in));
    TRY(fill_tables(in));
    gpu_begin_values(in);
    TRY(prepare(in));
    name_isa(in);
    if (in->recorder.staged)
        return staged_new(in->plan, options->comm, &staged_calls, in, &in->staged);
    return in->store->ranks ? UNROLL_OK : make_graphs(in); /* with several ranks, once all of them are connected */
}

/* Connects the ranks and runs every exchange once. */
static unroll_status meet(struct gpu_executable *in)
{
    TRY(in->driver->ranks->join(in->device_comm.ranks, in->plan));
    in->recorder.device_comm = &in->device_comm;
    TRY(gpu_greet(in));
    TRY(in->driver->ranks->wait(&in->device_comm, in->plan, in->device_comm.stream));
    return make_graphs(in);
}

uint64_t gpu_bytes(const void *executable)
{
    const struct gpu_layout *l = &((const struct gpu_executable *)executable)->layout;
    return l->total + l->host;
}

const char *gpu_isa(const void *executable) { return ((const struct gpu_executable *)executable)->isa; }
int gpu_threads(const void *executable)
{
    (void)executable;
    return 1;
}

unroll_status gpu_join(void *executable)
{
    struct gpu_executable *in = executable;
    if (in->staged)
        return UNROLL_OK;
    TRY(in->driver->enter(in->gpu));
    unroll_status status = meet(in);
    in->driver->leave(in->gpu);
    return status;
}

unroll_status gpu_executable_new(const struct plan *plan, void *store, const struct device_options *options,
                                 void **executable)
{
    struct gpu_store *s = store;
    const bool staged = options->comm && (options->staged || !s->driver->ranks);
    TRY(use_gpu(s, options, staged));
    if (options->comm && !staged && !s->ranks)
        TRY(s->driver->ranks->make(options->comm, let_go, s, &s->ranks));
    struct gpu_executable *in;
    TRY(ALLOCATE(in, 1, "for an executable of a plan"));
    in->driver = s->driver;
    in->plan = plan;
    in->store = s;
    in->gpu = s->gpu;
    in->queues = plan->config.queues;
    in->recorder = (struct recorder){.driver = s->driver, .plan = plan, .gpu = s->gpu, .staged = staged};
    in->next = s->executables;
    s->executables = in;
    unroll_status status = in->driver->enter(in->gpu);
    if (status == UNROLL_OK) {
        status = fill_executable(in, options);
        in->driver->leave(in->gpu);
    }
    if (status != UNROLL_OK) {
        gpu_executable_free(in);
        return status;
    }
    *executable = in;
    return UNROLL_OK;
}

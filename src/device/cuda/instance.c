/* Makes stores and instances (instance.h): lays memory out, takes it, prepares kernels and products, and captures
 * each part into a graph, so that nothing is made afterwards. */
#include "device/cuda/instance.h"
#include "base/memory.h"
#include <stdio.h>
#include <string.h>

/* A part of more launches is launched each time: a graph keeps about a kilobyte for each. */
enum { GRAPH_LAUNCHES = 32768 };

static bool is_stored(int segment)
{
    return segment == SEG_PARAM || segment == SEG_COPY || segment == SEG_OPT || segment == SEG_GRAD;
}

/* ---- layout ------------------------------------------------------------------------------- */

static uint64_t place(uint64_t *end, uint64_t bytes)
{
    uint64_t at = *end;
    *end += (bytes + SCRATCH_ALIGNMENT - 1) / SCRATCH_ALIGNMENT * SCRATCH_ALIGNMENT;
    return at;
}

/* Walks the list with addresses that nobody follows. A plan that can't run is refused later, in a sentence. */
static void measure(const struct plan *plan, struct cuda_layout *l)
{
    struct cuda_instance in = { .plan = plan, .lanes = plan->config.lanes };
    in.walker = (struct walker){ .plan = plan };
    for (int i = 0; i < SEG_N; i++)
        in.walker.base[i] = (char *)(uintptr_t)SCRATCH_ALIGNMENT;
    in.walker.fixed = in.walker.scratch = in.walker.kept_at = in.walker.workspace = in.walker.base[0];
    for (int part = 0; part < PART_N; part++)
        (void)cuda_walk(&in, (enum part)part, MEASURE);
    l->scratch = in.walker.scratch_most;
    l->kept = (in.walker.kept_most + SCRATCH_ALIGNMENT - 1) / SCRATCH_ALIGNMENT * SCRATCH_ALIGNMENT;
}

/* Of several ranks: the numbers of operations, one of which is copied to the host while it exchanges something. */
static uint64_t numbers_bytes(const struct plan *plan)
{
    return plan_ranks(plan) > 1 ? ((uint64_t)plan->ops + 1) * sizeof(uint32_t) : 0;
}

void cuda_lay_out(const struct plan *plan, struct cuda_layout *l)
{
    *l = (struct cuda_layout){ 0 };
    measure(plan, l);
    for (int i = 0; i < SEG_N; i++)
        if (!is_stored(i))
            l->segment[i] = place(&l->total, plan->segment_bytes[i]);
    l->values = plan->segment_bytes[SEG_IO];
    l->under_way = l->values + plan->segment_bytes[SEG_VALUES];
    l->host = l->under_way + (plan_ranks(plan) > 1 ? SCRATCH_ALIGNMENT : 0);
    l->tables = place(&l->total, cuda_tables_bytes(plan));
    l->numbers = place(&l->total, numbers_bytes(plan));
    for (int i = 0; i < plan->config.lanes; i++)
        l->lane[i] = place(&l->total, WORKSPACE_BYTES + l->scratch + l->kept);
}

/* ---- stores ------------------------------------------------------------------------------- */

unroll_status cuda_store_new(const struct plan *plan, void **store)
{
    struct cuda_store *s = allocate_zeroed(1, sizeof *s);
    if (!s)
        return fail(UNROLL_RESOURCE, "no memory for a store of weights");
    s->model = plan->model;
    *store = s;
    return UNROLL_OK;
}

void cuda_store_free(void *store)
{
    struct cuda_store *s = store;
    if (s && s->context && cuda_enter(s->context) == UNROLL_OK) {
        for (int i = 0; i < SEG_N; i++)
            if (s->base[i])
                (void)cu.cuMemFree(s->base[i]);
        if (s->stream)
            (void)cu.cuStreamDestroy(s->stream);
        ranks_free(s->ranks);
        cuda_leave();
    }
    release(s);
}

/* The GPU of the first instance is that of all. */
static unroll_status use_context(struct cuda_store *s, const struct device_options *options)
{
    struct cuda_context *context = s->context;
    const char *which = options->which;
    char number[16];
    if (!which && options->comm) {
        TRY(ranks_gpu(options->comm, number, sizeof number));
        which = number;
    }
    if (which || !context)
        TRY(cuda_context_open(which, &context));
    if (s->context && s->context != context)
        return fail(UNROLL_UNSUPPORTED, "the model has sessions on GPU %d: all of its sessions use one GPU; fix: free "
                    "those first, or load the model twice", s->context->index);
    s->context = context;
    return UNROLL_OK;
}

static unroll_status use_segment(struct cuda_store *s, int segment, uint64_t bytes)
{
    static const char *const names[SEG_N] = { [SEG_PARAM] = "weights", [SEG_OPT] = "optimizer states",
                                              [SEG_GRAD] = "gradients", [SEG_COPY] = "copies of weights" };
    if (s->base[segment] && s->bytes[segment] < bytes)
        return fail(UNROLL_FAILURE, "a plan needs %llu bytes of %s, but the store has %llu",
                    (unsigned long long)bytes, names[segment], (unsigned long long)s->bytes[segment]);
    if (s->base[segment] || !bytes)
        return UNROLL_OK;
    TRY(cuda_take(s->context, bytes, names[segment], "a smaller model", &s->base[segment]));
    s->bytes[segment] = bytes;
    return UNROLL_OK;
}

/* ---- what can't be run -------------------------------------------------------------------- */

static unroll_status check_cell(const struct cuda_instance *in, const struct op *op)
{
    const char *name = in->plan->model->layer[op->depth - 1].cell->name;
    char kernel[64];
    cu_function function;
    snprintf(kernel, sizeof kernel, "%s_gpu_forward", name);
    if (cuda_find_kernel(in->context, kernel, &function) == UNROLL_OK)
        return UNROLL_OK;
    return fail(UNROLL_UNSUPPORTED, "there is no '%s' for GPUs, whose functions are chosen when it runs; fix: run it on "
                "the cpu", name);
}

static unroll_status check_ranks(const struct plan *p, const struct device_options *options)
{
    if (!options->comm)
        return fail(UNROLL_USAGE, "a plan for %d ranks runs on several processes, and this one is alone", plan_ranks(p));
    if (p->config.mesh[M_HIDDEN] > 1)
        return fail(UNROLL_UNSUPPORTED, "hidden=%d: ranks do not share the units of a layer across GPUs yet; fix: cut the "
                    "batch or the layers, or run on the cpu", p->config.mesh[M_HIDDEN]);
    if (p->config.exact)
        return fail(UNROLL_UNSUPPORTED, "exact: NCCL adds in an order of its own, not in that of one process; fix: leave "
                    "out exact, or run on the cpu");
    if (p->config.sum >= 0 && p->config.sum != COMM_NATIVE)
        return fail(UNROLL_UNSUPPORTED, "sum = %s: between GPUs NCCL chooses how it adds; fix: --sum auto",
                    topology_name((enum topology)p->config.sum));
    if (p->chunk_axis == AX_B && p->config.chunks > 1)
        return fail(UNROLL_UNSUPPORTED, "layers that read both directions are cut into chunks of rows, which GPUs do not "
                    "multiply; fix: one chunk, or run on the cpu");
    if (p->config.precision == PRECISION_FP16 && p->config.mesh[M_LAYER] > 1)
        return fail(UNROLL_UNSUPPORTED, "fp16 with layer=%d: no rank sees all gradients, which the scale of the losses "
                    "follows; fix: bf16, or cut the batch alone", p->config.mesh[M_LAYER]);
    return UNROLL_OK;
}

static unroll_status check_plan(const struct cuda_instance *in, const struct device_options *options)
{
    const struct plan *p = in->plan;
    if (options->isa)
        return fail(UNROLL_UNSUPPORTED, "GPUs have no instruction sets to choose from (isa = '%s')", options->isa);
    if (plan_ranks(p) > 1)
        TRY(check_ranks(p, options));
    if (p->config.real != DTYPE_F32)
        return fail(UNROLL_UNSUPPORTED, "GPUs compute in fp32, tf32, bf16 and fp16, not in double precision; fix: check "
                    "on the cpu");
    if (p->config.weights != DTYPE_F32)
        return fail(UNROLL_UNSUPPORTED, "weights kept in bf16 or int8 are for the cpu; fix: --precision bf16");
    for (int i = 0; i < p->ops; i++) {
        const enum op_kind kind = p->op[i].kind;
        if (kind == OP_RNN)
            TRY(check_cell(in, &p->op[i]));
        if (kind == OP_ALL_GATHER || kind == OP_PACK || kind >= OP_BUILT_IN)
            return fail(UNROLL_UNSUPPORTED, "a GPU can't do '%s'", kind_info(kind)->name);
    }
    return UNROLL_OK;
}

/* ---- memory ------------------------------------------------------------------------------- */

static unroll_status take_memory(struct cuda_instance *in)
{
    const struct plan *p = in->plan;
    void *mirror = NULL;
    for (int i = 0; i < SEG_N; i++)
        if (is_stored(i))
            TRY(use_segment(in->store, i, p->segment_bytes[i]));
    TRY(cuda_take(in->context, in->layout.total, "activations and scratch", "a smaller batch, fewer steps at once "
                  "(--bptt) or --checkpoint-time auto", &in->arena));
    if (in->layout.host)
        TRY(cuda_check(cu.cuMemHostAlloc(&mirror, in->layout.host, 0), "taking pinned memory"));
    in->mirror = mirror;
    if (mirror)
        memset(mirror, 0, in->layout.host);
    in->newer = allocate_zeroed((size_t)p->buffers + 1, 1);
    in->ended = allocate_zeroed((size_t)p->ops + 1, sizeof *in->ended);
    if (!in->newer || !in->ended)
        return fail(UNROLL_RESOURCE, "no memory for %d operations", p->ops);
    for (int i = 0; i < SEG_N; i++)
        in->walker.base[i] = (char *)(uintptr_t)(is_stored(i) ? in->store->base[i] : in->arena + in->layout.segment[i]);
    in->walker.fixed = (char *)(uintptr_t)(in->arena + in->layout.tables);
    return UNROLL_OK;
}

static unroll_status fill_tables(struct cuda_instance *in)
{
    const uint64_t numbers = in->layout.numbers - in->layout.tables, bytes = numbers + numbers_bytes(in->plan);
    char *host = allocate_zeroed(bytes + 1, 1);
    if (!host)
        return fail(UNROLL_RESOURCE, "no memory for tables of parameters");
    for (uint32_t i = 0; i < numbers_bytes(in->plan) / sizeof i; i++)
        memcpy(host + numbers + i * sizeof i, &i, sizeof i);
    unroll_status status = cuda_tables_fill(&in->walker, host);
    if (status == UNROLL_OK && bytes)
        status = cuda_check(cu.cuMemcpyHtoDAsync(in->arena + in->layout.tables, host, bytes, in->stream[0]),
                            "copying tables");
    if (status == UNROLL_OK)
        status = cuda_check(cu.cuStreamSynchronize(in->stream[0]), "copying tables");
    release(host);
    return status;
}

/* ---- streams ------------------------------------------------------------------------------ */

static unroll_status make_event(cu_event *event)
{
    return cuda_check(cu.cuEventCreate(event, CU_EVENT_NO_TIMING), "making an event");
}

static unroll_status make_talk(struct cuda_instance *in)
{
    struct talk *t = &in->talk;
    t->ranks = in->store->ranks;
    t->number = in->arena + in->layout.numbers;
    t->under_way = (volatile uint32_t *)(void *)(in->mirror + in->layout.under_way);
    t->said = allocate_zeroed((size_t)in->plan->ops + 1, sizeof *t->said);
    if (!t->said)
        return fail(UNROLL_RESOURCE, "no memory for %d operations", in->plan->ops);
    TRY(cuda_check(cu.cuStreamCreate(&t->stream, CU_STREAM_NON_BLOCKING), "making a stream"));
    TRY(make_event(&t->asked));
    for (int i = 0; i < in->plan->ops; i++)
        if (op_talks(&in->plan->op[i]))
            TRY(make_event(&t->said[i]));
    return UNROLL_OK;
}

static unroll_status make_streams(struct cuda_instance *in)
{
    if (!in->store->stream)
        TRY(cuda_check(cu.cuStreamCreate(&in->store->stream, CU_STREAM_NON_BLOCKING), "making a stream"));
    in->stream[0] = in->store->stream;
    TRY(make_event(&in->fork));
    for (int i = 1; i < in->lanes; i++) {
        TRY(cuda_check(cu.cuStreamCreate(&in->stream[i], CU_STREAM_NON_BLOCKING), "making a stream"));
        TRY(make_event(&in->join[i]));
    }
    for (int i = 0; i < in->plan->ops; i++)
        for (int lane = 0; lane < LANES_MAX; lane++) {
            int op = in->lanes > 1 && plan_overlaps(in->plan) ? i : in->plan->op[i].wait[lane];    /* see waits_for */
            if (op >= 0 && !in->ended[op])
                TRY(make_event(&in->ended[op]));
        }
    return in->store->ranks ? make_talk(in) : UNROLL_OK;
}

/* ---- graphs ------------------------------------------------------------------------------- */

/* Relaxed: cuBLASLt loads a kernel when it first multiplies with it, which stricter modes may forbid in a capture. Our
 * own are loaded: the driver does so when asked for a function (cuModuleGetFunction), while preparing. */
static unroll_status capture(struct cuda_instance *in, enum part part)
{
    static const char doing[] = "capturing a graph";
    cu_graph graph = NULL;
    TRY(cuda_check(cu.cuStreamBeginCapture(in->stream[0], CU_CAPTURE_RELAXED), doing));
    in->captures = true;
    unroll_status status = cuda_walk(in, part, LAUNCH);
    unroll_status ended = status;
    in->captures = false;
    cu_result result = cu.cuStreamEndCapture(in->stream[0], &graph);
    if (status == UNROLL_OK)
        ended = cuda_check(result, doing);
    if (ended == UNROLL_OK)
        ended = cuda_check(cu.cuGraphInstantiateWithFlags(&in->graph[part], graph, 0), doing);
    if (graph)
        (void)cu.cuGraphDestroy(graph);
    if (ended == UNROLL_OK)
        ended = cuda_check(cu.cuGraphUpload(in->graph[part], in->stream[0]), doing);
    cuda_count(ended == UNROLL_OK, 0, 0);
    return ended;
}

/* Kernels are found and products planned. */
static unroll_status prepare(struct cuda_instance *in)
{
    for (int part = 0; part < PART_N; part++) {
        in->walker.launches = 0;
        TRY(cuda_walk(in, (enum part)part, PREPARE));
        in->launches[part] = in->walker.launches;
    }
    if (plan_overlaps(in->plan))
        in->launches[PART_BACKWARD_SUM] = in->launches[PART_BACKWARD] + in->launches[PART_SUM];
    return UNROLL_OK;
}

static unroll_status make_graphs(struct cuda_instance *in)
{
    for (int part = 0; part < RUNS; part++)
        if (in->launches[part] > 0 && in->launches[part] <= GRAPH_LAUNCHES)
            TRY(capture(in, (enum part)part));
    return cuda_check(cu.cuStreamSynchronize(in->stream[0]), "preparing");
}

/* ---- the whole ---------------------------------------------------------------------------- */

static void drop_talk(struct talk *t, int ops)
{
    if (t->stream)
        (void)cu.cuStreamDestroy(t->stream);
    if (t->asked)
        (void)cu.cuEventDestroy(t->asked);
    for (int i = 0; t->said && i < ops; i++)
        if (t->said[i])
            (void)cu.cuEventDestroy(t->said[i]);
    release(t->said);
}

static void drop_device_side(struct cuda_instance *in)
{
    if (in->stream[0] && cuda_wait(in) == UNROLL_OK)
        (void)cu.cuStreamSynchronize(in->stream[0]);
    for (int part = 0; part < RUNS; part++)
        if (in->graph[part])
            (void)cu.cuGraphExecDestroy(in->graph[part]);
    drop_talk(&in->talk, in->plan->ops);
    cuda_profile_free(in);
    for (int i = 0; in->ended && i < in->plan->ops; i++)
        if (in->ended[i])
            (void)cu.cuEventDestroy(in->ended[i]);
    for (int i = 1; i < in->lanes; i++) {
        if (in->join[i])
            (void)cu.cuEventDestroy(in->join[i]);
        if (in->stream[i])
            (void)cu.cuStreamDestroy(in->stream[i]);
    }
    if (in->fork)
        (void)cu.cuEventDestroy(in->fork);
    if (in->mirror)
        (void)cu.cuMemFreeHost(in->mirror);
    if (in->arena)
        (void)cu.cuMemFree(in->arena);
}

void cuda_instance_free(void *instance)
{
    struct cuda_instance *in = instance;
    if (!in)
        return;
    if (in->context && cuda_enter(in->context) == UNROLL_OK) {
        drop_device_side(in);
        products_free(in->walker.products);
        cuda_leave();
    }
    release(in->newer);
    release(in->ended);
    release(in);
}

/* "sm_90 persistent": all recurrences take one launch; "partly": some do. */
static void name_isa(struct cuda_instance *in)
{
    const struct walker *w = &in->walker;
    snprintf(in->isa, sizeof in->isa, "sm_%d%s", in->context->capability, w->persistent == 0 ? ""
             : w->persistent < w->recurrences ? " partly persistent" : " persistent");
}

static unroll_status fill_instance(struct cuda_instance *in, const struct device_options *options)
{
    TRY(check_plan(in, options));
    cuda_lay_out(in->plan, &in->layout);
    TRY(take_memory(in));
    TRY(make_streams(in));
    if (options->profile)
        TRY(cuda_profile_new(in));
    TRY(fill_tables(in));
    cuda_begin_values(in);
    TRY(prepare(in));
    name_isa(in);
    return in->store->ranks ? UNROLL_OK : make_graphs(in);      /* of several ranks when all are here */
}

/* All say everything once. */
static unroll_status meet(struct cuda_instance *in)
{
    TRY(ranks_join(in->talk.ranks, in->plan));
    in->walker.talk = &in->talk;
    TRY(cuda_greet(in));
    TRY(ranks_wait(&in->talk, in->plan, in->talk.stream));
    return make_graphs(in);
}

unroll_status cuda_join(void *instance)
{
    struct cuda_instance *in = instance;
    TRY(cuda_enter(in->context));
    unroll_status status = meet(in);
    cuda_leave();
    return status;
}

unroll_status cuda_instance_new(const struct plan *plan, void *store, const struct device_options *options,
                                void **instance)
{
    struct cuda_store *s = store;
    TRY(use_context(s, options));
    if (options->comm && !s->ranks)
        TRY(ranks_new(options->comm, &s->ranks));
    struct cuda_instance *in = allocate_zeroed(1, sizeof *in);
    if (!in)
        return fail(UNROLL_RESOURCE, "no memory for an instance of a plan");
    in->plan = plan;
    in->store = s;
    in->context = s->context;
    in->lanes = plan->config.lanes;
    in->walker = (struct walker){ .plan = plan, .context = s->context };
    unroll_status status = cuda_enter(in->context);
    if (status == UNROLL_OK) {
        status = fill_instance(in, options);
        cuda_leave();
    }
    if (status != UNROLL_OK) {
        cuda_instance_free(in);
        return status;
    }
    *instance = in;
    return UNROLL_OK;
}

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

static bool is_mirrored(int segment) { return segment == SEG_IO || segment == SEG_VALUES; }

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

void cuda_lay_out(const struct plan *plan, struct cuda_layout *l)
{
    *l = (struct cuda_layout){ 0 };
    measure(plan, l);
    for (int i = 0; i < SEG_N; i++) {
        if (is_mirrored(i))
            l->host += plan->segment_bytes[i];
        if (!is_stored(i))
            l->segment[i] = place(&l->total, plan->segment_bytes[i]);
    }
    l->tables = place(&l->total, cuda_tables_bytes(plan));
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
        cuda_leave();
    }
    release(s);
}

/* The GPU of the first instance is that of all. */
static unroll_status use_context(struct cuda_store *s, const char *which)
{
    struct cuda_context *context = s->context;
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

static unroll_status check_plan(const struct cuda_instance *in, const struct device_options *options)
{
    const struct plan *p = in->plan;
    if (options->isa)
        return fail(UNROLL_UNSUPPORTED, "GPUs have no instruction sets to choose from (isa = '%s')", options->isa);
    if (plan_ranks(p) > 1)
        return fail(UNROLL_UNSUPPORTED, "ranks do not share a model across GPUs yet; fix: one rank, and no --split");
    if (p->config.real != DTYPE_F32)
        return fail(UNROLL_UNSUPPORTED, "GPUs compute in fp32, tf32, bf16 and fp16, not in double precision; fix: check "
                    "on the cpu");
    if (p->config.weights != DTYPE_F32)
        return fail(UNROLL_UNSUPPORTED, "weights kept in bf16 or int8 are for the cpu; fix: --precision bf16");
    for (int i = 0; i < p->ops; i++) {
        const enum op_kind kind = p->op[i].kind;
        if (kind == OP_RNN)
            TRY(check_cell(in, &p->op[i]));
        if (kind == OP_SEND || kind == OP_RECV || kind == OP_ALL_REDUCE || kind == OP_PACK || kind >= OP_BUILT_IN)
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
    uint64_t bytes = cuda_tables_bytes(in->plan);
    char *host = allocate_zeroed(bytes + 1, 1);
    if (!host)
        return fail(UNROLL_RESOURCE, "no memory for tables of parameters");
    unroll_status status = cuda_tables_fill(&in->walker, host);
    if (status == UNROLL_OK)
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
            int op = in->plan->op[i].wait[lane];
            if (op >= 0 && !in->ended[op])
                TRY(make_event(&in->ended[op]));
        }
    return UNROLL_OK;
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

static unroll_status make_graphs(struct cuda_instance *in)
{
    for (int part = 0; part < PART_N; part++) {
        in->walker.launches = 0;
        TRY(cuda_walk(in, (enum part)part, PREPARE));
        in->launches[part] = in->walker.launches;
    }
    for (int part = 0; part < PART_N; part++)
        if (in->launches[part] > 0 && in->launches[part] <= GRAPH_LAUNCHES)
            TRY(capture(in, (enum part)part));
    return cuda_check(cu.cuStreamSynchronize(in->stream[0]), "preparing");
}

/* ---- the whole ---------------------------------------------------------------------------- */

static void drop_device_side(struct cuda_instance *in)
{
    if (in->stream[0])
        (void)cu.cuStreamSynchronize(in->stream[0]);
    for (int part = 0; part < PART_N; part++)
        if (in->graph[part])
            (void)cu.cuGraphExecDestroy(in->graph[part]);
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
    TRY(make_graphs(in));
    name_isa(in);
    return UNROLL_OK;
}

unroll_status cuda_instance_new(const struct plan *plan, void *store, const struct device_options *options,
                                void **instance)
{
    struct cuda_store *s = store;
    TRY(use_context(s, options->which));
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

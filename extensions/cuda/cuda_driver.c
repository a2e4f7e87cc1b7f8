/* Implements gpu_driver.h on the CUDA driver: handles are the driver's own, addresses are its pointers. */
#include "extensions/cuda/context.h"
#include "extensions/cuda/nvtx.h"
#include "extensions/cuda/product.h"
#include "extensions/cuda/rnn_persistent.h"
#include <stdio.h>
#include <string.h>

static struct cuda_context *context_of(struct gpu *gpu) { return (struct cuda_context *)gpu; }

/* ---- the GPU and its memory --------------------------------------------------------------- */

static unroll_status open_gpu(const char *which, struct gpu **gpu)
{
    struct cuda_context *context;
    TRY(cuda_context_open(which, &context));
    *gpu = &context->gpu;
    return UNROLL_OK;
}

static unroll_status enter_gpu(struct gpu *gpu) { return cuda_enter(context_of(gpu)); }
static void leave_gpu(struct gpu *gpu)
{
    (void)gpu;
    cuda_leave();
}

static unroll_status alloc_memory(struct gpu *gpu, uint64_t bytes, const char *what, const char *fix, gpu_address *at)
{
    return cuda_take(context_of(gpu), bytes, what, fix, at);
}

static void free_memory(struct gpu *gpu, gpu_address at)
{
    (void)gpu;
    if (at)
        (void)cu.cuMemFree(at);
}

static unroll_status alloc_pinned(struct gpu *gpu, uint64_t bytes, void **at)
{
    (void)gpu;
    return cuda_check(cu.cuMemHostAlloc(at, bytes, 0), "taking pinned memory");
}

static void free_pinned(struct gpu *gpu, void *at)
{
    (void)gpu;
    if (at)
        (void)cu.cuMemFreeHost(at);
}

static unroll_status copy_in(gpu_stream stream, gpu_address to, const void *from, uint64_t bytes, const char *doing)
{
    return cuda_check(cu.cuMemcpyHtoDAsync(to, from, bytes, stream), doing);
}

static unroll_status copy_out(gpu_stream stream, void *to, gpu_address from, uint64_t bytes, const char *doing)
{
    return cuda_check(cu.cuMemcpyDtoHAsync(to, from, bytes, stream), doing);
}

/* ---- streams and events ------------------------------------------------------------------- */

static unroll_status new_stream(struct gpu *gpu, gpu_stream *stream)
{
    (void)gpu;
    return cuda_check(cu.cuStreamCreate(stream, CU_STREAM_NON_BLOCKING), "making a stream");
}

static void free_stream(gpu_stream stream)
{
    if (stream)
        (void)cu.cuStreamDestroy(stream);
}

static unroll_status wait_stream(gpu_stream stream, const char *doing)
{
    const cu_result result = cu.cuStreamSynchronize(stream);
    return doing ? cuda_check(result, doing) : UNROLL_OK;
}

static unroll_status new_event(struct gpu *gpu, bool timed, gpu_event *event)
{
    (void)gpu;
    return cuda_check(cu.cuEventCreate(event, timed ? 0 : CU_EVENT_NO_TIMING), "making an event");
}

static void free_event(gpu_event event)
{
    if (event)
        (void)cu.cuEventDestroy(event);
}

static unroll_status record_event(gpu_event event, gpu_stream stream)
{
    return cuda_check(cu.cuEventRecord(event, stream), "ordering streams");
}

static unroll_status time_event(gpu_event event, gpu_stream stream, bool recorded)
{
    return cuda_check(cu.cuEventRecordWithFlags(event, stream, recorded ? CU_EVENT_RECORD_EXTERNAL : 0),
                      "taking the time");
}

static unroll_status seconds_between(gpu_event first, gpu_event last, double *seconds)
{
    float milliseconds;
    TRY(cuda_check(cu.cuEventElapsedTime(&milliseconds, first, last), "taking the time"));
    *seconds = 1e-3 * (double)milliseconds;
    return UNROLL_OK;
}

static unroll_status order_stream(gpu_stream stream, gpu_event event)
{
    return cuda_check(cu.cuStreamWaitEvent(stream, event, 0), "ordering streams");
}

/* ---- graphs ------------------------------------------------------------------------------- */

static const char capturing[] = "capturing a graph";

/* Relaxed mode: cuBLASLt loads a kernel at its first product, which stricter modes may forbid during a capture. Our
 * own kernels are already loaded: cuModuleGetFunction loads them while preparing. */
static unroll_status begin_graph(gpu_stream stream)
{
    return cuda_check(cu.cuStreamBeginCapture(stream, CU_CAPTURE_RELAXED), capturing);
}

static unroll_status make_graph(gpu_stream stream, cu_graph graph, gpu_graph *made)
{
    TRY(cuda_check(cu.cuGraphInstantiateWithFlags(made, graph, 0), capturing));
    return cuda_check(cu.cuGraphUpload(*made, stream), capturing);
}

static unroll_status end_graph(gpu_stream stream, gpu_graph *made)
{
    cu_graph graph = NULL;
    const cu_result result = cu.cuStreamEndCapture(stream, &graph);
    unroll_status status = made ? cuda_check(result, capturing) : UNROLL_OK;
    if (made && status == UNROLL_OK)
        status = make_graph(stream, graph, made);
    if (graph)
        (void)cu.cuGraphDestroy(graph);
    return status;
}

static unroll_status launch_graph(gpu_graph graph, gpu_stream stream)
{
    return cuda_check(cu.cuGraphLaunch(graph, stream), "launching a graph");
}

static void free_graph(gpu_graph graph)
{
    if (graph)
        (void)cu.cuGraphExecDestroy(graph);
}

/* ---- kernels ------------------------------------------------------------------------------ */

static unroll_status find_kernel(struct gpu *gpu, const char *name, gpu_kernel *kernel)
{
    return cuda_find_kernel(context_of(gpu), name, kernel);
}

/* Allows all available shared memory, because this is an attribute of the function and its launches may need
 * different amounts. */
static unroll_status allow_shared(struct gpu *gpu, gpu_kernel kernel, const struct launch_shape *s)
{
    enum { ALWAYS_ALLOWED = 48 << 10 };
    if (s->shared_bytes > ALWAYS_ALLOWED)
        TRY(cuda_check(cu.cuFuncSetAttribute(kernel, CU_MAX_DYNAMIC_SHARED, context_of(gpu)->shared_per_block),
                       "asking for shared memory"));
    if (s->cluster > CUDA_PORTABLE_CLUSTER)
        TRY(cuda_check(cu.cuFuncSetAttribute(kernel, CU_NON_PORTABLE_CLUSTER_SIZE, 1), "asking for a cluster"));
    return UNROLL_OK;
}

/* Launches a kernel, with a cluster or cooperatively if its shape requires it. */
static unroll_status launch_kernel(gpu_stream stream, gpu_kernel kernel, const char *name, const struct launch_shape *s,
                                   const void *args, size_t bytes)
{
    struct cu_launch_attribute attribute[2];
    struct cu_launch l = {.grid_x = (unsigned)s->x,
                          .grid_y = (unsigned)s->y,
                          .grid_z = 1,
                          .block_x = s->threads,
                          .block_y = 1,
                          .block_z = 1,
                          .shared_bytes = s->shared_bytes,
                          .stream = stream,
                          .attribute = attribute};
    char doing[96];
    (void)bytes; /* the driver reads it from the kernel */
    memset(attribute, 0, sizeof attribute);
    if (s->cluster > 0) { /* also for a cluster of one block: st.async is illegal in a launch without the attribute */
        attribute[l.attributes].id = CU_LAUNCH_CLUSTER;
        attribute[l.attributes].value.cluster.x = s->cluster;
        attribute[l.attributes].value.cluster.y = attribute[l.attributes].value.cluster.z = 1;
        l.attributes++;
    }
    if (s->cooperative) {
        attribute[l.attributes].id = CU_LAUNCH_COOPERATIVE;
        attribute[l.attributes++].value.cooperative = 1;
    }
    void *arguments[] = {(void *)args};
    snprintf(doing, sizeof doing, "launching %s", name);
    return cuda_check(cu.cuLaunchKernelEx(&l, kernel, arguments, NULL), doing);
}

const struct gpu_driver gpu_driver_cuda = {.workspace_bytes = CUBLASLT_WORKSPACE,
                                           .bias_alignment = CUBLASLT_BIAS_ALIGNMENT,
                                           .blocks_x = 0x7fffffff,
                                           .blocks_y = 65535,
                                           .open = open_gpu,
                                           .enter = enter_gpu,
                                           .leave = leave_gpu,
                                           .alloc = alloc_memory,
                                           .free = free_memory,
                                           .host_alloc = alloc_pinned,
                                           .host_free = free_pinned,
                                           .copy_in = copy_in,
                                           .copy_out = copy_out,
                                           .stream_new = new_stream,
                                           .stream_free = free_stream,
                                           .stream_wait = wait_stream,
                                           .stream_after = order_stream,
                                           .event_new = new_event,
                                           .event_free = free_event,
                                           .event_record = record_event,
                                           .event_time = time_event,
                                           .event_seconds = seconds_between,
                                           .graph_begin = begin_graph,
                                           .graph_end = end_graph,
                                           .graph_launch = launch_graph,
                                           .graph_free = free_graph,
                                           .kernel_find = find_kernel,
                                           .kernel_prepare = allow_shared,
                                           .kernel_launch = launch_kernel,
                                           .product = cublaslt_product,
                                           .products_free = cublaslt_products_free,
                                           .rnn = rnn_persistent,
                                           .ranges = nvtx_ranges,
                                           .ranks = &nccl_ranks};

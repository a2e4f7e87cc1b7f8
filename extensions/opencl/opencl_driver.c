/* Implements gpu_driver.h on OpenCL: streams are in-order queues, events are markers, addresses are offsets into the
 * device's memory. Graphs are not supported: each run launches its kernels. */
#include "base/memory.h"
#include "extensions/opencl/opencl_context.h"
#include "extensions/opencl/opencl_kernels.h"
#include <stdio.h>
#include <string.h>

struct gpu_event_handle {
    cl_event event; /* NULL: not recorded yet */
};

/* ---- the device and its memory ------------------------------------------------------------ */

static unroll_status open_device(const char *which, struct gpu **gpu)
{
    struct opencl_context *context;
    TRY(opencl_context_open(which, &context));
    *gpu = &context->gpu;
    return UNROLL_OK;
}

/* A thread needs no setup to use a device. */
static unroll_status enter_device(struct gpu *gpu)
{
    (void)gpu;
    return opencl_load(); /* fails in a child of fork() */
}

static void leave_device(struct gpu *gpu) { (void)gpu; }

static unroll_status alloc_memory(struct gpu *gpu, uint64_t bytes, const char *what, const char *fix, gpu_address *at)
{
    struct opencl_context *c = opencl_of(gpu);
    pthread_mutex_lock(&c->lock);
    unroll_status status = opencl_take(c, bytes, what, fix, at);
    pthread_mutex_unlock(&c->lock);
    return status;
}

static void free_memory(struct gpu *gpu, gpu_address at)
{
    struct opencl_context *c = opencl_of(gpu);
    if (!at)
        return;
    pthread_mutex_lock(&c->lock);
    opencl_give(c, at);
    pthread_mutex_unlock(&c->lock);
}

static unroll_status alloc_host(struct gpu *gpu, uint64_t bytes, void **at)
{
    (void)gpu;
    *at = allocate_zeroed(bytes, 1);
    return *at ? UNROLL_OK : fail(UNROLL_RESOURCE, "no memory for %.1f MB of inputs", (double)bytes / 1e6);
}

static void free_host(struct gpu *gpu, void *at)
{
    (void)gpu;
    release(at);
}

static unroll_status copy_in(gpu_stream s, gpu_address to, const void *from, uint64_t bytes, const char *doing)
{
    pthread_mutex_lock(&s->context->lock);
    const cl_int result = cl.clEnqueueWriteBuffer(s->queue, s->context->heap.memory, 0, to, bytes, from, 0, NULL, NULL);
    pthread_mutex_unlock(&s->context->lock);
    return opencl_check(result, doing);
}

static unroll_status copy_out(gpu_stream s, void *to, gpu_address from, uint64_t bytes, const char *doing)
{
    pthread_mutex_lock(&s->context->lock);
    const cl_int result = cl.clEnqueueReadBuffer(s->queue, s->context->heap.memory, 0, from, bytes, to, 0, NULL, NULL);
    pthread_mutex_unlock(&s->context->lock);
    return opencl_check(result, doing);
}

/* ---- queues and events -------------------------------------------------------------------- */

static unroll_status add_queue(struct opencl_context *c, cl_command_queue *queue)
{
    cl_int result;
    if (c->queues == OPENCL_QUEUES_MAX)
        return fail(UNROLL_RESOURCE, "device opencl:%d has %d queues, of as many sessions; fix: free some",
                    c->gpu.index, c->queues);
    *queue = cl.clCreateCommandQueue(c->context, c->device, OPENCL_QUEUE_PROFILING_ENABLE, &result);
    TRY(opencl_check(result, "making a queue"));
    c->queue[c->queues++] = *queue;
    return UNROLL_OK;
}

static unroll_status new_stream(struct gpu *gpu, gpu_stream *stream)
{
    struct opencl_context *c = opencl_of(gpu);
    gpu_stream s;
    TRY(ALLOCATE(s, 1, "for a queue"));
    s->context = c;
    pthread_mutex_lock(&c->lock);
    unroll_status status = add_queue(c, &s->queue);
    pthread_mutex_unlock(&c->lock);
    if (status == UNROLL_OK)
        *stream = s;
    else
        release(s);
    return status;
}

static void free_stream(gpu_stream s)
{
    if (!s)
        return;
    struct opencl_context *c = s->context;
    pthread_mutex_lock(&c->lock);
    for (int i = 0; i < c->queues; i++)
        if (c->queue[i] == s->queue)
            c->queue[i] = c->queue[--c->queues];
    (void)cl.clReleaseCommandQueue(s->queue);
    pthread_mutex_unlock(&c->lock);
    release(s);
}

static unroll_status wait_stream(gpu_stream s, const char *doing)
{
    const cl_int result = cl.clFinish(s->queue);
    return doing ? opencl_check(result, doing) : UNROLL_OK;
}

static unroll_status new_event(struct gpu *gpu, bool timed, gpu_event *event)
{
    (void)gpu, (void)timed; /* all queues measure time */
    return ALLOCATE(*event, 1, "for an event");
}

static void free_event(gpu_event e)
{
    if (e && e->event)
        (void)cl.clReleaseEvent(e->event);
    release(e);
}

/* Flushes the queue, because a wait on another queue must not depend on commands that were never submitted. */
static unroll_status record_event(gpu_event e, gpu_stream s)
{
    if (e->event)
        (void)cl.clReleaseEvent(e->event);
    e->event = NULL;
    TRY(opencl_check(cl.clEnqueueMarkerWithWaitList(s->queue, 0, NULL, &e->event), "ordering queues"));
    return opencl_check(cl.clFlush(s->queue), "ordering queues");
}

static unroll_status time_event(gpu_event e, gpu_stream s, bool recorded)
{
    (void)recorded;
    return record_event(e, s);
}

static unroll_status seconds_between(gpu_event first, gpu_event last, double *seconds)
{
    cl_ulong began = 0, ended = 0;
    TRY(opencl_check(cl.clGetEventProfilingInfo(first->event, OPENCL_PROFILING_COMMAND_END, sizeof began, &began, NULL),
                     "taking the time"));
    TRY(opencl_check(cl.clGetEventProfilingInfo(last->event, OPENCL_PROFILING_COMMAND_END, sizeof ended, &ended, NULL),
                     "taking the time"));
    *seconds = ended > began ? 1e-9 * (double)(ended - began) : 0;
    return UNROLL_OK;
}

static unroll_status order_stream(gpu_stream s, gpu_event e)
{
    return e->event ? opencl_check(cl.clEnqueueBarrierWithWaitList(s->queue, 1, &e->event, NULL), "ordering queues")
                    : UNROLL_OK;
}

/* ---- kernels ------------------------------------------------------------------------------ */

static unroll_status find_kernel(struct gpu *gpu, const char *name, gpu_kernel *kernel)
{
    return opencl_find_kernel(opencl_of(gpu), name, kernel);
}

static unroll_status prepare_kernel(struct gpu *gpu, gpu_kernel kernel, const struct launch_shape *shape)
{
    (void)gpu, (void)kernel, (void)shape;
    return UNROLL_OK;
}

unroll_status opencl_enqueue(gpu_stream s, gpu_kernel k, const size_t items[3], const size_t group[3], const void *args,
                             size_t bytes)
{
    struct opencl_context *c = s->context;
    char doing[OPENCL_KERNEL_NAME + 16];
    snprintf(doing, sizeof doing, "launching %s", k->name);
    pthread_mutex_lock(&c->lock);
    cl_int result = cl.clSetKernelArg(k->kernel, 0, sizeof c->heap.memory, &c->heap.memory);
    if (!result)
        result = cl.clSetKernelArg(k->kernel, 1, bytes, args);
    if (!result)
        result = cl.clEnqueueNDRangeKernel(s->queue, k->kernel, 3, NULL, items, group, 0, NULL, NULL);
    pthread_mutex_unlock(&c->lock);
    return opencl_check(result, doing);
}

static unroll_status launch_kernel(gpu_stream s, gpu_kernel k, const char *name, const struct launch_shape *shape,
                                   const void *args, size_t bytes)
{
    const size_t group = s->context->form.group;
    const uint64_t items = opencl_items(k->items, shape, &s->context->form);
    (void)name;
    return opencl_enqueue(s, k, (const size_t[3]){(items + group - 1) / group * group, 1, 1},
                          (const size_t[3]){group, 1, 1}, args, bytes);
}

static void free_products(struct products *p) { (void)p; }

const struct gpu_driver gpu_driver_opencl = {.bias_alignment = 1,
                                             .panel = GPU_PANEL,
                                             .blocks_x = UINT64_MAX,
                                             .blocks_y = UINT64_MAX,
                                             .open = open_device,
                                             .enter = enter_device,
                                             .leave = leave_device,
                                             .alloc = alloc_memory,
                                             .free = free_memory,
                                             .host_alloc = alloc_host,
                                             .host_free = free_host,
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
                                             .kernel_find = find_kernel,
                                             .kernel_prepare = prepare_kernel,
                                             .kernel_launch = launch_kernel,
                                             .product = opencl_product,
                                             .products_free = free_products};

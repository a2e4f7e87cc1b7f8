/* Launching (launch.h): views, kernels, scratch. */
#include "device/cuda/launch.h"
#include <stdio.h>
#include <string.h>

/* ---- views -------------------------------------------------------------------------------- */

struct cuda_view view_at(const struct walker *w, const struct view *v)
{
    struct cuda_view x = { 0 };
    size_t step = 1, first = 0;
    if (v->buffer < 0)
        return x;
    const struct buffer *b = &w->plan->buffer[v->buffer];
    x.rank = b->rank;
    x.dtype = b->dtype;
    x.segment = b->segment;
    for (int i = b->rank; i-- > 0; step *= b->size[i]) {
        x.stride[i] = step;
        x.count[i] = v->count[i];
        x.origin[i] = b->origin[i] + v->first[i] + (b->axis[i] == AX_T ? v->base : 0);
        first += v->first[i] * step;
    }
    x.at = w->base[b->segment] + b->offset + first * dtype_size(b->dtype);
    return x;
}

void call_at(const struct walker *w, const struct op *op, struct cuda_call *call)
{
    call->op = op;
    for (int i = 0; i < OP_VIEWS; i++)
        call->view[i] = i < op->views ? view_at(w, &op->view[i]) : (struct cuda_view){ 0 };
}

struct gpu_rows rows_of(const struct cuda_view *x)
{
    struct gpu_rows rows = { (float *)(void *)x->at, x->stride[0], x->stride[1], x->count[0], x->count[1], 1, 0 };
    for (int i = 2; i < x->rank; i++)
        rows.width *= x->count[i];      /* gates side by side: units are whole on one GPU */
    return rows;
}

struct gpu_ends ends_of(const struct cuda_view *x, const struct cuda_view *lengths)
{
    return (struct gpu_ends){ (const int32_t *)(void *)lengths->at, x->origin[0], 0 };
}

struct gpu_resets resets_of(const struct cuda_view *reset)
{
    return (struct gpu_resets){ (const uint8_t *)reset->at, reset->stride[0] };
}

size_t count_of(const struct gpu_rows *x)
{
    return (size_t)x->steps * x->batch * x->width;
}

/* ---- scratch ------------------------------------------------------------------------------ */

void *scratch_take(struct walker *w, uint64_t bytes)
{
    void *at = w->scratch + w->scratch_used;
    w->scratch_used += (bytes + SCRATCH_ALIGNMENT - 1) / SCRATCH_ALIGNMENT * SCRATCH_ALIGNMENT;
    if (w->scratch_used > w->scratch_most)
        w->scratch_most = w->scratch_used;
    return at;
}

/* ---- kernels ------------------------------------------------------------------------------ */

/* What is allowed is of the function, whose launches may ask for different amounts: it is all that there is. */
static unroll_status allow_shared(const struct walker *w, cu_function function, const struct launch_shape *s)
{
    enum { ALWAYS_ALLOWED = 48 << 10 };
    if (s->shared_bytes > ALWAYS_ALLOWED)
        TRY(cuda_check(cu.cuFuncSetAttribute(function, CU_MAX_DYNAMIC_SHARED, w->context->shared_per_block),
                       "asking for shared memory"));
    if (s->cluster > CUDA_PORTABLE_CLUSTER)
        TRY(cuda_check(cu.cuFuncSetAttribute(function, CU_NON_PORTABLE_CLUSTER_SIZE, 1), "asking for a cluster"));
    return UNROLL_OK;
}

static unroll_status launch_function(struct walker *w, const char *kernel, cu_function function,
                                     const struct launch_shape *s, const void *args)
{
    struct cu_launch_attribute attribute[2];
    struct cu_launch l = { .grid_x = (unsigned)s->x, .grid_y = (unsigned)s->y, .grid_z = 1, .block_x = s->threads,
                           .block_y = 1, .block_z = 1, .shared_bytes = s->shared_bytes, .stream = w->stream,
                           .attribute = attribute };
    char doing[96];
    memset(attribute, 0, sizeof attribute);
    if (s->cluster > 1) {
        attribute[l.attributes].id = CU_LAUNCH_CLUSTER;
        attribute[l.attributes].value.cluster.x = s->cluster;
        attribute[l.attributes].value.cluster.y = attribute[l.attributes].value.cluster.z = 1;
        l.attributes++;
    }
    if (s->cooperative) {
        attribute[l.attributes].id = CU_LAUNCH_COOPERATIVE;
        attribute[l.attributes++].value.cooperative = 1;
    }
    void *arguments[] = { (void *)args };
    snprintf(doing, sizeof doing, "launching %s", kernel);
    return cuda_check(cu.cuLaunchKernelEx(&l, function, arguments, NULL), doing);
}

unroll_status launch_shaped(struct walker *w, const char *kernel, const struct launch_shape *shape, const void *args)
{
    cu_function function;
    if (shape->x == 0 || shape->y == 0)
        return UNROLL_OK;
    w->launches++;
    if (shape->x > 0x7fffffff || shape->y > 65535)
        return fail(UNROLL_UNSUPPORTED, "%s would need %llu x %llu blocks, more than a GPU can count", kernel,
                    (unsigned long long)shape->x, (unsigned long long)shape->y);
    if (w->walk == MEASURE)
        return UNROLL_OK;
    TRY(cuda_find_kernel(w->context, kernel, &function));
    if (w->walk == PREPARE)
        return allow_shared(w, function, shape);
    return launch_function(w, kernel, function, shape, args);
}

unroll_status launch_grid(struct walker *w, const char *kernel, uint64_t x, uint64_t y, const void *args)
{
    return launch_shaped(w, kernel, &(struct launch_shape){ .x = x, .y = y, .threads = GPU_THREADS }, args);
}

unroll_status launch(struct walker *w, const char *kernel, uint64_t blocks, unsigned threads, const void *args)
{
    return launch_shaped(w, kernel, &(struct launch_shape){ .x = blocks, .y = 1, .threads = threads }, args);
}

unroll_status launch_each(struct walker *w, const char *kernel, uint64_t count, const void *args)
{
    enum { WARP = 32 };
    unsigned threads = count < GPU_THREADS ? (unsigned)(count + WARP - 1) / WARP * WARP : GPU_THREADS;
    return launch(w, kernel, (count + GPU_THREADS - 1) / GPU_THREADS, threads, args);
}

unroll_status launch_rows(struct walker *w, const char *kernel, uint64_t rows, uint32_t width, const void *args)
{
    unsigned threads = 32;
    while (threads < width && threads < GPU_THREADS)
        threads *= 2;
    return launch(w, kernel, rows, threads, args);
}

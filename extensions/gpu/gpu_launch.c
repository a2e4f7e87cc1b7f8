/* Launching (gpu_launch.h): views, kernels, scratch. */
#include "extensions/gpu/gpu_launch.h"

/* ---- views -------------------------------------------------------------------------------- */

struct gpu_view view_at(const struct recorder *w, const struct view *v)
{
    struct gpu_view x = {0};
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

uint64_t view_numbers(const struct gpu_view *x)
{
    uint64_t count = 1;
    for (int i = 0; i < x->rank; i++) count *= x->count[i];
    return count;
}

bool view_is_whole(const struct gpu_view *x)
{
    size_t step = 1;
    for (int i = x->rank; i-- > 0; step *= x->count[i])
        if (x->count[i] > 1 && x->stride[i] != step)
            return false;
    return true;
}

void call_at(const struct recorder *w, const struct op *op, struct gpu_call *call)
{
    call->op = op;
    for (int i = 0; i < OP_VIEWS; i++) call->view[i] = i < op->views ? view_at(w, &op->view[i]) : (struct gpu_view){0};
}

struct shard_rows shard_of(const struct recorder *w, const struct gpu_view *x, const struct gpu_view *sum, size_t shard)
{
    const struct plan_config *c = &w->plan->config;
    uint32_t first, count, begin = x->origin[1], end = begin + x->count[1];
    shard_range(c->B, (int)c->shards, (int)(sum->origin[0] + shard), 1, &first, &count);
    uint32_t last = first + count < end ? first + count : end;
    first = first > begin ? first : begin;
    return first < last ? (struct shard_rows){first - begin, last - first} : (struct shard_rows){0, 0};
}

struct gpu_rows rows_of(const struct gpu_view *x)
{
    struct gpu_rows rows = {(float *)(void *)x->at, x->stride[0], x->stride[1], x->count[0], x->count[1], 1, 0};
    for (int i = 2; i < x->rank; i++) rows.width *= x->count[i]; /* gates are contiguous: one GPU has all units */
    return rows;
}

struct gpu_ends ends_of(const struct gpu_view *x, const struct gpu_view *lengths)
{
    return (struct gpu_ends){(const int32_t *)(void *)lengths->at, x->origin[0], 0};
}

struct gpu_resets resets_of(const struct gpu_view *reset)
{
    return (struct gpu_resets){(const uint8_t *)reset->at, reset->stride[0]};
}

uint64_t count_rows(const struct gpu_rows *x) { return (uint64_t)x->steps * x->batch; }

/* ---- scratch ------------------------------------------------------------------------------ */

uint64_t place_after(uint64_t *end, uint64_t bytes)
{
    uint64_t at = *end;
    *end += (bytes + SCRATCH_ALIGNMENT - 1) / SCRATCH_ALIGNMENT * SCRATCH_ALIGNMENT;
    return at;
}

void *scratch_take(struct recorder *w, uint64_t bytes)
{
    void *at = w->scratch + place_after(&w->scratch_used, bytes);
    if (w->scratch_used > w->scratch_max)
        w->scratch_max = w->scratch_used;
    return at;
}

/* ---- kernels ------------------------------------------------------------------------------ */

unroll_status launch_shaped(struct recorder *w, const char *kernel, const struct launch_shape *shape,
                            struct gpu_args args)
{
    gpu_kernel function;
    if (shape->x == 0 || shape->y == 0)
        return UNROLL_OK;
    w->launches++;
    if (shape->x > w->driver->blocks_x || shape->y > w->driver->blocks_y)
        return fail(UNROLL_UNSUPPORTED,
                    "%s would need %llu x %llu blocks, more than a GPU can count; fix: use a smaller batch", kernel,
                    (unsigned long long)shape->x, (unsigned long long)shape->y);
    if (w->walk == MEASURE)
        return UNROLL_OK;
    TRY(w->driver->kernel_find(w->gpu, kernel, &function));
    if (w->walk == PREPARE)
        return w->driver->kernel_prepare(w->gpu, function, shape);
    return w->driver->kernel_launch(w->stream, function, kernel, shape, args.at, args.bytes);
}

unroll_status launch(struct recorder *w, const char *kernel, uint64_t blocks, unsigned threads, struct gpu_args args)
{
    const struct launch_shape shape = {.rows = blocks, .width = 1, .x = blocks, .y = 1, .threads = threads};
    return launch_shaped(w, kernel, &shape, args);
}

unroll_status launch_each(struct recorder *w, const char *kernel, uint64_t rows, uint64_t width, struct gpu_args args)
{
    enum { WARP = 32 };
    const uint64_t count = rows * width;
    const unsigned threads = count < GPU_THREADS ? (unsigned)(count + WARP - 1) / WARP * WARP : GPU_THREADS;
    const struct launch_shape shape = {
        .rows = rows, .width = width, .x = (count + GPU_THREADS - 1) / GPU_THREADS, .y = 1, .threads = threads};
    return launch_shaped(w, kernel, &shape, args);
}

unroll_status launch_rows(struct recorder *w, const char *kernel, uint64_t rows, uint32_t width, struct gpu_args args)
{
    unsigned threads = 32;
    while (threads < width && threads < GPU_THREADS) threads *= 2;
    return launch(w, kernel, rows, threads, args);
}

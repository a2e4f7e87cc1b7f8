/* Kernels that compute each element independently, or a row by one block: copies, masks, embeddings, dropout,
 * activations, pools. Semantics are those of device/cpu/kernels/bias_grad.h, elementwise.h, activate.h and pool.h. */
#include "extensions/cuda/kernels/rows.h"
#include "plan/ir/op.h"
#include "nn/vector/v_cuda.h"
#include "nn/vector/v_chosen.h"

/* ---- copies ------------------------------------------------------------------------------- */

KERNEL(gpu_copy, struct copy_args)
{
    size_t i = thread_number(), from = 0, to = 0;
    if (i >= (size_t)a.count[0] * a.count[1] * a.count[2] * a.count[3])
        return;
    for (int axis = 3; axis >= 0; axis--) {
        from += i % a.count[axis] * a.from_stride[axis];
        to += i % a.count[axis] * a.to_stride[axis];
        i /= a.count[axis];
    }
    if (!a.from)
        a.to[to] = 0;
    else if (a.adds)
        a.to[to] = __float_as_uint(__uint_as_float(a.to[to]) + __uint_as_float(a.from[from]));
    else
        a.to[to] = a.from[from];
}

KERNEL(gpu_clear_ended, struct clear_ended_args)
{
    size_t row, column;
    if (element(a.x, thread_number(), &row, &column) && !row_lasts(a.ends, row / a.x.batch, row % a.x.batch))
        row_at(a.x, row)[column] = 0;
}

/* Returns the state that enters step t of row b, or NULL for zeros. */
GPU_CODE const float *entering(const struct gather_args &a, size_t t, size_t b)
{
    bool first = t == 0;
    if (row_resets(a.resets, t, b))
        return NULL;
    if (a.direction)
        first = t == a.x.steps - 1 || !row_lasts(a.ends, t + 1, b);
    if (first)
        return a.init ? a.init + b * a.init_row : NULL;
    return a.x.at + (a.direction ? t + 1 : t - 1) * a.x.t + b * a.x.row;
}

KERNEL(gpu_gather, struct gather_args)
{
    size_t i = thread_number(), column = i % a.x.width, row = i / a.x.width;
    size_t t = row / a.rows, b = a.first + row % a.rows;
    if (t >= a.x.steps)
        return;
    const float *from = !row_lasts(a.ends, t, b) ? NULL
                        : a.shift                ? entering(a, t, b)
                                                 : a.x.at + t * a.x.t + b * a.x.row;
    a.to[i] = from ? from[column] : 0;
}

KERNEL(gpu_lowp, struct lowp_args)
{
    size_t i = thread_number(), row = i / a.to_row, column = i % a.to_row;
    if (row >= a.rows)
        return;
    float number = column < a.width ? a.from[row * a.from_row + column] : 0;
    a.to[i] = a.is_fp16 ? to_fp16(number) : to_bf16(number);
}

/* ---- embed, dropout ------------------------------------------------------------------------ */

KERNEL(gpu_embed, struct embed_args)
{
    size_t row, column;
    if (!element(a.y, thread_number(), &row, &column))
        return;
    int32_t token = a.tokens[row / a.y.batch * a.step + row % a.y.batch];
    float number = token < 0 ? 0 : a.table ? a.table[token * a.table_row + column] : column == (size_t)token;
    row_at(a.y, row)[column] = number;
}

#define PHILOX_CODE GPU_CODE
#include "base/philox.h"

/* One thread handles the four units of a counter. */
KERNEL(gpu_dropout, struct dropout_args)
{
    uint32_t first = a.first_unit / 4, quads = (a.first_unit + a.x.width + 3) / 4 - first;
    size_t i = thread_number(), row = i / quads;
    uint32_t quad = first + (uint32_t)(i % quads);
    if (row >= row_count(a.x))
        return;
    size_t t = row / a.x.batch, b = row % a.x.batch;
    uint64_t seed = (uint64_t)a.run[0];
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32) ^ a.stream}, word[4];
    uint32_t counter[4] = {quad, a.first_row + (uint32_t)b, a.ends.origin + (uint32_t)t, (uint32_t)a.run[1]};
    const float kept = (float)(1.0 / (1.0 - (double)a.probability)), *x = row_at(a.x, row);
    float *y = row_at(a.y, row);
    bool lasts = row_lasts(a.ends, t, b);
    philox(key, counter, word);
    for (uint32_t w = 0; w < 4; w++) {
        uint32_t unit = 4 * quad + w - a.first_unit; /* wraps if the quad begins before the view */
        if (unit >= a.x.width)
            continue;
        float number = lasts ? x[unit] * (philox_unit(word[w]) >= a.probability ? kept : 0) : 0;
        y[unit] = a.adds ? y[unit] + number : number;
    }
}

/* ---- activations -------------------------------------------------------------------------- */

KERNEL(gpu_activate, struct activate_args)
{
    size_t row, column;
    if (!element(a.x, thread_number(), &row, &column))
        return;
    row_at(a.y, row)[column] = v_chosen(a.function.kind, row_at(a.x, row)[column], a.function.alpha, a.function.beta);
}

KERNEL(gpu_activate_back, struct activate_back_args)
{
    size_t row, column;
    if (!element(a.x, thread_number(), &row, &column))
        return;
    float y = v_chosen(a.function.kind, row_at(a.x, row)[column], a.function.alpha, a.function.beta);
    float d = row_at(a.dy, row)[column] * v_chosen_slope(a.function.kind, y, a.function.alpha, a.function.beta);
    float *dx = &row_at(a.dx, row)[column];
    *dx = a.adds ? *dx + d : d;
}

/* y = softmax(x) of n values, by one block; x may equal y. */
GPU_CODE void softmax(const float *x, float *y, uint32_t n, float *room)
{
    float max = x[0], sum = 0;
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) max = x[i] > max ? x[i] : max;
    max = block_max(max, room);
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) sum += v_exp(x[i] - max);
    sum = block_sum(sum, room);
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) y[i] = v_exp(x[i] - max) / sum;
}

KERNEL(gpu_softmax, struct activate_args)
{
    SHARED(float, room, GPU_THREADS);
    softmax(row_at(a.x, blockIdx.x), row_at(a.y, blockIdx.x), a.x.width, room);
}

/* dx = y (dy - sum of y dy); y replaces x. */
KERNEL(gpu_softmax_back, struct activate_back_args)
{
    SHARED(float, room, GPU_THREADS);
    float *y = row_at(a.x, blockIdx.x), *dx = row_at(a.dx, blockIdx.x), dot = 0;
    const float *dy = row_at(a.dy, blockIdx.x);
    softmax(y, y, a.x.width, room);
    for (uint32_t i = threadIdx.x; i < a.x.width; i += blockDim.x) dot += y[i] * dy[i];
    dot = block_sum(dot, room);
    for (uint32_t i = threadIdx.x; i < a.x.width; i += blockDim.x) {
        float d = y[i] * (dy[i] - dot);
        dx[i] = a.adds ? dx[i] + d : d;
    }
}

/* ---- pools -------------------------------------------------------------------------------- */

/* Returns the number of steps of row b in the whole sequence. */
GPU_CODE uint32_t row_length(const struct gpu_ends &e, size_t b, uint32_t steps)
{
    return e.lengths ? (uint32_t)e.lengths[b] : steps;
}

GPU_CODE bool is_taken(uint32_t pool, uint32_t step, uint32_t length)
{
    return step == (pool == POOL_FIRST ? 0 : length - 1);
}

KERNEL(gpu_pool, struct pool_args)
{
    size_t b, k;
    if (!element(a.y, thread_number(), &b, &k))
        return;
    const uint32_t length = row_length(a.ends, b, a.steps);
    float y = a.begins ? 0 : row_at(a.y, b)[k];
    int32_t at = a.begins || !a.at ? -1 : a.at[b * a.at_row + k];
    for (uint32_t t = 0; t < a.x.steps && a.ends.origin + t < length; t++) {
        const uint32_t step = a.ends.origin + t;
        const float x = a.x.at[t * a.x.t + b * a.x.row + k];
        if (a.pool == POOL_MEAN)
            y += x;
        else if (a.pool == POOL_MAX ? step == 0 || (!(x <= y) && y == y) : is_taken(a.pool, step, length))
            y = x, at = (int32_t)step;
        if (a.pool == POOL_MEAN && step == length - 1)
            y /= (float)length;
    }
    row_at(a.y, b)[k] = y;
    if (a.at)
        a.at[b * a.at_row + k] = at;
}

KERNEL(gpu_pool_back, struct pool_back_args)
{
    size_t row, k;
    if (!element(a.dx, thread_number(), &row, &k))
        return;
    const size_t b = row % a.dx.batch;
    const uint32_t length = row_length(a.ends, b, a.steps), step = a.ends.origin + (uint32_t)(row / a.dx.batch);
    const bool taken = a.pool == POOL_MEAN  ? true
                       : a.pool == POOL_MAX ? a.at[b * a.at_row + k] == (int32_t)step
                                            : is_taken(a.pool, step, length);
    float d = taken && step < length ? row_at(a.dy, b)[k] : 0, *dx = &row_at(a.dx, row)[k];
    d = a.pool == POOL_MEAN ? d / (length ? (float)length : 1) : d;
    *dx = a.adds ? *dx + d : d;
}

/* ---- tree --------------------------------------------------------------------------------- */

KERNEL(gpu_tree, struct tree_args)
{
    size_t i = thread_number();
    for (uint32_t distance = 1; i < a.count && distance < a.shards; distance *= 2)
        for (uint32_t s = 0; s + distance < a.shards; s += 2 * distance)
            a.x[s * a.shard + i] += a.x[(s + distance) * a.shard + i];
}

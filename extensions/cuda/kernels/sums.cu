/* Kernels that add up: columns over rows, rows by symbol, losses, norms. The order of every sum depends only on
 * shapes and no atomics are used, so every run has the same bits. */
#include "extensions/cuda/kernels/rows.h"
#include "nn/vector/v_cuda.h"
#include "nn/optim/optim.h"

enum { TILE = 32, QUEUES = GPU_THREADS / TILE }; /* columns of a block, and rows that it adds at once */

/* ---- columns ------------------------------------------------------------------------------ */

/* Blocks: (tiles of columns) x parts. Part p has rows p, p + parts, .. in groups of QUEUES. */
KERNEL(gpu_sum_parts, struct sum_parts_args)
{
    SHARED(float, room, GPU_THREADS);
    const uint32_t tiles = (a.x.width + TILE - 1) / TILE, part = blockIdx.x / tiles;
    const uint32_t column = blockIdx.x % tiles * TILE + threadIdx.x % TILE, queue = threadIdx.x / TILE;
    const size_t rows = (size_t)a.x.steps * a.rows;
    float sum = 0;
    for (size_t r = (size_t)part * QUEUES + queue; column < a.x.width && r < rows; r += (size_t)a.parts * QUEUES) {
        size_t t = r / a.rows, b = a.first + r % a.rows;
        if (row_lasts(a.ends, t, b))
            sum += a.x.at[t * a.x.t + b * a.x.row + column];
    }
    room[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned distance = QUEUES / 2; distance > 0; distance /= 2) {
        if (queue < distance)
            room[threadIdx.x] += room[threadIdx.x + distance * TILE];
        __syncthreads();
    }
    if (queue == 0 && column < a.x.width)
        a.part[(size_t)part * a.x.width + column] = room[threadIdx.x];
}

KERNEL(gpu_sum, struct sum_args)
{
    size_t column = thread_number();
    float sum = 0;
    if (column >= a.width)
        return;
    for (uint32_t p = 0; p < a.parts; p++) sum += a.part[(size_t)p * a.width + column];
    a.sum[column] += sum;
    if (a.twin)
        a.twin[column] += sum;
}

/* ---- rows by symbol ----------------------------------------------------------------------- */

/* Block x is a symbol, and y a range of columns. Scans GPU_THREADS tokens at a time. */
KERNEL(gpu_embed_grad, struct embed_grad_args)
{
    SHARED(uint32_t, found, GPU_THREADS / 32);
    const uint32_t column = blockIdx.y * GPU_THREADS + threadIdx.x;
    const size_t rows = (size_t)a.dy.steps * a.rows;
    float *to = a.table + blockIdx.x * a.table_row + column;
    float sum = column < a.dy.width ? *to : 0;
    for (size_t first = 0; first < rows; first += GPU_THREADS) {
        size_t r = first + threadIdx.x, t = a.dy.steps - 1 - r / a.rows, b = a.first + r % a.rows;
        bool mine = r < rows && a.tokens[t * a.step + b] == (int32_t)blockIdx.x;
        uint32_t vote = __ballot_sync(0xffffffff, mine);
        if (threadIdx.x % 32 == 0)
            found[threadIdx.x / 32] = vote;
        __syncthreads();
        for (unsigned warp = 0; warp < GPU_THREADS / 32; warp++)
            for (uint32_t left = found[warp]; left; left &= left - 1) {
                size_t at = first + warp * 32 + (unsigned)__ffs((int)left) - 1;
                size_t step = a.dy.steps - 1 - at / a.rows, row = a.first + at % a.rows;
                if (column < a.dy.width)
                    sum += a.dy.at[step * a.dy.t + row * a.dy.row + column];
            }
        __syncthreads();
    }
    if (column < a.dy.width)
        *to = sum;
}

/* ---- losses ------------------------------------------------------------------------------- */

GPU_CODE float gradient_scale(const struct loss_args &a) { return a.scale ? (float)*a.scale : 1; }

GPU_CODE void clear_row(const struct loss_args &a, float *z)
{
    for (uint32_t i = threadIdx.x; i < a.z.width; i += blockDim.x) z[i] = 0;
    if (threadIdx.x == 0)
        a.loss[blockIdx.x] = a.loss[row_count(a.z) + blockIdx.x] = 0;
}

GPU_CODE void count_row(const struct loss_args &a, double loss, double weight)
{
    if (threadIdx.x > 0)
        return;
    a.loss[blockIdx.x] = loss;
    a.loss[row_count(a.z) + blockIdx.x] = weight;
}

GPU_CODE double class_weight(const struct loss_args &a, uint32_t of) { return a.constant ? (double)a.constant[of] : 1; }

/* Returns the sum over all classes of weight * (max - z), or of weights if z is NULL. */
GPU_CODE double sum_of_classes(const struct loss_args &a, const float *z, float max, double *room)
{
    double sum = 0;
    for (uint32_t i = threadIdx.x; i < a.z.width; i += blockDim.x)
        sum += class_weight(a, i) * (z ? (double)max - (double)z[i] : 1);
    return block_sum(sum, room);
}

/* Softmax cross entropy; one block for each row. z <- (softmax(z) - 1 of the class) * scale; with class weights and
 * label smoothing as in loss_kernels.h of the CPU. */
KERNEL(xent_gpu_loss, struct loss_args)
{
    SHARED(float, room, GPU_THREADS);
    SHARED(double, sums, GPU_THREADS);
    const size_t t = blockIdx.x / a.z.batch, b = blockIdx.x % a.z.batch;
    const int32_t of = row_lasts(a.ends, t, b) ? a.class_of[t * a.class_step + b] : -1;
    const float scale = gradient_scale(a);
    const bool is_soft = a.constant || a.smoothing > 0;
    float *z = row_at(a.z, blockIdx.x), max = z[0], sum = 0;
    if (of < 0) {
        clear_row(a, z);
        return;
    }
    const float of_class = z[of];
    for (uint32_t i = threadIdx.x; i < a.z.width; i += blockDim.x) max = z[i] > max ? z[i] : max;
    max = block_max(max, room);
    const double all = is_soft ? sum_of_classes(a, NULL, max, sums) : 0;
    const double of_all = is_soft ? sum_of_classes(a, z, max, sums) : 0;
    for (uint32_t i = threadIdx.x; i < a.z.width; i += blockDim.x) {
        z[i] = v_exp(z[i] - max);
        sum += z[i];
    }
    sum = block_sum(sum, room);
    const double log_sum = log((double)sum), loss = log_sum + ((double)max - (double)of_class);
    if (!is_soft) {
        for (uint32_t i = threadIdx.x; i < a.z.width; i += blockDim.x)
            z[i] = scale * (i == (uint32_t)of ? (float)expm1(-loss) : z[i] / sum);
        count_row(a, loss, 1);
        return;
    }
    const double weight = class_weight(a, (uint32_t)of), each = (double)a.smoothing / a.z.width;
    const double hard = (1 - (double)a.smoothing) * weight, row = hard + each * all;
    for (uint32_t i = threadIdx.x; i < a.z.width; i += blockDim.x) {
        const double spread = i == (uint32_t)of ? each * (all - weight) : -each * class_weight(a, i);
        z[i] = scale * (float)(spread + row * (i == (uint32_t)of ? expm1(-loss) : (double)(z[i] / sum)));
    }
    count_row(a, hard * loss + each * (all * log_sum + of_all), weight);
}

#define LOSS_USER "extensions/cuda/kernels/loss_gpu.h"
#include "nn/losses/loss_table.h"

/* One block. */
KERNEL(gpu_loss_total, struct loss_total_args)
{
    SHARED(double, room, GPU_THREADS);
    double sum = 0, weight = 0;
    for (size_t r = threadIdx.x; r < a.rows; r += blockDim.x) {
        sum += a.loss[r];
        weight += a.loss[a.rows + r];
    }
    sum = block_sum(sum, room);
    weight = block_sum(weight, room);
    if (threadIdx.x == 0) {
        *a.sum += sum;
        *a.weight += weight;
    }
}

/* ---- norms of many tensors ----------------------------------------------------------------- */

/* One block for each chunk. */
KERNEL(gpu_norm_parts, struct norm_args)
{
    SHARED(double, room, GPU_THREADS);
    const struct gpu_chunk chunk = a.chunk[blockIdx.x];
    const struct norm_tensor x = a.tensor[chunk.tensor];
    const size_t first = (size_t)chunk.number * GPU_CHUNK;
    const size_t end = x.count - first < GPU_CHUNK ? x.count : first + GPU_CHUNK;
    double sum = 0;
    for (size_t i = first + threadIdx.x; i < end; i += blockDim.x) sum += (double)x.x[i] * (double)x.x[i];
    sum = block_sum(sum, room);
    if (threadIdx.x == 0)
        a.part[blockIdx.x] = sum;
}

/* One thread for each tensor. */
KERNEL(gpu_norm, struct norm_args)
{
    size_t i = thread_number();
    double sum = 0;
    if (i >= a.tensors)
        return;
    const struct norm_tensor x = a.tensor[i];
    for (uint32_t p = 0; p < x.chunks; p++) sum += a.part[x.first_chunk + p];
    *x.out += sum;
}

/* One thread. */
KERNEL(gpu_unscale, struct unscale_args)
{
    const double scale = a.rates[RATE_SCALE];
    double sum = 0;
    for (uint32_t i = 0; i < a.norm_count; i++) sum += a.norms[i];
    a.rates[RATE_OVERFLOW] = !isfinite(sum);
    for (uint32_t i = 0; i < a.norm_count; i++) a.norms[i] = isfinite(sum) ? a.norms[i] / (scale * scale) : 0;
}

/* Kernels that add up: columns over rows, rows by symbol, losses, norms. No atomics are used. */
#include "extensions/cuda/kernels/common.cuh"
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
        if (row_lasts(MEMORY a.ends, t, b))
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

/* ---- norms of many tensors ----------------------------------------------------------------- */

/* One block for each chunk. */
KERNEL(gpu_norm_parts, struct norm_args)
{
    const struct gpu_chunk chunk = a.chunk[blockIdx.x];
    const struct norm_tensor x = a.tensor[chunk.tensor];
    const size_t first = (size_t)chunk.number * GPU_CHUNK;
    const size_t end = x.count - first < GPU_CHUNK ? x.count : first + GPU_CHUNK;
    double sum = 0;
    for (size_t i = first + threadIdx.x; i < end; i += blockDim.x) sum += (double)x.x[i] * (double)x.x[i];
    sum = team_sum(sum);
    if (threadIdx.x == 0)
        a.part[blockIdx.x] = sum;
}

/* ---- the loss scale of fp16 training -------------------------------------------------------- */

/* One thread. */
KERNEL(gpu_unscale, struct unscale_args)
{
    const double scale = a.rates[RATE_SCALE];
    double sum = 0;
    for (uint32_t i = 0; i < a.norm_count; i++) sum += a.norms[i];
    a.rates[RATE_OVERFLOW] = !isfinite(sum);
    for (uint32_t i = 0; i < a.norm_count; i++) a.norms[i] = isfinite(sum) ? a.norms[i] / (scale * scale) : 0;
}

/* Divides the factor of gradient sums by the loss scale and adapts the scale: halved after a gradient that is not
 * finite, doubled after many good updates. */
GPU_CODE double unscaled(double *rates, double factor)
{
    const double max = 16777216, min = 1, patience = 2000, scale = rates[RATE_SCALE];
    const bool overflow = rates[RATE_OVERFLOW] != 0;
    rates[RATE_GOOD] = overflow ? 0 : rates[RATE_GOOD] + 1;
    if (overflow)
        rates[RATE_SCALE] = scale / 2 > min ? scale / 2 : min;
    if (rates[RATE_GOOD] >= patience) {
        rates[RATE_SCALE] = 2 * scale < max ? 2 * scale : max;
        rates[RATE_GOOD] = 0;
    }
    return overflow ? 0 : factor / scale;
}

#include "extensions/gpu/kernels/sums.inc"
#include "extensions/gpu/kernels/losses.inc"
#include "extensions/gpu/kernels/classes.inc"
#define LOSS_USER "extensions/cuda/kernels/loss_points.cuh"
#include "nn/losses/loss_table.h"

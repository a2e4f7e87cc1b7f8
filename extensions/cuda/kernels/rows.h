/* Shared by the kernels of rows: the row of a thread, and whether it takes part. Included only by *.cu. */
#ifndef DEVICE_CUDA_ROWS_H
#define DEVICE_CUDA_ROWS_H
#include "extensions/cuda/kernels/gpu.cuh"
#include "extensions/gpu/gpu_kernels.h"

GPU_CODE size_t thread_number(void) { return blockIdx.x * (size_t)blockDim.x + threadIdx.x; }

GPU_CODE bool row_lasts(const struct gpu_ends &e, size_t t, size_t b)
{
    return !e.lengths || (int64_t)(e.origin + t) < e.lengths[b];
}

GPU_CODE bool row_resets(const struct gpu_resets &r, size_t t, size_t b) { return r.at && r.at[t * r.step + b]; }

GPU_CODE size_t row_count(const struct gpu_rows &x) { return (size_t)x.steps * x.batch; }

GPU_CODE float *row_at(const struct gpu_rows &x, size_t row)
{
    return x.at + row / x.batch * x.t + row % x.batch * x.row;
}

/* Finds element i of all rows; returns false beyond the last. */
GPU_CODE bool element(const struct gpu_rows &x, size_t i, size_t *row, size_t *column)
{
    *row = i / x.width;
    *column = i % x.width;
    return *row < row_count(x);
}

/* Return the sum or the maximum over a block, by a tree. The block size is a power of two; room: [blockDim.x]. */
template <typename T> GPU_CODE T block_sum(T v, T *room)
{
    room[threadIdx.x] = v;
    __syncthreads();
    for (unsigned distance = blockDim.x / 2; distance > 0; distance /= 2) {
        if (threadIdx.x < distance)
            room[threadIdx.x] += room[threadIdx.x + distance];
        __syncthreads();
    }
    T sum = room[0];
    __syncthreads();
    return sum;
}

GPU_CODE float block_max(float v, float *room)
{
    room[threadIdx.x] = v;
    __syncthreads();
    for (unsigned distance = blockDim.x / 2; distance > 0; distance /= 2) {
        if (threadIdx.x < distance && room[threadIdx.x + distance] > room[threadIdx.x])
            room[threadIdx.x] = room[threadIdx.x + distance];
        __syncthreads();
    }
    float max = room[0];
    __syncthreads();
    return max;
}

#endif

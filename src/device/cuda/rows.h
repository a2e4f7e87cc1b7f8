/* What the kernels of rows share: which row a thread has, and whether it takes part. Included by *.cu alone. */
#ifndef DEVICE_CUDA_ROWS_H
#define DEVICE_CUDA_ROWS_H
#include "device/cuda/gpu.cuh"
#include "device/gpu/gpu_kernels.h"

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

/* Element i of all rows; false: there are fewer. */
GPU_CODE bool element(const struct gpu_rows &x, size_t i, size_t *row, size_t *column)
{
    *row = i / x.width;
    *column = i % x.width;
    return *row < row_count(x);
}

/* The sum, or the largest, over a block of a power of two threads, by a tree; room: blockDim.x of them. */
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

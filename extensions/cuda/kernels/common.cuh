/* The words of the kernels in extensions/gpu/kernels (places.inc), in CUDA: a thread handles one element, and a block a
 * row. */
#ifndef DEVICE_CUDA_COMMON_CUH
#define DEVICE_CUDA_COMMON_CUH
#include "extensions/cuda/kernels/gpu.cuh"
#include "extensions/gpu/gpu_kernels.h"
#include "nn/vector/v_cuda.h"

#define CODE   GPU_CODE
#define VECTOR float
#define GLOBAL /* pointers need no address space, .. */
#define MEMORY /* .. and memory no argument */
#define MEMORY_ARG
#define FLOATS(at)         ((float *)(at))
#define INTS(at)           (at)
#define UINTS(at)          (at)
#define BYTES(at)          (at)
#define LONGS(at)          (at)
#define TABLE(type, at, i) (at)[i]

enum { RUN = 1, WIDTH = 1, QUADS = 1, LOWP = 1 };
#define ITEM            (blockIdx.x * (uint64_t)blockDim.x + threadIdx.x)
#define BLOCK           blockIdx.x
#define THREAD          threadIdx.x
#define THREADS         blockDim.x
#define EACH(i, p)      for (uint32_t i = (p).first, i##_left = 1; i##_left; i##_left = 0)
#define LOAD_PART(p)         (*(p))
#define STORE_PART(v, p)     (*(p) = (v))
#define as_uint(x)      __float_as_uint(x)
#define as_float(x)     __uint_as_float(x)

#define TEAM            blockIdx.x
#define MEMBER          threadIdx.x
#define MEMBERS         blockDim.x
#define TEAM_EACH(i, n) for (uint32_t i = threadIdx.x; i < (n); i += blockDim.x)

typedef double D;
#define d_of(x)           ((double)(x))
#define d_float(a)        ((float)(a))
#define d_add(a, b)       ((a) + (b))
#define d_sub(a, b)       ((a) - (b))
#define d_mul(a, b)       ((a) * (b))
#define d_div(a, b)       ((a) / (b))
#define d_negative(a)     (-(a))
#define d_sqrt(a)         sqrt(a)
#define d_log(a)          log(a)
#define d_expm1(a)        expm1(a)
#define d_finite(a)       isfinite(a)
#define d_load(at, i)     ((at)[i])
#define d_store(at, i, v) ((at)[i] = (v))

#include "extensions/gpu/kernels/places.inc"

/* Return the sum or the maximum over a block, by a tree. The block size is a power of two. */
template <typename T> GPU_CODE T team_sum(T v)
{
    SHARED(T, room, GPU_THREADS);
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

GPU_CODE float team_max(float v)
{
    SHARED(float, room, GPU_THREADS);
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

GPU_CODE float largest_of(const float *z, uint32_t n)
{
    float max = z[0];
    TEAM_EACH(i, n) max = z[i] > max ? z[i] : max;
    return team_max(max);
}

/* y = e^(x - max); returns the sum. x may equal y. */
GPU_CODE float exponentials(const float *x, float *y, uint32_t n, float max)
{
    float sum = 0;
    TEAM_EACH(i, n)
    {
        y[i] = v_exp(x[i] - max);
        sum += y[i];
    }
    return team_sum(sum);
}
#define SHARE(e, sum) ((e) / (sum))

GPU_CODE void keep_lowp(const struct gpu_lowp &to, uint32_t field, uint64_t row, uint32_t unit, float number)
{
    if (to.at)
        to.at[field * to.field + row * to.row + unit] = to.is_fp16 ? to_fp16(number) : to_bf16(number);
}

#endif

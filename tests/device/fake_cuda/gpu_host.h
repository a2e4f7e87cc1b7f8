/* The primitives of extensions/cuda/kernels/gpu.cuh for the host, and nvcc's built-ins. Implemented in runtime.h; warp
 * functions in warp.cc. Included by gpu.cuh only. */
#ifndef FAKE_CUDA_GPU_HOST_H
#define FAKE_CUDA_GPU_HOST_H
#include "clock.h"
#include "runtime.h"
#include <math.h>
#include <string.h>
#include <type_traits>

#define GPU_ON_HOST  1
#define GPU_CLUSTERS 1
#define GPU_CODE static inline __attribute__((unused))
#define __device__
#define __forceinline__ inline __attribute__((always_inline, unused))
#define __noinline__ __attribute__((noinline))
#define __align__(n) alignas(n)
#define SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()

/* ---- kernels ----------------------------------------------------------------------------- */

#define KERNEL_BOUNDS(name, type, threads, blocks) FAKE_KERNEL(name, type, threads, blocks)
#define KERNEL(name, type) FAKE_KERNEL(name, type, 256, 1)
#define FAKE_KERNEL(name, type, threads, blocks)                                                              \
    static void name##_body(const type &a);                                                                   \
    static void name##_run(const void *args) { name##_body(*(const type *)args); }                            \
    static struct fake_kernel name##_kernel = { #name, name##_run, sizeof(type), threads, blocks, NULL };     \
    __attribute__((constructor)) static void name##_add(void) { fake_kernel_add(&name##_kernel); }            \
    static void name##_body(const type &a)

#define threadIdx (fake_current->index)
#define blockIdx  (*fake_block_index())
#define blockDim  (fake_current->launch->block)
#define gridDim   (fake_current->launch->grid)
#define warpSize  32

#define SHARED(type, name, count)                                                                             \
    static char name##_key;                                                                                   \
    type *const name = (type *)fake_shared(&name##_key, sizeof(type) * (count))
GPU_CODE unsigned char *dynamic_shared(void) { return (unsigned char *)fake_dynamic_shared(); }

/* ---- CUDA's types and functions ---------------------------------------------------------- */

struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
GPU_CODE float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
GPU_CODE uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

template <typename To, typename From> GPU_CODE To fake_bits(From a)
{
    static_assert(sizeof(To) == sizeof(From), "bits of another size");
    To r;
    memcpy(&r, &a, sizeof r);
    return r;
}
GPU_CODE int __float_as_int(float a) { return fake_bits<int>(a); }
GPU_CODE unsigned __float_as_uint(float a) { return fake_bits<unsigned>(a); }
GPU_CODE float __int_as_float(int a) { return fake_bits<float>(a); }
GPU_CODE float __uint_as_float(unsigned a) { return fake_bits<float>(a); }
GPU_CODE float __fadd_rn(float a, float b) { return a + b; }
GPU_CODE float __fsub_rn(float a, float b) { return a - b; }
GPU_CODE float __fmul_rn(float a, float b) { return a * b; }
GPU_CODE float __fdiv_rn(float a, float b) { return a / b; }
GPU_CODE float __fsqrt_rn(float a) { return sqrtf(a); }
GPU_CODE float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
GPU_CODE int __popc(unsigned a) { return __builtin_popcount(a); }
GPU_CODE int __ffs(int a) { return __builtin_ffs(a); }
template <typename T> GPU_CODE T min(T a, T b) { return b < a ? b : a; }
template <typename T> GPU_CODE T max(T a, T b) { return a < b ? b : a; }
template <typename T> GPU_CODE T load_shared_by_grid(const T *p) { return *p; }

/* ---- barriers and warps ------------------------------------------------------------------ */

GPU_CODE void __syncthreads(SITE) { fake_barrier(0, 0, true, file, line); }
GPU_CODE void __syncwarp(unsigned mask = 0xffffffff, SITE) { fake_warp(mask, NULL, NULL, true, file, line); }

struct fake_shuffle {
    uint64_t value, result;
    int from;
};
fake_warp_function fake_shuffles, fake_votes;

template <typename T> GPU_CODE T fake_shuffled(unsigned mask, T v, int from, const char *file, int line)
{
    static_assert(sizeof(T) <= 8, "shuffles take up to 8 bytes");
    struct fake_shuffle s = {0, 0, from};
    memcpy(&s.value, &v, sizeof v);
    fake_warp(mask, fake_shuffles, &s, false, file, line);
    memcpy(&v, &s.result, sizeof v);
    return v;
}
/* Reads lane `at` of this lane's group of `width`; outside of the group, returns the lane's own value. */
template <typename T> GPU_CODE T fake_shuffle_to(unsigned mask, T v, int at, int width, const char *file, int line)
{
    int lane = fake_current->lane, first = lane & ~(width - 1);
    return fake_shuffled(mask, v, at >= first && at < first + width ? at : lane, file, line);
}
template <typename T> GPU_CODE T __shfl_sync(unsigned mask, T v, int from, int width = 32, SITE)
{
    return fake_shuffled(mask, v, ((int)fake_current->lane & ~(width - 1)) | (from & (width - 1)), file, line);
}
template <typename T> GPU_CODE T __shfl_xor_sync(unsigned mask, T v, int with, int width = 32, SITE)
{
    return fake_shuffle_to(mask, v, (int)fake_current->lane ^ with, width, file, line);
}
template <typename T> GPU_CODE T __shfl_down_sync(unsigned mask, T v, int by, int width = 32, SITE)
{
    return fake_shuffle_to(mask, v, (int)fake_current->lane + by, width, file, line);
}
template <typename T> GPU_CODE T __shfl_up_sync(unsigned mask, T v, int by, int width = 32, SITE)
{
    return fake_shuffle_to(mask, v, (int)fake_current->lane - by, width, file, line);
}
GPU_CODE unsigned __ballot_sync(unsigned mask, int holds, SITE)
{
    struct fake_shuffle s = {holds != 0, 0, 0};
    fake_warp(mask, fake_votes, &s, false, file, line);
    return (unsigned)s.result;
}

/* ---- number formats ---------------------------------------------------------------------- */

GPU_CODE uint16_t to_bf16(float a)
{
    uint32_t x = __float_as_uint(a);
    if ((x & 0x7fffffff) > 0x7f800000)
        return 0x7fff;
    return (x + 0x7fff + (x >> 16 & 1)) >> 16;
}
GPU_CODE float from_bf16(uint16_t a) { return __uint_as_float((uint32_t)a << 16); }

GPU_CODE uint16_t to_fp16(float a)
{
    uint32_t x = __float_as_uint(a), sign = x >> 16 & 0x8000, m = x & 0x7fffffff;
    if (m > 0x7f800000)
        return 0x7fff;
    if (m >= 0x477ff000) /* 65520: rounds to infinity */
        return sign | 0x7c00;
    if (m < 0x38800000) /* below 2^-14: in units of 2^-24 */
        return sign | (__float_as_uint(__uint_as_float(m) + 0.5f) - 0x3f000000);
    return sign | (m + 0xfff + (m >> 13 & 1) - 0x38000000) >> 13;
}
GPU_CODE float from_fp16(uint16_t a)
{
    uint32_t sign = (uint32_t)(a & 0x8000) << 16, m = a & 0x7fff;
    if (m >= 0x7c00)
        return __uint_as_float(sign | 0x7f800000 | (m & 0x3ff) << 13);
    if (m < 0x400)
        return __uint_as_float(sign | __float_as_uint((float)m * 0x1p-24f));
    return __uint_as_float(sign | ((m << 13) + 0x38000000));
}
GPU_CODE uint32_t pack_bf16(float low, float high) { return to_bf16(low) | (uint32_t)to_bf16(high) << 16; }
GPU_CODE uint32_t pack_fp16(float low, float high) { return to_fp16(low) | (uint32_t)to_fp16(high) << 16; }
GPU_CODE uint32_t to_tf32(float a)
{
    uint32_t x = __float_as_uint(a);
    if ((x & 0x7fffffff) > 0x7f800000)
        return 0x7fffe000;
    return (x + 0x1000) & 0xffffe000;
}

GPU_CODE float exp2_approximate(float a) { return exp2f(a); }
GPU_CODE float inverse_approximate(float a) { return 1 / a; }

/* ---- matrix products --------------------------------------------------------------------- */

struct fake_mma {
    float *c;
    const uint32_t *a;
    uint32_t b[2];
};
struct fake_rows {
    uint32_t *r;
    const void *row;
    int matrices;
    bool transposed;
};
fake_warp_function fake_mma_bf16, fake_mma_fp16, fake_mma_tf32, fake_load_matrices;

#define FAKE_MMA(name)                                                                                        \
    GPU_CODE void name(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, SITE)                 \
    {                                                                                                         \
        struct fake_mma m = { c, a, { b0, b1 } };                                                             \
        fake_warp(0xffffffff, fake_##name, &m, false, file, line);                                            \
    }
FAKE_MMA(mma_bf16)
FAKE_MMA(mma_fp16)
FAKE_MMA(mma_tf32)

#define FAKE_LOAD_MATRIX(name, count, transposed)                                                             \
    GPU_CODE void name(uint32_t (&r)[count], const void *row, SITE)                                           \
    {                                                                                                         \
        struct fake_rows m = { r, row, count, transposed };                                                   \
        fake_warp(0xffffffff, fake_load_matrices, &m, false, file, line);                                     \
    }
FAKE_LOAD_MATRIX(load_matrix_4, 4, false)
FAKE_LOAD_MATRIX(load_matrix_2_transposed, 2, true)

/* ---- copies, flags ----------------------------------------------------------------------- */

GPU_CODE void copy_async(void *shared, const void *global) { fake_copy_async(shared, global); }
GPU_CODE void copy_async_commit(void) { fake_copy_async_commit(); }
template <int left> GPU_CODE void copy_async_wait(void) { fake_copy_async_wait(left); }

GPU_CODE uint32_t load_acquire(const uint32_t *flag, SITE)
{
    fake_poll(file, line);
    return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}
GPU_CODE void store_release(uint32_t *flag, uint32_t value)
{
    fake_clock_store(flag, value);
    __atomic_store_n(flag, value, __ATOMIC_RELEASE);
    fake_flags_changed();
}
GPU_CODE void add_release(uint32_t *flag, uint32_t value)
{
    __atomic_fetch_add(flag, value, __ATOMIC_RELEASE);
    fake_flags_changed();
}
GPU_CODE void wait_at_least(const uint32_t *flag, uint32_t value, SITE)
{
    fake_wait_at_least(flag, value, file, line);
    (void)__atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

/* ---- packets ----------------------------------------------------------------------------- */

GPU_CODE uint4 load_packet(const void *p)
{
    const uint32_t *w = (const uint32_t *)p;
    return make_uint4(__atomic_load_n(w, __ATOMIC_RELAXED), __atomic_load_n(w + 1, __ATOMIC_RELAXED),
                      __atomic_load_n(w + 2, __ATOMIC_RELAXED), __atomic_load_n(w + 3, __ATOMIC_RELAXED));
}
GPU_CODE bool is_empty(const uint4 &packet) { return packet.x == ~0u; }
GPU_CODE void store_packet(void *p, uint4 v)
{
    uint32_t *w = (uint32_t *)p;
    const uint32_t words[4] = {v.x, v.y, v.z, v.w};
    if ((uintptr_t)p % 16)
        fake_fail("a packet at %p is not aligned to 16 bytes", p);
    if (v.x != ~0u && fake_hold_packet(p, words))
        return;
    for (int i = 0; i < 4; i++) __atomic_store_n(w + i, words[i], __ATOMIC_RELAXED);
    fake_clock_packet(p, words);
    fake_packets_changed();
    fake_packet_stored();
}
template <int N, int STEP, int COUNT>
GPU_CODE void request_packets(uint4 (&v)[COUNT], const unsigned char *at, uint32_t tile, uint32_t wanted)
{
    for (int i = 0; i < COUNT; i++)
        v[i] = wanted >> i & 1 ? load_packet(at + i / N * STEP + i % N * tile) : make_uint4(0, 0, 0, 0);
    fake_clock_asks(__builtin_popcount(wanted & ((1u << COUNT) - 1)));
}
template <int N, int STEP, int COUNT>
GPU_CODE void clock_packets(const unsigned char *at, uint32_t tile, uint32_t wanted)
{
    const void *p[COUNT];
    for (int i = 0; i < COUNT; i++) p[i] = wanted >> i & 1 ? at + i / N * STEP + i % N * tile : NULL;
    fake_clock_packets(p, COUNT);
}
GPU_CODE void poll_again(SITE) { fake_poll(file, line); }

GPU_CODE uint32_t milliseconds(void) { return fake_milliseconds(); }
[[noreturn]] GPU_CODE void stop_kernel(void) { fake_stop(); }

GPU_CODE void fence_gpu(void) { fake_fence(); }
GPU_CODE uint32_t kept(uint32_t a) { return a; }
GPU_CODE uint32_t made_here(uint32_t a) { return a; }

/* ---- marks for the clock ----------------------------------------------------------------- */

GPU_CODE void clock_part(enum clock_part part) { fake_clock_part(part); }
#define clock_print(...) (void)0
GPU_CODE void clock_instructions(unsigned count) { fake_clock_instructions(count); }
GPU_CODE void clock_shared(unsigned words, unsigned turns) { fake_clock_shared(words, turns); }
GPU_CODE void clock_loads(unsigned which = 0) { fake_clock_loads(which); }
GPU_CODE void clock_loaded(unsigned which = 0) { fake_clock_loaded(which); }

/* ---- clusters, barriers in shared memory ------------------------------------------------- */

GPU_CODE unsigned cluster_rank(void) { return fake_cluster_rank(); }
GPU_CODE unsigned cluster_size(void) { return fake_cluster_size(); }
GPU_CODE void cluster_arrive(SITE) { fake_cluster_arrive(file, line); }
GPU_CODE void cluster_wait(SITE) { fake_cluster_wait(file, line); }
GPU_CODE void cluster_sync(SITE)
{
    fake_cluster_arrive(file, line);
    fake_cluster_wait(file, line);
}

typedef uintptr_t shared_address;
GPU_CODE shared_address shared_at(const void *p) { return (uintptr_t)p; }
GPU_CODE shared_address cluster_map(shared_address at, unsigned rank) { return fake_cluster_map(at, rank); }

typedef uint64_t mbarrier;
GPU_CODE void mbarrier_init(mbarrier *b, unsigned count) { fake_mbarrier_init(b, count); }
GPU_CODE void mbarrier_init_fence(void) { fake_fence(); }
GPU_CODE void mbarrier_arrive(mbarrier *b) { fake_mbarrier_arrive((uintptr_t)b, 0); }
GPU_CODE void mbarrier_arrive_expect(mbarrier *b, unsigned n) { fake_mbarrier_arrive((uintptr_t)b, n); }
GPU_CODE void mbarrier_arrive_remote(shared_address b) { fake_mbarrier_arrive(b, 0); }
GPU_CODE bool mbarrier_try_wait(mbarrier *b, unsigned parity, SITE)
{
    return fake_mbarrier_try_wait(b, parity, file, line);
}
GPU_CODE void mbarrier_wait(mbarrier *b, unsigned parity, SITE) { fake_mbarrier_wait(b, parity, file, line); }

GPU_CODE void store_async(shared_address to, uint32_t v, shared_address b) { fake_store_async(to, &v, 4, b); }
GPU_CODE void store_async(shared_address to, uint2 v, shared_address b) { fake_store_async(to, &v, 8, b); }
GPU_CODE void store_async(shared_address to, uint4 v, shared_address b) { fake_store_async(to, &v, 16, b); }
GPU_CODE void copy_bulk_fence(void) {}
GPU_CODE void copy_bulk_to_cluster(shared_address to, const void *shared, unsigned bytes, shared_address b)
{
    fake_copy_bulk(to, shared, bytes, b, true);
}
#undef SITE
#endif

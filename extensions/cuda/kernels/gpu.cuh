/* The vocabulary of the kernels beyond plain C++: nvcc's built-ins (thread indices, __syncthreads, shuffles,
 * atomics) and, below, instructions that need assembler: clusters, barriers in shared memory, asynchronous stores,
 * matrix products. Kernels use nothing else, so the tests compile the same source for the host (fake_cuda/gpu_host.h
 * has the same vocabulary, and a little more). Semantics: NVIDIA's PTX ISA 8.x. */
#ifndef DEVICE_CUDA_GPU_CUH
#define DEVICE_CUDA_GPU_CUH
#include <stddef.h>
#include <stdint.h>
#ifdef GPU_CLOCKS
#include <stdio.h>
#endif

#ifndef __CUDACC__
#include "tests/device/fake_cuda/gpu_host.h"

/* clang-format off */     /* tables and small structs, a line each */
#else

#define GPU_CODE static __device__ __forceinline__

/* Clusters, distributed shared memory and barriers that count bytes need sm_90; code that uses them is inside
 * #if GPU_CLUSTERS. */
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900
#define GPU_CLUSTERS 1
#else
#define GPU_CLUSTERS 0
#endif

/* A kernel has one argument, a plain struct named `a`, and is found by name. threads: maximum of a block; blocks:
 * minimum that should fit into a multiprocessor. KERNEL(name, type) { ... } has up to 256 threads. */
#define KERNEL_BOUNDS(name, type, threads, blocks) \
    extern "C" __global__ void __launch_bounds__(threads, blocks) name(const __grid_constant__ type a)
#define KERNEL(name, type) KERNEL_BOUNDS(name, type, 256, 1)

/* Shared memory: `type name[count]` of the block, and the amount that the launch requested. Neither is cleared. */
#define SHARED(type, name, count) __shared__ type name[count]

/* Aligned to 128 bytes. */
GPU_CODE unsigned char *dynamic_shared(void)
{
    extern __shared__ __align__(128) unsigned char gpu_dynamic_shared[];
    return gpu_dynamic_shared;
}

/* ---- narrow types ------------------------------------------------------------------------ */

/* bf16 and fp16 as bits; rounded to nearest even, NaN to 0x7fff. In a pair the first is the low half. */
GPU_CODE uint16_t to_bf16(float a) { uint16_t r; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(a)); return r; }
GPU_CODE uint16_t to_fp16(float a) { uint16_t r; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(a)); return r; }

GPU_CODE uint32_t pack_bf16(float low, float high)
{
    uint32_t r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
}

GPU_CODE uint32_t pack_fp16(float low, float high)
{
    uint32_t r;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
}

/* Rounds an operand of mma_tf32: 10 bits of mantissa, to nearest, ties away from zero. */
GPU_CODE uint32_t to_tf32(float a) { uint32_t r; asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(a)); return r; }

/* 2^a and 1 / a by the special function unit: relative error about 2^-22; subnormals are flushed to zero. */
GPU_CODE float exp2_approximate(float a) { float r; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a)); return r; }
GPU_CODE float inverse_approximate(float a) { float r; asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a)); return r; }

/* ---- matrix products of a warp ----------------------------------------------------------- */

/* All 32 lanes call these together. With g = lane / 4 and i = lane % 4, the registers of a fragment contain, in
 * order (the first of two halves is the low half):
 *   A 16x16:  (g, 2i..2i+1) (g+8, 2i..) (g, 2i+8..) (g+8, 2i+8..)     A 16x8, tf32:  (g, i) (g+8, i) (g, i+4) (g+8, i+4)
 *   B 16x8:   (2i..2i+1, g) (2i+8..2i+9, g)                           B 8x8, tf32:   (i, g) (i+4, g)
 *   C 16x8:   (g, 2i) (g, 2i+1) (g+8, 2i) (g+8, 2i+1) */
#define GPU_MMA_16816(name, kind)                                                                             \
    GPU_CODE void name(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)                       \
    {                                                                                                         \
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." kind "." kind ".f32 "                           \
                     "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                                  \
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                         \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                         \
    }
GPU_MMA_16816(mma_bf16, "bf16")
GPU_MMA_16816(mma_fp16, "f16")

GPU_CODE void mma_tf32(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* ---- packets in global memory, for which other blocks wait ------------------------------- */

/* A packet is 16 aligned bytes, loaded and stored as one. It is empty while all bits of the first word are 1, a
 * value that to_.. and pack_.. never return. Loads and stores go to L2 and do not order other memory accesses. */
GPU_CODE uint4 load_packet(const void *p)
{
    uint64_t low, high;
    asm volatile("{ .reg .b128 q;\n"
                 "  ld.relaxed.gpu.global.b128 q, [%2];\n"
                 "  mov.b128 {%0, %1}, q; }" : "=l"(low), "=l"(high) : "l"(p) : "memory");
    return make_uint4((uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32));
}
GPU_CODE void store_packet(void *p, uint4 v)
{
    asm volatile("{ .reg .b128 q;\n"
                 "  mov.b128 q, {%1, %2};\n"
                 "  st.relaxed.gpu.global.b128 [%0], q; }"
                 :: "l"(p), "l"((uint64_t)v.y << 32 | v.x), "l"((uint64_t)v.w << 32 | v.z) : "memory");
}
GPU_CODE bool is_empty(const uint4 &packet) { return packet.x == ~0u; }

/* Loads packets at `at + i / N * STEP + i % N * tile` for each i of the mask; the others are zeros. Issues all loads at
 * once and does not wait. */
template <int N, int STEP, int COUNT>
GPU_CODE void request_packets(uint4 (&v)[COUNT], const unsigned char *at, uint32_t tile, uint32_t wanted)
{
#pragma unroll
    for (int i = 0; i < COUNT; i++) v[i] = make_uint4(0, 0, 0, 0);
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        if (wanted >> i & 1)
            v[i] = load_packet(at + i / N * STEP + i % N * tile);
}
/* Called between two unsuccessful loads of packets. The test runtime runs other threads here. */
GPU_CODE void poll_again(void) {}

/* ---- the end of a wait ------------------------------------------------------------------- */

/* Time in units of 2^20 ns, about a millisecond. */
GPU_CODE uint32_t milliseconds(void)
{
    uint64_t t;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
    return (uint32_t)(t >> 20);
}
/* Ends the launch with an error. The host finds everything that this thread wrote to its memory. */
[[noreturn]] GPU_CODE void stop_kernel(void)
{
    asm volatile("fence.sc.sys;\n  trap;" ::: "memory");
    __builtin_unreachable();
}

/* Orders this thread's writes before the fence ahead of its writes after it, for the whole GPU. */
GPU_CODE void fence_gpu(void) { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

/* Keeps a value in its register: the compiler must not recompute it. */
GPU_CODE uint32_t kept(uint32_t a) { asm("" : "+r"(a)); return a; }
/* Hides a value from the compiler, so that nothing derived from it is computed ahead of a loop and occupies
 * registers there. */
GPU_CODE uint32_t made_here(uint32_t a) { asm volatile("" : "+r"(a)); return a; }

/* Marks for the clocks of the test runtime (fake_cuda/clock.h). On a GPU they cost nothing, unless the image is
 * compiled with -DGPU_CLOCKS: then the first thread of two blocks prints the mean cycles of each part of a round. */
enum clock_part { CLOCK_SETUP, CLOCK_WAIT, CLOCK_PRODUCT, CLOCK_SUMS, CLOCK_CELL, CLOCK_SEND, CLOCK_AFTER, CLOCK_PARTS };
#ifdef GPU_CLOCKS
struct clock_marks {
    uint32_t at[CLOCK_PARTS], sum[CLOCK_PARTS], rounds;
};
static __shared__ struct clock_marks gpu_clock;
GPU_CODE void clock_part(enum clock_part part)
{
    if (threadIdx.x != 0)
        return;
    const uint32_t now = (uint32_t)clock();
    if (part == CLOCK_SETUP)
        gpu_clock = {};
    else if (part == CLOCK_WAIT && gpu_clock.rounds++ > 0) {
        for (int i = CLOCK_WAIT; i < CLOCK_AFTER; i++) gpu_clock.sum[i] += gpu_clock.at[i + 1] - gpu_clock.at[i];
        gpu_clock.sum[CLOCK_AFTER] += now - gpu_clock.at[CLOCK_AFTER];
    } else if (part == CLOCK_WAIT)
        gpu_clock.sum[CLOCK_SETUP] = now - gpu_clock.at[CLOCK_SETUP];
    gpu_clock.at[part] = now;
}
static __device__ __noinline__ void clock_print(const char *name, uint32_t units, uint32_t members, uint32_t groups, uint32_t chunks)
{
    const uint32_t n = gpu_clock.rounds > 1 ? gpu_clock.rounds - 1 : 1, *sum = gpu_clock.sum;
    if (threadIdx.x == 0 && (blockIdx.x == 0 || blockIdx.x == gridDim.x - 1))
        printf("%s: block %u, %u units, %u members, %u groups, %u chunks, %u rounds: setup %u, wait %u, product %u, sums %u, cell %u, "
               "send %u, after %u\n",
               name, blockIdx.x, units, members, groups, chunks, n, sum[CLOCK_SETUP], sum[CLOCK_WAIT] / n, sum[CLOCK_PRODUCT] / n,
               sum[CLOCK_SUMS] / n, sum[CLOCK_CELL] / n, sum[CLOCK_SEND] / n, sum[CLOCK_AFTER] / n);
}
#else
GPU_CODE void clock_part(enum clock_part) {}
#define clock_print(...) (void)0
#endif
GPU_CODE void clock_instructions(unsigned) {}
GPU_CODE void clock_shared(unsigned, unsigned) {}
GPU_CODE void clock_loads(unsigned = 0) {}
GPU_CODE void clock_loaded(unsigned = 0) {}
template <int N, int STEP, int COUNT> GPU_CODE void clock_packets(const unsigned char *, uint32_t, uint32_t) {}

#if GPU_CLUSTERS
/* ---- clusters ---------------------------------------------------------------------------- */

/* All threads of all blocks call these. Needed before the first access to another block's memory, and before any
 * block ends. */
GPU_CODE void cluster_arrive(void) { asm volatile("barrier.cluster.arrive.release;" ::: "memory"); }
GPU_CODE void cluster_wait(void)   { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }
GPU_CODE void cluster_sync(void)   { cluster_arrive(); cluster_wait(); }

/* An address in the shared memory of any block of the cluster. */
typedef uint32_t shared_address;
GPU_CODE shared_address shared_at(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

/* Returns the same address in the block of that rank. */
GPU_CODE shared_address cluster_map(shared_address at, unsigned rank)
{
    shared_address r;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(at), "r"(rank));
    return r;
}

/* ---- barriers in shared memory ----------------------------------------------------------- */

/* A phase ends after `count` arrivals and all bytes that they expected. Its parity is 0, then 1, then 0..: a wait
 * for parity p returns when the phase of that parity has ended, so the first wait is for 0. A thread that waited for
 * a phase reads the data that arrived with it. */
typedef uint64_t mbarrier;

GPU_CODE void mbarrier_init(mbarrier *b, unsigned count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared_at(b)), "r"(count) : "memory");
}
/* Call after the inits, before the cluster_sync that publishes the barriers. */
GPU_CODE void mbarrier_init_fence(void) { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

/* Arrives and expects `bytes` more bytes in this phase. */
GPU_CODE void mbarrier_arrive_expect(mbarrier *b, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;"
                 :: "r"(shared_at(b)), "r"(bytes) : "memory");
}
/* Waits for the end of the phase of that parity, for a limited time; returns whether it has ended. */
GPU_CODE bool mbarrier_try_wait(mbarrier *b, unsigned parity)
{
    uint32_t done;
    asm volatile("{ .reg .pred p;\n"
                 "  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
                 "  selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(shared_at(b)), "r"(parity) : "memory");
    return done;
}
/* Stores into a block of the cluster, aligned to the size; each counts its bytes at barrier `b` of the same block. */
GPU_CODE void store_async(shared_address to, uint32_t v, shared_address b)
{
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
                 :: "r"(to), "r"(v), "r"(b) : "memory");
}
GPU_CODE void store_async(shared_address to, uint2 v, shared_address b)
{
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1,%2}, [%3];"
                 :: "r"(to), "r"(v.x), "r"(v.y), "r"(b) : "memory");
}
GPU_CODE void store_async(shared_address to, uint4 v, shared_address b)
{
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1,%2,%3,%4}, [%5];"
                 :: "r"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w), "r"(b) : "memory");
}
#endif
#endif
#endif

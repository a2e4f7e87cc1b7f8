/* Measures the numbers of extensions/cuda/kernels/cycles.h, in cycles of a multiprocessor: loads from L2 and shared
 * memory, the latency from a store to another multiprocessor's load, barriers, fences, stores between the blocks of
 * a cluster, the products of a warp, and bytes per cycle from L2. Standalone: links only the CUDA runtime. Prints
 * one line per number. Every wait ends after LIMIT tries, which its line then reports. */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

enum { LIMIT = 1 << 22, ROUNDS = 2000 };
#define DEVICE static __device__ __forceinline__

static void check(cudaError_t e, const char *what)
{
    if (e == cudaSuccess)
        return;
    printf("%s: FAILED: %s\n", what, cudaGetErrorString(e));
    exit(1);
}

DEVICE uint4 load_packet(const void *p)
{
    uint64_t low, high;
    asm volatile("{ .reg .b128 q; ld.relaxed.gpu.global.b128 q, [%2]; mov.b128 {%0, %1}, q; }"
                 : "=l"(low), "=l"(high) : "l"(p) : "memory");
    return make_uint4((uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32));
}
DEVICE void store_packet(void *p, uint4 v)
{
    asm volatile("{ .reg .b128 q; mov.b128 q, {%1, %2}; st.relaxed.gpu.global.b128 [%0], q; }" ::"l"(p),
                 "l"((uint64_t)v.y << 32 | v.x), "l"((uint64_t)v.w << 32 | v.z) : "memory");
}
DEVICE uint32_t shared_at(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

/* ---- one thread: latencies ----------------------------------------------------------------- */

__global__ void l2_latency(const uint32_t *at, uint32_t count, uint32_t *cycles)
{
    for (uint32_t i = 0; i < count; i++) {
        const long long begin = clock64();
        uint32_t v;
        asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(at + i * 32) : "memory");
        asm volatile("" :: "r"(v + 1) : "memory");
        const long long end = clock64() + (v & 1);
        cycles[i] = (uint32_t)(end - begin);
    }
}

enum { SHARED_LOAD, BARRIER, FENCE, FENCE_AFTER_STORE, MMA_BF16, MMA_TF32, EX2, RCP, FMA, CLOCK, ONES };
static const char *const ones[] = {"shared load", "__syncthreads of 8 warps", "fence.gpu", "fence.gpu after a store",
                                   "mma bf16, chain", "mma tf32, chain", "ex2.approx", "rcp.approx", "fma", "clock64"};

DEVICE void mma(float (&c)[4], uint32_t a, bool tf32)
{
    if (tf32)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%4,%4}, {%0,%1,%2,%3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a));
    else
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%4,%4}, {%0,%1,%2,%3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a));
}

template <int WHAT> __global__ void latency(float *out, uint32_t *cycles, uint32_t seed)
{
    enum { N = 256 };
    __shared__ uint32_t next[N];
    for (uint32_t i = threadIdx.x; i < N; i += blockDim.x) next[i] = (i + 1) % N;
    __syncthreads();
    float x = 1.5f + (float)seed, c[4] = {0, 0, 0, 0};
    uint32_t at = seed;
    const long long begin = clock64();
#pragma unroll 16
    for (int i = 0; i < N; i++) {
        if (WHAT == SHARED_LOAD) at = next[at];
        if (WHAT == BARRIER) __syncthreads();
        if (WHAT == FENCE_AFTER_STORE) store_packet(out + 1024 + threadIdx.x * 4, make_uint4(i, i, i, i));
        if (WHAT == FENCE || WHAT == FENCE_AFTER_STORE) asm volatile("fence.acq_rel.gpu;" ::: "memory");
        if (WHAT == MMA_BF16) mma(c, seed, false);
        if (WHAT == MMA_TF32) mma(c, seed, true);
        if (WHAT == EX2) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x));
        if (WHAT == RCP) asm volatile("rcp.approx.ftz.f32 %0, %0;" : "+f"(x));
        if (WHAT == FMA) asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(x));
        if (WHAT == CLOCK) at += (uint32_t)clock64() & 1;
    }
    const long long end = clock64();
    out[threadIdx.x] = x + c[0] + (float)at;
    if (threadIdx.x == 0)
        cycles[0] = (uint32_t)((end - begin) / N);
}

/* ---- a whole block: products at full rate ------------------------------------------------- */

template <bool TF32, int CHAINS> __global__ void mma_rate(float *out, uint32_t *cycles, uint32_t seed)
{
    float c[CHAINS][4] = {};
    __syncthreads();
    const long long begin = clock64();
    for (int i = 0; i < 512; i++)
#pragma unroll
        for (int j = 0; j < CHAINS; j++) mma(c[j], seed, TF32);
    __syncthreads();
    const long long end = clock64();
    for (int j = 0; j < CHAINS; j++) out[threadIdx.x] += c[j][0];
    if (threadIdx.x == 0 && blockIdx.x == 0)
        cycles[0] = (uint32_t)(end - begin);
}

/* ---- two blocks over L2 -------------------------------------------------------------------- */

/* Blocks 0 and `other` send one packet back and forth. Each round has its own location. */
__global__ void l2_ping(unsigned char *at, uint32_t other, uint32_t *cycles)
{
    if (threadIdx.x != 0 || (blockIdx.x != 0 && blockIdx.x != other))
        return;
    const bool first = blockIdx.x == 0;
    long long begin = 0;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        if (i == 100)
            begin = clock64();
        unsigned char *mine = at + (size_t)(2 * i + !first) * 128, *theirs = at + (size_t)(2 * i + first) * 128;
        if (first)
            store_packet(mine, make_uint4(i, i, i, i));
        uint32_t tries = 0;
        while (load_packet(theirs).x == ~0u)
            if (++tries > LIMIT) {
                cycles[0] = 0;
                return;
            }
        if (!first)
            store_packet(mine, make_uint4(i, i, i, i));
    }
    if (first)
        cycles[0] = (uint32_t)((clock64() - begin) / (2 * (ROUNDS - 100)));
}

/* In each round every block sends `bytes` of its own and reads the bytes of all. Measures only the exchange. */
__global__ void l2_exchange(unsigned char *at, uint32_t bytes, uint32_t rounds, uint32_t *cycles)
{
    const uint32_t all = bytes * gridDim.x;
    long long begin = 0;
    for (uint32_t i = 0; i < rounds; i++) {
        if (i == 8)
            begin = clock64();
        unsigned char *operand = at + (size_t)i * all;
        for (uint32_t k = threadIdx.x * 16; k < bytes; k += blockDim.x * 16)
            store_packet(operand + blockIdx.x * bytes + k, make_uint4(i, i, i, i));
        for (uint32_t k = threadIdx.x * 16; k < all; k += blockDim.x * 16 * 8) {
            uint4 v[8];
            uint32_t tries = 0;
            bool empty = true;
#pragma unroll
            for (int j = 0; j < 8; j++) v[j] = make_uint4(k + j * blockDim.x * 16 < all ? ~0u : 0, 0, 0, 0);
            while (empty) {
                empty = false;
#pragma unroll
                for (int j = 0; j < 8; j++)
                    if (v[j].x == ~0u)
                        v[j] = load_packet(operand + k + j * blockDim.x * 16);
#pragma unroll
                for (int j = 0; j < 8; j++) empty |= v[j].x == ~0u;
                if (++tries > LIMIT) {
                    cycles[0] = 0;
                    return;
                }
            }
        }
        __syncthreads();
    }
    if (threadIdx.x == 0 && blockIdx.x == 0)
        cycles[0] = (uint32_t)((clock64() - begin) / (rounds - 8));
}

/* Measures the bytes per cycle from L2 when all multiprocessors read the whole of `bytes`, with 8 loads in flight. */
__global__ void l2_rate(const unsigned char *at, uint32_t bytes, int repeat, uint32_t *out, uint32_t *cycles)
{
    uint32_t sum = 0;
    __syncthreads();
    const long long begin = clock64();
    for (int r = 0; r < repeat; r++)
        for (uint32_t k = threadIdx.x * 16; k < bytes; k += blockDim.x * 16 * 8) {
            uint4 v[8];
#pragma unroll
            for (int i = 0; i < 8; i++) v[i] = load_packet(at + (k + i * blockDim.x * 16) % bytes);
#pragma unroll
            for (int i = 0; i < 8; i++) sum += v[i].x;
        }
    __syncthreads();
    const long long end = clock64();
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
    if (threadIdx.x == 0)
        cycles[blockIdx.x] = (uint32_t)(end - begin);
}

/* ---- a cluster ----------------------------------------------------------------------------- */

/* Block 0 and the last block of a cluster send 16 bytes back and forth with st.async. */
__global__ void cluster_ping(uint32_t last, uint32_t *cycles)
{
    __shared__ __align__(16) uint64_t place[2];
    __shared__ uint64_t barrier;
    uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; fence.mbarrier_init.release.cluster;" ::"r"(shared_at(&barrier)));
    asm volatile("barrier.cluster.arrive.release; barrier.cluster.wait.acquire;" ::: "memory");
    if (threadIdx.x == 0 && (rank == 0 || rank == last)) {
        uint32_t to, signal;
        const uint32_t other = rank ? 0 : last;
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(shared_at(place)), "r"(other));
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(signal) : "r"(shared_at(&barrier)), "r"(other));
        const long long begin = clock64();
        bool lost = false;
        for (uint32_t i = 0; i < ROUNDS && !lost; i++) {
            asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], 16;" ::"r"(shared_at(&barrier)) : "memory");
            if (rank == 0)
                asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1,%1,%1,%1}, [%2];" ::"r"(to), "r"(i), "r"(signal) : "memory");
            uint32_t done = 0, tries = 0;
            while (!done && !lost) {
                asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                             : "=r"(done) : "r"(shared_at(&barrier)), "r"(i % 2) : "memory");
                lost = ++tries > LIMIT;
            }
            if (rank)
                asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1,%1,%1,%1}, [%2];" ::"r"(to), "r"(i), "r"(signal) : "memory");
        }
        if (rank == 0)
            cycles[0] = lost ? 0 : (uint32_t)((clock64() - begin) / (2 * ROUNDS));
    }
    asm volatile("barrier.cluster.arrive.release; barrier.cluster.wait.acquire;" ::: "memory");
}

/* ---- the program --------------------------------------------------------------------------- */

static uint32_t *cycles_of_device;
static unsigned char *memory;
enum { MEMORY = 512 << 20 };

static uint32_t first(void)
{
    uint32_t c;
    check(cudaDeviceSynchronize(), "running");
    check(cudaMemcpy(&c, cycles_of_device, sizeof c, cudaMemcpyDeviceToHost), "reading");
    return c;
}

static void print_l2(int processors)
{
    enum { N = 4096 };
    std::vector<uint32_t> c(N);
    check(cudaMemset(memory, 0, N * 128), "clearing");
    for (int i = 0; i < 2; i++) l2_latency<<<1, 1>>>((const uint32_t *)memory, N, cycles_of_device);
    check(cudaDeviceSynchronize(), "l2_latency");
    check(cudaMemcpy(c.data(), cycles_of_device, N * 4, cudaMemcpyDeviceToHost), "reading");
    std::sort(c.begin(), c.end());
    printf("L2 load: %u least, %u a quarter, %u median, %u three quarters, %u of 99%%\n", c[0], c[N / 4], c[N / 2],
           c[N * 3 / 4], c[N * 99 / 100]);
    std::vector<uint32_t> way;
    for (int other = 1; other < processors; other += 7) {
        check(cudaMemset(memory, 0xff, ROUNDS * 256), "emptying");
        l2_ping<<<processors, 32, 160 << 10>>>(memory, (uint32_t)other, cycles_of_device);
        way.push_back(first());
    }
    std::sort(way.begin(), way.end());
    printf("store to another's load, over L2: %u least, %u median, %u most (0: not within the limit)\n", way[0],
           way[way.size() / 2], way.back());
    for (uint32_t bytes = 128; bytes <= 1024; bytes *= 2)
        for (int blocks = processors / 4; blocks <= processors; blocks *= 2) {
            enum { EXCHANGES = 64 };
            check(cudaMemset(memory, 0xff, (size_t)EXCHANGES * bytes * blocks), "emptying");
            void *args[4];
            uint32_t rounds = EXCHANGES;
            args[0] = &memory, args[1] = &bytes, args[2] = &rounds, args[3] = &cycles_of_device;
            check(cudaLaunchCooperativeKernel((void *)l2_exchange, dim3((unsigned)blocks), dim3(256), args, 160 << 10, 0), "exchange");
            printf("exchange of %u bytes a block among %d blocks: %u cycles a round\n", bytes, blocks, first());
        }
    for (uint32_t bytes = 32 << 10; bytes <= 4u << 20; bytes *= 4) {
        const int repeat = (int)((8u << 20) / bytes);
        for (int i = 0; i < 2; i++)
            l2_rate<<<processors, 256>>>(memory, bytes, repeat, (uint32_t *)(memory + (64 << 20)), cycles_of_device);
        check(cudaDeviceSynchronize(), "l2_rate");
        std::vector<uint32_t> all((size_t)processors);
        check(cudaMemcpy(all.data(), cycles_of_device, all.size() * 4, cudaMemcpyDeviceToHost), "reading");
        printf("L2 reads of the same %u kB by all: %.0f bytes a cycle, %.1f each\n", bytes >> 10,
               (double)bytes * repeat * processors / *std::max_element(all.begin(), all.end()),
               (double)bytes * repeat / *std::max_element(all.begin(), all.end()));
    }
}

template <bool TF32, int CHAINS> static void print_mma(int warps)
{
    mma_rate<TF32, CHAINS><<<1, 32 * warps>>>((float *)memory, cycles_of_device, 0);
    printf("mma %s, %d warps, %d chains: %.2f cycles each of a multiprocessor\n", TF32 ? "tf32" : "bf16", warps, CHAINS,
           (double)first() / (512.0 * CHAINS * warps));
}

template <int WHAT> static void print_latency(int warps)
{
    for (int i = 0; i < 2; i++) latency<WHAT><<<1, 32 * warps>>>((float *)memory, cycles_of_device, 0);
    printf("%s, %d warps: %u\n", ones[WHAT], warps, first());
}

__global__ void trapped(void) { asm volatile("trap;"); }

static void print_cluster(int size, int attributes)
{
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute[1];
    config.gridDim = dim3((unsigned)size), config.blockDim = dim3(256), config.attrs = attribute, config.numAttrs = (unsigned)attributes;
    attribute[0].id = cudaLaunchAttributeClusterDimension;
    attribute[0].val.clusterDim.x = (unsigned)size, attribute[0].val.clusterDim.y = attribute[0].val.clusterDim.z = 1;
    check(cudaFuncSetAttribute(cluster_ping, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), "cluster");
    check(cudaLaunchKernelEx(&config, cluster_ping, (uint32_t)size - 1, cycles_of_device), "cluster");
    printf("store to another's wait, in a cluster of %d%s: %u\n", size, attributes ? "" : " without the attribute", first());
}

int main(int count, char **)
{
    cudaDeviceProp p;
    check(cudaGetDeviceProperties(&p, 0), "looking for a GPU");
    check(cudaMalloc(&cycles_of_device, 1 << 20), "memory");
    check(cudaMalloc(&memory, MEMORY), "memory");
    check(cudaMemset(memory, 0, MEMORY), "memory");
    check(cudaFuncSetAttribute(l2_ping, cudaFuncAttributeMaxDynamicSharedMemorySize, 160 << 10), "shared memory");
    check(cudaFuncSetAttribute(l2_exchange, cudaFuncAttributeMaxDynamicSharedMemorySize, 160 << 10), "shared memory");
    printf("%s, %d multiprocessors\n", p.name, p.multiProcessorCount);
    if (count == 2)
        print_cluster(1, 1);
    if (count == 3)
        print_cluster(1, 0);
    if (count == 4) {
        trapped<<<1, 1>>>();
        first();
    }
    if (count > 1)
        return 0;
    for (int warps = 1; warps <= 8; warps *= 8) {
        print_latency<SHARED_LOAD>(warps), print_latency<BARRIER>(warps), print_latency<FENCE>(warps);
        print_latency<FENCE_AFTER_STORE>(warps), print_latency<MMA_BF16>(warps), print_latency<MMA_TF32>(warps);
        print_latency<EX2>(warps), print_latency<RCP>(warps), print_latency<FMA>(warps), print_latency<CLOCK>(warps);
    }
    print_mma<false, 4>(8);
    print_mma<false, 8>(8);
    print_mma<false, 4>(4);
    print_mma<true, 4>(8);
    print_mma<true, 8>(8);
    for (int size = 2; size <= 16; size *= 2) print_cluster(size, 1);
    fflush(stdout);
    print_l2(p.multiProcessorCount);
    return 0;
}

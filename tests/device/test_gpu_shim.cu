/* The shim that runs kernels on the host: its primitives follow the specification of PTX, and it detects errors: a
 * missing barrier or wait, a deadlock, a wrong address. Compiled by g++, also for ThreadSanitizer. */
/* test: kinds=plain,long-thread; if=g++ */
#include "extensions/cuda/kernels/gpu.cuh"
#include "check.h"
#include "fake_cuda/fibre.h"
#include <string>
#include <sys/wait.h>
#include <vector>

static const int SEEDS = under_tsan() ? 6 : 24;

static std::string run_kernel(const char *name, const void *args, struct fake_index grid, struct fake_index block,
                              size_t shared = 0, unsigned cluster = 1, bool cooperative = false)
{
    struct fake_launch l = {grid, block, {cluster, 1, 1}, cooperative, true, shared, args};
    const char *error = fake_run(fake_kernel_find(name), &l);
    return error ? error : "";
}

static void expect(const char *what, const std::string &error, const char *words)
{
    CHECK(error.find(words) != std::string::npos, "%s: \"%s\" does not say \"%s\"", what, error.c_str(), words);
}

/* ---- a sum over a block, with and without its barriers ------------------------------------ */

struct sum_args {
    const float *x;
    float *sum;
    int leave_out;
};

KERNEL(test_sum, struct sum_args)
{
    SHARED(float, part, 256);
    unsigned i = threadIdx.x;
    part[i] = a.x[blockIdx.x * blockDim.x + i];
    for (unsigned half = blockDim.x / 2; half; half /= 2) {
        if (a.leave_out != 1)
            __syncthreads();
        float other = i < half ? part[i + half] : 0;
        if (a.leave_out != 2)
            __syncthreads();
        if (i < half)
            part[i] += other;
    }
    if (i == 0)
        a.sum[blockIdx.x] = part[0];
}

/* Counts the runs of SEEDS with right sums. */
static int right_sums(int leave_out)
{
    std::vector<float> x(3 * 64);
    for (size_t i = 0; i < x.size(); i++) x[i] = (float)(i % 17);
    int right = 0;
    for (int seed = 0; seed < SEEDS; seed++) {
        float sum[3] = {0, 0, 0}, wanted[3] = {0, 0, 0};
        struct sum_args args = {x.data(), sum, leave_out};
        fake_seed((uint64_t)seed);
        std::string error = run_kernel("test_sum", &args, {3, 1, 1}, {64, 1, 1});
        for (size_t i = 0; i < x.size(); i++) wanted[i / 64] += x[i];
        right += error.empty() && memcmp(sum, wanted, sizeof sum) == 0;
    }
    return right;
}

static void check_barriers(void)
{
    CHECK(right_sums(0) == SEEDS, "a sum with all its barriers is wrong");
    if (!under_tsan())
        CHECK(right_sums(1) < SEEDS / 4, "a missing barrier after a store is not found");
}

/* ---- warps ------------------------------------------------------------------------------- */

struct warp_args {
    float *out;
};

KERNEL(test_warp, struct warp_args)
{
    float v = (float)threadIdx.x, *out = a.out + threadIdx.x * 6;
    out[0] = __shfl_xor_sync(~0u, v, 5);
    out[1] = __shfl_down_sync(~0u, v, 3);
    out[2] = __shfl_up_sync(~0u, v, 2, 8);
    out[3] = __shfl_sync(~0u, v, 9, 4);
    out[4] = (float)__popc(__ballot_sync(~0u, threadIdx.x % 3 == 0));
    out[5] = threadIdx.x % 32 < 8 ? (float)__shfl_xor_sync(0xff, (int)v, 1) : 0;
}

static void check_warps(void)
{
    for (int seed = 0; seed < SEEDS; seed++) {
        std::vector<float> out(64 * 6);
        struct warp_args args = {out.data()};
        fake_seed((uint64_t)seed);
        std::string error = run_kernel("test_warp", &args, {1, 1, 1}, {64, 1, 1});
        int wrong = 0;
        for (int t = 0; t < 64; t++) {
            int l = t % 32, w = t - l, third = 0;
            for (int i = 0; i < 32; i++) third += (w + i) % 3 == 0;
            const float wanted[6] = {(float)(w + (l ^ 5)),
                                     (float)(l + 3 < 32 ? t + 3 : t),
                                     (float)(l % 8 >= 2 ? t - 2 : t),
                                     (float)(t / 4 * 4 + 1),
                                     (float)third,
                                     l < 8 ? (float)(t ^ 1) : 0};
            wrong += memcmp(wanted, &out[(size_t)t * 6], sizeof wanted) != 0;
        }
        CHECK(error.empty() && !wrong, "seed %d: %d lanes have wrong shuffles; %s", seed, wrong, error.c_str());
    }
}

/* ---- matrix products ---------------------------------------------------------------------- */

/* c [16, 8] = a [16, k] b [k, 8]; a and b are loaded by load_matrix from halves in shared memory, tf32 by hand. */
struct mma_args {
    const float *a, *b;
    float *c;
    int kind;
};
enum { BF16, FP16, TF32 };

GPU_CODE uint16_t narrow(float v, int kind) { return kind == BF16 ? to_bf16(v) : to_fp16(v); }

GPU_CODE void mma_halves(const struct mma_args &p, float (&c)[4])
{
    uint16_t *a = (uint16_t *)dynamic_shared(), *b = a + 16 * 24; /* rows of 24 halves */
    unsigned l = threadIdx.x;
    for (unsigned i = l; i < 16 * 16; i += 32) a[i / 16 * 24 + i % 16] = narrow(p.a[i], p.kind);
    for (unsigned i = l; i < 16 * 8; i += 32) b[i / 8 * 24 + i % 8] = narrow(p.b[i], p.kind);
    __syncwarp();
    uint32_t fa[4], fb[2];
    load_matrix_4(fa, a + l % 16 * 24 + l / 16 * 8);
    load_matrix_2_transposed(fb, b + l % 16 * 24);
    if (p.kind == BF16)
        mma_bf16(c, fa, fb[0], fb[1]);
    else
        mma_fp16(c, fa, fb[0], fb[1]);
}

KERNEL(test_mma, struct mma_args)
{
    unsigned l = threadIdx.x, g = l / 4, i = l % 4;
    float c[4] = {0, 0, 0, 0};
    if (a.kind == TF32) {
        uint32_t fa[4];
        for (unsigned r = 0; r < 4; r++) fa[r] = to_tf32(a.a[(g + r % 2 * 8) * 8 + i + r / 2 * 4]);
        mma_tf32(c, fa, to_tf32(a.b[i * 8 + g]), to_tf32(a.b[(i + 4) * 8 + g]));
    } else {
        mma_halves(a, c);
    }
    for (unsigned r = 0; r < 4; r++) a.c[(g + r / 2 * 8) * 8 + 2 * i + r % 2] = c[r];
}

static void check_mma(int kind, int k)
{
    std::vector<float> a((size_t)(16 * k)), b((size_t)(k * 8)), c(16 * 8);
    for (int i = 0; i < 16 * k; i++) a[(size_t)i] = (float)((i * 37 + 11) % 64 - 32) / 16;
    for (int i = 0; i < k * 8; i++) b[(size_t)i] = (float)((i * 29 + 5) % 64 - 32) / 8;
    for (int seed = 0; seed < 6; seed++) {
        struct mma_args args = {a.data(), b.data(), c.data(), kind};
        fake_seed((uint64_t)seed);
        std::string error = run_kernel("test_mma", &args, {1, 1, 1}, {32, 1, 1}, 2 * 32 * 24);
        int wrong = 0;
        for (int m = 0; m < 16; m++)
            for (int n = 0; n < 8; n++) {
                float sum = 0;
                for (int i = 0; i < k; i++) sum += a[(size_t)(m * k + i)] * b[(size_t)(i * 8 + n)];
                wrong += c[(size_t)(m * 8 + n)] != sum;
            }
        CHECK(error.empty() && !wrong, "kind %d, seed %d: %d of a product's 128 numbers are wrong; %s", kind, seed,
              wrong, error.c_str());
    }
}

/* ---- clusters: values go around a ring ------------------------------------------------------ */

struct ring_args {
    float *out;
    int steps;
    int fault;
};
enum { NO_WAIT = 1, NO_SYNC, EARLY_END, FEW_BYTES, BULK };

/* In each step a block adds its rank to what its left neighbor sent and passes it on: 64 floats in two buffers. */
KERNEL(test_ring, struct ring_args)
{
    float *h = (float *)dynamic_shared(); /* [3][64]: received by parity, made */
    mbarrier *full = (mbarrier *)(h + 192), *taken = full + 2;
    unsigned t = threadIdx.x, right = (cluster_rank() + 1) % cluster_size();
    unsigned left = (cluster_rank() + cluster_size() - 1) % cluster_size();
    if (t < 2) {
        mbarrier_init(&full[t], 1);
        mbarrier_init(&taken[t], 64);
        mbarrier_init_fence();
    }
    if (a.fault != NO_SYNC)
        cluster_sync();
    float v = (float)t;
    for (int step = 0; step < a.steps; step++) {
        int slot = step & 1, phase = step >> 1 & 1;
        if (t == 0)
            mbarrier_arrive_expect(&full[slot], a.fault == FEW_BYTES ? 128 : 256);
        if (step >= 2)
            mbarrier_wait(&taken[slot], !phase); /* the right neighbor has read the slot */
        h[128 + t] = v + cluster_rank();
        copy_bulk_fence();
        __syncthreads();
        shared_address to = cluster_map(shared_at(h + 64 * slot), right),
                       b = cluster_map(shared_at(&full[slot]), right);
        if (a.fault == BULK && t == 0)
            copy_bulk_to_cluster(to, h + 128, 256, b);
        if (a.fault != BULK && t < 16)
            store_async(to + 16 * t, ((const uint4 *)(h + 128))[t], b);
        if (a.fault != NO_WAIT)
            mbarrier_wait(&full[slot], phase);
        v = h[64 * slot + t];
        mbarrier_arrive_remote(cluster_map(shared_at(&taken[slot]), left));
        if (a.fault == BULK)
            cluster_sync();
        __syncthreads();
    }
    a.out[cluster_rank() * 64 + t] = v;
    if (a.fault != EARLY_END)
        cluster_sync();
}

static std::string ring(int fault, int seed, int *wrong)
{
    enum { BLOCKS = 4, STEPS = 9 };
    std::vector<float> out(BLOCKS * 64);
    struct ring_args args = {out.data(), STEPS, fault};
    fake_seed((uint64_t)seed);
    std::string error = run_kernel("test_ring", &args, {BLOCKS, 1, 1}, {64, 1, 1}, 192 * 4 + 32, BLOCKS);
    for (int b = 0; b < BLOCKS; b++)
        for (int t = 0; t < 64; t++) {
            float v = (float)t;
            for (int s = 1; s <= STEPS; s++) v += (float)((b - s + 3 * BLOCKS) % BLOCKS);
            *wrong += out[(size_t)(b * 64 + t)] != v;
        }
    return error;
}

/* Counts the runs with that fault that failed with these words or, without words, gave wrong values. */
static int found(int fault, const char *words)
{
    int hits = 0;
    for (int seed = 0; seed < SEEDS; seed++) {
        int wrong = 0;
        std::string error = ring(fault, seed, &wrong);
        hits += words ? error.find(words) != std::string::npos : !error.empty() || wrong;
    }
    return hits;
}

static void check_clusters(void)
{
    CHECK(found(0, NULL) == 0, "a ring that is right goes wrong with some order");
    CHECK(found(BULK, NULL) == 0, "a ring of bulk copies goes wrong with some order");
    CHECK(found(NO_SYNC, "before a cluster_sync") == SEEDS, "a cluster_sync left out at the start is not found");
    if (under_tsan())
        return;
    CHECK(found(FEW_BYTES, NULL) > SEEDS / 2, "a barrier that expects too few bytes is not found");
    CHECK(found(NO_WAIT, NULL) > SEEDS / 2, "a wait left out is not found");
    CHECK(found(EARLY_END, "has ended") + found(EARLY_END, "that lives") > 0, "a block that ends early is not found");
}

/* ---- cooperative grids ---------------------------------------------------------------------- */

struct grid_args {
    uint32_t *flag;
    float *x;
    int steps;
};

/* In each step, each block reads what all blocks wrote in the previous step. */
KERNEL(test_grid, struct grid_args)
{
    for (int step = 0; step < a.steps; step++) {
        float *now = a.x + (step & 1) * gridDim.x, *next = a.x + (~step & 1) * gridDim.x;
        if (threadIdx.x == 0) {
            float sum = 0;
            for (unsigned i = 0; i < gridDim.x; i++) sum += load_shared_by_grid(&now[i]);
            next[blockIdx.x] = sum;
            add_release(a.flag, 1);
            wait_at_least(a.flag, (uint32_t)(step + 1) * gridDim.x);
        }
        __syncthreads();
    }
}

static void check_grids(void)
{
    for (int seed = 0; seed < SEEDS; seed++) {
        uint32_t flag = 0;
        float x[10] = {1, 1, 1, 1, 1};
        struct grid_args args = {&flag, x, 4};
        fake_seed((uint64_t)seed);
        std::string error = run_kernel("test_grid", &args, {5, 1, 1}, {32, 1, 1}, 0, 1, true);
        CHECK(error.empty() && x[0] == 625, "seed %d: %g, not 625; %s", seed, x[0], error.c_str());
    }
    uint32_t flag = 0;
    float x[10] = {1, 1, 1, 1, 1};
    struct grid_args args = {&flag, x, 4};
    expect("blocks that wait for blocks that need not be there", run_kernel("test_grid", &args, {5, 1, 1}, {32, 1, 1}),
           "wait at wait_at_least");
}

/* ---- copies, faults -------------------------------------------------------------------------- */

struct fault_args {
    const float *x;
    float *out;
    int fault;
};
enum { COPY_NO_WAIT = 1, MISALIGNED, BEHIND, BEFORE, SKIPPED, TWO_LINES, UNROUNDED, NO_INIT, NOT_SHARED, POLLS };

GPU_CODE void wrong_things(const struct fault_args &a, float *s, unsigned t)
{
    uint32_t fa[4] = {1, 1, 1, 1};
    float c[4] = {0, 0, 0, 0};
    if (a.fault == BEHIND && t == 3)
        s[132] = 1;
    if (a.fault == BEFORE && t == 3)
        s[-1] = 1;
    if (a.fault == SKIPPED && t != 5)
        __syncthreads();
    if (a.fault == TWO_LINES && t < 4)
        __syncthreads();
    if (a.fault == UNROUNDED)
        mma_tf32(c, fa, 0, 0);
    if (a.fault == NO_INIT && t == 0)
        mbarrier_arrive((mbarrier *)s);
    if (a.fault == NOT_SHARED && t == 0)
        copy_async((void *)a.out, a.x);
    while (a.fault == POLLS && load_acquire((const uint32_t *)a.x) == 0);
}

KERNEL(test_faults, struct fault_args)
{
    float *s = (float *)dynamic_shared();
    unsigned t = threadIdx.x;
    copy_async(s + 4 * t + (a.fault == MISALIGNED), a.x + 4 * t);
    copy_async_commit();
    if (a.fault != COPY_NO_WAIT)
        copy_async_wait<0>();
    __syncthreads();
    for (unsigned i = 0; i < 4; i++) a.out[t * 4 + i] = s[(t * 4 + i + 5) % 128];
    wrong_things(a, s, t);
    if (a.fault)
        __syncthreads();
}

static std::string faulty(int fault, int seed)
{
    alignas(16) float x[128], out[128] = {0};
    for (int i = 0; i < 128; i++) x[i] = (float)i;
    struct fault_args args = {x, out, fault};
    fake_seed((uint64_t)seed);
    std::string error = run_kernel("test_faults", &args, {1, 1, 1}, {32, 1, 1}, 528);
    for (int i = 0; i < 128 && error.empty(); i++)
        if (out[i] != (float)((i + 5) % 128))
            error = "wrong numbers";
    return error;
}

static void check_faults(void)
{
    int late = 0;
    for (int seed = 0; seed < SEEDS; seed++) {
        CHECK(faulty(0, seed).empty(), "copies go wrong: %s", faulty(0, seed).c_str());
        late += !under_tsan() && faulty(COPY_NO_WAIT, seed) == "wrong numbers";
    }
    CHECK(under_tsan() || late > SEEDS / 4, "a copy that is not waited for is found %d times of %d", late, SEEDS);
    expect("a misaligned copy", faulty(MISALIGNED, 1), "not aligned");
    expect("a store after shared memory", faulty(BEHIND, 1), "after shared memory");
    expect("a store before shared memory", faulty(BEFORE, 1), "before shared memory");
    expect("a barrier that a thread skips", faulty(SKIPPED, 1), "while others are at");
    expect("barriers at two lines", faulty(TWO_LINES, 1), "while others are at");
    expect("a number that was not rounded", faulty(UNROUNDED, 1), "not rounded by to_tf32");
    expect("a barrier without init", faulty(NO_INIT, 1), "not initialized");
    expect("a copy to global memory", faulty(NOT_SHARED, 1), "not in the block's shared memory");
    expect("a poll for ever", faulty(POLLS, 1), "polled for");
}

/* ---- number formats --------------------------------------------------------------------------- */

/* True if `bits` is the nearest value of the type to a >= 0, ties to even. Its neighbors are bits - 1 and bits + 1. */
template <typename From> static bool nearest(float a, uint16_t bits, From from)
{
    double d = fabs((double)from(bits) - a);
    double above = fabs((double)from((uint16_t)(bits + 1)) - a),
           below = bits ? fabs((double)from((uint16_t)(bits - 1)) - a) : 1e30;
    return (d < above || (d == above && bits % 2 == 0)) && (d < below || (d == below && bits % 2 == 0));
}

static void check_numbers(void)
{
    int wrong = 0;
    uint32_t x = 1;
    for (uint32_t h = 0; h < 0x10000; h++) {
        bool nan16 = (h & 0x7fff) > 0x7c00, nanb = (h & 0x7fff) > 0x7f80;
        wrong += to_fp16(from_fp16((uint16_t)h)) != (nan16 ? 0x7fff : h);
        wrong += to_bf16(from_bf16((uint16_t)h)) != (nanb ? 0x7fff : h);
    }
    for (int i = 0; i < 200000; i++) {
        x = x * 1664525 + 1013904223;
        float a = __uint_as_float((x >> 1) % 0x477fe000), b = __uint_as_float((x >> 1) % 0x7f000000);
        wrong += !nearest(a, to_fp16(a), from_fp16) + !nearest(b, to_bf16(b), from_bf16);
        wrong += fabs((double)__uint_as_float(to_tf32(b)) - b) > ldexp(fabs((double)b), -11) + 0x1p-137;
    }
    CHECK(!wrong && to_fp16(65520.f) == 0x7c00 && to_fp16(65519.f) == 0x7bff, "%d conversions are wrong", wrong);
}

/* ---- races ------------------------------------------------------------------------------------ */

/* ThreadSanitizer detects what the order of threads does not show: its process ends with status 66. */
static int races(const char *which)
{
    if (!strcmp(which, "barrier"))
        right_sums(1);
    else if (!strcmp(which, "wait"))
        found(NO_WAIT, NULL);
    else
        right_sums(2);
    return 0;
}

static void check_races(const char *program)
{
    static const struct {
        const char *which;
        int status;
    } runs[] = {{"barrier", 66}, {"wait", 66}, {"none", 0}};
    for (int i = 0; i < 3 && under_tsan(); i++) {
        std::string command = std::string(program) + " " + runs[i].which + " 2>/dev/null";
        int status = system(command.c_str());
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == runs[i].status, "race '%s': status %#x", runs[i].which,
              status);
    }
}

int main(int count, char **argument)
{
    if (count > 1)
        return races(argument[1]);
    check_barriers();
    check_warps();
    check_mma(BF16, 16);
    check_mma(FP16, 16);
    check_mma(TF32, 8);
    check_clusters();
    check_grids();
    check_faults();
    check_numbers();
    check_races(argument[0]);
    return check_finish("test_gpu_shim");
}

/* Speed of the CPU kernels on one thread, in GFLOP/s by the standard count and in percent of the fused multiply-add
 * peak, which is measured, too. Nothing is asserted. */
#ifndef KERNEL_PERF_H
#define KERNEL_PERF_H
#include "kernel_fixture.h"
#include "nn/losses/loss.h"
#include <stdio.h>
#include <time.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Returns the thread's CPU time, which a busy machine affects less. */
static inline double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- the peak: 12 independent chains of multiply-adds ---------------------------------- */

enum { PEAK_ROUNDS = 400000, PEAK_CHAINS = 12 };

#if defined(__x86_64__)
__attribute__((target("avx512f"))) static void multiply_add_avx512(void)
{
    const __m512 a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(1e-3f);
    __m512 x[PEAK_CHAINS];
#pragma GCC unroll 12
    for (int i = 0; i < PEAK_CHAINS; i++) x[i] = _mm512_set1_ps((float)i);
    for (int n = 0; n < PEAK_ROUNDS; n++)
#pragma GCC unroll 12
        for (int i = 0; i < PEAK_CHAINS; i++) {
            x[i] = _mm512_fmadd_ps(x[i], a, b);
            __asm__ volatile("" : "+v"(x[i])); /* keeps the result alive */
        }
}

__attribute__((target("avx2,fma"))) static void multiply_add_avx2(void)
{
    const __m256 a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(1e-3f);
    __m256 x[PEAK_CHAINS];
#pragma GCC unroll 12
    for (int i = 0; i < PEAK_CHAINS; i++) x[i] = _mm256_set1_ps((float)i);
    for (int n = 0; n < PEAK_ROUNDS; n++)
#pragma GCC unroll 12
        for (int i = 0; i < PEAK_CHAINS; i++) {
            x[i] = _mm256_fmadd_ps(x[i], a, b);
            __asm__ volatile("" : "+x"(x[i])); /* keeps the result alive */
        }
}
#endif

/* Returns GFLOP/s, or 0 if there is no loop for the ISA. */
static inline double peak_of(enum isa isa)
{
    double best = 0;
#if defined(__x86_64__)
    for (int i = 0; i < 10 && (isa == ISA_AVX512 || isa == ISA_AVX2); i++) {
        double begin = seconds_now();
        isa == ISA_AVX512 ? multiply_add_avx512() : multiply_add_avx2();
        double flops = 2.0 * (isa == ISA_AVX512 ? 16 : 8) * PEAK_CHAINS * PEAK_ROUNDS;
        double rate = flops / (seconds_now() - begin) / 1e9;
        best = rate > best ? rate : best;
    }
#else
    (void)isa;
#endif
    return best;
}

/* ---- one operation --------------------------------------------------------------------- */

static inline double best_time(const struct call *call, struct work *work)
{
    double best = 1e9, spent = 0;
    for (int i = 0; i < 3 || (spent < 0.3 && i < 2000); i++) {
        *work = (struct work){0, 0};
        double begin = seconds_now();
        call->isa->kernel[call->kind](call, 0, 1, work);
        double time = seconds_now() - begin;
        best = time < best ? time : best;
        spent += time;
    }
    return best;
}

static inline void perf_print(const char *what, struct fixture *f, const struct cpu_isa *isa, double peak)
{
    struct work work;
    bind_numbers(&f->plan, &f->op, &f->call);
    f->call.isa = isa;
    double time = best_time(&f->call, &work);
    printf("%-7s %-34s %9.3f ms %7.1f GFLOP/s %5.1f%%  %6.1f GB/s\n", isa->name, what, 1e3 * time,
           work.flops / time / 1e9, peak > 0 ? work.flops / time / 1e7 / peak : 0, work.bytes / time / 1e9);
    fixture_free(f);
}

static inline struct fixture *perf_gemm(uint32_t T, uint32_t B, uint32_t G, uint32_t U, uint32_t K)
{
    struct fixture *f = fixture_new(OP_GEMM, 1, DTYPE_F32);
    make(f, GEMM_X, DTYPE_F32, READ, 3, SIZES(T, B, K));
    make_panels(f, GEMM_W, READ, G, U, K);
    make(f, GEMM_BIAS, DTYPE_F32, READ, 2, SIZES(G, U));
    make(f, GEMM_Y, DTYPE_F32, WRITE, 4, SIZES(T, B, G, U));
    return f;
}

static inline struct fixture *perf_gemm_dx(uint32_t T, uint32_t B, uint32_t G, uint32_t U, uint32_t K)
{
    struct fixture *f = fixture_new(OP_GEMM_DX, 1, DTYPE_F32);
    make(f, GEMM_DX_DY, DTYPE_F32, READ, 4, SIZES(T, B, G, U));
    make_columns(f, GEMM_DX_W, READ, true, G, U, K);
    make(f, GEMM_DX_DX, DTYPE_F32, WRITE, 3, SIZES(T, B, K));
    return f;
}

static inline struct fixture *perf_gemm_dw(uint32_t T, uint32_t B, uint32_t G, uint32_t U, uint32_t K,
                                           uint32_t block_steps, uint32_t shards, int shift)
{
    struct fixture *f = fixture_new(OP_GEMM_DW, 1, DTYPE_F32);
    f->plan.block_steps = block_steps;
    f->plan.config.B = B;
    f->plan.config.shards = shards;
    f->op.shift = shift;
    make(f, GEMM_DW_DY, DTYPE_F32, READ, 4, SIZES(T, B, G, U));
    make(f, GEMM_DW_X, DTYPE_F32, READ, 3, SIZES(T, B, K));
    make(f, GEMM_DW_INIT, DTYPE_F32, READ, 2, SIZES(B, K));
    make(f, GEMM_DW_DW, DTYPE_F32, ADD, 4, SIZES(shards, G, U, K));
    return f;
}

static inline struct fixture *perf_loss(uint32_t T, uint32_t B, uint32_t N)
{
    struct fixture *f = fixture_new(OP_LOSS, 1, DTYPE_F32);
    loss_find("xent", &f->op.choice);
    make(f, LOSS_Z, DTYPE_F32, UPDATE, 3, SIZES(T, B, N));
    make_integers(f, LOSS_TARGET, 2, SIZES(T, B), N, false);
    make(f, LOSS_SUM, DTYPE_F64, ADD, 1, SIZES(1));
    make(f, LOSS_WEIGHT, DTYPE_F64, ADD, 1, SIZES(1));
    return f;
}

static inline struct fixture *perf_bias_grad(uint32_t T, uint32_t B, uint32_t U)
{
    struct fixture *f = fixture_new(OP_BIAS_GRAD, 1, DTYPE_F32);
    f->plan.block_steps = 2;
    f->plan.config.B = B;
    make(f, BIAS_GRAD_DY, DTYPE_F32, READ, 3, SIZES(T, B, U));
    make(f, BIAS_GRAD_SUM, DTYPE_F32, ADD, 2, SIZES(1, U));
    return f;
}

static inline struct fixture *perf_norm(uint32_t rows, uint32_t width)
{
    struct fixture *f = fixture_new(OP_NORM, 1, DTYPE_F32);
    make(f, NORM_GRAD, DTYPE_F32, READ, 2, SIZES(rows, width));
    make(f, NORM_OUT, DTYPE_F64, ADD, 1, SIZES(1));
    return f;
}

static inline struct fixture *perf_dropout(uint32_t T, uint32_t B, uint32_t K)
{
    struct fixture *f = fixture_new(OP_DROPOUT, 1, DTYPE_F32);
    f->op.probability = 0.5f;
    make(f, DROPOUT_X, DTYPE_F32, READ, 3, SIZES(T, B, K));
    make(f, DROPOUT_RUN, DTYPE_I64, READ, 1, SIZES(8));
    make(f, DROPOUT_Y, DTYPE_F32, WRITE, 3, SIZES(T, B, K));
    return f;
}

/* Prints the speed of kernels for each supported ISA. */
static inline int kernel_perf(void)
{
    for (int i = ISA_AVX2; i < ISA_COUNT; i++) {
        const struct cpu_isa *isa = cpu_isa_find((enum isa)i, DTYPE_F32);
        if (!isa)
            continue;
        double peak = peak_of(isa->isa);
        printf("%-7s fused multiply-add peak %.1f GFLOP/s\n", isa->name, peak);
        perf_print("gemm 1x64 rows, 4x128, 128", perf_gemm(1, 64, 4, 128, 128), isa, peak);
        perf_print("gemm 70x64 rows, 4x256, 256", perf_gemm(70, 64, 4, 256, 256), isa, peak);
        perf_print("gemm 70x64 rows, 4x100, 100", perf_gemm(70, 64, 4, 100, 100), isa, peak);
        perf_print("gemm 35x32 rows, 1x10000, 256", perf_gemm(35, 32, 1, 10000, 256), isa, peak);
        perf_print("gemm 1x1 row, 4x256, 256", perf_gemm(1, 1, 4, 256, 256), isa, peak);
        perf_print("gemm_dx 70x64 rows, 4x256, 256", perf_gemm_dx(70, 64, 4, 256, 256), isa, peak);
        perf_print("gemm_dw 4x64 rows, 4x256, 256", perf_gemm_dw(4, 64, 4, 256, 256, 4, 1, 0), isa, peak);
        perf_print("gemm_dw 70x64 rows, 4x256, 256", perf_gemm_dw(70, 64, 4, 256, 256, 2, 1, 1), isa, peak);
        perf_print("gemm_dw the same, 4 shards", perf_gemm_dw(70, 64, 4, 256, 256, 2, 4, 1), isa, peak);
        perf_print("gemm_dw 100x64 rows, 4x100, 100", perf_gemm_dw(100, 64, 4, 100, 100, 2, 1, 1), isa, peak);
        perf_print("xent 70x64 rows, 1000", perf_loss(70, 64, 1000), isa, peak);
        perf_print("bias_grad 70x64 rows, 1024", perf_bias_grad(70, 64, 1024), isa, peak);
        perf_print("norm 1024 x 256", perf_norm(1024, 256), isa, peak);
        perf_print("dropout 70x64 rows, 256", perf_dropout(70, 64, 256), isa, peak);
    }
    return 0;
}

#endif

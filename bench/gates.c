/* Measures the arithmetic of a cell's step without its products: cycles per 16 units of one row, forward (with the
 * values that backward needs) and backward, with all data in the first-level cache. Not a comparison with other
 * libraries.
 *     gcc -O2 -D_GNU_SOURCE -Isrc -Iinclude bench/gates.c build/libunroll.a -ljansson -lm -pthread -ldl -o
 *     build/gates
 *     build/gates [avx2|avx512] */
#include "nn/cells/cell.h"
#include <immintrin.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 2, UNITS = 256, FIELDS = 8, PASSES = 15, CALLS = 300, LATENCY = 4, INTERMEDIATES = 1 << 14, CACHE_LINE = 64 };

static _Alignas(CACHE_LINE) float memory[7][FIELDS][ROWS][UNITS];

static struct fields fields_at(int array)
{
    return (struct fields){ memory[array], ROWS * UNITS, UNITS };
}

/* Returns the time-stamp ticks of a cycle. In a chain, a multiply-add takes LATENCY cycles, on Intel's processors
 * since Skylake and on AMD's since Zen. */
__attribute__((target("fma")))
static double ticks_of_cycle(void)
{
    __m256 a = _mm256_set1_ps(0.5f), b = a;
    unsigned long begin = __rdtsc();
    for (int i = 0; i < INTERMEDIATES; i++)
        __asm__ volatile("vfmadd213ps %1, %1, %0" : "+x"(a) : "x"(b));
    return (double)(__rdtsc() - begin) / INTERMEDIATES / LATENCY;
}

/* Returns the minimum of many calls, in cycles per tile: other load can only add time. */
static double cycles(cell_kernel *kernel, const struct cell_step *step)
{
    double best = INFINITY, cycle = INFINITY;
    for (int i = 0; i < CALLS; i++) {
        unsigned long begin = __rdtsc();
        kernel(step);
        best = fmin(best, (double)(__rdtsc() - begin));
        if (i % 10 == 0)
            cycle = fmin(cycle, ticks_of_cycle());
    }
    return best / cycle / (ROWS * UNITS / CELL_TILE);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_cycles(cell_kernel *kernel, const struct cell_step *step)
{
    double pass[PASSES];
    for (int i = 0; i < PASSES; i++)
        pass[i] = cycles(kernel, step);
    qsort(pass, PASSES, sizeof pass[0], by_size);
    return pass[PASSES / 2];
}

int main(int argc, char **argv)
{
    bool avx2 = __builtin_cpu_supports("avx2"), avx512 = __builtin_cpu_supports("avx512f");
    const char *isa = argc > 1 ? argv[1] : avx512 ? "avx512" : "avx2";
    if (!(strcmp(isa, "avx2") == 0 && avx2) && !(strcmp(isa, "avx512") == 0 && avx512)) {
        fprintf(stderr, "gates: this processor has no %s; avx2 and avx512 are measured\n", isa);
        return 1;
    }
    for (size_t i = 0; i < sizeof memory / sizeof(float); i++)
        (&memory[0][0][0][0])[i] = (float)(i * 2654435761u % 4096) / 1024 - 2;
    struct cell_step step = {
        .rows = ROWS, .width = UNITS,
        .value = { .in = fields_at(0), .state = fields_at(1), .next = fields_at(2), .saved = fields_at(3),
                   .intermediate = fields_at(3), .vector = fields_at(1) },
        .gradient = { .in = fields_at(4), .state = fields_at(5), .next = fields_at(6), .intermediate = fields_at(6),
                      .vector = fields_at(4) },
        .sets_state = true,
    };
    printf("%-20s %8s %8s   cycles for %d units on %s\n", "cell", "forward", "backward", CELL_TILE, isa);
    for (const struct cell_kernels *const *k = strcmp(isa, "avx2") ? cells_avx512 : cells_avx2; *k; k++)
        for (int phase = 0; phase < (*k)->declaration->phases; phase++)
            printf("%-17s %d  %8.1f %8.1f\n", (*k)->declaration->name, phase + 1,
                   median_cycles((*k)->forward[phase], &step), median_cycles((*k)->backward[phase], &step));
    return 0;
}

/* A lower bound for the steps of a single row: the time to load the weights. Each vector is loaded and added once,
 * alternately forward and backward, as the kernels do. There are no products, no gates, no calls and no
 * synchronization of threads. Speaks the protocol of bench/peer.py. Refuses everything but single rows, the only
 * case that reading bounds. */
#include <omp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64, TURNS = 8, STEPS_A_RUN = 64, MAX_RUNS = 100000, ROOM = 1 << 21 };

typedef float vector __attribute__((vector_size(LINE), aligned(LINE)));

struct floor {
    vector *weights;
    size_t lines;       /* cache lines that one step reads */
    int steps, repeats; /* steps of a run; runs averaged for one time */
};

static double ms[MAX_RUNS];

/* Sums `lines` lines in TURNS accumulators, so that no addition waits for the one before. */
static vector sweep(const vector *weights, size_t lines, bool back)
{
    vector sum[TURNS] = {0};
    const ptrdiff_t way = back ? -TURNS : TURNS;
    const vector *at = back ? weights + lines - TURNS : weights;
    for (size_t done = 0; done < lines; done += TURNS, at += way)
#pragma GCC unroll 8
        for (int i = 0; i < TURNS; i++) sum[i] += at[i];
    for (int i = 1; i < TURNS; i++) sum[0] += sum[i];
    return sum[0];
}

/* Runs all steps. Each thread reads its share of the weights. */
static void run(const struct floor *f)
{
#pragma omp parallel
    {
        const size_t share = f->lines / (size_t)omp_get_num_threads() / TURNS * TURNS;
        const vector *own = f->weights + share * (size_t)omp_get_thread_num();
        for (int step = 0; step < f->steps * f->repeats; step++) {
            vector sum = sweep(own, share, step % 2);
            __asm__ volatile("" : : "x"(sum)); /* keeps the sum alive */
        }
    }
}

static int gates_of(const char *cell) { return !strcmp(cell, "lstm") ? 4 : !strcmp(cell, "rnn") ? 1 : 3; }

static int bytes_of(const char *type) { return !strcmp(type, "fp32") ? 4 : !strcmp(type, "bf16") ? 2 : 1; }

/* Allocates the weights of a request. Returns NULL, or why there is no bound for it. */
static const char *prepare(struct floor *f, const char *line)
{
    char cell[16], pass[16], type[8];
    int layers, steps, rows, input, hidden, directions, ragged;
    if (sscanf(line, "prepare %15s %15s %7s %d %d %d %d %d %d %d", cell, pass, type, &layers, &steps, &rows, &input,
               &hidden, &directions, &ragged) != 10)
        return "unknown request";
    const bool streams = !strcmp(pass, "stream");
    if (rows != 1 || layers != 1 || directions != 1 || ragged || (!streams && strcmp(pass, "infer")))
        return "a floor exists only for one row of a forward layer";
    const int width = hidden + (streams ? input : 0); /* in a sequence, x's weights are read once for all steps */
    const size_t bytes = (size_t)gates_of(cell) * (size_t)hidden * (size_t)width * (size_t)bytes_of(type);
    *f = (struct floor){.lines = bytes / LINE, .steps = steps, .repeats = streams ? STEPS_A_RUN : 1};
    f->weights = aligned_alloc(ROOM, (f->lines * LINE / ROOM + 1) * ROOM);
    if (!f->weights)
        return "no memory";
    memset(f->weights, 0, f->lines * LINE);
    return NULL;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static void answer_run(const struct floor *f, double seconds)
{
    const double begin = omp_get_wtime();
    int runs = 0;
    while (runs == 0 || (runs < MAX_RUNS && omp_get_wtime() - begin < seconds)) {
        const double from = omp_get_wtime();
        run(f);
        ms[runs++] = 1e3 * (omp_get_wtime() - from) / f->repeats;
    }
    qsort(ms, (size_t)runs, sizeof *ms, compare);
    printf("{\"ms\": %.9g, \"ms_median\": %.9g, \"runs\": %d}\n", ms[0], ms[runs / 2], runs);
}

int main(void)
{
    struct floor f = {0};
    char line[256];
    double seconds;
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "run %lf", &seconds) == 1 && f.weights) {
            answer_run(&f, seconds);
        } else {
            const char *refusal = prepare(&f, line);
            if (refusal)
                printf("{\"refused\": \"%s\"}\n", refusal);
            else
                printf("{}\n");
        }
        fflush(stdout);
    }
    free(f.weights);
    return 0;
}

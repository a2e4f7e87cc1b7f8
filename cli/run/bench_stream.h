/* Measures the time of a step of a stream. cmd_bench.c measures sessions. */
#pragma once
#include "unroll_stream.h"

struct step_times {
    double best, median; /* seconds, from blocks of steps so long that the time to read the clock is negligible */
    double p50, p99, p999, max; /* seconds of single steps; each includes one read of the clock */
    double clock;               /* seconds to read the clock */
    int steps;                  /* timed one by one */
    char isa[16];
};

/* Runs steps of a model on inputs [frames, rows, input] repeatedly, for about `seconds`. Prints errors. */
unroll_status bench_stream(const unroll_model *model, const unroll_stream_config *config, const float *inputs,
                           int frames, double seconds, struct step_times *times);

void sort_numbers(double *numbers, int count);

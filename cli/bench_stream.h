/* How long a step of a stream takes. Not sessions: cmd_bench.c measures those. */
#ifndef CLI_BENCH_STREAM_H
#define CLI_BENCH_STREAM_H
#include "unroll.h"

struct step_times {
    double best, median;        /* seconds, of steps in rows so long that the clock does not count */
    double p50, p99, p999, max; /* seconds, of single steps, with one look at the clock in each */
    double clock;               /* what that look takes */
    int steps;                  /* timed one by one */
    char isa[16];
};

/* Steps of a model of vectors on inputs [frames, rows, input] over and over, for about so many seconds.
 * Prints what is wrong. */
unroll_status bench_stream(const unroll_model *model, const unroll_stream_config *config, const float *inputs,
                           int frames, double seconds, struct step_times *times);

void sort_numbers(double *numbers, int count);

#endif

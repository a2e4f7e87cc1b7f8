/* Measures the time of a step of a stream: blocks of steps give the mean, single steps the tail. */
#include "cli/run/bench_stream.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/show/stopwatch.h"
#include "cli/show/console.h"

enum { MAX_BLOCKS = 20000, MAX_STEPS = 1 << 20, MIN = 3 };

static const double block_seconds = 50e-6, warm_seconds = 0.02;

struct runner {
    unroll_stream *stream;
    const float *inputs; /* [frames][width] */
    float *outputs;
    size_t width;
    int frames, frame;
    double *seconds; /* [MAX_STEPS] */
};

static int compare_times(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

void sort_numbers(double *numbers, int count) { qsort(numbers, (size_t)count, sizeof *numbers, compare_times); }

static unroll_status step_runner(struct runner *r)
{
    const float *inputs = r->inputs + (size_t)r->frame * r->width;
    r->frame = r->frame + 1 < r->frames ? r->frame + 1 : 0;
    return unroll_stream_step(r->stream, NULL, inputs, r->outputs);
}

/* Returns the seconds of this number of steps; negative if one was refused. */
static double steps_take(struct runner *r, int count)
{
    double begin = seconds_now();
    for (int i = 0; i < count; i++)
        if (step_runner(r) != UNROLL_OK)
            return -1;
    return seconds_now() - begin;
}

static double clock_takes(struct runner *r)
{
    enum { LOOKS = 1001 };

    for (int i = 0; i < LOOKS; i++) {
        double begin = seconds_now();
        r->seconds[i] = seconds_now() - begin;
    }
    sort_numbers(r->seconds, LOOKS);
    return r->seconds[LOOKS / 2];
}

/* Measures blocks of steps, each about block_seconds long. */
static bool measure_blocks(struct runner *r, double seconds, struct step_times *times)
{
    int count = 1, blocks = 0;
    double begin = seconds_now();
    while (seconds_now() - begin < warm_seconds)
        if (steps_take(r, count) < block_seconds)
            count *= 2;
    for (begin = seconds_now(); blocks < MAX_BLOCKS && (blocks < MIN || seconds_now() - begin < seconds); blocks++) {
        r->seconds[blocks] = steps_take(r, count) / count;
        if (r->seconds[blocks] < 0)
            return false;
    }
    sort_numbers(r->seconds, blocks);
    times->best = r->seconds[0];
    times->median = r->seconds[blocks / 2];
    return true;
}

static bool measure_steps(struct runner *r, double seconds, struct step_times *times)
{
    double begin = seconds_now();
    int n = 0;
    for (; n < MAX_STEPS && (n < MIN || seconds_now() - begin < seconds); n++) {
        r->seconds[n] = steps_take(r, 1);
        if (r->seconds[n] < 0)
            return false;
    }
    sort_numbers(r->seconds, n);
    times->steps = n;
    times->p50 = r->seconds[n / 2];
    times->p99 = r->seconds[(int64_t)n * 99 / 100];
    times->p999 = r->seconds[(int64_t)n * 999 / 1000];
    times->max = r->seconds[n - 1];
    return true;
}

static unroll_status measure(struct runner *r, double seconds, struct step_times *times)
{
    if (steps_take(r, 1) < 0 || !measure_blocks(r, seconds / 2, times) || !measure_steps(r, seconds / 2, times))
        return complain_library(UNROLL_DATA);
    times->clock = clock_takes(r);
    snprintf(times->isa, sizeof times->isa, "%s", unroll_stream_isa(r->stream));
    return UNROLL_OK;
}

static unroll_status open_stream(struct runner *r, const unroll_model *model, const unroll_stream_config *config,
                                 void **memory)
{
    size_t bytes = unroll_stream_bytes(model, config), rows = (size_t)config->rows;
    if (bytes == 0)
        return complain_library(UNROLL_UNSUPPORTED);
    *memory = aligned_alloc(64, bytes);
    r->seconds = malloc(MAX_STEPS * sizeof *r->seconds);
    if (*memory == NULL || r->seconds == NULL)
        return complain(UNROLL_RESOURCE, "no memory for a stream; fix: use a smaller --shape");
    TRY(complain_library(unroll_stream_init(*memory, bytes, model, config, &r->stream)));
    r->width = rows * (size_t)unroll_stream_inputs(r->stream);
    r->outputs = malloc(rows * (size_t)unroll_stream_outputs(r->stream) * sizeof *r->outputs);
    return r->outputs ? UNROLL_OK : complain(UNROLL_RESOURCE, "no memory for the outputs");
}

unroll_status bench_stream(const unroll_model *model, const unroll_stream_config *config, const float *inputs,
                           int frames, double seconds, struct step_times *times)
{
    struct runner r = {.inputs = inputs, .frames = frames};
    void *memory = NULL;
    unroll_status status = open_stream(&r, model, config, &memory);
    if (status == UNROLL_OK)
        status = measure(&r, seconds, times);
    free(r.outputs);
    free(r.seconds);
    free(memory);
    return status;
}

/* Measures how long each program of a ragged session takes to compile on an XLA device: the time of the first
 * training step at a batch size less that of the second, which reuses the program. Not a measurement of the steps
 * themselves.
 *     gcc -O2 -Iinclude bench/buckets.c build/libunroll.a -ljansson -lm -pthread -ldl -o build/buckets
 *     build/buckets DEVICE CELL L,T,B,I,H */
#include "unroll_train.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LEVELS = 4 };            /* all steps, a half, a quarter, an eighth of them */

static int steps, rows, inputs;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(unroll_status status)
{
    if (status == UNROLL_OK)
        return;
    fprintf(stderr, "buckets: %s\n", unroll_last_error());
    exit(1);
}

/* Returns the seconds of a training step. Reading the loss waits for the end of the step. */
static double seconds_of_step(unroll_session *session, const unroll_batch *batch)
{
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    unroll_result result = { .size = sizeof result };
    double begin = now();
    check(unroll_session_step(session, batch, &rates, &result));
    return now() - begin;
}

/* Times a batch whose first `some` rows have `length` steps and whose other rows are empty. */
static void time_bucket(unroll_session *session, unroll_batch *batch, int32_t *lengths, int length, int some)
{
    for (int i = 0; i < rows; i++)
        lengths[i] = i < some ? length : 0;
    double first = seconds_of_step(session, batch), second = seconds_of_step(session, batch);
    printf("%4d steps %4d rows: first %7.0f ms, second %6.1f ms, compiling %7.0f ms\n", length, some, 1e3 * first,
           1e3 * second, 1e3 * (first - second));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    unroll_model_config spec = unroll_model_config_default();
    unroll_session_config config = unroll_session_config_default();
    unroll_model *model;
    unroll_session *session;
    if (argc != 4 || sscanf(argv[3], "%d,%d,%d,%d,%d", &spec.layers, &steps, &rows, &inputs, &spec.hidden) != 5) {
        fprintf(stderr, "usage: buckets DEVICE CELL L,T,B,I,H\n");
        return 2;
    }
    spec.cell = argv[2], spec.input = inputs, spec.output = 2, spec.loss = "mse";
    config.mode = UNROLL_TRAIN, config.steps = steps, config.rows = rows, config.lengths = 1;
    config.machine.device = argv[1], config.optimizer = "adam";
    check(unroll_model_new(&spec, 1, &model));
    check(unroll_session_new(model, &config, &session));
    size_t places = (size_t)steps * (size_t)rows;
    float *x = calloc(places * (size_t)inputs, sizeof *x), *y = calloc(places * 2, sizeof *y);
    int32_t *lengths = calloc((size_t)rows, sizeof *lengths);
    unroll_batch batch = { .size = sizeof batch, .inputs = x, .target_values = y, .lengths = lengths };
    for (int level = 0; level < 2 * LEVELS; level++)
        time_bucket(session, &batch, lengths, steps >> level / 2, rows >> level % 2);
    free(x), free(y), free(lengths);
    unroll_session_free(session);
    unroll_model_free(model);
    return 0;
}

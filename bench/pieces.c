/* Measures the gain of pieces of time for a trained model. A text is run in windows of many steps, one row, in one
 * piece and in several, in turns. It measures CPU time, which other programs hardly disturb. Every run reads
 * different steps of the text, so that no initial guess comes from the same steps. One thread; time.sh covers ranks
 * and threads. Usage: pieces MODEL TEXT [STEPS [PIECES..]]. */
#include "unroll_advanced.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TURNS = 5, MOST = 16 };

static void check(unroll_status status)
{
    if (status == UNROLL_OK)
        return;
    fprintf(stderr, "pieces: %s\n", unroll_last_error());
    exit(status);
}

static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct way {
    unroll_model *model; /* its own, because a model can be trained by only one session at a time */
    unroll_session *session;
    double best; /* seconds of the fastest run */
    float *outputs;
    double off;
};

static unroll_session *open_session(unroll_model *model, unroll_mode mode, int steps, int pieces)
{
    unroll_session *session = NULL;
    unroll_session_config config = unroll_session_config_default();
    config.mode = mode, config.steps = steps, config.rows = 1, config.optimizer = "sgd";
    config.machine.threads = 1, config.machine.pieces = pieces;
    check(unroll_session_new(model, &config, &session));
    return session;
}

/* Runs a window. Keeps the outputs of the last layer (inference) or the loss (training) for comparison. */
static void run(struct way *way, unroll_mode mode, const int32_t *tokens, size_t count)
{
    unroll_batch batch = {.size = sizeof batch, .tokens = tokens};
    unroll_hyperparameters rates = unroll_hyperparameters_default("sgd");
    unroll_result result = {.size = sizeof result};
    rates.learning_rate = 0;
    const double begin = processor_seconds();
    if (mode == UNROLL_TRAIN) {
        batch.targets = tokens + 1;
        check(unroll_session_step(way->session, &batch, &rates, &result));
    } else {
        check(unroll_session_forward(way->session, &batch));
    }
    const double seconds = processor_seconds() - begin;
    way->best = seconds < way->best ? seconds : way->best;
    way->outputs[0] = (float)result.loss;
    if (mode == UNROLL_INFER)
        check(unroll_session_read(way->session, "y.l0", way->outputs, count));
}

static void measure(const char *path, unroll_mode mode, int steps, const int *pieces, int ways, const int32_t *tokens,
                    size_t all)
{
    struct way way[MOST + 1];
    size_t count = 1;
    for (int i = 0; i < ways; i++) {
        way[i] = (struct way){.best = INFINITY};
        check(unroll_model_load(path, &way[i].model));
        way[i].session = open_session(way[i].model, mode, steps, pieces[i]);
        count = mode == UNROLL_INFER ? unroll_session_count(way[i].session, "y.l0") : 1;
        way[i].outputs = malloc(count * sizeof(float));
        if (!way[i].outputs)
            exit(UNROLL_RESOURCE);
    }
    for (int turn = 0; turn < TURNS; turn++)
        for (int i = 0; i < ways; i++) {
            const size_t room = all - (size_t)steps - 1;
            run(&way[i], mode, tokens + (size_t)turn * room / TURNS, count);
            for (size_t k = 0; k < count; k++) {
                const double one = (double)way[0].outputs[k],
                             off = fabs((double)way[i].outputs[k] - one) / fmax(1, fabs(one));
                way[i].off = off <= way[i].off ? way[i].off : off; /* a NaN replaces any number */
            }
        }
    for (int i = 0; i < ways; i++) {
        unroll_pieces counts = {.size = sizeof counts};
        check(unroll_session_pieces(way[i].session, &counts));
        const double runs = counts.runs > 0 ? (double)counts.runs : 1;
        printf("%s, %d steps, %2d pieces of %5d: %8.2f ms, %.2f times as fast; %.1f rounds, %.0f steps repaired; off "
               "%.1g%s\n",
               mode == UNROLL_TRAIN ? "train" : "infer", steps, pieces[i], steps / pieces[i], 1e3 * way[i].best,
               way[0].best / way[i].best, (double)counts.rounds / runs, (double)counts.repaired / runs, way[i].off,
               counts.in_order ? "; returned to one piece" : "");
        unroll_session_free(way[i].session);
        unroll_model_free(way[i].model);
        free(way[i].outputs);
    }
}

int main(int arguments, char **argument)
{
    unroll_model *model = NULL;
    unroll_dataset *data = NULL;
    int pieces[MOST + 1] = {1, 2, 4, 8, 16}, ways = 5;
    const int steps = arguments > 3 ? atoi(argument[3]) : 16384;
    if (arguments < 3 || steps < 2) {
        fprintf(stderr, "usage: pieces MODEL TEXT [STEPS [PIECES..]]\n");
        return UNROLL_USAGE;
    }
    if (arguments > 4)
        for (ways = 1; ways < arguments - 3 && ways <= MOST; ways++) pieces[ways] = atoi(argument[3 + ways]);
    check(unroll_model_load(argument[1], &model));
    unroll_dataset_config reading = unroll_dataset_config_default();
    reading.model = model;
    check(unroll_dataset_open(argument[2], &reading, &data));
    const size_t all = unroll_dataset_tokens(data, 0, 0, NULL);
    int32_t *tokens = malloc(all * sizeof *tokens + 1);
    if (!tokens || all < (size_t)steps + TURNS || unroll_dataset_tokens(data, 0, all, tokens) < all) {
        fprintf(stderr, "pieces: the text has %zu tokens, or there is no memory for them\n", all);
        return UNROLL_DATA;
    }
    measure(argument[1], UNROLL_INFER, steps, pieces, ways, tokens, all);
    measure(argument[1], UNROLL_TRAIN, steps, pieces, ways, tokens, all);
    free(tokens);
    unroll_dataset_free(data);
    unroll_model_free(model);
    return 0;
}

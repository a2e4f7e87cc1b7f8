/* Runs a model one step at a time, like a program whose inputs arrive one by one.
 *     step_by_step [MODEL]      MODEL: one that train_tiny has saved; without it: an untrained one
 * First it reads a wave, then its own outputs. Its memory of the wave is in the states, which the session carries from
 * step to step. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unroll_train.h>

enum { HEARD = 30, ALONE = 20 };

static float wave(double t)                 /* the wave that train_tiny trains on */
{
    return (float)(0.6 * sin(0.3 * t) + 0.4 * sin(0.7 * t));
}

static void check(unroll_status status)
{
    if (status == UNROLL_OK)
        return;
    fprintf(stderr, "step_by_step: %s\n", unroll_last_error());
    exit(status);
}

static unroll_model *open_model(const char *path)
{
    unroll_model *model;

    if (path) {
        check(unroll_model_load(path, &model));
    } else {
        unroll_model_config spec = unroll_model_config_default();
        spec.hidden = 24;
        spec.input = spec.output = 1;       /* the weights are random, the same for the same seed */
        check(unroll_model_new(&spec, 1, &model));
    }
    return model;
}

/* This program needs a model with one number in and one out. */
static void check_shape(const unroll_model *model)
{
    unroll_network network = {.size = sizeof network};

    unroll_model_network(model, &network);
    if (!network.tokens && network.input == 1 && unroll_model_outputs(model) == 1)
        return;
    fprintf(stderr, "step_by_step: the model must have 1 input and 1 output, as train_tiny's\n");
    exit(UNROLL_USAGE);
}

/* Runs one step of one row. Allocates no memory, so it may be called from a loop that must not wait. */
static float step(unroll_session *session, float input)
{
    unroll_batch batch = {.size = sizeof batch, .inputs = &input};
    float answer;

    check(unroll_session_forward(session, &batch));
    check(unroll_session_read(session, "z", &answer, 1));       /* "z": the outputs, [steps, rows, output] */
    return answer;
}

int main(int count, char *words[])
{
    unroll_model *model = open_model(count > 1 ? words[1] : NULL);
    check_shape(model);

    unroll_session_config config = unroll_session_config_default();    /* outputs only, 1 step, 1 row */
    config.stateful = 1;                       /* each call continues from the states of the last one */
    config.machine.threads = 1;                     /* a single step is too small to divide */
    unroll_session *session;
    check(unroll_session_new(model, &config, &session));

    float answer = 0;
    printf("step   input  answer  next value\n");
    for (int t = 0; t < HEARD + ALONE; t++) {
        float input = t < HEARD ? wave(t) : answer;
        answer = step(session, input);
        printf("%4d  %6.3f  %6.3f  %6.3f%s\n", t, input, answer, wave(t + 1), t < HEARD ? "" : "   alone");
    }

    /* Without its memory the network's output for the same input is different. */
    float remembered = step(session, 0.5f);
    check(unroll_session_reset(session));
    printf("0.5 with its memory: %.3f, without: %.3f\n", remembered, step(session, 0.5f));

    unroll_session_free(session);
    unroll_model_free(model);
    return 0;
}

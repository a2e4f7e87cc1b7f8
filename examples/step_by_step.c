/* Runs a model one step at a time, as a program does that gets its inputs one by one.
 *     step_by_step [MODEL]      MODEL: one that train_tiny has saved; without it: an untrained one
 * First it hears a wave, then it is left alone and hears its own answers. What it remembers of the wave is
 * in the states, which the session carries from step to step. */
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
        unroll_spec spec = unroll_spec_default();
        spec.hidden = 24;
        spec.input = spec.output = 1;       /* the weights are random, the same for the same seed */
        check(unroll_model_new(&spec, 1, &model));
    }
    return model;
}

/* Only a model of one number in and one out fits this program. */
static void check_shape(const unroll_model *model)
{
    unroll_network network;

    unroll_model_network(model, &network);
    if (!network.tokens && network.input == 1 && unroll_model_outputs(model) == 1)
        return;
    fprintf(stderr, "step_by_step: the model must have 1 input and 1 output, as train_tiny's\n");
    exit(UNROLL_USAGE);
}

/* One step of one row. No memory is taken here: this may be called from a loop that must not wait. */
static float step(unroll_session *session, float input)
{
    unroll_batch batch = {.size = sizeof batch, .inputs = &input};
    float answer;

    check(unroll_forward(session, &batch));
    check(unroll_read(session, "z", &answer, 1));       /* "z": the outputs, [steps, rows, output] */
    return answer;
}

int main(int count, char *words[])
{
    unroll_model *model = open_model(count > 1 ? words[1] : NULL);
    check_shape(model);

    unroll_session_config config = unroll_session_default();    /* outputs only, 1 step, 1 row */
    config.stateful = 1;                       /* each call goes on from the states that the last one left */
    config.machine.threads = 1;                     /* a single step is too little work to share */
    unroll_session *session;
    check(unroll_session_new(model, &config, &session));

    float answer = 0;
    printf("step   input  answer  next value\n");
    for (int t = 0; t < HEARD + ALONE; t++) {
        float input = t < HEARD ? wave(t) : answer;
        answer = step(session, input);
        printf("%4d  %6.3f  %6.3f  %6.3f%s\n", t, input, answer, wave(t + 1), t < HEARD ? "" : "   alone");
    }

    /* Without its memory the network answers differently to the same input. */
    float remembered = step(session, 0.5f);
    check(unroll_clear_states(session));
    printf("0.5 with its memory: %.3f, without: %.3f\n", remembered, step(session, 0.5f));

    unroll_session_free(session);
    unroll_model_free(model);
    return 0;
}

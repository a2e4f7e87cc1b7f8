/* Trains a tiny LSTM to predict the next value of a wave, using only unroll.h.
 *     train_tiny [MODEL]        MODEL: where the model is saved, default tiny.safetensors
 * Shows the five calls of every training: model, session, forward, backward, update. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unroll_train.h>

/* A batch consists of STEPS consecutive values of each of ROWS waves, which begin at different points. */
enum { STEPS = 40, ROWS = 8, UPDATES = 300 };

/* The target: two sines, so that a single value does not determine the position on the wave. */
static float wave(double t)
{
    return (float)(0.6 * sin(0.3 * t) + 0.4 * sin(0.7 * t));
}

/* Every function that can fail returns a status; unroll_last_error() explains what, where, why, and gives a fix. */
static void check(unroll_status status)
{
    if (status == UNROLL_OK)
        return;
    fprintf(stderr, "train_tiny: %s\n", unroll_last_error());
    exit(status);
}

/* Arrays are time-major: element [t][b] is step t of row b. The target of each step is the next value. */
static void fill(float inputs[STEPS][ROWS], float targets[STEPS][ROWS], int update)
{
    for (int b = 0; b < ROWS; b++) {
        double begin = 13.0 * b + 1.7 * update;
        for (int t = 0; t < STEPS; t++) {
            inputs[t][b] = wave(begin + t);
            targets[t][b] = wave(begin + t + 1);
        }
    }
}

int main(int count, char *words[])
{
    const char *path = count > 1 ? words[1] : "tiny.safetensors";
    static float inputs[STEPS][ROWS], targets[STEPS][ROWS];

    /* The network: one value in, an LSTM of 24 units, one value out, squared error. */
    unroll_model_config spec = unroll_model_config_default();
    spec.cell = "lstm";
    spec.hidden = 24;
    spec.input = 1;
    spec.output = 1;
    spec.loss = "mse";
    unroll_model *model;
    check(unroll_model_new(&spec, 1, &model));

    /* Execution settings: all memory for batches of this shape is allocated here, none later. */
    unroll_session_config config = unroll_session_config_default();
    config.mode = UNROLL_TRAIN;
    config.steps = STEPS;
    config.rows = ROWS;
    config.optimizer = "adam";
    unroll_session *session;
    check(unroll_session_new(model, &config, &session));

    unroll_hyperparameters rates = unroll_hyperparameters_default(config.optimizer);
    rates.learning_rate = 0.005;
    rates.clip = 1;

    unroll_batch batch = {.size = sizeof batch, .inputs = inputs[0], .target_values = targets[0]};
    for (int update = 0; update <= UPDATES; update++) {
        unroll_result result = { .size = sizeof result };
        fill(inputs, targets, update);
        check(unroll_session_forward(session, &batch));
        check(unroll_session_backward(session));
        check(unroll_session_update(session, &rates, &result));
        if (update % 100 == 0)
            printf("update %3d   loss %.5f   gradient norm %.3f\n", update, result.loss, result.norm);
    }

    /* The session has trained its own copy of the weights: copy them back before saving. */
    check(unroll_session_pull(session));
    check(unroll_model_save(model, path));
    printf("saved %s\n", path);
    unroll_session_free(session);
    unroll_model_free(model);
    return 0;
}

/* Trains a network with a custom loss, using only unroll_train.h.
 *     own_loss
 * A module session returns outputs and accepts their gradient; the program computes the loss in between. Here it is the
 * CRPS, the continuous ranked probability score, of a normal distribution. It is the absolute error generalized to
 * forecasts that are distributions, and is lowest if the stated uncertainty is right. The network reads a wave whose
 * noise varies with the wave, and learns both mean and standard deviation of the next value. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unroll_train.h>

enum { STEPS = 32, ROWS = 16, UPDATES = 300 };

static void check(unroll_status status)
{
    if (status == UNROLL_OK)
        return;
    fprintf(stderr, "own_loss: %s\n", unroll_last_error());
    exit(status);
}

/* Approximately normal, and the same on every machine. */
static double noise(void)
{
    static unsigned long long state = 1;
    double sum = 0;
    for (int i = 0; i < 12; i++) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        sum += (double)(state >> 33) / (1u << 31);
    }
    return sum - 6;
}

static double deviation(double t) { return 0.05 + 0.25 * (1 + sin(0.3 * t)) / 2; }

static void fill(float inputs[STEPS][ROWS], float targets[STEPS][ROWS], int update)
{
    for (int b = 0; b < ROWS; b++) {
        double begin = 13.0 * b + 1.7 * update;
        for (int t = 0; t < STEPS; t++) {
            inputs[t][b] = (float)sin(0.3 * (begin + t));
            targets[t][b] = (float)(sin(0.3 * (begin + t + 1)) + deviation(begin + t + 1) * noise());
        }
    }
}

/* Returns the score of the target y for a normal distribution with mean z[0] and standard deviation e^z[1], and its
 * slopes in both. With x = (y - mean) / s it is s (x (2 P(x) - 1) + 2 p(x) - 1 / sqrt(pi)), with density p and its
 * integral P. */
static double crps(const float z[2], double y, float slope[2])
{
    const double pi = 3.14159265358979323846;
    double s = exp(z[1]), x = (y - z[0]) / s;
    double density = exp(-x * x / 2) / sqrt(2 * pi), inside = erf(x / sqrt(2)); /* 2 P(x) - 1 */
    slope[0] = (float)-inside;
    slope[1] = (float)(s * (2 * density - 1 / sqrt(pi)));
    return s * (x * inside + 2 * density - 1 / sqrt(pi));
}

int main(void)
{
    static float inputs[STEPS][ROWS], targets[STEPS][ROWS], z[STEPS][ROWS][2], slope[STEPS][ROWS][2];

    /* A network without a loss: two outputs with any meaning. */
    unroll_model_config spec = unroll_model_config_default();
    spec.cell = "gru";
    spec.hidden = 24;
    spec.input = 1;
    spec.output = 2;
    unroll_model *model;
    check(unroll_model_new(&spec, 1, &model));

    /* A module that updates its own weights. */
    unroll_session_config config = unroll_session_config_default();
    config.mode = UNROLL_MODULE;
    config.updates = 1;
    config.steps = STEPS;
    config.rows = ROWS;
    unroll_session *session;
    check(unroll_session_new(model, &config, &session));

    unroll_hyperparameters rates = unroll_hyperparameters_default(config.optimizer);
    rates.learning_rate = 0.005;
    rates.clip = 1;

    unroll_batch batch = {.size = sizeof batch, .inputs = inputs[0]};
    for (int update = 0; update <= UPDATES; update++) {
        unroll_result result = { .size = sizeof result };
        double score = 0, stated[2] = {0}; /* where the noise is small, and where it is large */
        int steps[2] = {0};
        fill(inputs, targets, update);
        check(unroll_session_forward(session, &batch));
        check(unroll_session_read(session, "z", z[0][0], sizeof z / sizeof(float)));
        for (int t = 0; t < STEPS; t++)
            for (int b = 0; b < ROWS; b++) {
                score += crps(z[t][b], targets[t][b], slope[t][b]) / (STEPS * ROWS);
                for (int k = 0; k < 2; k++)
                    slope[t][b][k] /= STEPS * ROWS; /* of the mean over the batch */
                int large = deviation(13.0 * b + 1.7 * update + t + 1) > 0.175;
                stated[large] += exp(z[t][b][1]);
                steps[large]++;
            }
        check(unroll_session_write(session, "d.z", slope[0][0], sizeof slope / sizeof(float)));
        check(unroll_session_backward(session));
        check(unroll_session_update(session, &rates, &result));
        if (update % 100 == 0)
            printf("update %3d   CRPS %.5f   gradient norm %.3f   deviation %.3f and %.3f\n", update, score, result.norm,
                   stated[0] / steps[0], stated[1] / steps[1]);
    }
    unroll_session_free(session);
    unroll_model_free(model);
    return 0;
}

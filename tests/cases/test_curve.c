/* Trains a hundred steps on another device and on the CPU and compares each loss, in fp32 and with bf16 products. Every
 * step is one program and one round trip. Usage: test_curve DEVICE [fp32]: for devices without bf16 */
#include "check.h"
#include "unroll_train.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { STEPS = 100, T = 16, B = 8, SYMBOLS = 12 };

/* Each symbol is determined by the previous two, except for one in eight: part of the data can be learned. */
static void draw(int32_t *tokens, int32_t *classes, uint32_t *state)
{
    int32_t before = 0, last = 1, next;
    for (int row = 0; row < B; row++)
        for (int t = 0; t <= T; t++) {
            *state = *state * 1664525u + 1013904223u;
            next = *state >> 29 ? (before + 3 * last) % SYMBOLS : (int32_t)(*state >> 8) % SYMBOLS;
            if (t < T)
                tokens[t * B + row] = next;
            if (t > 0)
                classes[(t - 1) * B + row] = next;
            before = last, last = next;
        }
}

/* Trains STEPS steps on a device and stores the loss of each; false: an error. */
static bool train(const char *cell, const char *device, const char *precision, double *loss)
{
    static int32_t tokens[T * B], classes[T * B];
    unroll_session_config config = unroll_session_config_default();
    unroll_model_config spec = unroll_model_config_default();
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    unroll_model *model;
    unroll_session *session = NULL;
    uint32_t state = 7;
    spec.cell = cell, spec.layers = 1, spec.hidden = 24;
    spec.tokens = 1, spec.input = spec.output = SYMBOLS, spec.loss = "xent";
    config.mode = UNROLL_TRAIN, config.steps = T, config.rows = B, config.stateful = 1;
    config.machine.device = device, config.machine.precision = precision;
    rates.learning_rate = 0.005, rates.clip = 1;
    if (unroll_model_new(&spec, 1, &model) != UNROLL_OK)
        return false;
    bool good = unroll_session_new(model, &config, &session) == UNROLL_OK;
    for (int i = 0; good && i < STEPS; i++) {
        unroll_result result = {.size = sizeof result};
        draw(tokens, classes, &state);
        good = unroll_session_step(session,
                                   &(unroll_batch){.size = sizeof(unroll_batch), .tokens = tokens, .targets = classes},
                                   &rates, &result) == UNROLL_OK;
        loss[i] = result.loss;
    }
    unroll_session_free(session);
    unroll_model_free(model);
    return good;
}

/* Returns the largest relative distance between two losses of the same step. */
static double farthest(const double *a, const double *b)
{
    double max = 0;
    for (int i = 0; i < STEPS; i++) {
        double d = fabs(a[i] - b[i]) / b[i];
        max = d <= max ? max : d; /* keeps NaN */
    }
    return max;
}

/* bf16 products give losses near those of fp32, but not equal to them. */
static void check_narrow(const char *cell, const char *device, const double *here)
{
    double narrow[STEPS];
    if (!CHECK(train(cell, device, "bf16", narrow), "%s in bf16 on %s: %s", cell, device, unroll_last_error()))
        return;
    CHECK(farthest(narrow, here) <= 0.01, "%s: in bf16 a loss differs by %.1e", cell, farthest(narrow, here));
    CHECK(farthest(narrow, here) > 1e-6, "%s: bf16 is not fp32", cell);
    printf("%s: in bf16 farthest %.1e\n", cell, farthest(narrow, here));
}

static void check_curve(const char *cell, const char *device, bool has_bf16)
{
    double here[STEPS], there[STEPS];
    if (!CHECK(train(cell, NULL, NULL, here), "%s on the CPU: %s", cell, unroll_last_error()) ||
        !CHECK(train(cell, device, NULL, there), "%s on %s: %s", cell, device, unroll_last_error()))
        return;
    CHECK(here[STEPS - 1] < 0.95 * here[0], "%s learns: %g, then %g", cell, here[0], here[STEPS - 1]);
    CHECK(farthest(there, here) <= 1e-5, "%s: a loss of %d differs by %.1e", cell, STEPS, farthest(there, here));
    printf("%s: %g to %g, farthest %.1e\n", cell, here[0], here[STEPS - 1], farthest(there, here));
    if (has_bf16)
        check_narrow(cell, device, here);
}

int main(int argc, char **argv)
{
    const bool has_bf16 = argc == 2;
    if (argc < 2 || argc > 3 || (argc == 3 && strcmp(argv[2], "fp32"))) {
        fprintf(stderr, "usage: test_curve DEVICE [fp32]\n");
        return 2;
    }
    check_curve("lstm", argv[1], has_bf16);
    check_curve("gru", argv[1], has_bf16);
    return check_finish("test_curve");
}

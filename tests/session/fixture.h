/* Shared by the tests of sessions: two small models, sessions of them, random batches. */
#ifndef SESSION_FIXTURE_H
#define SESSION_FIXTURE_H
#include "check.h"
#include "unroll_train.h"
#include <stdlib.h>
#include <string.h>

enum { STEPS = 6, ROWS = 2, INPUT = 3, SYMBOLS = 7 };

/* ---- models, sessions, batches --------------------------------------------------------- */

static inline unroll_model_config vectors_spec(void)
{
    unroll_model_config s = unroll_model_config_default();
    s.layers = 2;
    s.hidden = 5;
    s.input = INPUT;
    s.output = 1;
    s.loss = "mse";
    return s;
}

static inline unroll_model_config tokens_spec(void)
{
    unroll_model_config s = vectors_spec();
    s.cell = "gru";
    s.tokens = 1;
    s.embed = 4;
    s.input = s.output = SYMBOLS;
    s.loss = "xent";
    return s;
}

static inline unroll_model *new_model(unroll_model_config s)
{
    unroll_model *m = NULL;
    if (!MUST(unroll_model_new(&s, 3, &m)))
        abort();
    return m;
}

static inline unroll_session_config config_of(unroll_mode mode, int steps, int rows)
{
    unroll_session_config c = unroll_session_config_default();
    c.mode = mode;
    c.steps = steps;
    c.rows = rows;
    c.machine.threads = 1;
    return c;
}

static inline unroll_session *open_with(unroll_model *m, unroll_session_config c)
{
    unroll_session *s = NULL;
    if (!MUST(unroll_session_new(m, &c, &s)))
        abort();
    return s;
}

static inline unroll_session *open_session(unroll_model *m, unroll_mode mode, int steps, int rows)
{
    return open_with(m, config_of(mode, steps, rows));
}

/* Inputs and targets for both kinds of models and up to 2 * STEPS steps. */
struct arrays {
    float inputs[2 * STEPS * ROWS * INPUT], values[2 * STEPS * ROWS];
    int32_t tokens[2 * STEPS * ROWS], classes[2 * STEPS * ROWS], lengths[ROWS];
    uint8_t reset[2 * STEPS * ROWS];
};

static inline double random_number(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 33) / (1u << 30) - 1;
}

static inline struct arrays draw(uint64_t seed)
{
    struct arrays a = {.lengths = {STEPS, 3}};
    for (int i = 0; i < 2 * STEPS * ROWS; i++) {
        for (int k = 0; k < INPUT; k++) a.inputs[i * INPUT + k] = (float)random_number(&seed);
        a.values[i] = (float)random_number(&seed);
        a.tokens[i] = (int32_t)((random_number(&seed) + 1) / 2 * SYMBOLS);
        a.classes[i] = (int32_t)((random_number(&seed) + 1) / 2 * SYMBOLS);
    }
    return a;
}

static inline unroll_batch regression(const struct arrays *a)
{
    return (unroll_batch){.size = sizeof(unroll_batch), .inputs = a->inputs, .target_values = a->values};
}

static inline unroll_batch language(const struct arrays *a)
{
    return (unroll_batch){.size = sizeof(unroll_batch), .tokens = a->tokens, .targets = a->classes};
}

#endif

/* Modules inside a larger model: several forwards before their backwards, external weights, gradients of all parameters
 * at once, evaluation with gradients but without dropout. The values are tested in tests/vectors and tests/cases. */
/* test: kinds=plain,long-memory */
#include "session/fixture.h"
#include "model/model.h"
#include "unroll_advanced.h"
#include <math.h>

enum { PARAMETERS_MAX = 32, NUMBERS = 4096, WIDTH = 4 };

/* Two bidirectional LSTM layers with dropout, no head. */
static unroll_model_config layers_spec(float dropout)
{
    unroll_model_config s = unroll_model_config_default();
    s.layers = 2;
    s.hidden = WIDTH;
    s.bidirectional = 1;
    s.dropout = dropout;
    s.input = INPUT;
    return s;
}

static unroll_session *open_module(unroll_model *m, int no_dropout)
{
    unroll_session_config c = config_of(UNROLL_MODULE, STEPS, ROWS);
    c.input_gradient = 1;
    c.no_dropout = no_dropout;
    return open_with(m, c);
}

/* ---- results of a forward and a backward -------------------------------------------------- */

struct answers {
    float y[STEPS * ROWS * 2 * WIDTH], dx[STEPS * ROWS * INPUT];
    float gradient[NUMBERS]; /* of all parameters, one after the other */
};

static void forward(unroll_session *s, const struct arrays *a)
{
    unroll_session_set_counters(s, 7, 0); /* the same dropout masks each time */
    MUST(unroll_session_forward(s, &(unroll_batch){.size = sizeof(unroll_batch), .inputs = a->inputs}));
}

/* The gradient of the outputs is another random draw. */
static void backward(unroll_session *s, uint64_t seed, struct answers *out)
{
    float dy[STEPS * ROWS * 2 * WIDTH];
    for (size_t i = 0; i < sizeof dy / sizeof *dy; i++) dy[i] = (float)random_number(&seed);
    MUST(unroll_session_write(s, "d.y.l1", dy, sizeof dy / sizeof *dy));
    MUST(unroll_session_backward(s));
    MUST(unroll_session_read(s, "y.l1", out->y, sizeof out->y / sizeof *out->y));
    MUST(unroll_session_read(s, "d.x", out->dx, sizeof out->dx / sizeof *out->dx));
}

static size_t gradients(unroll_session *s, unroll_model *m, struct answers *out)
{
    float *to[PARAMETERS_MAX];
    size_t count = 0;
    for (int i = 0; i < unroll_model_parameters(m); i++) {
        unroll_parameter p = {.size = sizeof p};
        MUST(unroll_model_parameter(m, i, &p));
        to[i] = out->gradient + count;
        count += (size_t)p.shape[0] * (size_t)(p.rank > 1 ? p.shape[1] : 1);
    }
    MUST(unroll_session_gradients(s, to));
    return count;
}

static struct answers alone(unroll_model *m, const struct arrays *a, uint64_t seed, int no_dropout)
{
    struct answers out = {0};
    unroll_session *s = open_module(m, no_dropout);
    forward(s, a);
    backward(s, seed, &out);
    gradients(s, m, &out);
    unroll_session_free(s);
    return out;
}

/* ---- tests -------------------------------------------------------------------------------- */

static void test_several_alive(void)
{
    enum { N = 3 };
    unroll_model *m = new_model(layers_spec(0.4f));
    unroll_session *s[N];
    struct arrays a[N];
    for (int i = 0; i < N; i++) {
        a[i] = draw(11 + (uint64_t)i);
        s[i] = open_module(m, 0);
    }
    for (int i = 0; i < N; i++) forward(s[i], &a[i]);
    for (int i = N; i-- > 0;) {
        struct answers together = {0}, expected = alone(m, &a[i], 100 + (uint64_t)i, 0);
        backward(s[i], 100 + (uint64_t)i, &together);
        gradients(s[i], m, &together);
        CHECK(!memcmp(&together, &expected, sizeof expected), "module %d of %d alive has other bits", i, N);
    }
    for (int i = 0; i < N; i++) unroll_session_free(s[i]);
    unroll_model_free(m);
}

/* A forward without a batch repeats the previous one, whatever was computed since. */
static void test_same_batch(void)
{
    unroll_model *m = new_model(layers_spec(0.4f));
    unroll_session *s = open_module(m, 0);
    struct arrays first = draw(8), a = draw(9);
    struct answers expected = alone(m, &a, 6, 0), got = {0};
    forward(s, &first);
    backward(s, 3, &got);
    forward(s, &a);
    backward(s, 4, &got);
    memset(&got, 0, sizeof got);
    unroll_session_set_counters(s, 7, 0);
    MUST(unroll_session_forward(s, NULL));
    backward(s, 6, &got);
    gradients(s, m, &got);
    CHECK(!memcmp(&got, &expected, sizeof expected), "the same batch once more has other bits");
    unroll_session_free(s);
    unroll_model_free(m);
}

/* Weights of another model, set in one session, are visible in the others and in the model's own memory. */
static void test_weights_from_outside(void)
{
    unroll_model_config spec = layers_spec(0);
    unroll_model *m = new_model(spec), *other = NULL;
    MUST(unroll_model_new(&spec, 99, &other));
    unroll_session *first = open_module(m, 0), *second = open_module(m, 0);
    const float *weights[PARAMETERS_MAX];
    unroll_parameter p = {.size = sizeof p}, q = {.size = sizeof q};
    for (int i = 0; i < unroll_model_parameters(other); i++) {
        MUST(unroll_model_parameter(other, i, &p));
        weights[i] = p.data;
    }
    struct arrays a = draw(5);
    struct answers expected = alone(other, &a, 6, 0), got = {0};
    MUST(unroll_session_set_weights(first, weights));
    forward(second, &a);
    backward(second, 6, &got);
    gradients(second, m, &got);
    CHECK(!memcmp(&got, &expected, sizeof expected), "weights set in one session are not those of another");

    MUST(unroll_model_parameter(other, 0, &p));
    p.data[0] += 1;
    memset(weights, 0, sizeof weights);
    weights[0] = p.data; /* NULL: others do not change */
    MUST(unroll_session_set_weights(first, weights));
    MUST(unroll_session_pull(first));
    for (int i = 0; i < unroll_model_parameters(m); i++) {
        MUST(unroll_model_parameter(m, i, &q));
        MUST(unroll_model_parameter(other, i, &p));
        CHECK(q.data[0] == p.data[0], "%s[0] is %g, not %g", q.name, (double)q.data[0], (double)p.data[0]);
    }
    unroll_session_free(first);
    unroll_session_free(second);
    unroll_model_free(m);
    unroll_model_free(other);
}

static void test_no_dropout(void)
{
    unroll_model *dropping = new_model(layers_spec(0.4f)), *plain = new_model(layers_spec(0));
    struct arrays a = draw(8);
    struct answers expected = alone(plain, &a, 9, 0), got = alone(dropping, &a, 9, 1),
                   dropped = alone(dropping, &a, 9, 0);
    CHECK(!memcmp(&got, &expected, sizeof got), "no_dropout gives other bits than a model without dropout");
    CHECK(memcmp(&dropped, &expected, sizeof got), "dropout drops nothing");
    unroll_model_free(dropping);
    unroll_model_free(plain);
}

/* A module for more steps than a batch has: rows end early, only existing steps are copied, and earlier contents of its
 * inputs have no effect. */
static void test_first_steps(void)
{
    enum { FEW = 4, STEP_OUT = ROWS * 2 * WIDTH, STEP_IN = ROWS * INPUT };
    unroll_model *m = new_model(layers_spec(0));
    struct arrays a = draw(21);
    unroll_session_config exact = config_of(UNROLL_MODULE, FEW, ROWS), longer = config_of(UNROLL_MODULE, STEPS, ROWS);
    exact.input_gradient = longer.input_gradient = longer.lengths = 1;
    unroll_session *s[2] = {open_with(m, exact), open_with(m, longer)};
    float y[2][FEW * STEP_OUT], dx[2][FEW * STEP_IN];
    static float gradient[2][NUMBERS];
    int32_t lengths[ROWS] = {FEW, FEW};
    float was_there[STEPS * STEP_IN];
    for (size_t i = 0; i < sizeof was_there / sizeof *was_there; i++) was_there[i] = NAN;
    MUST(unroll_session_write(s[1], "x", was_there, STEPS * STEP_IN));
    for (int i = 0; i < 2; i++) {
        struct answers made = {0};
        MUST(unroll_session_forward(
            s[i], &(unroll_batch){.size = sizeof(unroll_batch), .inputs = a.inputs, .lengths = i ? lengths : NULL}));
        MUST(unroll_session_write(s[i], "d.y.l1", a.inputs, FEW * STEP_OUT));
        MUST(unroll_session_backward(s[i]));
        MUST(unroll_session_read(s[i], "y.l1", y[i], FEW * STEP_OUT));
        MUST(unroll_session_read(s[i], "d.x", dx[i], FEW * STEP_IN));
        gradients(s[i], m, &made);
        memcpy(gradient[i], made.gradient, sizeof made.gradient);
    }
    CHECK(!memcmp(y[0], y[1], sizeof *y) && !memcmp(dx[0], dx[1], sizeof *dx), "the first steps have other bits");
    CHECK(!memcmp(gradient[0], gradient[1], sizeof *gradient), "their gradients have other bits");
    CHECK_REFUSED(unroll_session_read(s[1], "y.l1", y[0], STEP_OUT + 1), UNROLL_USAGE, "values, but");
    CHECK_REFUSED(unroll_session_read(s[1], "y.l1", y[0], (STEPS + 1) * STEP_OUT), UNROLL_USAGE, "values, but");
    CHECK_REFUSED(unroll_session_read(s[1], "y.l1", y[0], 0), UNROLL_USAGE, "values, but");
    CHECK_REFUSED(unroll_session_read(s[1], "hn.l0", y[0], WIDTH), UNROLL_USAGE, "values, but");
    unroll_session_free(s[0]);
    unroll_session_free(s[1]);
    unroll_model_free(m);
}

enum { TILED = 20, TILED_STEPS = 3, TILED_BATCH = TILED_STEPS * TILED * TILED };

static void tiled_backward(unroll_session *s, uint64_t seed, float dw[4 * TILED * TILED])
{
    static float inputs[TILED_BATCH];
    for (size_t i = 0; i < TILED_BATCH; i++) inputs[i] = (float)random_number(&seed);
    MUST(unroll_session_forward(s, &(unroll_batch){.size = sizeof(unroll_batch), .inputs = inputs}));
    MUST(unroll_session_write(s, "d.y.l0", inputs, TILED_BATCH));
    MUST(unroll_session_backward(s));
    MUST(unroll_session_read(s, "d.rnn.weight_ih_l0", dw, 4 * TILED * TILED));
}

/* Gradients do not depend on earlier ones, also for rows and units that fill tiles. */
static void test_gradients_of_one_backward(void)
{
    unroll_model_config spec = layers_spec(0);
    static float first[4 * TILED * TILED], again[4 * TILED * TILED];
    spec.layers = 1;
    spec.hidden = spec.input = TILED;
    spec.bidirectional = 0;
    unroll_model *m = new_model(spec);
    unroll_session *s = open_with(m, config_of(UNROLL_MODULE, TILED_STEPS, TILED));
    tiled_backward(s, 1, first);
    tiled_backward(s, 2, again);
    CHECK(memcmp(first, again, sizeof first), "another batch has the same gradients");
    tiled_backward(s, 1, again);
    CHECK(!memcmp(first, again, sizeof first), "a backward adds to what one before it left");
    unroll_session_free(s);
    unroll_model_free(m);
}

static void test_shapes_and_refusals(void)
{
    unroll_model *m = new_model(layers_spec(0));
    unroll_session *s = open_module(m, 0), *infer = open_session(m, UNROLL_INFER, STEPS, ROWS);
    unroll_buffer b = {.size = sizeof b};
    const int *shape = b.shape;
    CHECK(unroll_session_find(s, "y.l1", &b) && b.rank == 3 && shape[0] == STEPS && shape[1] == ROWS &&
              shape[2] == 2 * WIDTH,
          "y.l1 is [%d, %d, %d]", shape[0], shape[1], shape[2]);
    static const char *const states[] = {"h0.l0", "hn.l0.reverse", "d.h0.l0", "s0.l0", "sn.l0.reverse", "d.sn.l0"};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        CHECK(unroll_session_find(s, states[i], &b) && b.rank == 2 && shape[0] == ROWS && shape[1] == WIDTH,
              "the shape of %s", states[i]);
    for (int i = 0; i < unroll_model_parameters(m); i++) {
        unroll_parameter p = {.size = sizeof p};
        char gradient[96];
        MUST(unroll_model_parameter(m, i, &p));
        snprintf(gradient, sizeof gradient, "d.%s", p.name);
        CHECK(unroll_session_find(s, gradient, &b) && b.rank == p.rank &&
                  !memcmp(shape, p.shape, (size_t)p.rank * sizeof *shape),
              "the shape of %s", gradient);
    }
    CHECK(!unroll_session_find(s, "nothing", &b), "what is not there is not found");
    float *none[PARAMETERS_MAX] = {NULL};
    MUST(unroll_session_gradients(s, none));
    CHECK_REFUSED(unroll_session_gradients(infer, none), UNROLL_USAGE, "mode module");
    unroll_session_free(s);
    unroll_session_free(infer);
    unroll_model_free(m);
}

enum { EVEN = 8, BATCHES = 2, COUNTED = BATCHES * EVEN * ROWS }; /* a power of two: division is exact */

/* Two batches and an update: of a session that trains with squared errors, or of a module that is given their
 * slopes. */
static unroll_result update_once(unroll_session *s, bool is_module, uint64_t seed)
{
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    unroll_result result = {.size = sizeof result};
    float z[EVEN * ROWS];
    rates.clip = 0.25;
    for (uint64_t i = 0; i < BATCHES; i++) {
        const struct arrays a = draw(seed + i);
        unroll_batch batch = regression(&a);
        if (is_module)
            batch.target_values = NULL;
        MUST(unroll_session_forward(s, &batch));
        if (is_module) {
            MUST(unroll_session_read(s, "z", z, EVEN * ROWS));
            for (int k = 0; k < EVEN * ROWS; k++) z[k] = 2 * (z[k] - a.values[k]) / COUNTED;
            MUST(unroll_session_write(s, "d.z", z, EVEN * ROWS));
        }
        MUST(unroll_session_backward(s));
    }
    MUST(unroll_session_update(s, &rates, &result));
    return result;
}

/* A module trains itself: with the slopes of a loss computed here it has the bits of a training with that loss. */
static void test_updates(void)
{
    unroll_model *m[2];
    unroll_session *s[2];
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    float *none[PARAMETERS_MAX] = {NULL};
    unroll_result result = {.size = sizeof result};
    for (int i = 0; i < 2; i++) {
        unroll_session_config c = config_of(i ? UNROLL_MODULE : UNROLL_TRAIN, EVEN, ROWS);
        c.updates = i;
        s[i] = open_with(m[i] = new_model(vectors_spec()), c);
    }
    for (uint64_t step = 0; step < 4; step++) {
        unroll_result trained = update_once(s[0], false, 50 + step), own = update_once(s[1], true, 50 + step);
        CHECK(own.norm == trained.norm && own.norm > 0 && own.weight == 1, "step %d: the norm is %.17g, not %.17g",
              (int)step, own.norm, trained.norm);
    }
    for (int i = 0; i < 2; i++) MUST(unroll_session_pull(s[i]));
    for (int i = 0; i < unroll_model_parameters(m[0]); i++) {
        unroll_parameter p = {.size = sizeof p}, q = {.size = sizeof q};
        MUST(unroll_model_parameter(m[0], i, &p));
        MUST(unroll_model_parameter(m[1], i, &q));
        CHECK(!memcmp(p.data, q.data, (size_t)p.shape[0] * (size_t)(p.rank > 1 ? p.shape[1] : 1) * sizeof(float)),
              "%s has other bits", p.name);
    }
    const float before = m[1]->values[0];
    MUST(unroll_session_update(s[1], &rates, &result)); /* no gradients since */
    MUST(unroll_session_pull(s[1]));
    CHECK(m[1]->values[0] == before && result.norm == 0, "an update of nothing moves the weights");
    const struct arrays a = draw(1);
    const unroll_batch batch = regression(&a);
    CHECK_REFUSED(unroll_session_step(s[1], &batch, &rates, NULL), UNROLL_USAGE,
                  "a session in mode module has no loss");
    CHECK_REFUSED(unroll_session_gradients(s[1], none), UNROLL_USAGE, "with updates = 0");
    unroll_session_config c = config_of(UNROLL_TRAIN, EVEN, ROWS);
    unroll_session *other = NULL;
    CHECK_REFUSED(unroll_session_new(m[1], &c, &other), UNROLL_UNSUPPORTED, "being trained by another session");
    c.updates = 1;
    CHECK_REFUSED(unroll_session_new(m[1], &c, &other), UNROLL_USAGE, "updates = 1 requires");
    unroll_session *plain = open_session(m[1], UNROLL_MODULE, EVEN, ROWS);
    CHECK_REFUSED(unroll_session_update(plain, &rates, &result), UNROLL_USAGE, "not created to train");
    unroll_session_free(plain);
    for (int i = 0; i < 2; i++) unroll_session_free(s[i]);
    for (int i = 0; i < 2; i++) unroll_model_free(m[i]);
}

int main(void)
{
    test_updates();
    test_same_batch();
    test_several_alive();
    test_weights_from_outside();
    test_no_dropout();
    test_first_steps();
    test_gradients_of_one_backward();
    test_shapes_and_refusals();
    return check_finish("test_module");
}

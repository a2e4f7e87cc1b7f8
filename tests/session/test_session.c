/* The public interface of sessions: what sessions of a model share, carried and reset states, clipping, divergence, out
 * of memory. Refusals are in test_refusals.c; values are tested in tests/cases and tests/vectors. */
/* test: kinds=check-plain,memory; seconds=30 */
#include "session/fixture.h"
#include "base/memory.h"
#include "listed.h"
#include "unroll_advanced.h"
#include <stdlib.h>
#include <math.h>

enum { WEIGHTS = 4096 }; /* more than any model here has */

static unroll_status step(unroll_session *s, const struct arrays *a, const unroll_hyperparameters *rates,
                          unroll_result *result)
{
    unroll_batch b = regression(a);
    unroll_status status = unroll_session_forward(s, &b);
    if (status == UNROLL_OK)
        status = unroll_session_backward(s);
    return status == UNROLL_OK ? unroll_session_update(s, rates, result) : status;
}

/* Copies all values of the model's own memory and returns their number. */
static size_t weights_of(unroll_model *m, float *to)
{
    size_t count = 0;
    for (int i = 0; i < unroll_model_parameters(m); i++) {
        unroll_parameter p = {.size = sizeof p};
        MUST(unroll_model_parameter(m, i, &p));
        size_t n = (size_t)p.shape[0] * (size_t)(p.rank > 1 ? p.shape[1] : 1);
        if (count + n > WEIGHTS)
            abort();
        memcpy(to + count, p.data, n * sizeof *to);
        count += n;
    }
    return count;
}

static bool same(const float *a, const float *b, size_t count) { return !memcmp(a, b, count * sizeof *a); }

/* Reads the outputs of a vector model, [steps, rows]. */
static void outputs(unroll_session *s, const float *inputs, const uint8_t *reset, float *z, size_t count)
{
    unroll_batch b = {.size = sizeof b, .inputs = inputs, .reset = reset};
    MUST(unroll_session_forward(s, &b));
    MUST(unroll_session_read(s, "z", z, count));
}

/* ---- sessions of one model ------------------------------------------------------------- */

/* Two training steps, and then the outputs of a session of the same model. Whichever session is freed first, the model
 * keeps what was learned. */
static size_t train_and_infer(bool train_goes_first, float *z, float *weights)
{
    struct arrays a = draw(1);
    unroll_model *m = new_model(vectors_spec());
    unroll_session *infer = open_session(m, UNROLL_INFER, STEPS, ROWS);
    unroll_session *train = open_session(m, UNROLL_TRAIN, STEPS, ROWS);
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    unroll_result result = {.size = sizeof result};
    float before[STEPS * ROWS];
    outputs(infer, a.inputs, NULL, before, STEPS * ROWS);
    for (int i = 0; i < 2; i++) MUST(step(train, &a, &rates, &result));
    if (train_goes_first)
        unroll_session_free(train);
    outputs(infer, a.inputs, NULL, z, STEPS * ROWS);
    CHECK(!same(before, z, STEPS * ROWS), "the inferring session sees what the other has learned");
    unroll_session_free(infer);
    if (!train_goes_first)
        unroll_session_free(train);
    size_t count = weights_of(m, weights);
    unroll_model_free(m);
    return count;
}

/* Several steps in one call, whose losses are read after the third: the bits of separate steps, the mean of the
 * losses. */
static void check_steps(void)
{
    static float parts[WEIGHTS], whole[WEIGHTS];
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    unroll_result result = {.size = sizeof result}, found = {.size = sizeof found};
    double loss = 0, weight = 0;
    size_t count = 0;
    for (int way = 0; way < 2; way++) {
        unroll_model *m = new_model(vectors_spec());
        unroll_session *s = open_session(m, UNROLL_TRAIN, STEPS, ROWS);
        for (int i = 0; i < 3; i++) {
            struct arrays a = draw((uint64_t)i);
            unroll_batch b = regression(&a);
            MUST(way ? unroll_session_step(s, &b, &rates, NULL) : step(s, &a, &rates, &result));
            loss += way ? 0 : result.loss * result.weight, weight += way ? 0 : result.weight;
        }
        if (way) {
            MUST(unroll_session_result(s, &found));
            CHECK(fabs(found.loss - loss / weight) < 1e-12 && found.weight == weight, "the mean of three: %g, %g",
                  found.loss, found.weight);
            CHECK(found.norm == result.norm, "the norm of the last: %g and %g", found.norm, result.norm);
            MUST(unroll_session_result(s, &found));
            CHECK(found.loss == 0 && found.weight == 0 && found.norm == 0, "which is given once: %g", found.loss);
        }
        MUST(unroll_session_pull(s));
        count = weights_of(m, way ? whole : parts);
        unroll_session_free(s);
        unroll_model_free(m);
    }
    CHECK(same(parts, whole, count), "a step in one call has the bits of its parts");
}

static void check_sharing(void)
{
    static float one[WEIGHTS], other[WEIGHTS], alone[WEIGHTS];
    struct arrays a = draw(1);
    float z[STEPS * ROWS], y[STEPS * ROWS];
    size_t count = train_and_infer(true, z, one);
    CHECK(train_and_infer(false, y, other) == count && same(one, other, count) && same(z, y, STEPS * ROWS),
          "the order in which sessions are freed doesn't matter");
    unroll_model *m = new_model(vectors_spec());
    unroll_session *s = open_session(m, UNROLL_TRAIN, STEPS, ROWS);
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    unroll_result result = {.size = sizeof result};
    MUST(step(s, &a, &rates, &result));
    MUST(step(s, &a, &rates, &result));
    unroll_session_free(s);
    weights_of(m, alone);
    CHECK(same(one, alone, count), "a concurrent session does not change what is learned");
    s = open_session(m, UNROLL_INFER, STEPS, ROWS);
    outputs(s, a.inputs, NULL, y, STEPS * ROWS);
    CHECK(same(z, y, STEPS * ROWS), "a session opened later starts from what was learned");
    unroll_session_free(s);
    unroll_model_free(m);
}

/* Copies a model with the same weights. */
static unroll_model *copy_of(unroll_model *m, unroll_model_config spec)
{
    unroll_model *copy = new_model(spec);
    for (int i = 0; i < unroll_model_parameters(m); i++) {
        unroll_parameter from = {.size = sizeof from}, to = {.size = sizeof to};
        MUST(unroll_model_parameter(m, i, &from));
        MUST(unroll_model_parameter(copy, i, &to));
        memcpy(to.data, from.data,
               (size_t)from.shape[0] * (size_t)(from.rank > 1 ? from.shape[1] : 1) * sizeof *to.data);
    }
    return copy;
}

/* A session that evaluates many rows has its own copies of weights (packed for steps, bf16x3 splits). It rebuilds them
 * after each update of another session, and has the loss of a separate session with the same weights. */
static void check_evaluation_beside(const char *isa)
{
    enum { LONG = 2, MANY = 32, WIDE = 256 };
    static float inputs[LONG * MANY * INPUT], values[LONG * MANY];
    uint64_t seed = 5;
    for (int i = 0; i < LONG * MANY * INPUT; i++) inputs[i] = (float)random_number(&seed);
    for (int i = 0; i < LONG * MANY; i++) values[i] = (float)random_number(&seed);
    unroll_batch batch = {.size = sizeof batch, .inputs = inputs, .target_values = values};
    unroll_model_config spec = vectors_spec();
    spec.hidden = WIDE;
    unroll_session_config training = config_of(UNROLL_TRAIN, LONG, MANY),
                          evaluation = config_of(UNROLL_EVAL, LONG, MANY);
    training.machine.isa = evaluation.machine.isa = isa;
    unroll_model *m = new_model(spec);
    unroll_session *train = open_with(m, training), *evaluating = open_with(m, evaluation);
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    unroll_result result = {.size = sizeof result}, expected = {.size = sizeof expected};
    for (int i = 0; i < 3; i++) {
        MUST(unroll_session_step(train, &batch, &rates, &result));
        MUST(unroll_session_forward(evaluating, &batch));
        MUST(unroll_session_result(evaluating, &result));
        MUST(unroll_session_pull(train));
        unroll_model *copy = copy_of(m, spec);
        unroll_session *fresh = open_with(copy, evaluation);
        MUST(unroll_session_forward(fresh, &batch));
        MUST(unroll_session_result(fresh, &expected));
        CHECK(result.loss == expected.loss, "%s, update %d: %.9g during the training, %.9g alone", isa, i + 1,
              result.loss, expected.loss);
        unroll_session_free(fresh);
        unroll_model_free(copy);
    }
    unroll_session_free(evaluating);
    unroll_session_free(train);
    unroll_model_free(m);
}

static void check_evaluations_beside(void)
{
    const char *isa;
    for (int i = 0, available; (isa = listed_isa(i, &available)); i++)
        if (available)
            check_evaluation_beside(isa);
}

/* An evaluation that keeps its outputs has those of a session that only runs, although the loss is computed in
 * place. */
static void check_results(bool classes)
{
    struct arrays a = draw(6);
    unroll_model *m = new_model(classes ? tokens_spec() : vectors_spec());
    unroll_session_config kept = config_of(UNROLL_EVAL, STEPS, ROWS);
    kept.results = 1;
    unroll_session *infer = open_session(m, UNROLL_INFER, STEPS, ROWS), *eval = open_with(m, kept);
    unroll_session *plain = open_session(m, UNROLL_EVAL, STEPS, ROWS);
    unroll_batch b = {.size = sizeof b};
    b.inputs = classes ? NULL : a.inputs, b.target_values = classes ? NULL : a.values;
    b.tokens = classes ? a.tokens : NULL, b.targets = classes ? a.classes : NULL;
    unroll_result result = {.size = sizeof result}, alone = {.size = sizeof alone};
    float z[STEPS * ROWS * SYMBOLS], expected[STEPS * ROWS * SYMBOLS];
    size_t count = STEPS * ROWS * (classes ? SYMBOLS : 1);
    MUST(unroll_session_forward(eval, &b) || unroll_session_read(eval, "z", z, count) ||
         unroll_session_result(eval, &result));
    MUST(unroll_session_forward(plain, &b) || unroll_session_result(plain, &alone));
    b.target_values = NULL, b.targets = NULL;
    MUST(unroll_session_forward(infer, &b) || unroll_session_read(infer, "z", expected, count));
    CHECK(same(z, expected, count), "results of an evaluation with a loss of %s are not the network's",
          classes ? "classes" : "numbers");
    CHECK(result.loss == alone.loss, "the loss is %.9g, and %.9g without results", result.loss, alone.loss);
    unroll_session_free(plain);
    unroll_session_free(eval);
    unroll_session_free(infer);
    unroll_model_free(m);
}

/* Weights changed only by the user remain at the end of a session; learned weights are copied to the model, whichever
 * session ends last. */
static void check_ends(void)
{
    static float before[WEIGHTS], after[WEIGHTS];
    struct arrays a = draw(1);
    unroll_model *m = new_model(vectors_spec());
    unroll_session *infer = open_session(m, UNROLL_INFER, STEPS, ROWS);
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    unroll_result result = {.size = sizeof result};
    unroll_parameter p = {.size = sizeof p};
    MUST(unroll_model_parameter(m, 0, &p));
    p.data[0] = 0.25f;
    unroll_session_free(infer);
    CHECK(p.data[0] == 0.25f, "the end of a session that changed nothing took back what was written");
    infer = open_session(m, UNROLL_INFER, STEPS, ROWS);
    unroll_session *train = open_session(m, UNROLL_TRAIN, STEPS, ROWS);
    size_t count = weights_of(m, before);
    MUST(step(train, &a, &rates, &result));
    unroll_session_free(train);
    weights_of(m, after);
    CHECK(!same(before, after, count), "what was learned waits for the end of another session");
    p.data[0] = 0.25f;
    unroll_session_free(infer);
    CHECK(p.data[0] == 0.25f, "what came before is brought once");
    unroll_model_free(m);
}

static void check_push_and_pull(void)
{
    static float before[WEIGHTS], after[WEIGHTS], again[WEIGHTS];
    struct arrays a = draw(1);
    unroll_model *m = new_model(vectors_spec());
    unroll_session_config c = config_of(UNROLL_TRAIN, STEPS, ROWS);
    c.optimizer = "sgd";
    unroll_session *s = open_with(m, c);
    unroll_session *infer = open_session(m, UNROLL_INFER, STEPS, ROWS);
    unroll_hyperparameters rates = unroll_hyperparameters_default(c.optimizer);
    unroll_result result = {.size = sizeof result};
    unroll_parameter p = {.size = sizeof p};
    float z[STEPS * ROWS], y[STEPS * ROWS], first[WEIGHTS];
    size_t count = weights_of(m, before);
    outputs(infer, a.inputs, NULL, z, STEPS * ROWS);
    MUST(step(s, &a, &rates, &result));
    weights_of(m, after);
    CHECK(same(before, after, count), "the model's memory waits for a pull");
    MUST(unroll_session_pull(s));
    weights_of(m, after);
    CHECK(!same(before, after, count), "a pull brings what was learned");
    MUST(unroll_model_parameter(m, 0, &p));
    size_t n = unroll_session_count(s, p.name);
    MUST(unroll_session_read(infer, p.name, first, n));
    CHECK(same(first, p.data, n), "'%s' is the same in the session and in the model", p.name);
    size_t at = 0;
    for (int i = 0; i < unroll_model_parameters(m); i++) { /* back to the start */
        MUST(unroll_model_parameter(m, i, &p));
        n = unroll_session_count(s, p.name);
        memcpy(p.data, before + at, n * sizeof *before);
        at += n;
    }
    MUST(unroll_session_push(infer));
    outputs(infer, a.inputs, NULL, y, STEPS * ROWS);
    CHECK(same(z, y, STEPS * ROWS), "a push gives the old weights back, packed copies too");
    MUST(step(s, &a, &rates, &result));
    MUST(unroll_session_pull(s));
    weights_of(m, again);
    CHECK(same(after, again, count), "the training session's copies are of the weights that another one pushed");
    unroll_session_free(infer);
    unroll_session_free(s);
    unroll_model_free(m);
}

/* ---- states ---------------------------------------------------------------------------- */

static void check_carry(const char *cell)
{
    struct arrays a = draw(1);
    unroll_model_config spec = vectors_spec();
    spec.cell = cell;
    unroll_model *m = new_model(spec);
    unroll_session_config c = config_of(UNROLL_INFER, STEPS, ROWS);
    c.stateful = 1;
    unroll_session *halves = open_with(m, c), *whole = open_session(m, UNROLL_INFER, 2 * STEPS, ROWS);
    float z[2 * STEPS * ROWS], y[2 * STEPS * ROWS];
    outputs(whole, a.inputs, NULL, z, 2 * STEPS * ROWS);
    for (int round = 0; round < 2; round++) {
        outputs(halves, a.inputs, NULL, y, STEPS * ROWS);
        outputs(halves, a.inputs + STEPS * ROWS * INPUT, NULL, y + STEPS * ROWS, STEPS * ROWS);
        CHECK(same(z, y, 2 * STEPS * ROWS), "%s, round %d: two runs are one long run", cell, round);
        MUST(unroll_session_reset(halves));
    }
    outputs(halves, a.inputs, NULL, y, STEPS * ROWS);
    outputs(halves, a.inputs, NULL, y + STEPS * ROWS, STEPS * ROWS);
    CHECK(!same(y, y + STEPS * ROWS, STEPS * ROWS), "%s: the second run starts elsewhere", cell);
    unroll_session_free(halves);
    unroll_session_free(whole);
    unroll_model_free(m);
}

/* Row 0 is reset at step 4: from there it is a separate run, before and in other rows nothing changes. */
static void check_resets(const char *cell)
{
    enum { AT = 4, REST = STEPS - AT };
    struct arrays a = draw(1);
    unroll_model_config spec = vectors_spec();
    spec.cell = cell;
    unroll_model *m = new_model(spec);
    unroll_session_config c = config_of(UNROLL_INFER, STEPS, ROWS);
    unroll_session *plain = open_with(m, c), *rest = open_session(m, UNROLL_INFER, REST, 1);
    c.resets = c.stateful = 1;
    unroll_session *s = open_with(m, c);
    float z[STEPS * ROWS], y[STEPS * ROWS], tail[REST], inputs[REST * INPUT];
    for (int t = 0; t < REST; t++)
        memcpy(inputs + t * INPUT, a.inputs + (AT + t) * ROWS * INPUT, INPUT * sizeof *inputs);
    outputs(plain, a.inputs, NULL, z, STEPS * ROWS);
    outputs(rest, inputs, NULL, tail, REST);
    for (int t = AT; t < STEPS; t++) z[t * ROWS] = tail[t - AT];
    a.reset[AT * ROWS] = 1;
    for (int round = 0; round < 2; round++) { /* the second time both rows discard the carried states */
        outputs(s, a.inputs, a.reset, y, STEPS * ROWS);
        CHECK(same(z, y, STEPS * ROWS), "%s, round %d: a reset is a run of its own", cell, round);
        a.reset[0] = a.reset[1] = 1;
    }
    unroll_session_free(plain);
    unroll_session_free(rest);
    unroll_session_free(s);
    unroll_model_free(m);
}

/* Dropout masks are numbered by forwards: the same number gives the same mask. */
static void check_counters(void)
{
    struct arrays a = draw(1);
    unroll_model_config spec = vectors_spec();
    spec.dropout = 0.5f;
    unroll_model *m = new_model(spec);
    unroll_session *s = open_session(m, UNROLL_TRAIN, STEPS, ROWS);
    unroll_batch b = regression(&a);
    unroll_result r[3];
    int64_t forwards, updates;
    for (int i = 0; i < 3; i++) {
        if (i == 2)
            unroll_session_set_counters(s, 0, 5);
        r[i].size = sizeof r[i];
        MUST(unroll_session_forward(s, &b));
        MUST(unroll_session_result(s, &r[i]));
    }
    unroll_session_counters(s, &forwards, &updates);
    CHECK(forwards == 1 && updates == 5, "%d forwards, %d updates", (int)forwards, (int)updates);
    CHECK(r[0].loss == r[2].loss && r[0].loss != r[1].loss, "losses %.17g %.17g %.17g", r[0].loss, r[1].loss,
          r[2].loss);
    unroll_session_free(s);
    unroll_model_free(m);
}

/* ---- clipping -------------------------------------------------------------------------- */

static unroll_hyperparameters plain_rates(double learning_rate, double clip)
{
    unroll_hyperparameters rates = unroll_hyperparameters_default("sgd");
    rates.learning_rate = learning_rate;
    rates.clip = clip;
    return rates;
}

/* Returns the norm of the gradient for targets of a given size; nothing is updated. */
static double norm_at(unroll_session *s, struct arrays *a, float size)
{
    unroll_hyperparameters rates = plain_rates(0, 0);
    unroll_result result = {.size = sizeof result};
    for (int i = 0; i < STEPS * ROWS; i++) a->values[i] = size;
    MUST(step(s, a, &rates, &result));
    return result.norm;
}

/* Returns the distance of one step from the initial weights, with a gradient of norm 50. */
static double distance_of_step(double clip)
{
    static float before[WEIGHTS], after[WEIGHTS];
    struct arrays a = draw(1);
    unroll_model *m = new_model(vectors_spec());
    unroll_session_config c = config_of(UNROLL_TRAIN, STEPS, ROWS);
    c.optimizer = "sgd";
    unroll_session *s = open_with(m, c);
    unroll_hyperparameters rates = plain_rates(1, clip);
    unroll_result result = {.size = sizeof result};
    float low = 1, high = 1000;
    for (int i = 0; i < 40; i++) {
        float middle = (low + high) / 2;
        *(norm_at(s, &a, middle) < 50 ? &low : &high) = middle;
    }
    norm_at(s, &a, low); /* leaves these targets */
    size_t count = weights_of(m, before);
    MUST(step(s, &a, &rates, &result));
    CHECK(fabs(result.norm - 50) < 1e-3, "the norm before clipping is %g", result.norm);
    unroll_session_free(s);
    weights_of(m, after);
    double squares = 0;
    for (size_t i = 0; i < count; i++) squares += ((double)after[i] - before[i]) * ((double)after[i] - before[i]);
    unroll_model_free(m);
    return sqrt(squares);
}

static void check_clipping(void)
{
    double clipped = distance_of_step(10), whole = distance_of_step(0), below = distance_of_step(100);
    CHECK(fabs(clipped - 10) < 1e-4, "a gradient of norm 50 clipped to 10 has norm %.8g", clipped);
    CHECK(fabs(whole - 50) < 2e-3 && below == whole, "not clipped it has norm %.8g, below the clip %.8g", whole, below);
}

/* ---- divergence ------------------------------------------------------------------------ */

/* The error is finite, but its slope is not: the step is skipped, and does not affect the next one. */
static void check_divergence(void)
{
    static float weights[2][WEIGHTS], before[WEIGHTS];
    size_t count = 0;
    for (int diverges = 0; diverges < 2; diverges++) {
        struct arrays good = draw(1), bad = good;
        unroll_model *m = new_model(vectors_spec());
        unroll_session *s = open_session(m, UNROLL_TRAIN, STEPS, ROWS);
        unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
        unroll_result result = {.size = sizeof result};
        int64_t forwards, updates;
        bad.values[3] = 3e38f;
        MUST(step(s, &good, &rates, &result));
        if (diverges) {
            MUST(unroll_session_pull(s));
            weights_of(m, before);
            CHECK_REFUSED(step(s, &bad, &rates, &result), UNROLL_DIVERGED, "gradient");
            CHECK(!isfinite(result.norm), "the norm is %g", result.norm);
            MUST(unroll_session_pull(s));
            count = weights_of(m, weights[1]);
            CHECK(same(before, weights[1], count), "the weights stay");
        }
        MUST(step(s, &good, &rates, &result));
        unroll_session_counters(s, &forwards, &updates);
        CHECK(forwards == 2 + diverges && updates == 2, "%d forwards, %d updates", (int)forwards, (int)updates);
        unroll_session_free(s);
        count = weights_of(m, weights[diverges]);
        unroll_model_free(m);
    }
    CHECK(same(weights[0], weights[1], count), "a step that was left out leaves no trace");
}

/* ---- out of memory --------------------------------------------------------------------- */

static unroll_status make_all(const unroll_session_config *c, unroll_model **m, unroll_session **one,
                              unroll_session **other)
{
    unroll_model_config spec = tokens_spec();
    unroll_session_config infer = config_of(UNROLL_INFER, 1, 1);
    unroll_status status = unroll_model_new(&spec, 1, m);
    if (status == UNROLL_OK)
        status = unroll_session_new(*m, c, one);
    return status == UNROLL_OK ? unroll_session_new(*m, &infer, other) : status;
}

/* Each allocation fails in turn. */
static void check_out_of_memory(void)
{
    unroll_session_config c = config_of(UNROLL_TRAIN, STEPS, ROWS);
    unroll_status status = UNROLL_RESOURCE;
    int n = 0;
    c.machine.threads = c.machine.queues = c.machine.chunks = 2;
    c.lengths = c.resets = c.stateful = 1;
    for (; n < 10000 && status == UNROLL_RESOURCE; n++) {
        unroll_model *m = NULL;
        unroll_session *one = NULL, *other = NULL;
        uint64_t live = memory_live();
        memory_fail_after(n);
        status = make_all(&c, &m, &one, &other);
        memory_fail_after(-1);
        bool says_so = status == UNROLL_RESOURCE && !other && strstr(unroll_last_error(), "memory");
        CHECK(says_so || status == UNROLL_OK, "allocation %d fails: %d '%s'", n, (int)status, unroll_last_error());
        unroll_session_free(other);
        unroll_session_free(one);
        unroll_model_free(m);
        CHECK(memory_live() == live, "allocation %d fails: %d blocks leak", n, (int)(memory_live() - live));
    }
    CHECK(status == UNROLL_OK && n > 20, "after %d allocations: %d", n, (int)status);
}

int main(void)
{
    setenv("UNROLL_ADAPTIVE", "together", 1); /* small networks, too, must run on all threads */
    static const char *const cells[] = {"rnn", "lstm", "gru", "gru-before"};
    check_sharing();
    check_evaluations_beside();
    check_results(false);
    check_results(true);
    check_steps();
    check_ends();
    check_push_and_pull();
    for (int i = 0; i < 4; i++) {
        check_carry(cells[i]);
        check_resets(cells[i]);
    }
    check_counters();
    check_clipping();
    check_divergence();
    check_out_of_memory();
    return check_finish("session");
}

/* Everything that models and sessions refuse, with the messages; a refusal leaks nothing. */
/* test: kinds=plain,long-memory */
#include "session/fixture.h"
#include "base/memory.h"
#include "model/model.h"
#include "unroll_advanced.h"
#include <math.h>

/* ---- models and configurations --------------------------------------------------------- */

static void refuse_config(unroll_model *m, unroll_session_config c, unroll_status status, const char *words, int line)
{
    unroll_session *s = NULL;
    uint64_t live = memory_live();
    CHECK_REFUSED(unroll_session_new(m, &c, &s), status, words);
    CHECK(!s && memory_live() == live, "line %d: a refused session leaves nothing", line);
}

/* Sessions of a model share the packed copies. */
static void check_one_type_of_weights(void)
{
    unroll_model *m = new_model(vectors_spec());
    unroll_session_config c = config_of(UNROLL_EVAL, STEPS, ROWS);
    c.machine.dtype = "bf16";
    unroll_session *s = open_with(m, c);
    unroll_session *same = open_with(m, c);
    c.machine.dtype = "int8";
    refuse_config(m, c, UNROLL_UNSUPPORTED, "weights in bf16", __LINE__);
    refuse_config(m, config_of(UNROLL_TRAIN, STEPS, ROWS), UNROLL_UNSUPPORTED, "weights in bf16", __LINE__);
    unroll_session_free(same);
    unroll_session_free(s);
    unroll_session_free(open_with(m, c));
    unroll_model_free(m);
}

/* Sums of int8 must not overflow. */
static void check_wide_int8(void)
{
    unroll_model_config spec = vectors_spec();
    spec.input = 131065;
    unroll_model *m = new_model(spec);
    unroll_session_config c = config_of(UNROLL_INFER, 1, 1);
    c.machine.dtype = "int8";
    refuse_config(m, c, UNROLL_UNSUPPORTED, "may overflow", __LINE__);
    c.machine.dtype = "bf16";
    unroll_session_free(open_with(m, c));
    unroll_model_free(m);
}

static void check_refused_configs(void)
{
    unroll_model *m = new_model(vectors_spec());
    unroll_session *s = NULL;
    CHECK_REFUSED(unroll_session_new(m, NULL, &s), UNROLL_USAGE, "unroll_session_config_default");
#define REFUSED_WITH(field, value, status, words)                           \
    do {                                                                    \
        unroll_session_config c = config_of(UNROLL_TRAIN, STEPS, ROWS);     \
        c.field = value;                                                    \
        refuse_config(m, c, status, words, __LINE__);                       \
    } while (0)
    REFUSED_WITH(size, 8, UNROLL_USAGE, "unroll_session_config_default");
    REFUSED_WITH(machine.size, 0, UNROLL_USAGE, "unroll_machine_default");
    REFUSED_WITH(machine.exact, -1, UNROLL_USAGE, "`exact` = -1");
    REFUSED_WITH(mode, (unroll_mode)4, UNROLL_USAGE, "mode = 4");
    REFUSED_WITH(steps, 0, UNROLL_USAGE, "`steps` = 0");
    REFUSED_WITH(rows, -1, UNROLL_USAGE, "`rows` = -1");
    REFUSED_WITH(shards, 0, UNROLL_USAGE, "shards = 0");
    REFUSED_WITH(shards, 3, UNROLL_USAGE, "3 shards");
    REFUSED_WITH(machine.threads, -1, UNROLL_USAGE, "`threads` = -1");
    REFUSED_WITH(machine.threads, 1025, UNROLL_USAGE, "`threads` = 1025");
    REFUSED_WITH(machine.queues, -1, UNROLL_USAGE, "`queues` = -1");
    REFUSED_WITH(machine.queues, 9, UNROLL_USAGE, "`queues` = 9");
    REFUSED_WITH(machine.chunks, -1, UNROLL_USAGE, "`chunks` = -1");
    REFUSED_WITH(machine.chunks, 65, UNROLL_USAGE, "`chunks` = 65");
    REFUSED_WITH(machine.chunks, STEPS + 1, UNROLL_UNSUPPORTED, "chunks");
    REFUSED_WITH(machine.checkpoint_time, -2, UNROLL_USAGE, "`checkpoint_time` = -2");
    REFUSED_WITH(machine.device, "cpu:1", UNROLL_USAGE, "device cpu:1");
    REFUSED_WITH(machine.isa, "mmx", UNROLL_USAGE, "no isa 'mmx'");
    REFUSED_WITH(machine.dtype, "fp8", UNROLL_USAGE, "choose one of fp32, bf16, int8");
    REFUSED_WITH(machine.dtype, "bf16", UNROLL_UNSUPPORTED, "gradients require fp32 weights");
    REFUSED_WITH(machine.dtype, "int8", UNROLL_UNSUPPORTED, "gradients require fp32 weights");
    REFUSED_WITH(optimizer, "newton", UNROLL_USAGE, "no optimizer 'newton'");
    REFUSED_WITH(optimizer, NULL, UNROLL_USAGE, "no optimizer ''");
#undef REFUSED_WITH
    unroll_session_config c = config_of(UNROLL_TRAIN, STEPS, ROWS);
    c.machine.precision = "fp64";
    c.machine.isa = "avx2";
    refuse_config(m, c, UNROLL_UNSUPPORTED, "double precision", __LINE__);
    c = config_of(UNROLL_TRAIN, 65, ROWS);
    c.machine.checkpoint_time = 1;
    refuse_config(m, c, UNROLL_UNSUPPORTED, "weight gradients over 2 steps", __LINE__);
    c = config_of(UNROLL_MODULE, STEPS, ROWS);
    c.stateful = 1;
    refuse_config(m, c, UNROLL_UNSUPPORTED, "cannot be stateful", __LINE__);
    c.machine.dtype = "int8";
    c.stateful = 0;
    refuse_config(m, c, UNROLL_UNSUPPORTED, "gradients require fp32 weights", __LINE__);
    c.mode = UNROLL_EVAL;
    c.machine.precision = "fp64";
    refuse_config(m, c, UNROLL_UNSUPPORTED, "single precision", __LINE__);
    c.machine.precision = "bf16";
    refuse_config(m, c, UNROLL_UNSUPPORTED, "requires weights in fp32", __LINE__);
    c.machine.dtype = NULL;
    c.machine.isa = "scalar";
    refuse_config(m, c, UNROLL_UNSUPPORTED, "cannot multiply bf16", __LINE__);
    c.mode = UNROLL_TRAIN;
    c.machine.isa = NULL;
    c.machine.exact = 2;
    refuse_config(m, c, UNROLL_UNSUPPORTED, "cannot be combined", __LINE__);
    unroll_model_free(m);
    check_one_type_of_weights();
    check_wide_int8();
    unroll_model_config bare = vectors_spec();
    bare.loss = NULL;
    m = new_model(bare);
    refuse_config(m, config_of(UNROLL_TRAIN, STEPS, ROWS), UNROLL_USAGE, "no loss", __LINE__);
    refuse_config(m, config_of(UNROLL_EVAL, STEPS, ROWS), UNROLL_USAGE, "no loss", __LINE__);
    unroll_model_free(m);
}

static void check_refused_specs(void)
{
    unroll_model *m = NULL;
    CHECK_REFUSED(unroll_model_new(NULL, 1, &m), UNROLL_USAGE, "unroll_model_config_default");
    unroll_model_config s = vectors_spec();
    s.size = 1;
    CHECK_REFUSED(unroll_model_new(&s, 1, &m), UNROLL_USAGE, "unroll_model_config_default");
    s = vectors_spec();
    s.cell = "lstn";
    CHECK_REFUSED(unroll_model_new(&s, 1, &m), UNROLL_USAGE, "no cell 'lstn'");
    s.cell = NULL;
    CHECK_REFUSED(unroll_model_new(&s, 1, &m), UNROLL_USAGE, "no cell ''");
    s = vectors_spec();
    s.dropout = NAN;
    CHECK_REFUSED(unroll_model_new(&s, 1, &m), UNROLL_USAGE, "dropout");
    CHECK(!m, "a refused model is not made");
    m = new_model(vectors_spec());
    unroll_parameter p = {.size = sizeof p};
    unroll_model *text = new_model(tokens_spec());
    const char *symbols[SYMBOLS] = {"a", "b", "c", "d", "e", "f", "\xff"};
    CHECK_REFUSED(model_set_vocabulary(text, symbols, SYMBOLS), UNROLL_DATA, "token 6 is not valid UTF-8");
    CHECK(!unroll_model_vocabulary(text), "a model that no file could hold");
    unroll_model_free(text);
    CHECK_REFUSED(unroll_model_parameter(m, 0, &(unroll_parameter){.rank = 1}), UNROLL_USAGE,
                  "size = 0 of unroll_parameter is wrong; fix: start from");
    CHECK_REFUSED(unroll_model_parameter(m, -1, &p), UNROLL_USAGE, "no parameter -1");
    CHECK_REFUSED(unroll_model_parameter(m, unroll_model_parameters(m), &p), UNROLL_USAGE, "no parameter");
    unroll_model_free(m);
}

/* Each array that is needed and missing, or given and not needed. */
static void check_refused_arrays(void)
{
    struct arrays a = draw(1);
    unroll_model *m = new_model(vectors_spec());
    unroll_session *s = open_session(m, UNROLL_TRAIN, STEPS, ROWS);
#define REFUSED_BATCH(make, field, value, words)                            \
    do {                                                                    \
        unroll_batch b = make(&a);                                          \
        b.field = value;                                                    \
        CHECK_REFUSED(unroll_session_forward(s, &b), UNROLL_USAGE, words);                \
    } while (0)
    REFUSED_BATCH(regression, inputs, NULL, "no inputs");
    REFUSED_BATCH(regression, target_values, NULL, "no target_values");
    REFUSED_BATCH(regression, tokens, a.tokens, "has tokens");
    REFUSED_BATCH(regression, targets, a.classes, "has targets");
    REFUSED_BATCH(regression, lengths, a.lengths, "has lengths");
    REFUSED_BATCH(regression, reset, a.reset, "has reset");
    unroll_session_free(s);
    unroll_model_free(m);
    m = new_model(tokens_spec());
    unroll_session_config c = config_of(UNROLL_EVAL, STEPS, ROWS);
    s = open_with(m, c);
    REFUSED_BATCH(language, tokens, NULL, "no tokens");
    REFUSED_BATCH(language, targets, NULL, "no targets");
    REFUSED_BATCH(language, inputs, a.inputs, "has inputs");
    REFUSED_BATCH(language, target_values, a.values, "has target_values");
    unroll_session_free(s);
    c.lengths = c.resets = 1;
    s = open_with(m, c);
    REFUSED_BATCH(language, reset, a.reset, "no lengths");
    REFUSED_BATCH(language, lengths, a.lengths, "no reset");
    unroll_session_free(s);
    unroll_model_free(m);
#undef REFUSED_BATCH
}

/* A loss without a value for a target reports it, except beyond the length of a row; and its last layer is linear. */
static void check_refused_targets(const char *loss, float wrong, const char *words)
{
    struct arrays a = draw(1);
    unroll_model_config spec = vectors_spec();
    unroll_layer layer = unroll_layer_default();
    unroll_network network = unroll_network_default();
    unroll_session_config c = config_of(UNROLL_EVAL, STEPS, ROWS);
    int32_t lengths[ROWS] = {STEPS, STEPS};
    unroll_batch b = regression(&a);
    unroll_model *m;
    spec.loss = loss, c.lengths = 1, b.lengths = lengths;
    unroll_session *s = open_with(m = new_model(spec), c);
    for (int i = 0; i < STEPS * ROWS; i++) a.values[i] = (float)(i % 2);
    CHECK(unroll_session_forward(s, &b) == UNROLL_OK, "%s: %s", loss, unroll_last_error());
    a.values[5 * ROWS + 1] = wrong;
    CHECK_REFUSED(unroll_session_forward(s, &b), UNROLL_DATA, words);
    a.values[5 * ROWS + 1] = INFINITY;
    CHECK_REFUSED(unroll_session_forward(s, &b), UNROLL_DATA, "target_values[t=5, row=1, 0] is infinite");
    lengths[1] = STEPS - 1;
    CHECK(unroll_session_forward(s, &b) == UNROLL_OK, "%s: %s", loss, unroll_last_error());
    unroll_session_free(s);
    unroll_model_free(m);
    layer.kind = "dense", layer.name = "head", layer.width = 1, layer.activation = "tanh";
    network.layer = &layer, network.layers = 1, network.input = INPUT, network.loss = loss;
    CHECK_REFUSED(unroll_model_from_network(&network, 1, &m), UNROLL_USAGE, "the last layer must be linear");
}

/* Invalid values are reported with their position, and nothing has run. */
static void check_refused_numbers(void)
{
    struct arrays a = draw(1);
    unroll_model *m = new_model(vectors_spec());
    unroll_session *s = open_session(m, UNROLL_TRAIN, STEPS, ROWS);
    unroll_batch b = regression(&a);
    int64_t forwards, updates;
    a.inputs[(2 * ROWS + 1) * INPUT + 1] = NAN;
    CHECK_REFUSED(unroll_session_forward(s, &b), UNROLL_DATA, "inputs[t=2, row=1, 1] is NaN");
    a.inputs[(2 * ROWS + 1) * INPUT + 1] = 0;
    a.values[5 * ROWS] = -INFINITY;
    CHECK_REFUSED(unroll_session_forward(s, &b), UNROLL_DATA, "target_values[t=5, row=0, 0] is infinite");
    unroll_session_counters(s, &forwards, &updates);
    CHECK(forwards == 0 && updates == 0, "%d forwards, %d updates", (int)forwards, (int)updates);
    CHECK_REFUSED(unroll_session_backward(s), UNROLL_USAGE, "needs one forward");
    unroll_session_free(s);
    unroll_model_free(m);

    m = new_model(tokens_spec());
    unroll_session_config c = config_of(UNROLL_TRAIN, STEPS, ROWS);
    c.lengths = 1;
    s = open_with(m, c);
    b = language(&a);
    b.lengths = a.lengths;
#define REFUSED_NUMBER(at, value, words)                                    \
    do {                                                                    \
        int32_t kept = a.at;                                                \
        a.at = value;                                                       \
        CHECK_REFUSED(unroll_session_forward(s, &b), UNROLL_DATA, words);                 \
        a.at = kept;                                                        \
    } while (0)
    REFUSED_NUMBER(tokens[0], -1, "tokens[t=0, row=0] = -1 is outside 0..6");
    REFUSED_NUMBER(tokens[4 * ROWS], SYMBOLS, "tokens[t=4, row=0] = 7 is outside 0..6");
    REFUSED_NUMBER(classes[2 * ROWS + 1], -2, "targets[t=2, row=1] = -2 is outside -1..6");
    REFUSED_NUMBER(classes[0], SYMBOLS, "targets[t=0, row=0] = 7 is outside -1..6");
    REFUSED_NUMBER(lengths[1], -1, "lengths[row=1] = -1 is outside 0..6");
    REFUSED_NUMBER(lengths[0], STEPS + 1, "lengths[row=0] = 7 is outside 0..6");
#undef REFUSED_NUMBER
    unroll_session_free(s);
    unroll_model_free(m);
}

/* Values that a session does not need may be anything: beyond a row's length, invalid tokens and numbers are
 * accepted. */
static void check_beyond_lengths(void)
{
    struct arrays a = draw(1), wild = a;
    for (int t = a.lengths[1]; t < STEPS; t++) {
        wild.values[t * ROWS + 1] = NAN;
        wild.inputs[(t * ROWS + 1) * INPUT] = INFINITY;
    }
    unroll_model *m = new_model(vectors_spec());
    unroll_session_config c = config_of(UNROLL_TRAIN, STEPS, ROWS);
    unroll_result tame = {.size = sizeof tame}, result = {.size = sizeof result};
    c.lengths = 1;
    unroll_session *s = open_with(m, c);
    unroll_batch b = regression(&a), other = regression(&wild);
    b.lengths = other.lengths = a.lengths;
    MUST(unroll_session_forward(s, &b));
    MUST(unroll_session_result(s, &tame));
    MUST(unroll_session_forward(s, &other));
    MUST(unroll_session_result(s, &result));
    CHECK(tame.loss == result.loss && tame.weight == result.weight && tame.weight == STEPS + 3,
          "loss %.17g and %.17g, weight %g and %g", tame.loss, result.loss, tame.weight, result.weight);
    unroll_session_free(s);
    unroll_model_free(m);
}

static void check_refused_calls(void)
{
    struct arrays a = draw(1);
    unroll_model *m = new_model(vectors_spec());
    unroll_session *train = open_session(m, UNROLL_TRAIN, STEPS, ROWS);
    unroll_session *eval = open_session(m, UNROLL_EVAL, STEPS, ROWS);
    unroll_session *infer = open_session(m, UNROLL_INFER, STEPS, ROWS);
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam"), wrong = rates;
    unroll_result result = {.size = sizeof result};
    unroll_batch b = regression(&a);
    float z[STEPS * ROWS];
    wrong.size = 0;
    CHECK_REFUSED(unroll_session_backward(train), UNROLL_USAGE, "needs one forward");
    CHECK_REFUSED(unroll_session_forward(train, NULL), UNROLL_USAGE, "a session and a batch");
    CHECK_REFUSED(unroll_session_forward(train, &(unroll_batch){.inputs = a.inputs}), UNROLL_USAGE,
                  "size = 0 of unroll_batch is wrong; fix: start from { .size = sizeof(unroll_batch) }");
    CHECK_REFUSED(unroll_session_result(train, &(unroll_result){.loss = 0}), UNROLL_USAGE,
                  "size = 0 of unroll_result is wrong");
    CHECK_REFUSED(unroll_session_step(train, &b, &rates, &(unroll_result){.loss = 0}), UNROLL_USAGE,
                  "size = 0 of unroll_result");
    CHECK(!unroll_session_operation(train, 0, &(unroll_operation){.runs = 0}) &&
              strstr(unroll_last_error(), "size = 0 of unroll_operation is wrong"),
          "an operation without a size: %s", unroll_last_error());
    MUST(unroll_session_forward(train, &b));
    MUST(unroll_session_backward(train));
    CHECK_REFUSED(unroll_session_backward(train), UNROLL_USAGE, "needs one forward");
    CHECK_REFUSED(unroll_session_update(train, NULL, &result), UNROLL_USAGE, "unroll_hyperparameters_default");
    CHECK_REFUSED(unroll_session_update(train, &wrong, &result), UNROLL_USAGE, "unroll_hyperparameters_default");
    CHECK_REFUSED(unroll_session_update(eval, &rates, &result), UNROLL_USAGE, "not created to train");
    CHECK_REFUSED(unroll_session_update(infer, &rates, &result), UNROLL_USAGE, "not created to train");
    CHECK_REFUSED(unroll_session_backward(eval), UNROLL_USAGE, "not to train");
    CHECK_REFUSED(unroll_session_result(infer, &result), UNROLL_USAGE, "does not compute a loss");
    CHECK_REFUSED(unroll_session_read(infer, "zz", z, 1), UNROLL_USAGE, "no array 'zz'");
    CHECK_REFUSED(unroll_session_read(infer, "z", z, STEPS * ROWS - 1), UNROLL_USAGE,
                  "'z' has 12 values, but 11 were given");
    CHECK_REFUSED(unroll_session_write(infer, "z", z, STEPS * ROWS - 1), UNROLL_USAGE,
                  "'z' has 12 values, but 11 were given");
    CHECK_REFUSED(unroll_session_read(infer, "run", z, 8), UNROLL_USAGE, "no array 'run'");
    float states[256] = {0};
    size_t count = unroll_session_count(infer, "h0.l0");
    CHECK(count > 2 && count <= 256, "%zu numbers of a state", count);
    MUST(unroll_session_write(infer, "h0.l0", states, count));
    states[2] = INFINITY;
    CHECK_REFUSED(unroll_session_write(infer, "h0.l0", states, count), UNROLL_DATA,
                  "'h0.l0' contains NaN or infinity at index 2");
    CHECK(unroll_session_count(infer, "z") == STEPS * ROWS && unroll_session_count(infer, "zz") == 0,
          "counts of arrays");
    unroll_session_free(train);
    unroll_session_free(eval);
    unroll_session_free(infer);
    unroll_model_free(m);
}

/* Hyperparameters that would corrupt the weights are refused before anything changes. */
static void check_refused_rates(void)
{
    struct arrays a = draw(1);
    unroll_model *m = new_model(vectors_spec());
    unroll_session *s = open_session(m, UNROLL_TRAIN, STEPS, ROWS);
    unroll_batch b = regression(&a);
    unroll_result result = {.size = sizeof result};
    float before[4 * 5 * INPUT], after[4 * 5 * INPUT];
    MUST(unroll_session_read(s, "rnn.weight_ih_l0", before, 4 * 5 * INPUT));
#define REFUSED_WITH(field, value)                                          \
    do {                                                                    \
        unroll_hyperparameters rates = unroll_hyperparameters_default("adam");                  \
        rates.field = value;                                                \
        CHECK_REFUSED(unroll_session_step(s, &b, &rates, &result), UNROLL_USAGE, #field " = ");   \
        CHECK_REFUSED(unroll_session_update(s, &rates, &result), UNROLL_USAGE, #field " = ");     \
    } while (0)
    REFUSED_WITH(learning_rate, NAN);
    REFUSED_WITH(learning_rate, INFINITY);
    REFUSED_WITH(learning_rate, 1e300);
    REFUSED_WITH(learning_rate, -1);
    REFUSED_WITH(clip, NAN);
    REFUSED_WITH(clip, -1);
#undef REFUSED_WITH
    static const struct {
        const char *name;
        double value;
    } refused[] = {
        {"beta1", 1},   {"beta1", 1 - 1e-12}, {"beta2", 1},   {"beta2", -0.1}, {"beta2", NAN},
        {"epsilon", 0}, {"epsilon", NAN},     {"decay", NAN}, {"decay", -1} /* 1 - 1e-12: 1 as a float */
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
        MUST(unroll_hyperparameters_set(&rates, refused[i].name, refused[i].value));
        CHECK_REFUSED(unroll_session_step(s, &b, &rates, &result), UNROLL_USAGE, refused[i].name);
        CHECK_REFUSED(unroll_session_update(s, &rates, &result), UNROLL_USAGE, "is outside ");
    }
    unroll_hyperparameters other = unroll_hyperparameters_default("sgd");
    CHECK_REFUSED(unroll_session_step(s, &b, &other, &result), UNROLL_USAGE,
                  "created to train with adam, not with sgd");
    CHECK_REFUSED(unroll_hyperparameters_set(&other, "beta1", 0.5), UNROLL_USAGE,
                  "sgd has no hyperparameter 'beta1'; fix: choose one of decay");
    other = unroll_hyperparameters_default("none");
    CHECK_REFUSED(unroll_session_update(s, &other, &result), UNROLL_USAGE, "an unknown optimizer");
    int64_t forwards, updates;
    unroll_session_counters(s, &forwards, &updates);
    MUST(unroll_session_read(s, "rnn.weight_ih_l0", after, 4 * 5 * INPUT));
    CHECK(!memcmp(before, after, sizeof before) && forwards == 0 && updates == 0, "%d forwards, %d updates",
          (int)forwards, (int)updates);
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    rates.clip = INFINITY;   /* none */
    rates.learning_rate = 0; /* the end of a schedule */
    MUST(unroll_session_step(s, &b, &rates, &result));
    unroll_session_free(s);
    unroll_model_free(m);
}

static void refuse_plan(unroll_plan_config c, unroll_status status, const char *words)
{
    unroll_model *m = new_model(vectors_spec());
    FILE *file = fopen("/dev/null", "w");
    CHECK_REFUSED(unroll_plan_print(m, &c, file, 0), status, words);
    fclose(file);
    unroll_model_free(m);
}

static void check_refused_plans(void)
{
#define REFUSED_WITH(field, value, status, words)       \
    do {                                                \
        unroll_plan_config c = unroll_plan_config_default();   \
        c.field = value;                                \
        refuse_plan(c, status, words);                  \
    } while (0)
    REFUSED_WITH(size, 8, UNROLL_USAGE, "unroll_plan_config_default");
    REFUSED_WITH(steps, 0, UNROLL_USAGE, "`steps` = 0");
    REFUSED_WITH(mode, (unroll_mode)4, UNROLL_USAGE, "mode = 4");
    REFUSED_WITH(machine.split.batch, -1, UNROLL_USAGE, "-1 ranks");
    REFUSED_WITH(machine.split.batch, 33, UNROLL_UNSUPPORTED, "batch=33");
    REFUSED_WITH(machine.split.layer, 65, UNROLL_UNSUPPORTED, "layer=65");
    REFUSED_WITH(machine.split.layer, 1025, UNROLL_USAGE, "1025 ranks");
    REFUSED_WITH(optimizer, "newton", UNROLL_USAGE, "choose one of");
    REFUSED_WITH(machine.comm, (unroll_comm *)&c, UNROLL_USAGE, "`comm`");
    REFUSED_WITH(machine.device, "abacus", UNROLL_USAGE, "no device 'abacus'");
    REFUSED_WITH(machine.split.batch, 0, UNROLL_OK, ""); /* not cut, as in a session */
#undef REFUSED_WITH
}

int main(void)
{
    check_refused_plans();
    check_refused_configs();
    check_refused_specs();
    check_refused_arrays();
    check_refused_numbers();
    check_refused_targets("bce", 1.5f, "target_values[t=5, row=1, 0] = 1.5 is outside 0..1 of `loss` = 'bce'");
    check_refused_targets("bce", -0.25f, "= -0.25 is outside 0..1");
    check_refused_targets("poisson", -1, "= -1 is outside 0..inf of `loss` = 'poisson'");
    check_beyond_lengths();
    check_refused_calls();
    check_refused_rates();
    return check_finish("refusals");
}

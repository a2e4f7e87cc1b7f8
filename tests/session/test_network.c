/* Networks that are not plain stacks: gradients compared with finite differences for each kind of layer, joined sources
 * and every activation; equal bits on every ISA, with chunks and threads; files; outputs of inner layers; refusals.
 * Stacks are tested in tests/cases. */
/* test: kinds=check-plain,memory */
#include "base/memory.h"
#include "convert/model_file.h"
#include "session/fixture.h"
#include "listed.h"
#include "unroll_advanced.h"
#include <stdlib.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

/* dense tanh -> gru; bidirectional lstm over (dense, gru, input); dense sigmoid. */
static unroll_model *branched(void)
{
    unroll_layer layer[4];
    for (int i = 0; i < 4; i++) layer[i] = unroll_layer_default();
    layer[0].name = "front", layer[0].width = 5, layer[0].activation = "tanh";
    layer[1].name = "inner", layer[1].kind = "gru", layer[1].width = 4, layer[1].dropout = 0.3f, layer[1].output = 1;
    layer[2].name = "outer", layer[2].kind = "lstm", layer[2].width = 6, layer[2].bidirectional = 1;
    layer[2].sources = 3, layer[2].source[0] = 0, layer[2].source[1] = 1, layer[2].source[2] = -1;
    layer[3].name = "result", layer[3].width = 1, layer[3].activation = "sigmoid";
    unroll_network network = unroll_network_default();
    network.input = INPUT;
    network.loss = "mse";
    network.layer = layer;
    network.layers = 4;
    unroll_model *m = NULL;
    if (!MUST(unroll_model_from_network(&network, 3, &m)))
        abort();
    return m;
}

/* A dense layer of one output with this activation, after a softmax or another dense layer. */
static unroll_model *activated(const char *activation, const char *before)
{
    unroll_layer layer[2] = {unroll_layer_default(), unroll_layer_default()};
    layer[0].name = "one", layer[0].width = 19, layer[0].activation = before;
    layer[1].name = "two", layer[1].width = 1, layer[1].activation = activation;
    layer[1].alpha = 0.4f, layer[1].beta = 0.6f;
    unroll_network network = unroll_network_default();
    network.input = INPUT;
    network.loss = "mse";
    network.layer = layer;
    network.layers = 2;
    unroll_model *m = NULL;
    if (!MUST(unroll_model_from_network(&network, 3, &m)))
        abort();
    return m;
}

/* ---- gradients ------------------------------------------------------------------------- */

static double loss_of(unroll_session *s, const unroll_batch *batch)
{
    unroll_result result = {.size = sizeof result};
    unroll_session_set_counters(s, 0, 0); /* the same dropout masks each time */
    MUST(unroll_session_forward(s, batch));
    MUST(unroll_session_result(s, &result));
    return result.loss * result.weight;
}

/* Values become multiples of h, so that floats represent them and their neighbors exactly. */
static const double h = 1.0 / 1024;

static void round_values(unroll_session *s, const char *name)
{
    float value[512];
    size_t count = unroll_session_count(s, name);
    MUST(unroll_session_read(s, name, value, count));
    for (size_t k = 0; k < count; k++) value[k] = (float)(round((double)value[k] / h) * h);
    MUST(unroll_session_write(s, name, value, count));
}

/* Compares at most 24 values of a parameter. */
static void compare_slopes(unroll_session *s, const unroll_batch *batch, const char *name, const char *what)
{
    float value[512], gradient[512];
    char gradient_name[96];
    size_t count = unroll_session_count(s, name);
    snprintf(gradient_name, sizeof gradient_name, "d.%s", name);
    MUST(unroll_session_read(s, name, value, count));
    MUST(unroll_session_read(s, gradient_name, gradient, count));
    for (size_t k = 0; k < count; k += 1 + count / 24) {
        double slope = 0;
        for (int side = -1; side <= 1; side += 2) {
            value[k] += (float)(side * h);
            MUST(unroll_session_write(s, name, value, count));
            slope += side * loss_of(s, batch) / (2 * h);
            value[k] -= (float)(side * h);
        }
        CHECK(fabs(slope - (double)gradient[k]) <= 2e-5 * (1 + fabs(slope)), "%s: %s[%zu] is %g, not %g", what, name, k,
              (double)gradient[k], slope);
    }
    MUST(unroll_session_write(s, name, value, count));
}

static void check_gradients(unroll_model *m, const char *what)
{
    struct arrays a = draw(5);
    unroll_batch batch = regression(&a);
    unroll_session_config c = config_of(UNROLL_TRAIN, STEPS, ROWS);
    unroll_parameter p = {.size = sizeof p};
    c.machine.precision = "fp64";
    unroll_session *s = open_with(m, c);
    for (int i = 0; i < unroll_model_parameters(m); i++) {
        unroll_model_parameter(m, i, &p);
        round_values(s, p.name);
    }
    loss_of(s, &batch);
    MUST(unroll_session_backward(s));
    for (int i = 0; i < unroll_model_parameters(m); i++) {
        unroll_model_parameter(m, i, &p);
        compare_slopes(s, &batch, p.name, what);
    }
    unroll_session_free(s);
    unroll_model_free(m);
}

static void test_gradients(void)
{
    static const char *const smooth[] = {"tanh",     "sigmoid",  "affine", "scaled_tanh", "elu",
                                         "softsign", "softplus", "relu",   "leaky_relu",  "hard_sigmoid"};
    check_gradients(branched(), "branched");
    for (size_t i = 0; i < sizeof smooth / sizeof *smooth; i++)
        check_gradients(activated(smooth[i], "tanh"), smooth[i]);
    check_gradients(activated(NULL, "softmax"), "softmax");
}

/* ---- bits ------------------------------------------------------------------------------ */

/* Trains three steps and stores the last loss and the first weights. */
static void train_with(const char *isa, int threads, int chunks, float *loss_bits, float *weights)
{
    unroll_model *m = branched();
    struct arrays a = draw(6);
    unroll_batch batch = regression(&a);
    unroll_session_config c = config_of(UNROLL_TRAIN, STEPS, ROWS);
    c.machine.isa = isa;
    c.machine.threads = threads;
    c.machine.chunks = chunks;
    unroll_session *s = open_with(m, c);
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    unroll_result result = {.size = sizeof result};
    for (int step = 0; step < 3; step++) {
        MUST(unroll_session_forward(s, &batch));
        MUST(unroll_session_backward(s));
        MUST(unroll_session_update(s, &rates, &result));
    }
    *loss_bits = (float)result.loss;
    MUST(unroll_session_read(s, "front.weight", weights, 5 * INPUT));
    unroll_session_free(s);
    unroll_model_free(m);
}

static void test_bits(void)
{
    float loss, weights[5 * INPUT], reference_loss, reference[5 * INPUT];
    train_with("scalar", 1, 1, &reference_loss, reference);
    CHECK(isfinite(reference_loss), "the loss is %g", (double)reference_loss);
    const char *name;
    for (int i = 0, available; (name = listed_isa(i, &available)) != NULL; i++)
        for (int chunks = 1; available && chunks <= 3; chunks += 2) {
            train_with(name, chunks, chunks, &loss, weights);
            CHECK(loss == reference_loss && !memcmp(weights, reference, sizeof weights), "%s, %d chunks", name, chunks);
        }
}

/* ---- files, outputs, refusals ---------------------------------------------------------- */

static void test_file(void)
{
    char path[] = "/tmp/unroll_network_XXXXXX";
    int file = mkstemp(path);
    unroll_model *m = branched(), *back = NULL;
    unroll_layer layer = {.size = sizeof layer};
    if (CHECK(file >= 0, "no temporary file") && MUST(unroll_model_save(m, path)) &&
        MUST(unroll_model_load(path, &back))) {
        CHECK(unroll_model_layers(back) == 4, "%d layers", unroll_model_layers(back));
        MUST(unroll_model_layer(back, 2, &layer));
        CHECK(!strcmp(layer.kind, "lstm") && !strcmp(layer.name, "outer") && layer.bidirectional &&
                  layer.sources == 3 && layer.source[2] == -1 && layer.width == 6,
              "the layer came back as %s %s", layer.kind, layer.name);
        MUST(unroll_model_layer(back, 3, &layer));
        CHECK(!strcmp(layer.activation, "sigmoid"), "its activation is %s", layer.activation);
        for (int i = 0; i < unroll_model_parameters(m); i++) {
            unroll_parameter p = {.size = sizeof p}, q = {.size = sizeof q};
            unroll_model_parameter(m, i, &p);
            unroll_model_parameter(back, i, &q);
            CHECK(!strcmp(p.name, q.name) && p.data[0] == q.data[0], "'%s' came back as '%s'", p.name, q.name);
        }
    }
    close(file);
    unlink(path);
    unroll_model_free(back);
    unroll_model_free(m);
}

/* The schema written by a trainer is read back unchanged. */
static void test_schema(void)
{
    static const char schema[] = "{\"columns\": [{\"name\": \"größe\"}]}";
    char path[64];
    unroll_model *m = branched(), *back = NULL;
    snprintf(path, sizeof path, "/tmp/unroll_schema_%d.safetensors", (int)getpid());
    CHECK(!unroll_model_schema(m), "a new model has no schema");
    if (MUST(model_set_schema(m, "{}")) && MUST(model_set_schema(m, schema)) && MUST(unroll_model_save(m, path)) &&
        MUST(unroll_model_load(path, &back)))
        CHECK(unroll_model_schema(back) && !strcmp(unroll_model_schema(back), schema), "the schema came back");
    unroll_model_free(back);
    back = NULL;
    if (MUST(model_set_schema(m, "[1]")) && MUST(unroll_model_save(m, path)))
        CHECK_REFUSED(unroll_model_load(path, &back), UNROLL_DATA, "its schema must be a JSON object");
    if (MUST(model_set_schema(m, NULL)) && MUST(unroll_model_save(m, path)) && MUST(unroll_model_load(path, &back)))
        CHECK(!unroll_model_schema(back), "no schema came back");
    unlink(path);
    unroll_model_free(back);
    unroll_model_free(m);
}

/* The outputs of a marked layer can be read, and equal those of the network cut off after it. */
static void test_outputs(void)
{
    unroll_model *m = branched();
    struct arrays a = draw(7);
    unroll_batch batch = {.size = sizeof batch, .inputs = a.inputs};
    unroll_session *s = open_session(m, UNROLL_INFER, STEPS, ROWS);
    float inner[STEPS * ROWS * 4], z[STEPS * ROWS];
    MUST(unroll_session_forward(s, &batch));
    MUST(unroll_session_read(s, "y.l1", inner, STEPS * ROWS * 4));
    MUST(unroll_session_read(s, "z", z, STEPS * ROWS));
    for (int i = 0; i < STEPS * ROWS; i++)
        CHECK(z[i] > 0 && z[i] < 1 && fabsf(inner[4 * i]) < 1 && inner[4 * i] != 0, "row %d: %g %g", i, (double)z[i],
              (double)inner[4 * i]);
    unroll_session_free(s);
    unroll_model_free(m);
}

static void test_refusals(void)
{
    unroll_layer layer[2] = {unroll_layer_default(), unroll_layer_default()};
    unroll_network network = unroll_network_default();
    unroll_model *m;
    network.input = INPUT;
    network.layer = layer;
    network.layers = 2;
    layer[0].name = layer[1].name = "same";
    layer[0].width = layer[1].width = 3;
    CHECK_REFUSED(unroll_model_from_network(&network, 1, &m), UNROLL_USAGE, "both named 'same'");
    layer[1].name = "\xff";
    CHECK_REFUSED(unroll_model_from_network(&network, 1, &m), UNROLL_USAGE,
                  "layer 1 needs a name of 1 to 63 bytes of UTF-8");
    layer[1].name = "other", network.embedding = "\xc3";
    CHECK_REFUSED(unroll_model_from_network(&network, 1, &m), UNROLL_USAGE, "the name of the embedding");
    network.embedding = NULL;
    layer[1].sources = 1, layer[1].source[0] = 1;
    CHECK_REFUSED(unroll_model_from_network(&network, 1, &m), UNROLL_USAGE, "layer 1 reads layer 1");
    layer[1].sources = 0, layer[1].activation = "swish";
    CHECK_REFUSED(unroll_model_from_network(&network, 1, &m), UNROLL_USAGE, "no activation 'swish'");
    static const char *const wrong[] = {"hard_sigmoid(0x1,0.5)",
                                        "hard_sigmoid( 0.2,0.5)",
                                        "hard_sigmoid(0.2,)",
                                        "elu(nan)",
                                        "elu(1e39)",
                                        "elu(1)x",
                                        "elu()",
                                        "elu(1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        layer[1].activation = wrong[i];
        CHECK_REFUSED(unroll_model_from_network(&network, 1, &m), UNROLL_USAGE, wrong[i]);
    }
    layer[1].activation = "hard_sigmoid", layer[1].beta = NAN;
    CHECK_REFUSED(unroll_model_from_network(&network, 1, &m), UNROLL_USAGE, "must be finite");
    layer[1].activation = "elu", layer[1].alpha = INFINITY, layer[1].beta = 0;
    CHECK_REFUSED(unroll_model_from_network(&network, 1, &m), UNROLL_USAGE, "must be finite");
    layer[1].activation = NULL, layer[1].alpha = 0, layer[1].clip = 1;
    CHECK_REFUSED(unroll_model_from_network(&network, 1, &m), UNROLL_USAGE,
                  "'clip' is supported only for recurrent layers");
    layer[1].clip = 0, layer[1].activations = "tanh";
    CHECK_REFUSED(unroll_model_from_network(&network, 1, &m), UNROLL_USAGE,
                  "'functions' is supported only for recurrent layers");
    layer[1].activations = NULL, layer[1].kind = "lstn";
    CHECK_REFUSED(unroll_model_from_network(&network, 1, &m), UNROLL_USAGE, "no cell 'lstn'");
    layer[1].kind = "gru", layer[1].activation = "relu";
    CHECK_REFUSED(unroll_model_from_network(&network, 1, &m), UNROLL_USAGE, "for dense layers");
    layer[1].activation = NULL, network.loss = "mse";
    CHECK_REFUSED(unroll_model_from_network(&network, 1, &m), UNROLL_USAGE, "requires a dense last layer");
    layer[1].kind = "dense", layer[1].dropout = 0.5f;
    CHECK_REFUSED(unroll_model_from_network(&network, 1, &m), UNROLL_USAGE, "the last layer");
    layer[1].dropout = 0, layer[1].width = 0;
    CHECK_REFUSED(unroll_model_from_network(&network, 1, &m), UNROLL_USAGE, "width");
    layer[1].width = 3, layer[1].size = 0;
    CHECK_REFUSED(unroll_model_from_network(&network, 1, &m), UNROLL_USAGE, "unroll_layer_default");
}

/* ---- not finite ------------------------------------------------------------------------ */

static void fill_parameter(unroll_model *m, const char *name, float value)
{
    for (int i = 0; i < unroll_model_parameters(m); i++) {
        unroll_parameter p = {.size = sizeof p};
        MUST(unroll_model_parameter(m, i, &p));
        for (int k = 0; !strcmp(p.name, name) && k < p.shape[0] * (p.rank > 1 ? p.shape[1] : 1); k++) p.data[k] = value;
    }
}

/* Finite weights whose sums overflow: the error names the layer and the position. */
static void check_located(const char *activation, const char *before, const char *weight, const char *words)
{
    unroll_model *m = activated(activation, before);
    struct arrays a = draw(5);
    unroll_batch batch = regression(&a);
    for (int i = 0; i < STEPS * ROWS * INPUT; i++)
        a.inputs[i] = i >= 2 * ROWS * INPUT + INPUT; /* zero up to row 1 of step 2 */
    fill_parameter(m, "one.weight", 1);
    fill_parameter(m, "one.bias", 0);
    fill_parameter(m, weight, 3e38f);
    unroll_session *s = open_with(m, config_of(UNROLL_TRAIN, STEPS, ROWS));
    CHECK_REFUSED(unroll_session_forward(s, &batch), UNROLL_DIVERGED, words);
    unroll_session_free(s);
    unroll_model_free(m);
}

static void test_located(void)
{
    check_located("affine", "relu", "one.weight",
                  "first bad value: layer 0, 'one', t = 2, row 1, output 0 is infinite");
    check_located("affine", NULL, "one.weight", "first bad value: layer 0, 'one', t = 2, row 1, output 0 is infinite");
    check_located("affine", "relu", "two.weight", "first bad value: layer 1, 'two', t = 2, row 1");
    check_located(NULL, "relu", "two.weight", "first bad value: layer 1, 'two', t = 2, row 1");
}

/* ---- stacks ---------------------------------------------------------------------------- */

/* The layers of a stack: gru 2 x 4 of tokens, dropout between, tied head. */
static unroll_model *layered(unroll_model_config *spec, void (*change)(unroll_network *, unroll_layer *),
                             unroll_model **stack)
{
    unroll_layer layer[3] = {unroll_layer_default(), unroll_layer_default(), unroll_layer_default()};
    unroll_network network = unroll_network_default();
    unroll_model *m = NULL;
    *spec = unroll_model_config_default();
    spec->cell = "gru", spec->layers = 2, spec->hidden = 4, spec->dropout = 0.25f, spec->tokens = 1;
    spec->input = spec->output = 5, spec->embed = 4, spec->tied = 1, spec->loss = "xent", spec->clip = 2;
    for (int i = 0; i < 2; i++)
        layer[i].kind = "gru", layer[i].name = "mine", layer[i].level = i, layer[i].width = 4, layer[i].clip = 2;
    layer[0].dropout = 0.25f;
    layer[2].name = "words", layer[2].width = 5;
    network.tokens = network.tied = 1, network.input = 5, network.embed = 4, network.loss = "xent";
    network.layer = layer, network.layers = 3;
    if (change)
        change(&network, layer);
    if (!MUST(unroll_model_from_network(&network, 3, &m)) || (stack && !MUST(unroll_model_new(spec, 3, stack))))
        abort();
    return m;
}

static bool same_weights(unroll_model *a, unroll_model *b)
{
    unroll_parameter p = {.size = sizeof p}, q = {.size = sizeof q};
    bool same = unroll_model_parameters(a) == unroll_model_parameters(b);
    for (int i = 0; same && i < unroll_model_parameters(a); i++) {
        unroll_model_parameter(a, i, &p);
        unroll_model_parameter(b, i, &q);
        size_t count = (size_t)p.shape[0] * (p.rank > 1 ? (size_t)p.shape[1] : 1);
        same = p.rank == q.rank && !memcmp(p.shape, q.shape, sizeof p.shape) &&
               !memcmp(p.data, q.data, count * sizeof *p.data);
    }
    return same;
}

static void other_level(unroll_network *n, unroll_layer *l)
{
    l[1].level = 2;
    (void)n;
}
static void other_width(unroll_network *n, unroll_layer *l)
{
    l[0].width = 3;
    (void)n;
}
static void other_activations(unroll_network *n, unroll_layer *l)
{
    l[0].activations = l[1].activations = "sigmoid softsign";
    (void)n;
}
static void other_output(unroll_network *n, unroll_layer *l)
{
    l[0].output = 1;
    (void)n;
}
static void other_dropout(unroll_network *n, unroll_layer *l)
{
    l[1].dropout = 0.25f;
    (void)n;
}
static void other_bias(unroll_network *n, unroll_layer *l)
{
    l[2].bias = 0;
    (void)n;
}
static void other_sources(unroll_network *n, unroll_layer *l)
{
    l[1].sources = 1, l[1].source[0] = -1;
    (void)n;
}
static void relu_activations(unroll_network *n, unroll_layer *l)
{
    l[0].kind = l[1].kind = "rnn";
    l[0].activations = l[1].activations = "relu";
    (void)n;
}

/* Whether two specifications are equal; their structs have bytes between the fields that nothing sets. */
static bool same_specification(const unroll_model_config *a, const unroll_model_config *b)
{
    return !strcmp(a->cell, b->cell) && a->layers == b->layers && a->hidden == b->hidden &&
           a->bidirectional == b->bidirectional && a->projection == b->projection && a->peephole == b->peephole &&
           a->clip == b->clip && a->bias == b->bias && a->dropout == b->dropout && a->tokens == b->tokens &&
           a->input == b->input && a->embed == b->embed && a->tied == b->tied && a->pool == b->pool &&
           a->output == b->output && !strcmp(a->loss, b->loss) && a->inputs == b->inputs &&
           a->n_inputs == b->n_inputs && a->input_dropout == b->input_dropout && a->init == b->init &&
           a->forget_bias == b->forget_bias;
}

/* Layers that form a stack are recognized as one, whatever their names; it has the stack's weights. */
static void test_stacks(void)
{
    static void (*const changes[])(unroll_network *, unroll_layer *) = {
        other_level, other_width, other_activations, other_output, other_dropout, other_bias, other_sources};
    unroll_model_config spec, found = {.size = sizeof found};
    unroll_model *stack = NULL, *m = layered(&spec, NULL, &stack);
    CHECK(same_weights(m, stack), "layers and a specification make the same network");
    for (int i = 0; i < 2; i++) {
        memset(&found, 0, sizeof found);
        found.size = sizeof found;
        CHECK(unroll_model_stack(i ? m : stack, &found), "a stack");
        CHECK(same_specification(&found, &spec), "the specification comes back");
    }
    unroll_model_free(stack);
    unroll_model_free(m);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        m = layered(&spec, changes[i], NULL);
        CHECK(!unroll_model_stack(m, &found), "change %zu: no stack", i);
        unroll_model_free(m);
    }
    m = layered(&spec, relu_activations, NULL);
    CHECK(unroll_model_stack(m, &found) && !strcmp(found.cell, "rnn-relu") && found.clip == 2,
          "an rnn with relu is one");
    unroll_model_free(m);
}

/* Files of version 1 described stacks, with or without names, and networks in different ways. */
static unroll_model *load_version_1(const char *name)
{
    unroll_model *m = NULL, *again = NULL;
    char path[128], *was = NULL, *is = NULL;
    snprintf(path, sizeof path, "tests/file/version-1/%s.safetensors", name);
    if (!MUST(unroll_model_load(path, &m)))
        abort();
    snprintf(path, sizeof path, "/tmp/unroll_network_%d.safetensors", (int)getpid());
    if (MUST(unroll_model_save(m, path)) && MUST(unroll_model_load(path, &again)) && MUST(describe_network(m, &was)) &&
        MUST(describe_network(again, &is)))
        CHECK(!strcmp(was, is) && same_weights(m, again), "%s: %s is not %s", name, was, is);
    unlink(path);
    release(was);
    release(is);
    unroll_model_free(again);
    return m;
}

static void test_version_1(void)
{
    unroll_import_config config = unroll_import_config_default();
    unroll_model *m = load_version_1("names"), *made = NULL;
    unroll_layer layer = {.size = sizeof layer};
    if (MUST(unroll_model_import("tests/vectors/import/classifier.safetensors", &config, &made)))
        CHECK(same_weights(m, made), "names: the weights of what was imported");
    unroll_model_free(made);
    unroll_model_free(m);
    m = load_version_1("layers");
    MUST(unroll_model_layer(m, 1, &layer));
    CHECK(unroll_model_layers(m) == 2 && !strcmp(layer.name, "rnn1") && !strcmp(layer.kind, "gru-before") &&
              layer.reverse && layer.sources == 1 && layer.source[0] == -1 && layer.activations &&
              !strcmp(layer.activations, "hard_sigmoid tanh"),
          "layers: %s %s", layer.name, layer.kind);
    unroll_model_free(m);
}

int main(void)
{
    setenv("UNROLL_ADAPTIVE", "together", 1); /* small networks, too, must run on all threads */
    test_gradients();
    test_bits();
    test_file();
    test_schema();
    test_outputs();
    test_refusals();
    test_located();
    test_stacks();
    test_version_1();
    return check_finish("network");
}

/* Compares exported C with the library. Random models with every cell and option are exported in floats and integers,
 * compiled with the warnings of embedded projects, loaded, and compared step by step with a session, a stream and
 * unroll_integer. Then tests the integer functions for all arguments, and refusals. */
/* test: seconds=60 */
#include "export/loaded.h"
#include "stream/program/integers.h"
#include "unroll_advanced.h"
#include "listed.h"
#include <math.h>
#include <sys/stat.h>

/* ---- the comparison -------------------------------------------------------------------- */

enum { STEPS = 40, WIDEST = 512 };

struct frame {
    float x[WIDEST];
    int32_t token[UNROLL_INPUTS_MAX];
    int numbers, tokens;
};

static int32_t random_token(int n) { return (int32_t)((uniform() + 1) / 2 * n); }

static struct frame random_frame(const unroll_network *network)
{
    struct frame f = {.numbers = network->tokens ? 0 : network->input};
    if (network->tokens)
        f.token[f.tokens++] = random_token(network->input);
    for (int i = 0; i < network->n_inputs; i++)
        if (network->inputs[i].tokens)
            f.token[f.tokens++] = random_token(network->inputs[i].tokens);
        else
            f.numbers = network->inputs[i].width;
    for (int i = 0; i < f.numbers; i++) f.x[i] = (float)(1.5 * uniform());
    return f;
}

static void step(const struct exported *e, const unroll_network *network, const struct frame *f, float *y)
{
    if (network->tokens)
        e->step_token(e->state, f->token[0], y);
    else if (!f->tokens)
        e->step(e->state, f->x, y);
    else if (f->numbers)
        e->step_mixed(e->state, f->token, f->x, y);
    else
        e->step_tokens(e->state, f->token, y);
}

static unroll_batch batch_of(const struct frame *f)
{
    return (unroll_batch){
        .size = sizeof(unroll_batch), .inputs = f->numbers ? f->x : NULL, .tokens = f->tokens ? f->token : NULL};
}

/* Names of the session's buffers to compare. */
static int outputs_of(const unroll_session *session, const unroll_model *model, char name[32])
{
    snprintf(name, 32, "z");
    if (!unroll_session_count(session, name))
        snprintf(name, 32, "y.l%d", unroll_model_layers(model) - 1);
    return (int)unroll_session_count(session, name);
}

/* Compares exported C with a session on random frames, with a reset in the middle. */
static void compare_floats(unroll_model *model, const char *name, const char *what)
{
    struct exported e;
    unroll_network network = {.size = sizeof network};
    unroll_session *session;
    unroll_session_config config = unroll_session_config_default();
    char output[32];
    float expected[WIDEST], y[WIDEST];
    unroll_model_network(model, &network);
    config.stateful = 1;
    if (!CHECK(unroll_session_new(model, &config, &session) == UNROLL_OK, "%s: %s", what, unroll_last_error()))
        return;
    if (load(name, &e)) {
        int n = outputs_of(session, model, output), bad = 0;
        for (int t = 0; t < STEPS; t++) {
            struct frame f = random_frame(&network);
            unroll_batch batch = batch_of(&f);
            if (t == STEPS / 2) {
                unroll_session_reset(session);
                e.reset(e.state);
            }
            CHECK(unroll_session_forward(session, &batch) == UNROLL_OK, "%s: %s", what, unroll_last_error());
            unroll_session_read(session, output, expected, (size_t)n);
            step(&e, &network, &f, y);
            bad += !same(y, expected, n);
        }
        CHECK(bad == 0, "%s: %d of %d steps have other bits than the session", what, bad, STEPS);
        unload(&e);
    }
    unroll_session_free(session);
}

/* Also checks that the integers are near the floats: within `far` of the outputs' largest magnitude. */
static void compare_integers(unroll_model *model, const char *name, const char *what, double far)
{
    struct exported e;
    unroll_network network = {.size = sizeof network};
    unroll_integer *integer;
    unroll_session *session;
    unroll_session_config config = unroll_session_config_default();
    char output[32];
    float expected[WIDEST], y[WIDEST], exact[WIDEST];
    double largest = 0, worst = 0;
    unroll_model_network(model, &network);
    config.stateful = 1;
    if (!CHECK(unroll_integer_new(model, NULL, &integer) == UNROLL_OK, "%s: %s", what, unroll_last_error()))
        return;
    if (load(name, &e) && unroll_session_new(model, &config, &session) == UNROLL_OK) {
        int n = outputs_of(session, model, output), bad = 0;
        for (int t = 0; t < STEPS; t++) {
            struct frame f = random_frame(&network);
            unroll_batch batch = batch_of(&f);
            unroll_session_forward(session, &batch);
            unroll_session_read(session, output, exact, (size_t)n);
            CHECK(unroll_integer_step(integer, batch.tokens, batch.inputs, expected) == UNROLL_OK, "%s: %s", what,
                  unroll_last_error());
            step(&e, &network, &f, y);
            bad += !same(y, expected, n);
            for (int i = 0; i < n; i++) {
                largest = fmax(largest, fabs((double)exact[i]));
                worst = fmax(worst, fabs((double)exact[i] - (double)y[i]));
            }
        }
        CHECK(bad == 0, "%s: %d of %d steps have other bits than unroll_integer", what, bad, STEPS);
        CHECK(worst <= far * largest + 1e-4, "%s: integers are off by %.3g of %.3g", what, worst, largest);
        unroll_session_free(session);
        unload(&e);
    }
    unroll_integer_free(integer);
}

static void check_model(unroll_model *model, const char *name, const char *what, double far)
{
    unroll_export_config config = unroll_export_config_default();
    char small[64];
    snprintf(small, sizeof small, "%s_int8", name);
    config.format = "c99";
    config.prefix = name;
    if (!CHECK(unroll_model_export(model, folder, &config) == UNROLL_OK, "%s: %s", what, unroll_last_error()))
        return;
    config.prefix = small;
    config.dtype = "int8";
    if (!CHECK(unroll_model_export(model, folder, &config) == UNROLL_OK, "%s: %s", what, unroll_last_error()))
        return;
    compiles(name, "clang", "-O1");
    compiles(small, "clang", "-O1");
    compiles(name, "arm-none-eabi-gcc", "-O2 -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16");
    compiles(small, "arm-none-eabi-gcc", "-O2 -mcpu=cortex-m0plus -mthumb");
    compare_floats(model, name, what);
    compare_integers(model, small, what, far);
}

/* ---- stacks ---------------------------------------------------------------------------- */

static void check_stack(const unroll_model_config *spec, const char *name, double far)
{
    unroll_model *model;
    if (!CHECK(unroll_model_new(spec, 3, &model) == UNROLL_OK, "%s: %s", name, unroll_last_error()))
        return;
    check_model(model, name, name, far);
    unroll_model_free(model);
}

static void check_cells(void)
{
    for (int i = 0; listed(UNROLL_LIST_CELLS, i); i++) {
        char name[40];
        unroll_model_config spec = unroll_model_config_default();
        spec.cell = listed(UNROLL_LIST_CELLS, i);
        snprintf(name, sizeof name, "cell_%d", i);
        spec.layers = 2;
        spec.hidden = 13;
        spec.input = 5;
        spec.output = 3;
        check_stack(&spec, name, 0.05);
        snprintf(name, sizeof name, "plain_%d", i);
        spec.bias = 0;
        spec.layers = 1;
        spec.output = 0;
        spec.hidden = 8;
        check_stack(&spec, name, 0.05);
    }
}

static void check_options(void)
{
    unroll_model_config spec = unroll_model_config_default();
    spec.hidden = 9;
    spec.input = 4;
    spec.output = 2;
    spec.peephole = 1;
    check_stack(&spec, "peephole", 0.05);
    spec.clip = 0.3f;
    check_stack(&spec, "peephole_clip", 0.05);
    spec.hidden = 1;
    check_stack(&spec, "one_unit", 0.05);
    spec.hidden = 9;
    spec.peephole = 0;
    spec.layers = 2;
    check_stack(&spec, "clip", 0.05);
    spec.clip = 0;
    spec.projection = 5;
    check_stack(&spec, "projection", 0.05);
    spec = unroll_model_config_default();
    spec.cell = "gru";
    spec.tokens = 1;
    spec.input = spec.output = 11;
    spec.hidden = 12;
    spec.loss = "xent";
    check_stack(&spec, "one_hot", 0.05);
    spec.embed = 12;
    check_stack(&spec, "embedded", 0.05);
    spec.tied = 1;
    check_stack(&spec, "tied", 0.05);
}

/* ---- pools ----------------------------------------------------------------------------- */

static unroll_stream *new_stream(const unroll_model *model)
{
    unroll_stream *stream = NULL;
    const unroll_stream_config config = unroll_stream_config_default();
    size_t bytes = unroll_stream_bytes(model, &config);
    MUST(unroll_stream_init(aligned_alloc(64, (bytes + 63) / 64 * 64), bytes, model, &config, &stream));
    return stream;
}

/* A pool continues from step to step. Compares the outputs with a stream's, and after a reset with those of a new
 * sequence. */
static void compare_stream(unroll_model *model, const char *name)
{
    unroll_network network = {.size = sizeof network};
    struct exported e;
    unroll_stream *stream = new_stream(model);
    float y[WIDEST], expected[WIDEST];
    int bad = 0;
    unroll_model_network(model, &network);
    if (!load(name, &e))
        return;
    for (int t = 0; t < STEPS; t++) {
        struct frame f = random_frame(&network);
        if (t == STEPS / 2) {
            MUST(unroll_stream_reset(stream, -1));
            e.reset(e.state);
        }
        MUST(unroll_stream_step(stream, NULL, f.x, expected));
        step(&e, &network, &f, y);
        bad += !same(y, expected, unroll_stream_outputs(stream));
    }
    CHECK(bad == 0, "%s: %d of %d steps have other bits than the stream", name, bad, STEPS);
    unload(&e);
    free(stream);
}

/* Compares integers with a float stream: the bits of the reference and the distance from the floats. */
static void compare_integer_pool(unroll_model *model, const char *name)
{
    unroll_network network = {.size = sizeof network};
    struct exported e;
    unroll_stream *stream = new_stream(model);
    unroll_integer *integer = NULL;
    float y[WIDEST], expected[WIDEST], exact[WIDEST];
    double largest = 0, worst = 0;
    int bad = 0;
    unroll_model_network(model, &network);
    if (!load(name, &e) || !MUST(unroll_integer_new(model, NULL, &integer)))
        return;
    for (int t = 0; t < STEPS; t++) {
        struct frame f = random_frame(&network);
        MUST(unroll_stream_step(stream, NULL, f.x, exact));
        MUST(unroll_integer_step(integer, NULL, f.x, expected));
        step(&e, &network, &f, y);
        bad += !same(y, expected, unroll_stream_outputs(stream));
        for (int i = 0; i < unroll_stream_outputs(stream); i++) {
            largest = fmax(largest, fabs((double)exact[i]));
            worst = fmax(worst, fabs((double)exact[i] - (double)y[i]));
        }
    }
    CHECK(bad == 0, "%s: %d of %d steps have other bits than unroll_integer", name, bad, STEPS);
    CHECK(worst <= 0.05 * largest, "%s: integers are off by %.3g of %.3g", name, worst, largest);
    unroll_integer_free(integer);
    unload(&e);
    free(stream);
}

static void check_pools(void)
{
    static const char *const pools[] = {"mean", "max", "mean+max"};
    unroll_model_config spec = unroll_model_config_default();
    unroll_export_config config = unroll_export_config_default();
    spec.cell = "gru", spec.hidden = 9, spec.input = 4, spec.output = 3, spec.pool = "last";
    check_stack(&spec, "pool_last", 0.05);
    spec.output = 0;
    check_stack(&spec, "pool_last_alone", 0.05);
    config.format = "c99";
    for (int i = 0; i < 6; i++) {
        char name[32];
        unroll_model *model = NULL;
        spec.pool = pools[i % 3], spec.output = i < 3 ? 3 : 0;
        if (i == 5 || !MUST(unroll_model_new(&spec, 3, &model)))
            break; /* two pools need a head */
        snprintf(name, sizeof name, "pool_%d", i);
        config.prefix = name, config.dtype = NULL;
        MUST(unroll_model_export(model, folder, &config));
        compare_stream(model, name);
        snprintf(name, sizeof name, "pool_%d_int8", i);
        config.dtype = "int8";
        if (i % 3 != 1)
            CHECK_REFUSED(unroll_model_export(model, folder, &config), UNROLL_UNSUPPORTED,
                          "the sums of a pool 'mean' do not fit in integers; fix: set `dtype` fp32, or");
        else if (MUST(unroll_model_export(model, folder, &config)))
            compare_integer_pool(model, name);
        unroll_model_free(model);
    }
}

/* Columns of categories and of numbers with different magnitudes; then categories only. */
static void check_columns(void)
{
    unroll_input inputs[] = {
        {sizeof *inputs, "word", 9, 4}, {sizeof *inputs, "*/ x", 0, 3}, {sizeof *inputs, "day", 7, 2}};
    unroll_model_config spec = unroll_model_config_default();
    spec.cell = "gru";
    spec.hidden = 12;
    spec.output = 3;
    spec.inputs = inputs;
    spec.n_inputs = 3;
    check_stack(&spec, "columns", 0.05);
    inputs[1] = inputs[2];
    spec.n_inputs = 2;
    check_stack(&spec, "categories", 0.05);
}

/* ---- networks -------------------------------------------------------------------------- */

static unroll_layer dense(const char *name, int width, const char *activation)
{
    unroll_layer l = unroll_layer_default();
    l.name = name;
    l.width = width;
    l.activation = activation;
    return l;
}

/* A dense layer, two cells that both read it and the input, and a dense layer. */
static void check_network(const char *activation, int tokens, double far)
{
    unroll_network network = unroll_network_default();
    unroll_model *model;
    unroll_layer layer[5] = {dense("in", 6, activation), unroll_layer_default(), unroll_layer_default(),
                             dense("between", 7, NULL), dense("out", 4, activation)};
    char name[48];
    layer[1].kind = "gru";
    layer[1].name = "a";
    layer[1].width = 5;
    layer[2].kind = "lstm";
    layer[2].name = "b";
    layer[2].width = 6;
    layer[2].sources = 2;
    layer[2].source[0] = -1;
    layer[2].source[1] = 0;
    layer[3].sources = 2;
    layer[3].source[0] = 1;
    layer[3].source[1] = 2;
    network.input = 5;
    network.tokens = tokens;
    network.layer = layer;
    network.layers = 5;
    snprintf(name, sizeof name, "network_%s%s", activation ? activation : "linear", tokens ? "_tokens" : "");
    if (!CHECK(unroll_model_from_network(&network, 5, &model) == UNROLL_OK, "%s: %s", name, unroll_last_error()))
        return;
    check_model(model, name, name, far);
    unroll_model_free(model);
}

static void check_networks(void)
{
    static const char *const activations[] = {
        "relu",        "tanh",         "sigmoid", "affine",   "leaky_relu", "thresholded_relu",
        "scaled_tanh", "hard_sigmoid", "elu",     "softsign", "softplus",   "softmax"};
    check_network(NULL, 0, 0.05);
    check_network("relu", 1, 0.05);
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++)
        check_network(activations[i], 0, strcmp(activations[i], "thresholded_relu") ? 0.05 : 1e6);
}

/* Parameter names that are invalid in C, or become equal there: those of PyTorch's Sequential begin with digits. */
static void check_names(void)
{
    static const char *const names[] = {"0", "a.b", "a_b", "2"};
    unroll_network network = unroll_network_default();
    unroll_layer layer[4];
    unroll_model *model;
    for (int i = 0; i < 4; i++) layer[i] = dense(names[i], 3, NULL);
    layer[0].kind = "gru";
    network.input = 2;
    network.layer = layer;
    network.layers = 4;
    if (!CHECK(unroll_model_from_network(&network, 5, &model) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    check_model(model, "names", "names of parameters", 0.05);
    unroll_model_free(model);
}

/* ---- integer functions ----------------------------------------------------------------- */

/* Returns the largest error in units of 2^-15 over all arguments of all formats. */
static double worst_error(enum node_kind kind, int min, int max)
{
    double worst = 0;
    for (int fraction = min; fraction <= max; fraction++)
        for (int32_t x = -32768; x <= 32767; x++) {
            double at = ldexp(x, -fraction), exact = kind == NODE_TANH ? tanh(at) : 1 / (1 + exp(-at));
            worst = fmax(worst, fabs(fixed_function(kind, x, fraction, 0) - exact * 32768));
        }
    return worst;
}

/* Checks the relative error of e^x and the absolute one of ln x, with a suitable fraction of the results. */
static void check_exp_and_log(void)
{
    double worst_exp = 0, worst_log = 0, worst_root = 0;
    for (int32_t x = -32768; x <= 32767; x++) {
        double e = exp(ldexp(x, -12));
        int out = fraction_for(e);
        if (out < MAX_FRACTION)
            worst_exp = fmax(worst_exp, fabs(fixed_function(NODE_EXP, x, 12, out) - fmin(ldexp(e, out), 32767)));
        if (x > 0)
            worst_log = fmax(worst_log, fabs(fixed_function(NODE_LOG, x, 12, 11) - ldexp(log(ldexp(x, -12)), 11)));
        if (x > 0)
            worst_root = fmax(worst_root, fabs(fixed_function(NODE_SQRT, x, 0, 15) - sqrt(ldexp(x, 15))));
    }
    printf("e^x: %.2f units, ln x: %.2f, root: %.2f\n", worst_exp, worst_log, worst_root);
    CHECK(worst_exp <= 1.5, "e^x is off by %.2f units", worst_exp);
    CHECK(worst_log <= 0.75, "ln x is off by %.2f units", worst_log);
    CHECK(worst_root <= 0.5 + 1e-9, "a root is off by %.2f units", worst_root);
}

static void check_activations(void)
{
    double sigmoid = worst_error(NODE_SIGMOID, SIGMOID_MIN, SIGMOID_MAX);
    double tangent = worst_error(NODE_TANH, SIGMOID_MIN + 1, SIGMOID_MAX + 1);
    printf("sigmoid: %.2f units of 2^-15, tanh: %.2f\n", sigmoid, tangent);
    CHECK(sigmoid <= 1.5, "the sigmoid is off by %.2f units", sigmoid);
    CHECK(tangent <= 1.5, "the tanh is off by %.2f units", tangent);
    check_exp_and_log();
}

/* ---- refusals -------------------------------------------------------------------------- */

static void refused(const unroll_model_config *spec, unroll_export_config config, const char *directory,
                    unroll_status status, const char *word)
{
    unroll_model *model;
    char path[128];
    if (!CHECK(unroll_model_new(spec, 1, &model) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    config.format = "c99";
    unroll_status given = unroll_model_export(model, directory, &config);
    CHECK(given == status && strstr(unroll_last_error(), word), "%d instead of %d, '%s' has no '%s'", given, status,
          unroll_last_error(), word);
    snprintf(path, sizeof path, "%s/unroll_model.c", directory);
    CHECK(access(path, F_OK) != 0, "a refused export left %s", path);
    snprintf(path, sizeof path, "%s/unroll_model.h", directory);
    CHECK(access(path, F_OK) != 0, "a refused export left %s", path);
    unroll_model_free(model);
}

static void check_refusals(void)
{
    static const struct {
        const char *prefix, *words;
    } prefixes[] = {{"9lives", "9lives"},
                    {"two words", "two words"},
                    {"int", "a reserved word of C"},
                    {"xor", "a reserved word of C"},
                    {"uint8_t", "a reserved word of C"},
                    {"NULL", "a reserved word of C"},
                    {"_Alignof", "such as Alignof_model"}};
    unroll_model_config spec = unroll_model_config_default(), both = spec, huge = spec;
    unroll_export_config plain = unroll_export_config_default(), c = plain;
    spec.input = both.input = huge.input = 4;
    spec.hidden = both.hidden = 4;
    both.bidirectional = 1;
    huge.hidden = 2100;
    refused(&both, plain, folder, UNROLL_UNSUPPORTED, "bidirectional");
    refused(&huge, plain, folder, UNROLL_UNSUPPORTED, "is limited to");
    c.dtype = "bf16";
    refused(&spec, c, folder, UNROLL_USAGE, "choose one of fp32, int8");
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        c = plain;
        c.prefix = prefixes[i].prefix;
        refused(&spec, c, folder, UNROLL_USAGE, prefixes[i].words);
    }
    c = plain;
    c.calibration = "x.npy";
    refused(&spec, c, folder, UNROLL_USAGE, "int8");
    c.dtype = "int8";
    c.calibration = "/nonexistent/x.npy";
    refused(&spec, c, folder, UNROLL_DATA, "/nonexistent/x.npy");
    refused(&spec, plain, "/dev/null/there", UNROLL_RESOURCE, "/dev/null");
}

/* If the header cannot be written, the source is not written either. */
static void check_whole_or_none(void)
{
    unroll_model_config spec = unroll_model_config_default();
    unroll_model *model;
    unroll_export_config config = unroll_export_config_default();
    char path[128];
    spec.hidden = 4;
    spec.input = 4;
    config.format = "c99";
    config.prefix = "half";
    snprintf(path, sizeof path, "%s/half.h", folder);
    mkdir(path, 0777);
    if (!CHECK(unroll_model_new(&spec, 1, &model) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    CHECK(unroll_model_export(model, folder, &config) != UNROLL_OK, "a folder was written as a file");
    snprintf(path, sizeof path, "%s/half.c", folder);
    CHECK(access(path, F_OK) != 0, "a source without its header was left");
    unroll_model_free(model);
}

/* NaN and infinities in the weights, and in the inputs of integers. */
static void check_not_finite(void)
{
    unroll_model_config spec = unroll_model_config_default();
    unroll_model *model;
    unroll_parameter q = {.size = sizeof q};
    unroll_integer *integer;
    float x[4] = {NAN, INFINITY, -INFINITY, 1e30f}, y[4], nothing[4] = {0, 8192, -8192, 8192}, z[4];
    unroll_integer_config calibration = unroll_integer_config_default();
    spec.hidden = 4;
    spec.input = 4;
    if (!CHECK(unroll_model_new(&spec, 1, &model) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    if (CHECK(unroll_integer_new(model, NULL, &integer) == UNROLL_OK, "%s", unroll_last_error())) {
        unroll_integer_step(integer, NULL, x, y);
        unroll_integer_free(integer);
        MUST(unroll_integer_new(model, NULL, &integer));
        unroll_integer_step(integer, NULL, nothing, z);
        CHECK(same(y, z, 4), "NaN is not 0, or infinities do not saturate");
        CHECK(unroll_integer_step(integer, &(int32_t){0}, NULL, y) == UNROLL_USAGE, "a token was taken");
        unroll_integer_free(integer);
    }
    calibration.inputs = x;
    calibration.steps = 1;
    CHECK(unroll_integer_new(model, &calibration, &integer) == UNROLL_DATA, "a calibration with a NaN was taken");
    calibration.steps = 0;
    CHECK(unroll_integer_new(model, &calibration, &integer) == UNROLL_USAGE, "a calibration of no step was taken");
    unroll_model_parameter(model, 1, &q);
    q.data[2] = NAN;
    CHECK(unroll_integer_new(model, NULL, &integer) == UNROLL_DATA && strstr(unroll_last_error(), q.name),
          "a NaN among the weights: %s", unroll_last_error());
    unroll_model_free(model);
}

int main(void)
{
    if (!make_folder())
        return check_finish("test_c99");
    if (run("command -v gcc >%s/log", folder)) {
        check_skip("exported C is compiled with gcc, which is not here");
    } else {
        check_cells();
        check_options();
        check_pools();
        check_columns();
        check_networks();
        check_names();
    }
    if (run("command -v clang >%s/log", folder))
        check_skip("clang is not here");
    if (run("command -v arm-none-eabi-gcc >%s/log", folder))
        check_skip("arm-none-eabi-gcc is not here (Debian: gcc-arm-none-eabi libnewlib-arm-none-eabi)");
    check_activations();
    check_refusals();
    check_whole_or_none();
    check_not_finite();
    run("rm -rf %s", folder);
    return check_finish("test_c99");
}

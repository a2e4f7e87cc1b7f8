/* A kind of layer, an optimizer and a schedule defined by this test are trained on a text, saved, resumed, evaluated
 * and loaded like built-in ones, and run as a stream. A loss is used in training, on the CPU, with XLA's stand-in and
 * on a device defined by the test. No code in between depends on their names. A cell and a kind of operation are tested
 * in tests/plan/test_toy.c. Usage: test_toys PLUGIN */
/* test: args=$B/tests/device/fake_plugin.so */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/philox.h"
#include "check.h"
#include "data/readers/reader_table.h"
#include "device/device.h"
#include "convert/model_file.h"
#include "model/layer_kind.h"
#include "nn/optim/optim.h"
#include "plan/lower/lower.h"
#include "plan/lower/lowering.h"
#include "train/schedule.h"
#include "toy_loss.h"
#include "unroll_train.h"

/* ---- a residual layer: y = W x + b + x ---- */

static unroll_status residual_take(const unroll_layer *g, int index, const struct cell_declaration *cell,
                                   struct layer *l)
{
    (void)cell;
    if ((uint32_t)g->width != l->input)
        return fail(UNROLL_USAGE, "layer %d: a residual layer is as wide as what it reads: %u", index,
                    (unsigned)l->input);
    l->outputs = l->input;
    return UNROLL_OK;
}

static void residual_describe(const struct layer *l, unroll_layer *layer) { (void)l, (void)layer; }

static void residual_parameters(struct unroll_model *m, int layer)
{
    const struct layer *l = &m->layer[layer];
    model_add_parameter(m, PARAM_W_DENSE, layer, 0, 2, l->outputs, l->input, 0);
    model_add_parameter(m, PARAM_B_DENSE, layer, 0, 1, l->outputs, 0, 0);
}

static unroll_status residual_lower(struct plan *p, int layer, int x, int *y)
{
    struct op product = lower_product(p, x, layer), sum = op_new(OP_COPY, PHASE_FORWARD, layer + 1);
    *y = lower_output(p, layer);
    if (*y < 0)
        return UNROLL_RESOURCE;
    product.view[GEMM_W] = view_of(p, lower_weight(p, lower_master(p, PARAM_W_DENSE, layer, 0)), READ);
    product.view[GEMM_BIAS] = view_of(p, lower_master(p, PARAM_B_DENSE, layer, 0), READ);
    product.view[GEMM_Y] = view_of(p, *y, WRITE);
    TRY(plan_push(p, &product));
    sum.view[COPY_FROM] = view_of(p, x, READ);
    sum.view[COPY_TO] = view_of(p, *y, ADD);
    return plan_push(p, &sum);
}

static const struct layer_kind residual = {.name = "residual",
                                           .widest = 1000,
                                           .take = residual_take,
                                           .describe = residual_describe,
                                           .add_parameters = residual_parameters};
static const struct layer_lowering residual_lowering = {"residual", residual_lower};

/* ---- a device: the CPU by another name, which counts its runs ---- */

static struct device mirror;
static int mirrored;

static unroll_status mirror_run(void *executable, enum phase first, enum phase last)
{
    mirrored++;
    return device_find("cpu", NULL)->run(executable, first, last);
}

static unroll_status add_mirror(void)
{
    mirror = *device_find("cpu", NULL);
    mirror.name = "mirror", mirror.run = mirror_run;
    return device_add(&mirror);
}

/* ---- an optimizer with a hyperparameter of its own and three states ----
 *     s0 <- s0 + pull (g - s0)     s1 <- s1 + s0     s2 <- max(s2, |g|)
 *     w  <- w - lr (s0 + s1 / updates) / (s2 + 1) */

static void toy_numbers(double lr, double update, const double *hyperparameter, double *number)
{
    number[0] = lr, number[1] = hyperparameter[0], number[2] = 1 / update;
}

#define TOY_ROW(type, fabs_, fmax_)                                                                                 \
    (const double *number, type scale, type *w, type *g, type *const *state, size_t n)                              \
{                                                                                                                   \
    for (size_t i = 0; i < n; i++) {                                                                                \
        const type lr = (type)number[0], pull = (type)number[1], turn = (type)number[2], gradient = g[i] * scale;   \
        state[0][i] += pull * (gradient - state[0][i]);                                                             \
        state[1][i] += state[0][i];                                                                                 \
        state[2][i] = fmax_(state[2][i], fabs_(gradient));                                                          \
        w[i] -= lr * (state[0][i] + turn * state[1][i]) / (state[2][i] + 1);                                        \
        g[i] = 0;                                                                                                   \
    }                                                                                                               \
}
static void toy_f32 TOY_ROW(float, fabsf, fmaxf) static void toy_f64 TOY_ROW(double, fabs, fmax)

    static void toy_record(struct record *record)
{
    (void)record;
    V g = record_input("g"), pull = record_input("pull"), mean = record_input("s0");
    mean = v_fma(pull, v_sub(g, mean), mean);
    V sum = v_add(record_input("s1"), mean), size = v_max(record_input("s2"), v_abs(g));
    V step = v_div(v_fma(record_input("turn"), sum, mean), v_add(size, v_const(1)));
    record_result("w", v_sub(record_input("w"), v_mul(record_input("lr"), step)));
    record_result("s0", mean);
    record_result("s1", sum);
    record_result("s2", size);
}

static const struct hyperparameter toy_hyperparameters[] = {{"pull", "how far a mean follows", 0.5, 0, 1},
                                                            {NULL, NULL, 0, 0, 0}};
static const char *const toy_names[] = {"lr", "pull", "turn", NULL};
static const struct optimizer toy = {.name = "toy",
                                     .states = 3,
                                     .learning_rate = 0.6,
                                     .hyperparameter = toy_hyperparameters,
                                     .number = toy_names,
                                     .make_numbers = toy_numbers,
                                     .row_f32 = toy_f32,
                                     .row_f64 = toy_f64,
                                     .record = toy_record};

/* ---- a schedule: a sawtooth ---- */

static double sawtooth_factor(const struct schedule_moment *moment) { return 1 - 0.2 * (double)(moment->step % 4); }

static const struct schedule sawtooth = {.name = "sawtooth", .about = "up and down", .factor = sawtooth_factor};

/* ---- networks ---- */

enum { HIDDEN = 8, STEPS = 12, ROWS = 4 };

/* gru -> residual -> dense over the vocabulary of a text. */
static unroll_model *language_model(const unroll_dataset *text)
{
    unroll_layer layer[3] = {unroll_layer_default(), unroll_layer_default(), unroll_layer_default()};
    unroll_network network = unroll_network_default();
    unroll_model *m = NULL;
    unroll_dataset_vocabulary(text, &network.input);
    network.tokens = 1, network.embed = 5, network.loss = "xent", network.layer = layer, network.layers = 3;
    layer[0].kind = "gru", layer[0].name = "rnn", layer[0].width = HIDDEN, layer[0].dropout = 0.2f;
    layer[1].kind = "residual", layer[1].name = "middle", layer[1].width = HIDDEN;
    layer[2].name = "head", layer[2].width = network.input;
    if (!MUST(unroll_model_from_network(&network, 3, &m)))
        abort();
    return m;
}

static unroll_dataset *make_text(void)
{
    enum { SIZE = 900 };
    char bytes[SIZE + 8];
    unroll_dataset *text = NULL;
    for (int i = 0; i < SIZE; i++) bytes[i] = "abcd efg\n"[i * 5 % 9];
    MUST(dataset_parse(bytes, SIZE, "the test's text", "text", NULL, NULL, &text));
    return text;
}

/* ---- tests ---- */

/* The same weights after an interruption, and when evaluated from the file. learned: nats before and after. */
static void check_training(const unroll_dataset *text, const char *device, const char *folder)
{
    unroll_trainer_config config = unroll_trainer_config_default();
    unroll_machine machine = unroll_machine_default();
    unroll_model *m[2] = {language_model(text), language_model(text)}, *loaded = NULL;
    unroll_trainer *trainer = NULL;
    unroll_progress progress = {.size = sizeof progress};
    unroll_evaluation before = {.size = sizeof before}, after = {.size = sizeof after}, again = {.size = sizeof again};
    config.batch = ROWS, config.bptt = STEPS, config.rates = unroll_hyperparameters_default("toy");
    config.machine.device = machine.device = device;
    config.schedule = "sawtooth", config.warmup = 0;
    MUST(unroll_hyperparameters_set(&config.rates, "pull", 0.7));
    MUST(unroll_model_evaluate(m[0], text, &machine, &before, NULL));
    for (int turn = 0; turn < 3; turn++) { /* without interruption; then in two trainings */
        MUST(unroll_trainer_new(m[turn > 0], text, &config, &trainer));
        if (turn == 2)
            MUST(unroll_trainer_load(trainer, folder));
        for (int i = 0; i < (turn ? 8 : 16); i++) MUST(unroll_trainer_step(trainer, &progress));
        CHECK(progress.learning_rate == config.rates.learning_rate * (1 - 0.2 * 3), "%s: the rate is %g", device,
              progress.learning_rate);
        MUST(unroll_trainer_save(trainer, folder));
        unroll_trainer_free(trainer);
    }
    CHECK(!memcmp(m[0]->values, m[1]->values, m[0]->count * sizeof(float)), "%s: resumed, it has other weights",
          device);
    MUST(unroll_hyperparameters_set(&config.rates, "pull", 0.6));
    if (MUST(unroll_trainer_new(m[1], text, &config, &trainer)))
        CHECK_REFUSED(unroll_trainer_load(trainer, folder), UNROLL_USAGE,
                      "made with pull = 0.7, this training has 0.6");
    unroll_trainer_free(trainer);
    char path[300];
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    MUST(unroll_model_evaluate(m[0], text, &machine, &after, NULL));
    if (MUST(unroll_model_load(path, &loaded)))
        MUST(unroll_model_evaluate(loaded, text, &machine, &again, NULL));
    CHECK(after.loss == again.loss && after.loss < before.loss - 0.1, "%s: %g nats before, %g after, %g loaded", device,
          before.loss, after.loss, again.loss);
    unroll_model_free(loaded);
    unroll_model_free(m[0]);
    unroll_model_free(m[1]);
}

static void check_gradient(const unroll_dataset *text)
{
    unroll_session_config config = unroll_session_config_default();
    unroll_model *m = language_model(text);
    unroll_session *s = NULL;
    unroll_parameter w = {.size = sizeof w};
    int32_t tokens[STEPS * ROWS], classes[STEPS * ROWS];
    unroll_batch batch = {.size = sizeof batch, .tokens = tokens, .targets = classes};
    unroll_result r[2] = {{.size = sizeof r[0]}, {.size = sizeof r[1]}};
    float gradient[HIDDEN * HIDDEN];
    for (int i = 0; i < STEPS * ROWS; i++) tokens[i] = i * 3 % 7, classes[i] = i * 5 % 7;
    config.mode = UNROLL_TRAIN, config.steps = STEPS, config.rows = ROWS, config.machine.precision = "fp64";
    config.no_dropout = 1;
    MUST(unroll_session_new(m, &config, &s));
    MUST(unroll_session_forward(s, &batch));
    MUST(unroll_session_backward(s));
    MUST(unroll_session_result(s, &r[0]));
    MUST(unroll_session_read(s, "d.middle.weight", gradient, HIDDEN * HIDDEN));
    for (int i = 0; i < unroll_model_parameters(m); i++) {
        MUST(unroll_model_parameter(m, i, &w));
        if (!strcmp(w.name, "middle.weight"))
            break;
    }
    for (int i = 0; i < HIDDEN * HIDDEN; i += 7) {
        const float kept = w.data[i], h = 0x1p-7f;
        for (int side = 0; side < 2; side++) {
            w.data[i] = kept + (side ? h : -h);
            MUST(unroll_session_push(s));
            MUST(unroll_session_forward(s, NULL));
            MUST(unroll_session_result(s, &r[side]));
        }
        w.data[i] = kept;
        double slope = (r[1].loss - r[0].loss) * r[0].weight / ((double)(kept + h) - (double)(kept - h));
        CHECK(fabs(slope - (double)gradient[i]) < 1e-3 * (1 + fabs(slope)), "weight %d: %g, not %g", i,
              (double)gradient[i], slope);
    }
    unroll_session_free(s);
    unroll_model_free(m);
}

enum { INPUT = 3, OUTPUT = 6 };

/* Ragged rows of noise, with some missing targets. */
static void fill_regression(float *inputs, float *values)
{
    struct rng rng = rng_new(5, 1);
    for (int i = 0; i < STEPS * ROWS * INPUT; i++) inputs[i] = (float)(rng_below(&rng, 1000)) * 1e-3f - 0.5f;
    for (int i = 0; i < STEPS * ROWS * OUTPUT; i++)
        values[i] = rng_below(&rng, 10) ? (float)(rng_below(&rng, 1000)) * 1e-3f : NAN;
}

/* Computes the losses of some training steps, and the weights after them. */
static unroll_model *train_on(const char *loss, const char *optimizer, const char *device, int double_precision,
                              double found[8])
{
    unroll_model_config spec = unroll_model_config_default();
    unroll_session_config config = unroll_session_config_default();
    unroll_model *m = NULL;
    unroll_session *s = NULL;
    static float inputs[STEPS * ROWS * INPUT], values[STEPS * ROWS * OUTPUT];
    static const int32_t lengths[ROWS] = {STEPS, 3, 0, 7};
    unroll_batch batch = {.size = sizeof batch, .inputs = inputs, .target_values = values, .lengths = lengths};
    unroll_hyperparameters rates = unroll_hyperparameters_default(optimizer);
    unroll_result result = {.size = sizeof result};
    fill_regression(inputs, values);
    spec.cell = "gru", spec.hidden = HIDDEN, spec.input = INPUT, spec.output = OUTPUT, spec.loss = loss;
    config.mode = UNROLL_TRAIN, config.steps = STEPS, config.rows = ROWS, config.lengths = 1,
    config.machine.device = device;
    config.machine.precision = double_precision ? "fp64" : NULL, config.optimizer = optimizer;
    rates.learning_rate = 1e-2;
    MUST(unroll_model_new(&spec, 2, &m));
    MUST(unroll_session_new(m, &config, &s));
    for (int i = 0; i < 8; i++) {
        MUST(unroll_session_step(s, &batch, &rates, &result));
        found[i] = result.loss;
    }
    unroll_session_free(s);
    return m;
}

/* The loss decreases, equally in float, in double and with XLA; the model's file names it. */
static void check_loss(const char *loss, const char *optimizer, const char *plugin, const char *folder)
{
    double here[8], exact[8], there[8];
    char path[300];
    unroll_model *m = train_on(loss, optimizer, NULL, 0, here), *loaded = NULL;
    unroll_model_free(train_on(loss, optimizer, NULL, 1, exact));
    unroll_model_free(train_on(loss, optimizer, plugin, 0, there));
    for (int i = 0; i < 8; i++)
        CHECK(fabs(here[i] - exact[i]) < 1e-5 * exact[i] && fabs(there[i] - exact[i]) < 1e-5 * exact[i],
              "%s, %s, step %d: %.9g, in double %.9g, XLA %.9g", loss, optimizer, i, here[i], exact[i], there[i]);
    CHECK(here[7] < here[0] && here[0] > 0, "%s: from %g to %g", loss, here[0], here[7]);
    snprintf(path, sizeof path, "%s/loss.safetensors", folder);
    if (MUST(unroll_model_save(m, path)) && MUST(unroll_model_load(path, &loaded))) {
        unroll_network network = {.size = sizeof network};
        unroll_model_network(loaded, &network);
        CHECK(!strncmp(network.loss, loss, strlen(loss)), "%s is loaded as %s", loss, network.loss);
    }
    unroll_model_free(loaded);
    unroll_model_free(m);
}

/* Values of PyTorch 2.13 in double, also extreme ones, where a plain formula overflows or gives 0 (as PyTorch's does
 * for the logit -100 and the target 0). */
static void check_values(void)
{
    static const struct {
        const char *name;
        double z, y, loss;
    } cases[] = {{"mae", 1, 0.25, 0.75},
                 {"mae", -2, 1, 3},
                 {"huber", 0.75, 0.5, 0.03125},
                 {"huber", -2, 1, 2.5},
                 {"huber", 100, 0, 99.5},
                 {"bce", 0.75, 0.25, 0.9493710061148999},
                 {"bce", 100, 0, 100},
                 {"bce", 100, 1, 3.720075976020836e-44},
                 {"bce", -100, 0, 3.720075976020836e-44},
                 {"bce", -100, 1, 100},
                 {"poisson", 0.75, 3, -0.13299998338732522},
                 {"poisson", 100, 3, 2.6881171418161356e43},
                 {"poisson", -100, 3, 300}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int index;
        MUST(loss_find(cases[i].name, &index));
        double loss = loss_at(index)->add(0, &cases[i].z, &cases[i].y, &cases[i].y, 1);
        CHECK(fabs(loss / cases[i].loss - 1) < 1e-14, "%s of %g and %g: %.17g", cases[i].name, cases[i].z, cases[i].y,
              loss);
    }
}

/* A stream has the bits of a session: its operations are supported in streams. */
static void check_stream(const unroll_dataset *text)
{
    unroll_stream_config config = unroll_stream_config_default();
    unroll_session_config machine = unroll_session_config_default();
    unroll_model *m = language_model(text);
    unroll_session *session = NULL;
    unroll_stream *s = NULL;
    int32_t tokens[STEPS * ROWS];
    float answer[STEPS * ROWS * 16], outputs[ROWS * 16];
    for (int i = 0; i < STEPS * ROWS; i++) tokens[i] = i * 3 % 7;
    machine.steps = STEPS, machine.rows = config.rows = ROWS;
    MUST(unroll_session_new(m, &machine, &session));
    MUST(unroll_session_forward(session, &(unroll_batch){.size = sizeof(unroll_batch), .tokens = tokens}));
    const size_t count = unroll_session_count(session, "z"), step = count / STEPS;
    MUST(unroll_session_read(session, "z", answer, count));
    void *memory = aligned_alloc(64, unroll_stream_bytes(m, &config));
    MUST(unroll_stream_init(memory, unroll_stream_bytes(m, &config), m, &config, &s));
    for (int t = 0; t < STEPS; t++) {
        MUST(unroll_stream_step(s, tokens + t * ROWS, NULL, outputs));
        CHECK(!memcmp(outputs, answer + (size_t)t * step, step * sizeof *outputs), "step %d of the stream", t);
    }
    free(memory);
    unroll_session_free(session);
    unroll_model_free(m);
}

/* Formats support cells and dense layers, and refuse it. */
static void check_refusals(const unroll_dataset *text)
{
    static const char *const formats[] = {"onnx", "torch", "c99"};
    unroll_export_config config = unroll_export_config_default();
    unroll_model *m = language_model(text);

    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        config.format = formats[i];
        CHECK_REFUSED(unroll_model_export(m, "/tmp/unroll_toys_none", &config), UNROLL_UNSUPPORTED, "residual");
    }
    unroll_model_free(m);
}

int main(int count, char *words[])
{
    char folder[] = "/tmp/unroll_toys_XXXXXX", device[512], command[64];
    unroll_dataset *text = make_text();
    if (count < 2 || !mkdtemp(folder)) {
        fprintf(stderr, "usage: test_toys PLUGIN\n");
        return 2;
    }
    MUST(layer_kind_add(&residual));
    MUST(lowering_add(&residual_lowering));
    MUST(loss_add(&quartic));
    MUST(optimizer_add(&toy));
    MUST(schedule_add(&sawtooth));
    check_gradient(text);
    check_training(text, "cpu", folder);
    snprintf(device, sizeof device, "xla:%s", words[1]);
    check_training(text, device, folder);
    MUST(add_mirror());
    check_training(text, "mirror", folder);
    CHECK(mirrored > 100, "the test's device ran %d parts", mirrored);
    check_values();
    for (int i = 0; loss_at(i); i++)
        if (!loss_at(i)->of_classes && !loss_at(i)->of_sequences)
            check_loss(loss_at(i)->name, "adam", device, folder);
    for (int i = 0; optimizer_at(i); i++) check_loss("mse", optimizer_at(i)->name, device, folder);
    check_stream(text);
    check_refusals(text);
    unroll_dataset_free(text);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0, "%s", command);
    return check_finish("toys");
}

/* Compares another device with the CPU over the list of cases: outputs, losses, gradients and weights after updates
 * agree within the effect of another order of sums. Bits are compared among ISAs in test_cases. With --cuts, the cases
 * whose sizes allow it are divided among the devices of one process. Usage:
 *     test_device DEVICE cases.txt [part of a line]
 *     test_device DEVICE --cuts cases.txt [part of a line]
 *     test_device DEVICE --document docs/howto/xla.md SCRATCH: checks the tables of the document */
/* test: with=cases/case; args=xla:$B/tests/device/fake_plugin.so tests/cases/cases.txt; seconds=20 */
/* test: run=env UNROLL_XLA_UNROLL=2; args=xla:$B/tests/device/fake_plugin.so tests/cases/short.txt; seconds=20 */
/* test: run=env UNROLL_XLA_UNROLL=3; args=xla:$B/tests/device/fake_plugin.so tests/cases/short.txt; seconds=20 */
/* test: run=env UNROLL_XLA_UNROLL=8; args=xla:$B/tests/device/fake_plugin.so tests/cases/short.txt; seconds=20 */
/* test: args=xla:$B/tests/device/fake_plugin.so --cuts tests/cases/cases.txt; seconds=20 */
/* test: args=xla:$B/tests/device/fake_plugin.so --document docs/howto/xla.md $B/tests/cases/row.txt; needs=$B/tests/device/fake_plugin.so; seconds=20 */
/* test: if=g++; run=tests/device/with_fake_cuda.sh $B; args=cuda tests/cases/cases.txt; seconds=20 */
/* test: if=g++; run=env UNROLL_CUDA_ALGORITHM=portable tests/device/with_fake_cuda.sh $B; args=cuda tests/cases/short.txt; seconds=20 */
/* test: if=g++; run=env UNROLL_CUDA_ALGORITHM=grid tests/device/with_fake_cuda.sh $B; args=cuda tests/cases/short.txt; seconds=20 */
/* test: kinds=long-thread; if=g++; run=env UNROLL_CUDA_ALGORITHM=portable tests/device/with_fake_cuda.sh $B; args=cuda tests/cases/tiny.txt; seconds=20 */
#include "nn/losses/loss.h"
#include "cases/case.h"
#include "check.h"
#include "listed.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 3 };
static const double tolerance = 1e-5, tolerance_of_gradients = 1e-4;

/* Results of a training: losses, gradients of the first step (not those of shards, which are not contiguous), weights
 * after the last step. */
struct findings {
    float loss[STEPS], *gradient, *weight;
    size_t count, room; /* values of the model; capacity of the arrays */
};

/* How the work is cut on the device; the CPU runs it as a whole. whole: in whole steps, whose losses are read after
 * each step or at the end. */
struct way {
    int chunks, shards, checkpoint, whole;
    unroll_split mesh;
    bool device;
};
enum { PARTS, WHOLE, UNSEEN };

/* Runs whole steps. Compares the losses one by one, or their mean. */
static bool whole_steps(const struct test_case *c, unroll_session *session, const unroll_hyperparameters *rates,
                        bool unseen, struct findings *f)
{
    unroll_result result = {.size = sizeof result};
    bool good = true;
    for (int i = 0; good && i < STEPS; i++) {
        struct case_batch *b = case_batch_new(c, 100 + (uint64_t)i);
        good = unroll_session_step(session, &b->batch, rates, unseen ? NULL : &result) == UNROLL_OK;
        f->loss[i] = good && !unseen ? (float)result.loss : 0;
        case_batch_free(b);
    }
    if (good && unseen)
        good = unroll_session_result(session, &result) == UNROLL_OK && result.norm > 0;
    f->loss[0] = good && unseen ? (float)(result.loss * result.weight) : f->loss[0];
    return good;
}

/* Runs three steps without reading losses in between; they are read as one sum. */
static bool parts(const struct test_case *c, unroll_model *model, unroll_session *session,
                  const unroll_hyperparameters *rates, bool sharded, bool unseen, struct findings *f)
{
    unroll_result result = {.size = sizeof result};
    bool good = true;
    double sum = 0;
    for (int i = 0; good && i < STEPS; i++) {
        struct case_batch *b = case_batch_new(c, 100 + (uint64_t)i);
        good = unroll_session_forward(session, &b->batch) == UNROLL_OK && unroll_session_backward(session) == UNROLL_OK;
        good = good && (i > 0 || sharded || case_read_gradients(model, session, f->gradient));
        good = good && unroll_session_update(session, rates, &result) == UNROLL_OK;
        sum += good ? result.loss * result.weight : 0;
        f->loss[i] = good && !unseen ? (float)result.loss : 0;
        case_batch_free(b);
    }
    f->loss[0] = unseen ? (float)sum : f->loss[0];
    return good;
}

static bool steps(const struct test_case *c, unroll_model *model, unroll_session *session, const char *optimizer,
                  struct way way, bool sharded, struct findings *f)
{
    unroll_hyperparameters rates = unroll_hyperparameters_default(optimizer);
    rates.learning_rate = 0.05;
    rates.clip = 0.5;
    unroll_hyperparameters_set(&rates, "epsilon", 0.01); /* else tiny gradients matter only by their sign */
    if (way.whole != PARTS && way.device)
        return whole_steps(c, session, &rates, way.whole == UNSEEN, f);
    return parts(c, model, session, &rates, sharded, way.whole == UNSEEN, f);
}

/* Makes room for all parameters of the model. */
static bool make_room(unroll_model *model, struct findings *f)
{
    f->count = case_parameters(model);
    if (f->count > f->room) {
        f->gradient = realloc(f->gradient, f->count * sizeof *f->gradient);
        f->weight = realloc(f->weight, f->count * sizeof *f->weight);
        f->room = f->count;
    }
    return f->gradient && f->weight;
}

static bool train(const struct test_case *c, const char *device, const char *optimizer, struct way way,
                  struct findings *f)
{
    unroll_session_config config = case_trains(c);
    unroll_model *model;
    unroll_session *session;
    config.optimizer = optimizer;
    config.machine.device = device;
    config.machine.chunks = way.chunks < config.steps ? way.chunks : config.steps;
    config.shards = way.shards < config.rows ? way.shards : config.rows;
    config.machine.split = way.mesh;
    config.machine.checkpoint_time = way.checkpoint * ((config.steps + 63) / 64);
    if (unroll_model_new(&c->spec, 3, &model) != UNROLL_OK)
        return false;
    bool good = make_room(model, f) && unroll_session_new(model, &config, &session) == UNROLL_OK;
    if (good) {
        good = steps(c, model, session, optimizer, way, config.shards > 1, f);
        unroll_session_free(session);
    }
    size_t done = 0;
    for (int i = 0; good && i < unroll_model_parameters(model); i++) {
        unroll_parameter p = {.size = sizeof p};
        unroll_model_parameter(model, i, &p);
        memcpy(f->weight + done, p.data, case_length_of(&p) * sizeof *p.data);
        done += case_length_of(&p);
    }
    unroll_model_free(model);
    return good;
}

static void compare(const struct test_case *c, const char *device, const char *optimizer, struct way way)
{
    static struct findings here, there;
    const struct way simple = {.chunks = 1, .shards = 1, .whole = way.whole};
    way.device = true;
    if (case_needs_cpu(c)) {
        CHECK(!train(c, device, optimizer, way, &there) && strstr(unroll_last_error(), "on the CPU only"),
              "%s on %s: %s", c->line, device, unroll_last_error());
        return;
    }
    if (!CHECK(train(c, NULL, optimizer, simple, &here), "%s on the CPU: %s", c->line, unroll_last_error()) ||
        !CHECK(train(c, device, optimizer, way, &there), "%s on %s: %s", c->line, device, unroll_last_error()))
        return;
    double loss = case_distance(here.loss, there.loss, STEPS);
    double gradient = way.whole ? 0 : case_distance(here.gradient, there.gradient, here.count);
    double weight = case_distance(here.weight, there.weight, here.count);
    CHECK(loss <= tolerance, "%s: losses differ by %.1e", c->line, loss);
    CHECK(way.shards > 1 || gradient <= tolerance_of_gradients, "%s: gradients differ by %.1e", c->line, gradient);
    CHECK(weight <= tolerance_of_gradients, "%s: weights after %s differ by %.1e", c->line, optimizer, weight);
}

/* ---- a module: a network with every activation, gradients of outputs in, of inputs out ------ */

enum { T = 5, B = 3, IN = 4, WIDTH = 6 };

/* Creates a network with every activation, skip connections and two recurrent layers. */
static unroll_model *network_new(void)
{
    static const char *const activations[] = {
        "relu",        "tanh",         "sigmoid", "affine",   "leaky_relu", "thresholded_relu",
        "scaled_tanh", "hard_sigmoid", "elu",     "softsign", "softplus",   "softmax"};
    enum { DENSE = sizeof activations / sizeof *activations };
    unroll_layer layer[DENSE + 3];
    unroll_network network = unroll_network_default();
    unroll_model *model = NULL;
    char name[DENSE + 3][16];
    for (int i = 0; i < DENSE + 3; i++) {
        layer[i] = unroll_layer_default();
        snprintf(name[i], sizeof name[i], "part%d", i);
        layer[i].name = name[i];
    }
    layer[0].kind = "gru", layer[0].width = WIDTH, layer[0].bidirectional = 1;
    for (int i = 0; i < DENSE; i++) { /* concatenated on the first layer */
        layer[i + 1].width = WIDTH, layer[i + 1].activation = activations[i];
        layer[i + 1].sources = 1, layer[i + 1].source[0] = 0;
    }
    layer[DENSE + 1].kind = "lstm", layer[DENSE + 1].width = WIDTH, layer[DENSE + 1].sources = UNROLL_SOURCES_MAX;
    for (int i = 0; i < UNROLL_SOURCES_MAX; i++) layer[DENSE + 1].source[i] = i + 1;
    layer[DENSE + 2].width = 3, layer[DENSE + 2].sources = DENSE - UNROLL_SOURCES_MAX + 1;
    for (int i = 0; i + 1 < layer[DENSE + 2].sources; i++) layer[DENSE + 2].source[i] = UNROLL_SOURCES_MAX + 1 + i;
    layer[DENSE + 2].source[DENSE - UNROLL_SOURCES_MAX] = DENSE + 1;
    network.input = IN, network.layer = layer, network.layers = DENSE + 3;
    CHECK(unroll_model_from_network(&network, 7, &model) == UNROLL_OK, "%s", unroll_last_error());
    return model;
}

/* Reads the outputs, then the gradients of the inputs. */
static bool run_module(const char *device, float *found, size_t outputs)
{
    unroll_session_config config = unroll_session_config_default();
    unroll_model *model = network_new();
    unroll_session *session;
    float x[T * B * IN], dz[T * B * 3];
    for (size_t i = 0; i < T * B * IN; i++) x[i] = (float)case_random(1, i);
    for (size_t i = 0; i < T * B * 3; i++) dz[i] = (float)case_random(2, i);
    config.mode = UNROLL_MODULE, config.steps = T, config.rows = B, config.input_gradient = 1,
    config.machine.device = device;
    if (unroll_session_new(model, &config, &session) != UNROLL_OK)
        return false;
    bool good =
        unroll_session_forward(session, &(unroll_batch){.size = sizeof(unroll_batch), .inputs = x}) == UNROLL_OK &&
        unroll_session_read(session, "z", found, outputs) == UNROLL_OK &&
        unroll_session_write(session, "d.z", dz, outputs) == UNROLL_OK &&
        unroll_session_backward(session) == UNROLL_OK &&
        unroll_session_read(session, "d.x", found + outputs, T * B * IN) == UNROLL_OK;
    unroll_session_free(session);
    unroll_model_free(model);
    return good;
}

static void test_module(const char *device)
{
    enum { OUTPUTS = T * B * 3 };
    float here[OUTPUTS + T * B * IN], there[OUTPUTS + T * B * IN];
    if (!CHECK(run_module(NULL, here, OUTPUTS), "the CPU: %s", unroll_last_error()) ||
        !CHECK(run_module(device, there, OUTPUTS), "%s: %s", device, unroll_last_error()))
        return;
    CHECK(case_distance(here, there, OUTPUTS) <= tolerance, "outputs of a module differ by %.1e",
          case_distance(here, there, OUTPUTS));
    CHECK(case_distance(here + OUTPUTS, there + OUTPUTS, T * B * IN) <= tolerance_of_gradients,
          "gradients of a module's inputs differ by %.1e", case_distance(here + OUTPUTS, there + OUTPUTS, T * B * IN));
}

/* ---- cuts ------------------------------------------------------------------------------ */

/* Adjusts rows and units, with peephole and embedding, to sizes that all meshes divide. */
static void fit(struct test_case *c)
{
    c->session.rows = (c->session.rows + 3) / 4 * 4;
    c->spec.hidden = (c->spec.hidden + 3) / 4 * 4;
}

/* Runs each case in one mesh, selected by its number. */
static void compare_cut(struct test_case *c, const char *device, const char *optimizer, int number)
{
    static const struct {
        unroll_split mesh;
        int shards, whole;
    } cuts[] = {{{.batch = 2}, 1, PARTS},
                {{.hidden = 2}, 1, PARTS},
                {{.batch = 2, .hidden = 2}, 1, UNSEEN},
                {{.batch = 4}, 4, WHOLE},
                {{.hidden = 4}, 1, WHOLE},
                {{.batch = 2, .hidden = 4}, 1, PARTS},
                {{.batch = 2}, 4, PARTS},
                {{.batch = 4, .hidden = 2}, 1, WHOLE}};
    struct way way = {
        .chunks = 1, .shards = cuts[number % 8].shards, .whole = cuts[number % 8].whole, .mesh = cuts[number % 8].mesh};
    fit(c);
    way.shards = c->session.rows % way.shards ? 1 : way.shards;
    compare(c, device, optimizer, way);
}

/* Returns the loss of outputs z, which are the bias of a dense layer, for the target y, and its slope in the first
 * output. */
static double point(const char *loss, const char *device, float z, float y, float *slope)
{
    unroll_session_config config = unroll_session_config_default();
    unroll_network network = unroll_network_default();
    unroll_layer layer = unroll_layer_default();
    unroll_result result = {.size = sizeof result, .loss = NAN};
    float slopes[LOSS_RESULTS_MAX * LOSS_LEVELS_MAX] = {NAN};
    unroll_batch batch = {.size = sizeof batch, .inputs = (float[]){0}, .target_values = &y};
    unroll_model *model = NULL;
    unroll_session *session = NULL;
    struct loss_choice choice;
    if (!CHECK(loss_choose(loss, &choice) == UNROLL_OK, "%s", unroll_last_error()))
        return NAN;
    layer.kind = "dense", layer.name = "z", layer.width = choice.results;
    network.input = 1, network.layer = &layer, network.layers = 1, network.loss = loss;
    config.mode = UNROLL_TRAIN, config.steps = 1, config.rows = 1, config.machine.device = device;
    bool good = unroll_model_from_network(&network, 1, &model) == UNROLL_OK;
    for (int i = 0; good && i < unroll_model_parameters(model); i++) {
        unroll_parameter p = {.size = sizeof p};
        unroll_model_parameter(model, i, &p);
        for (int k = 0; k < p.shape[0]; k++) p.data[k] = z;
    }
    good = good && unroll_session_new(model, &config, &session) == UNROLL_OK &&
           unroll_session_forward(session, &batch) == UNROLL_OK && unroll_session_backward(session) == UNROLL_OK &&
           unroll_session_result(session, &result) == UNROLL_OK &&
           unroll_session_read(session, "d.z.bias", slopes, (size_t)choice.results) == UNROLL_OK;
    *slope = slopes[0];
    CHECK(good, "%s on %s: %s", loss, device, unroll_last_error());
    unroll_session_free(session);
    unroll_model_free(model);
    return result.loss;
}

/* Returns whether a loss is a sum over single values, not over classes or whole sequences. */
static bool is_of_points(const char *name)
{
    int index = LOSS_NONE;
    CHECK(loss_find(name, &index) == UNROLL_OK, "%s", unroll_last_error());
    return index != LOSS_NONE && !loss_at(index)->of_classes && !loss_at(index)->of_sequences;
}

/* Losses of single values for which careless formulas overflow. A rate of e^100 exceeds the range of float. */
static void check_far_points(const char *device)
{
    static const float far[] = {-100, -20, 0.5f, 20, 100};
    unroll_entry entry = {.size = sizeof entry};
    for (int i = 0; unroll_list(UNROLL_LIST_LOSSES, i, &entry); i++)
        for (int k = 0; k < 10 && is_of_points(entry.name); k++) {
            const char *loss = entry.name;
            float here = NAN, there = NAN, z = far[k / 2] - (strcmp(loss, "poisson") ? 0 : 20), y = (float)(k % 2);
            double a = point(loss, "cpu", z, y, &here), b = point(loss, device, z, y, &there);
            CHECK(fabs(a - b) <= 1e-7 + 1e-5 * fabs(a), "%s of %g and %g: %g, not %g", loss, (double)z, (double)y, b,
                  a);
            CHECK(fabsf(here - there) <= 1e-7f + 1e-5f * fabsf(here), "the slope of %s at %g and %g: %g, not %g", loss,
                  (double)z, (double)y, (double)there, (double)here);
        }
}

/* Trains a module for three updates with the gradient output - 1. */
static void module_learns(const char *device, float z[4])
{
    unroll_session_config config = unroll_session_config_default();
    unroll_model_config spec = unroll_model_config_default();
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    unroll_result result = {.size = sizeof result};
    unroll_batch batch = {.size = sizeof batch, .inputs = (float[]){0.5f, -1, 0.25f, 2}};
    unroll_model *model = NULL;
    unroll_session *session = NULL;
    spec.hidden = 5, spec.input = 1, spec.output = 1;
    config.mode = UNROLL_MODULE, config.steps = 2, config.rows = 2, config.machine.device = device, config.updates = 1;
    bool good =
        unroll_model_new(&spec, 1, &model) == UNROLL_OK && unroll_session_new(model, &config, &session) == UNROLL_OK;
    for (int step = 0; step < 4 && good; step++) {
        float d[4];
        good = unroll_session_forward(session, &batch) == UNROLL_OK &&
               unroll_session_read(session, "z", z, 4) == UNROLL_OK;
        for (int i = 0; i < 4; i++) d[i] = z[i] - 1;
        good = good && unroll_session_write(session, "d.z", d, 4) == UNROLL_OK &&
               unroll_session_backward(session) == UNROLL_OK &&
               unroll_session_update(session, &rates, &result) == UNROLL_OK && result.norm > 0 && result.weight == 1;
    }
    CHECK(good, "a module on %s: %s", device, unroll_last_error());
    unroll_session_free(session);
    unroll_model_free(model);
}

static void check_module_learns(const char *device)
{
    float here[4] = {0}, there[4] = {0};
    module_learns("cpu", here);
    module_learns(device, there);
    for (int i = 0; i < 4; i++)
        CHECK(fabsf(here[i] - there[i]) < 1e-5f, "a module's result %d: %g, not %g", i, (double)there[i],
              (double)here[i]);
}

/* What cannot be compiled to one program for all devices is refused with a message. */
static void check_refusal(const char *device, unroll_split mesh, int rows, const char *words)
{
    unroll_session_config config = unroll_session_config_default();
    unroll_model_config spec = unroll_model_config_default();
    unroll_model *model;
    unroll_session *session = NULL;
    spec.hidden = 6, spec.input = 3, spec.output = 2, spec.layers = 2, spec.loss = "mse";
    CHECK(unroll_model_new(&spec, 1, &model) == UNROLL_OK, "%s", unroll_last_error());
    config.mode = UNROLL_TRAIN, config.steps = 3, config.rows = rows, config.machine.device = device,
    config.machine.split = mesh;
    CHECK(unroll_session_new(model, &config, &session) == UNROLL_UNSUPPORTED && strstr(unroll_last_error(), words),
          "batch=%d hidden=%d layer=%d: %s", mesh.batch, mesh.hidden, mesh.layer, unroll_last_error());
    unroll_session_free(session);
    unroll_model_free(model);
}

static void check_refusals(const char *device)
{
    check_refusal(device, (unroll_split){.layer = 2}, 4, "layers cannot be divided");
    check_refusal(device, (unroll_split){.batch = 2}, 5, "shares must be equal");
    check_refusal(device, (unroll_split){.hidden = 4}, 4, "shares must be equal");
}

/* ---- tables of the documents ----------------------------------------------------------- */

/* Copies the text between two bars without surrounding blanks and returns the next bar. */
static char *column(char *at, char *to, size_t size)
{
    char *end = strchr(at, '|');
    if (!end)
        return NULL;
    at += strspn(at, " `");
    size_t count = (size_t)(end - at);
    while (count && strchr(" `", at[count - 1])) count--;
    snprintf(to, size, "%.*s", (int)count, at);
    return end + 1;
}

/* Checks a row "| `case` | one device | batch=2 | hidden=2 |": `yes` if three steps give the CPU's values, otherwise a
 * quoted part of the refusal. */
static void check_row(const char *device, char *row, const char *path, bool *seen)
{
    static const unroll_split meshes[] = {{0}, {.batch = 2}, {.hidden = 2}};
    char words[256], said[3][256], *at = column(row + 1, words, sizeof words);
    struct test_case *c;
    for (int i = 0; i < 3 && at; i++) at = column(at, said[i], sizeof said[i]);
    FILE *file = fopen(path, "w");
    if (!CHECK(at && file, "the row '%s' has four columns", row))
        return;
    fprintf(file, "%s\n", words);
    fclose(file);
    CHECK(cases_read(path, NULL, &c) == 1, "one case: %s", words);
    for (int i = 0; listed(UNROLL_LIST_CELLS, i); i++)
        seen[i] = seen[i] || !strcmp(listed(UNROLL_LIST_CELLS, i), c->spec.cell);
    fit(c);
    for (int i = 0; i < 3; i++) {
        struct way way = {.chunks = 1, .shards = 1, .whole = WHOLE, .mesh = meshes[i], .device = true};
        struct findings f = {0};
        if (!strcmp(said[i], "yes"))
            compare(c, device, "adam", way);
        else
            CHECK(!train(c, device, "adam", way, &f) && strstr(unroll_last_error(), said[i]),
                  "%s is refused with '%s': %s", words, said[i], unroll_last_error());
        free(f.gradient);
        free(f.weight);
    }
    free(c);
}

static unroll_status chosen_activations(unroll_model **model)
{
    unroll_network network = unroll_network_default();
    unroll_layer layer = unroll_layer_default();
    layer.kind = "lstm", layer.name = "rnn", layer.width = 6, layer.activations = "hard_sigmoid(0.2,0.5) tanh tanh";
    network.input = 3, network.layer = &layer, network.layers = 1;
    return unroll_model_from_network(&network, 1, model);
}

/* Checks a row "| `case` | message |" of something that no session on the device supports. */
static void check_refused_row(const char *device, char *row)
{
    char what[256], said[256];
    unroll_session_config config = unroll_session_config_default();
    unroll_model_config spec = unroll_model_config_default();
    unroll_model *model;
    unroll_session *session = NULL;
    if (!CHECK(column(column(row + 1, what, sizeof what), said, sizeof said), "the row '%s' has two columns", row))
        return;
    spec.hidden = 6, spec.input = 3, spec.output = 2, spec.layers = 2, spec.loss = "mse";
    config.steps = 3, config.rows = 5, config.machine.device = device;
    config.machine.dtype = !strncmp(what, "dtype=", 6) ? what + 6 : NULL;
    config.machine.isa = strcmp(what, "isa") ? NULL : "avx2";
    config.machine.precision = !strcmp(what, "double precision") ? "fp64" : NULL;
    config.profile = !strcmp(what, "profile");
    config.machine.split.layer = !strcmp(what, "layer=2") ? 2 : 0;
    config.machine.split.batch = !strcmp(what, "batch=2 of 5 rows") ? 2 : 0;
    config.machine.exact = !strcmp(what, "exact, cut");
    config.machine.split.hidden = config.machine.exact ? 2 : 0;
    config.machine.split.hidden = !strcmp(what, "hidden=4 of 6 units") ? 4 : config.machine.split.hidden;
    config.mode = strcmp(what, "functions") ? UNROLL_EVAL : UNROLL_INFER;
    CHECK((config.mode == UNROLL_EVAL ? unroll_model_new(&spec, 1, &model) : chosen_activations(&model)) == UNROLL_OK,
          "%s: %s", what, unroll_last_error());
    CHECK(unroll_session_new(model, &config, &session) == UNROLL_UNSUPPORTED && strstr(unroll_last_error(), said),
          "%s is refused with '%s': %s", what, said, session ? "it is done" : unroll_last_error());
    unroll_session_free(session);
    unroll_model_free(model);
}

/* Runs the rows of a document's tables on the device; every cell must have a row. */
static int check_document(const char *device, const char *path, const char *scratch)
{
    char line[1024];
    bool seen[64] = {false}, refused = false;
    int rows = 0;
    FILE *file = fopen(path, "r");
    CHECK(file != NULL, "%s can be read", path);
    while (file && fgets(line, sizeof line, file)) {
        refused = *line == '|' && (refused || strstr(line, "| what is refused"));
        if (!strncmp(line, "| `cell=", 8))
            check_row(device, line, scratch, seen);
        else if (refused && !strncmp(line, "| `", 3))
            check_refused_row(device, line);
        else
            continue;
        rows++;
    }
    if (file)
        fclose(file);
    for (int i = 0; listed(UNROLL_LIST_CELLS, i); i++)
        CHECK(seen[i], "%s has no row for the cell %s", path, listed(UNROLL_LIST_CELLS, i));
    CHECK(rows > 20, "%d rows", rows);
    return check_finish("test_device");
}

int main(int argc, char **argv)
{
    struct test_case *list;
    bool cuts = argc > 2 && !strcmp(argv[2], "--cuts");
    if (argc == 5 && !strcmp(argv[2], "--document"))
        return check_document(argv[1], argv[3], argv[4]);
    if (argc < 3 + cuts) {
        fprintf(stderr, "usage: test_device DEVICE [--cuts] cases.txt [part of a line]\n"
                        "       test_device DEVICE --document docs/howto/xla.md SCRATCH\n");
        return 2;
    }
    static const struct way ways[] = {{.chunks = 1, .shards = 1, .whole = WHOLE},
                                      {.chunks = 3, .shards = 1},
                                      {.chunks = 1, .shards = 2},
                                      {.chunks = 1, .shards = 1, .checkpoint = 2, .whole = UNSEEN},
                                      {.chunks = 1, .shards = 1},
                                      {.chunks = 2, .shards = 3, .whole = WHOLE}};
    int count = cases_read(argv[2 + cuts], argc > 3 + cuts ? argv[3 + cuts] : NULL, &list), optimizers = 0;
    while (listed(UNROLL_LIST_OPTIMIZERS, optimizers)) optimizers++;
    if (cuts)
        check_refusals(argv[1]);
    else
        test_module(argv[1]), check_module_learns(argv[1]), check_far_points(argv[1]);
    for (int i = 0; i < count; i++) {
        const char *optimizer = listed(UNROLL_LIST_OPTIMIZERS, i % optimizers);
        check_next_case();
        if (cuts)
            compare_cut(&list[i], argv[1], optimizer, i);
        else
            compare(&list[i], argv[1], optimizer, ways[i % 6]);
    }
    free(list);
    return check_finish("test_device");
}

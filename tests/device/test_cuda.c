/* The CUDA device on the fake GPU (fake_cuda/): refusals, graphs, memory, precisions, long sequences, repeatability.
 * test_device compares values over the list of cases. Usage: with_fake_cuda.sh BUILD test_cuda */
/* test: if=g++; run=tests/device/with_fake_cuda.sh $B */
#include "check.h"
#include "data/readers/reader_table.h"
#include "extensions/cuda/context.h"
#include "extensions/cuda/image.h"
#include "extensions/gpu/gpu_executable.h"
#include "train/toy_loss.h"
#include "train/trainer.h"
#include "unroll.h"
#include "unroll_network.h"
#include "unroll_advanced.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEPS = 6, ROWS = 4, IN = 3, OUT = 2, HIDDEN = 8 };

static unroll_model_config spec_of(const char *cell)
{
    unroll_model_config spec = unroll_model_config_default();
    spec.cell = cell, spec.input = IN, spec.hidden = HIDDEN, spec.output = OUT, spec.loss = "mse";
    return spec;
}

static unroll_model *model_new(void)
{
    unroll_model_config spec = spec_of("lstm");
    unroll_model *model = NULL;
    CHECK(unroll_model_new(&spec, 5, &model) == UNROLL_OK, "%s", unroll_last_error());
    return model;
}

static unroll_session_config config_of(unroll_mode mode)
{
    unroll_session_config config = unroll_session_config_default();
    config.mode = mode, config.steps = STEPS, config.rows = ROWS, config.machine.device = "cuda";
    return config;
}

static void fill(float *x, size_t n, int salt)
{
    for (size_t i = 0; i < n; i++) x[i] = sinf((float)(i * 7 + (size_t)salt * 13 + 1));
}

/* ---- refusals, each in a process of its own, because drivers are loaded once ---------------- */

struct setting {
    const char *variable, *value;
};

static bool child_refuses(struct setting s, const char *device, const char *precision, const char *words)
{
    unroll_session_config config = config_of(UNROLL_TRAIN);
    unroll_session *session = NULL;
    if (s.variable)
        setenv(s.variable, s.value, 1);
    config.machine.device = device, config.machine.precision = precision;
    unroll_model *model = model_new();
    unroll_status status = unroll_session_new(model, &config, &session);
    bool good = status != UNROLL_OK && strstr(unroll_last_error(), words);
    if (!good)
        printf("%s: '%s', not '%s'\n", device, status == UNROLL_OK ? "done" : unroll_last_error(), words);
    fflush(stdout);
    return good;
}

static void check_refused(struct setting s, const char *device, const char *precision, const char *words)
{
    int status = 1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(!child_refuses(s, device, precision, words));
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "%s=%s on %s should be refused: %s",
          s.variable ? s.variable : "", s.variable ? s.value : "", device, words);
}

/* Kernels are compiled with the library: a loss added at run time has none. */
static void test_added_loss(void)
{
    unroll_model_config spec = spec_of("lstm");
    unroll_session_config config = config_of(UNROLL_TRAIN);
    unroll_session *session;
    unroll_model *model = NULL;
    CHECK(loss_add(&quartic) == UNROLL_OK, "%s", unroll_last_error());
    spec.loss = "quartic";
    CHECK(unroll_model_new(&spec, 5, &model) == UNROLL_OK, "%s", unroll_last_error());
    CHECK_REFUSED(unroll_session_new(model, &config, &session), UNROLL_UNSUPPORTED, "`loss` = 'quartic'");
    unroll_model_free(model);
}

static void test_refusals(void)
{
    const struct setting none = {NULL, NULL};
    check_refused((struct setting){"UNROLL_CUDA_DRIVER", "/nowhere/libcuda.so"}, "cuda", NULL,
                  "UNROLL_CUDA_DRIVER cannot be");
    check_refused((struct setting){"UNROLL_CUBLASLT", "/nowhere/lt.so"}, "cuda", NULL,
                  "UNROLL_CUBLASLT cannot be loaded");
    check_refused((struct setting){"UNROLL_CUBLASLT", getenv("UNROLL_CUDA_DRIVER")}, "cuda", NULL, "has no 'cublasLt");
    check_refused((struct setting){"UNROLL_CUDA_KERNELS", "/nowhere/image"}, "cuda", NULL, "cannot be read");
    check_refused((struct setting){"UNROLL_CUDA_KERNELS", "/proc/self/status"}, "cuda", NULL, "can't use the kernels");
    check_refused((struct setting){"FAKE_CUDA_DEVICES", "0"}, "cuda", NULL, "found no GPU");
    check_refused((struct setting){"FAKE_CUDA_VERSION", "11080"}, "cuda", NULL, "the CUDA driver is too old");
    check_refused((struct setting){"FAKE_CUDA_CAPABILITY", "75"}, "cuda", NULL, "is of sm_75");
    check_refused((struct setting){"FAKE_CUDA_MEMORY", "4000000"}, "cuda", NULL, "has no memory for");
    check_refused(none, "cuda:7", NULL, "there is no GPU 7: this machine has 1");
    check_refused(none, "cuda:x", NULL, "comes the number of a GPU");
    check_refused(none, "cuda:-1", NULL, "comes the number of a GPU");
    check_refused(none, "cuda:GPU-beef", NULL,
                  "there is no 'GPU-beef' among the GPUs that this process may use: face0000-");
    check_refused((struct setting){"FAKE_CUDA_DEVICES", "2"}, "cuda:GPU-face", NULL, "2 GPUs begin so");
    check_refused((struct setting){"FAKE_CUDA_MIG", "7"}, "cuda:MIG-beef", NULL, "found no GPU");
    check_refused((struct setting){"CUDA_VISIBLE_DEVICES", "0"}, "cuda:MIG-beef", NULL, "there is no 'MIG-beef'");
    check_refused(none, "cuda", "fp8", "choose one of fp32, tf32, bf16, fp16, fp64");
    check_refused(none, "cpu", "tf32", "cannot multiply tf32");
}

/* ---- GPUs of other kinds, each in a process of its own -------------------------------------- */

/* A stack whose widest layer comes first, so that its kernel needs more shared memory than its next launch. */
static bool runs_stack(void)
{
    unroll_layer layer[2] = {unroll_layer_default(), unroll_layer_default()};
    unroll_network network = unroll_network_default();
    unroll_session_config config = config_of(UNROLL_INFER);
    unroll_model *model = NULL;
    unroll_session *session = NULL;
    float x[STEPS * ROWS * IN];
    layer[0].kind = layer[1].kind = "lstm";
    layer[0].name = "a", layer[1].name = "b";
    layer[0].width = 128, layer[1].width = 96;
    network.input = IN, network.layer = layer, network.layers = 2;
    config.steps = 1;
    fill(x, sizeof x / sizeof *x, 1);
    bool good =
        unroll_model_from_network(&network, 5, &model) == UNROLL_OK &&
        unroll_session_new(model, &config, &session) == UNROLL_OK &&
        unroll_session_forward(session, &(unroll_batch){.size = sizeof(unroll_batch), .inputs = x}) == UNROLL_OK;
    if (!good)
        printf("%s\n", unroll_last_error());
    unroll_session_free(session);
    unroll_model_free(model);
    fflush(stdout);
    return good;
}

static void check_kind(const struct setting *s, int settings)
{
    int status = 1;
    fflush(stdout);
    pid_t child = fork();
    for (int i = 0; child == 0 && i < settings; i++) setenv(s[i].variable, s[i].value, 1);
    if (child == 0)
        _exit(!runs_stack());
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "%s=%s should run", s->variable, s->value);
}

/* Finds GPUs, and an instance with 16 multiprocessors, by names; their properties are used for planning. */
static bool finds(const char *device, const char *isa)
{
    struct cuda_context *c;
    const bool good = cuda_context_open(device, &c) == UNROLL_OK;
    if (!good)
        printf("%s: %s\n", device, unroll_last_error());
    fflush(stdout);
    return good && c->processors == (strstr(isa, "MIG") ? 16 : 132) && strcmp(c->name, isa) == 0 && runs_stack();
}

static void check_name(struct setting s, const char *device, const char *name)
{
    int status = 1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        setenv(s.variable, s.value, 1);
        _exit(!finds(device, name));
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "%s=%s: %s should be found", s.variable,
          s.value, device);
}

static void test_names(void)
{
    const struct setting two = {"FAKE_CUDA_DEVICES", "2"}, seventh = {"FAKE_CUDA_MIG", "7"};
    check_name(two, "GPU-face0000-0000-0000-0000-000000000001", "Fake H200");
    check_name(seventh, "MIG-face0000-0000-0000-0000-000000000003", "Fake H200 MIG 1g.18gb");
    check_name(seventh, "0", "Fake H200 MIG 1g.18gb");
}

static void test_kinds(void)
{
    check_kind((const struct setting[]){{"FAKE_CUDA_SMS", "4"}, {"UNROLL_CUDA_ALGORITHM", "cluster"}}, 2);
    check_kind((const struct setting[]){{"FAKE_CUDA_CAPABILITY", "120"}, {"UNROLL_CUDA_ALGORITHM", "cluster"}}, 2);
    if (cuda_images[0].data) /* code by nvcc, not all of which the older GPU supports */
        check_kind((const struct setting[]){{"FAKE_CUDA_CAPABILITY", "80"}, {"UNROLL_CUDA_KERNELS", ""}}, 2);
}

/* ---- training ----------------------------------------------------------------------------- */

/* Creates two bidirectional layers with rows of different lengths, in two segments that share memory; or one layer. */
static unroll_model *variant_new(bool stack, unroll_session_config *config)
{
    unroll_model_config spec = spec_of("lstm");
    unroll_model *model = NULL;
    spec.layers = stack ? 2 : 1;
    spec.bidirectional = config->lengths = stack;
    config->machine.checkpoint_time = stack ? STEPS / 2 : 0;
    CHECK(unroll_model_new(&spec, 5, &model) == UNROLL_OK, "%s", unroll_last_error());
    return model;
}

/* Computes the losses of some updates with a learning rate that changes each time. */
static bool train_variant(bool stack, const char *device, const char *precision, int updates, double *loss,
                          struct gpu_counts *after_first)
{
    static const int32_t lengths[ROWS] = {STEPS, 2, 0, 5};
    unroll_session_config config = config_of(UNROLL_TRAIN);
    unroll_model *model = variant_new(stack, &config);
    unroll_session *session;
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    float x[STEPS * ROWS * IN], y[STEPS * ROWS * OUT];
    const unroll_batch batch = {
        .size = sizeof batch, .inputs = x, .target_values = y, .lengths = stack ? lengths : NULL};
    config.machine.device = device, config.machine.precision = precision;
    bool good = CHECK(unroll_session_new(model, &config, &session) == UNROLL_OK, "%s", unroll_last_error());
    fill(x, sizeof x / sizeof *x, 1);
    fill(y, sizeof y / sizeof *y, 2);
    for (int i = 0; good && i < updates; i++) {
        unroll_result result = {.size = sizeof result};
        rates.learning_rate = 0.02 / (1 + i);
        good = CHECK(unroll_session_forward(session, &batch) == UNROLL_OK &&
                         unroll_session_backward(session) == UNROLL_OK &&
                         unroll_session_update(session, &rates, &result) == UNROLL_OK,
                     "%s", unroll_last_error());
        loss[i] = result.loss;
        if (i == 0 && after_first)
            *after_first = gpu_counts();
    }
    CHECK(!good || !strcmp(device, "cpu") || unroll_session_bytes(session) == unroll_session_memory_estimate(session),
          "%llu bytes, %llu predicted", (unsigned long long)unroll_session_bytes(session),
          (unsigned long long)unroll_session_memory_estimate(session));
    unroll_session_free(session);
    unroll_model_free(model);
    return good;
}

static void test_graphs(void)
{
    enum { UPDATES = 5 };
    double loss[UPDATES];
    struct gpu_counts before = gpu_counts(), first, last;
    if (!train_variant(false, "cuda", NULL, UPDATES, loss, &first))
        return;
    last = gpu_counts();
    CHECK(first.graphs - before.graphs == 4, "%d graphs for four parts", (int)(first.graphs - before.graphs));
    CHECK(last.graphs == first.graphs, "%d graphs made after the first update", (int)(last.graphs - first.graphs));
    CHECK(last.graph_launches - first.graph_launches == 4 * (UPDATES - 1), "%d launches",
          (int)(last.graph_launches - first.graph_launches));
    CHECK(last.plain_runs == before.plain_runs, "%d parts without a graph", (int)(last.plain_runs - before.plain_runs));
}

static void test_precisions(bool stack)
{
    enum { UPDATES = 8 };
    static const struct {
        const char *name;
        double tolerance;
    } precisions[] = {{"fp32", 1e-5}, {"tf32", 2e-3}, {"fp16", 2e-3}, {"bf16", 1e-2}};
    double exact[UPDATES], loss[UPDATES], again[UPDATES];
    if (!train_variant(stack, "cpu", NULL, UPDATES, exact, NULL))
        return;
    for (size_t p = 0; p < sizeof precisions / sizeof *precisions; p++) {
        const char *name = precisions[p].name;
        double max = 0;
        if (!train_variant(stack, "cuda", name, UPDATES, loss, NULL) ||
            !train_variant(stack, "cuda", name, UPDATES, again, NULL))
            continue;
        for (int i = 0; i < UPDATES; i++) max = fmax(max, fabs(loss[i] - exact[i]) / exact[i]);
        CHECK(max <= precisions[p].tolerance, "%s: losses differ by %.1e", name, max);
        CHECK(p == 0 || max > 0, "%s: the bits of fp32", name);
        CHECK(memcmp(loss, again, sizeof loss) == 0, "%s: another run has other bits", name);
    }
}

/* A loss so steep that gradients overflow fp16: these updates are skipped, and the scale decreases until they fit. */
static void test_loss_scale(void)
{
    enum { UPDATES = 30 };
    unroll_session_config config = config_of(UNROLL_TRAIN);
    unroll_model *model = model_new();
    unroll_session *session;
    unroll_hyperparameters rates = unroll_hyperparameters_default("sgd");
    unroll_result result = {.size = sizeof result, .norm = 0};
    float x[STEPS * ROWS * IN], y[STEPS * ROWS * OUT];
    int left_out = 0, updates = 0;
    config.machine.precision = "fp16", config.optimizer = "sgd";
    rates.learning_rate = 1e-6;
    fill(x, sizeof x / sizeof *x, 1);
    fill(y, sizeof y / sizeof *y, 2);
    for (size_t i = 0; i < sizeof y / sizeof *y; i++) y[i] *= 1000;
    bool good = CHECK(unroll_session_new(model, &config, &session) == UNROLL_OK, "%s", unroll_last_error());
    for (int i = 0; good && i < UPDATES; i++) {
        good = CHECK(unroll_session_forward(
                         session, &(unroll_batch){.size = sizeof(unroll_batch), .inputs = x, .target_values = y}) ==
                             UNROLL_OK &&
                         unroll_session_backward(session) == UNROLL_OK &&
                         unroll_session_update(session, &rates, &result) == UNROLL_OK,
                     "update %d: %s", i, unroll_last_error());
        left_out += result.norm == 0;
        updates += result.norm > 0;
        CHECK(!updates || result.norm > 0, "update %d is left out after others fit", i);
    }
    CHECK(left_out > 3 && updates > 3, "%d updates left out, %d done", left_out, updates);
    unroll_session_free(session);
    unroll_model_free(model);
}

/* ---- a checkpoint keeps the loss scale ------------------------------------------------------ */

static unroll_trainer *trainer_of(unroll_model *model, const unroll_dataset *text)
{
    unroll_trainer_config config = unroll_trainer_config_default();
    unroll_trainer *trainer = NULL;
    config.batch = 2, config.bptt = 4, config.validation.share = 0;
    config.machine.device = "cuda", config.machine.precision = "fp16";
    CHECK(unroll_trainer_new(model, text, &config, &trainer) == UNROLL_OK, "%s", unroll_last_error());
    return trainer;
}

/* Returns the loss scale after a step. */
static double scale_after_step(unroll_trainer *t)
{
    unroll_progress progress = {.size = sizeof progress};
    double scale = 0;
    int64_t updates;
    CHECK(unroll_trainer_step(t, &progress) == UNROLL_OK, "%s", unroll_last_error());
    unroll_session_loss_scale(t->session, &scale, &updates);
    return scale;
}

static bool same_weights(unroll_session *a, unroll_session *b)
{
    float here[HIDDEN * 4 * HIDDEN], there[HIDDEN * 4 * HIDDEN];
    const size_t count = unroll_session_count(a, "rnn.weight_hh_l0");
    return count == sizeof here / sizeof *here &&
           unroll_session_read(a, "rnn.weight_hh_l0", here, count) == UNROLL_OK &&
           unroll_session_read(b, "rnn.weight_hh_l0", there, count) == UNROLL_OK && !memcmp(here, there, sizeof here);
}

/* At a point where the next good update doubles the scale. */
static void test_scale_is_kept(void)
{
    char folder[] = "/tmp/unroll_cuda_XXXXXX", path[64], command[80];
    unroll_model_config spec = spec_of("lstm");
    unroll_model *model[2] = {NULL, NULL};
    unroll_trainer *t[2];
    unroll_dataset *text;
    snprintf(path, sizeof path, "%s/step", mkdtemp(folder));
    CHECK(dataset_parse("abcabcabcabcabcabcabcabcabcabcabcabc", 36, "a text", "text", NULL, NULL, &text) == UNROLL_OK,
          "%s", unroll_last_error());
    spec.tokens = 1, spec.input = spec.output = 3, spec.loss = "xent";
    for (int i = 0; i < 2; i++) {
        CHECK(unroll_model_new(&spec, (uint64_t)(5 + i), &model[i]) == UNROLL_OK, "%s", unroll_last_error());
        t[i] = trainer_of(model[i], text);
    }
    unroll_session_set_loss_scale(t[0]->session, 256, 1998);
    CHECK(scale_after_step(t[0]) == 256, "the scale grows too soon");
    CHECK(unroll_trainer_save(t[0], path) == UNROLL_OK && unroll_trainer_load(t[1], path) == UNROLL_OK, "%s",
          unroll_last_error());
    for (int i = 0; i < 2; i++) {
        double scale = scale_after_step(t[i]);
        CHECK(scale == 512, "the scale of training %d is %g, not 512", i, scale);
    }
    CHECK(same_weights(t[0]->session, t[1]->session), "a training that went on has other bits");
    for (int i = 0; i < 2; i++) {
        unroll_trainer_free(t[i]);
        unroll_model_free(model[i]);
    }
    unroll_dataset_free(text);
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0, "the checkpoint is removed");
}

/* ---- times of operations -------------------------------------------------------------------- */

static void test_profile(void)
{
    enum { RUNS = 3 };
    unroll_session_config config = config_of(UNROLL_TRAIN);
    unroll_model *model = model_new();
    unroll_session *session;
    unroll_operation o = {.size = sizeof o};
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    float x[STEPS * ROWS * IN], y[STEPS * ROWS * OUT];
    int timed = 0, updates = 0;
    bool recurrent = false;
    config.profile = 1;
    fill(x, sizeof x / sizeof *x, 1);
    fill(y, sizeof y / sizeof *y, 2);
    bool good = CHECK(unroll_session_new(model, &config, &session) == UNROLL_OK, "%s", unroll_last_error());
    for (int i = 0; good && i < RUNS; i++)
        good = CHECK(unroll_session_step(session,
                                         &(unroll_batch){.size = sizeof(unroll_batch), .inputs = x, .target_values = y},
                                         &rates, NULL) == UNROLL_OK,
                     "%s", unroll_last_error());
    for (int i = 0; good && unroll_session_operation(session, i, &o); i++) {
        timed += o.runs > 0;
        updates += o.runs > 0 && !strncmp(o.name, "update", 6);
        recurrent |= !strcmp(o.name, "rnn_back g.l0") && o.runs == RUNS;
        CHECK(o.runs == 0 || (o.runs == RUNS && o.min > 0 && o.seconds >= RUNS * o.min),
              "%s: %ld runs, %g s, %g s at least", o.name, o.runs, o.seconds, o.min);
    }
    CHECK(timed > 8 && recurrent, "%d operations are timed", timed);
    CHECK(updates == 1, "%d launches of updates", updates);
    unroll_session_free(session);
    unroll_model_free(model);
}

/* ---- the time of runs by the GPU's clock ----------------------------------------------------- */

static void test_span(void)
{
    unroll_session_config config = config_of(UNROLL_MODULE);
    unroll_model *model = model_new();
    unroll_session *session = NULL;
    float x[STEPS * ROWS * IN];
    double span[4] = {-1, -1, -1, -1};
    fill(x, sizeof x / sizeof *x, 1);
    const unroll_batch batch = {.size = sizeof batch, .inputs = x};
    if (CHECK(unroll_session_new(model, &config, &session) == UNROLL_OK, "%s", unroll_last_error())) {
        bool good = unroll_session_seconds(session, &span[0]) == UNROLL_OK && /* starts the measurement */
                    unroll_session_forward(session, &batch) == UNROLL_OK &&
                    unroll_session_seconds(session, &span[1]) == UNROLL_OK &&
                    unroll_session_seconds(session, &span[2]) == UNROLL_OK;
        for (int i = 0; good && i < 2; i++)
            good =
                unroll_session_forward(session, &batch) == UNROLL_OK && unroll_session_backward(session) == UNROLL_OK;
        good = good && unroll_session_seconds(session, &span[3]) == UNROLL_OK;
        CHECK(good, "%s", unroll_last_error());
        CHECK(span[0] >= 0 && span[0] <= 0 && span[1] > 0 && span[2] >= 0 && span[2] <= 0 && span[3] > 0,
              "%g, %g, %g, %g s: none, a forward, none, two steps", span[0], span[1], span[2], span[3]);
    }
    unroll_session_free(session);
    session = NULL;
    unroll_model_free(model);
    model = model_new();
    config.machine.device = "cpu";
    CHECK(unroll_session_new(model, &config, &session) == UNROLL_OK, "%s", unroll_last_error());
    CHECK(session && unroll_session_seconds(session, &span[0]) == UNROLL_UNSUPPORTED &&
              strstr(unroll_last_error(), "has no device clock; fix: "),
          "%s", unroll_last_error());
    unroll_session_free(session);
    unroll_model_free(model);
}

/* ---- values that are read need not be copied back ------------------------------------------ */

/* Returns the bytes that a forward copies to the GPU, or 0 if it failed. */
static uint64_t forward_copies(unroll_session *session, const float *x)
{
    const uint64_t before = gpu_counts().copied_in;
    if (unroll_session_forward(session, &(unroll_batch){.size = sizeof(unroll_batch), .inputs = x}) != UNROLL_OK)
        return 0;
    return gpu_counts().copied_in - before;
}

static void test_reads(void)
{
    unroll_session_config config = config_of(UNROLL_INFER);
    unroll_model *model = model_new();
    unroll_session *session = NULL;
    float x[STEPS * ROWS * IN], z[STEPS * ROWS * OUT];
    fill(x, STEPS * ROWS * IN, 3);
    config.machine.device = "cuda";
    if (CHECK(unroll_session_new(model, &config, &session) == UNROLL_OK, "%s", unroll_last_error())) {
        const uint64_t first = forward_copies(session, x), second = forward_copies(session, x);
        CHECK(unroll_session_read(session, "z", z, STEPS * ROWS * OUT) == UNROLL_OK, "%s", unroll_last_error());
        const uint64_t third = forward_copies(session, x);
        CHECK(first >= second && second == third && third > 0,
              "forwards copy %llu, %llu and, after outputs were read, %llu bytes to the GPU", (unsigned long long)first,
              (unsigned long long)second, (unsigned long long)third);
    }
    unroll_session_free(session);
    unroll_model_free(model);
}

/* ---- long sequences: more steps than a grid has rows, more launches than a graph may have ----- */

static bool run_long(const char *device, int steps, const float *x, float *y)
{
    unroll_session_config config = config_of(UNROLL_INFER);
    unroll_model_config spec = spec_of("mingru");
    unroll_model *model;
    unroll_session *session;
    spec.hidden = 2;
    config.steps = steps, config.rows = 1, config.machine.device = device;
    if (unroll_model_new(&spec, 5, &model) != UNROLL_OK || unroll_session_new(model, &config, &session) != UNROLL_OK)
        return false;
    bool good =
        unroll_session_forward(session, &(unroll_batch){.size = sizeof(unroll_batch), .inputs = x}) == UNROLL_OK &&
        unroll_session_read(session, "z", y, (size_t)steps * OUT) == UNROLL_OK;
    unroll_session_free(session);
    unroll_model_free(model);
    return good;
}

static void test_long(void)
{
    enum { LONG = 65600 };
    float *x = malloc(LONG * IN * sizeof *x), *here = malloc(LONG * OUT * sizeof *x),
          *there = malloc(LONG * OUT * sizeof *x);
    uint64_t plain = gpu_counts().plain_runs;
    float max = 0;
    fill(x, LONG * IN, 3);
    setenv("UNROLL_CUDA_ALGORITHM", "portable", 1); /* a walk is one launch */
    if (CHECK(run_long("cpu", LONG, x, here) && run_long("cuda", LONG, x, there), "%s", unroll_last_error()))
        for (int i = 0; i < LONG * OUT; i++) max = fmaxf(max, fabsf(here[i] - there[i]));
    CHECK(max < 1e-5f, "outputs of %d steps differ by %.1e", LONG, (double)max);
    unsetenv("UNROLL_CUDA_ALGORITHM");
    CHECK(gpu_counts().plain_runs == plain + 1, "a part of %d steps is a graph", LONG);
    free(x);
    free(here);
    free(there);
}

/* ---- a driver with fewer functions: those that the table may lack are not needed -------------- */

/* Runs forward and backward with this driver and copies the gradients of all parameters. Returns the number of
 * bytes. */
static size_t gradients_over(const struct gpu_driver *driver, const struct plan *plan, char *to, size_t room)
{
    const struct device_options options = {.threads = 1};
    void *store = NULL, *executable = NULL;
    float x[256];
    size_t used = 0;
    fill(x, sizeof x / sizeof *x, 4);
    bool good = gpu_store_new(driver, plan, &store) == UNROLL_OK &&
                gpu_executable_new(plan, store, &options, &executable) == UNROLL_OK;
    for (int i = 0; good && i < plan->buffers; i++) {
        const struct buffer *b = &plan->buffer[i];
        if ((b->segment == SEG_PARAM || b->segment == SEG_IO) && b->dtype == DTYPE_F32)
            for (uint64_t at = 0; at < b->bytes && good; at += sizeof x) {
                const uint64_t left = b->bytes - at;
                good = gpu_write(executable, b->name, at, left < sizeof x ? left : sizeof x, x) == UNROLL_OK;
            }
    }
    good = good && gpu_run(executable, PHASE_FORWARD, PHASE_BACKWARD) == UNROLL_OK;
    for (int i = 0; good && i < plan->buffers; i++) {
        const struct buffer *b = &plan->buffer[i];
        if (b->segment != SEG_GRAD || !b->bytes)
            continue;
        good = b->bytes <= room - used && gpu_read(executable, b->name, 0, b->bytes, to + used) == UNROLL_OK;
        used += b->bytes;
    }
    CHECK(good, "%s", unroll_last_error());
    gpu_executable_free(executable);
    gpu_store_free(store);
    return used;
}

static void test_lesser_driver(void)
{
    static char all[1 << 16], less[1 << 16];
    struct gpu_driver lesser = gpu_driver_cuda;
    struct plan_config config = plan_config_default();
    struct plan *plan = NULL;
    unroll_model *model = model_new();
    config.T = STEPS, config.B = ROWS;
    lesser.graph_begin = NULL, lesser.graph_end = NULL, lesser.graph_launch = NULL, lesser.graph_free = NULL;
    lesser.rnn = NULL, lesser.ranks = NULL;
    setenv("UNROLL_CUDA_ALGORITHM", "portable", 1);
    if (CHECK(plan_new(model, &config, &plan) == UNROLL_OK, "%s", unroll_last_error())) {
        const struct gpu_counts before = gpu_counts();
        const size_t bytes = gradients_over(&gpu_driver_cuda, plan, all, sizeof all);
        const struct gpu_counts between = gpu_counts();
        const size_t again = gradients_over(&lesser, plan, less, sizeof less);
        const struct gpu_counts after = gpu_counts();
        CHECK(bytes == again && !memcmp(all, less, bytes), "other gradients without graphs");
        CHECK(bytes > 1 && memcmp(all, all + 1, bytes - 1), "the gradients are all the same");
        CHECK(between.graphs > before.graphs && after.graphs == between.graphs &&
                  after.plain_runs == between.plain_runs + 2,
              "a driver without graphs launches each time");
    }
    unsetenv("UNROLL_CUDA_ALGORITHM");
    plan_free(plan);
    unroll_model_free(model);
}

/* ---- narrow operands are made by the kernel of a step, so that a step is a product and a kernel ---- */

/* Counts the launches of a forward and a backward of `steps` steps with one implementation. */
static bool count_launches(const struct unroll_model *model, int steps, enum precision precision, uint64_t count[2])
{
    const struct device_options options = {.threads = 1};
    struct plan_config config = plan_config_default();
    struct plan *plan = NULL;
    void *store = NULL, *executable = NULL;
    config.T = (uint32_t)steps, config.B = ROWS, config.precision = precision;
    bool good = plan_new(model, &config, &plan) == UNROLL_OK &&
                gpu_store_new(&gpu_driver_cuda, plan, &store) == UNROLL_OK &&
                gpu_executable_new(plan, store, &options, &executable) == UNROLL_OK;
    for (int i = 0; good && i < 2; i++)
        count[i] = ((const struct gpu_executable *)executable)->launches[i ? PHASE_BACKWARD : PHASE_FORWARD];
    gpu_executable_free(executable);
    gpu_store_free(store);
    plan_free(plan);
    return CHECK(good, "%s", unroll_last_error());
}

static void test_launches_of_steps(void)
{
    enum { MORE = 3 };
    static const struct {
        const char *cell;
        int projection;
        uint64_t each; /* products and kernels of a step */
    } cells[] = {{"lstm", 0, 2}, {"rnn", 0, 2}, {"lstm", 5, 4}, {"gru-before", 0, 4}, {"mingru", 0, 1}};
    setenv("UNROLL_CUDA_ALGORITHM", "portable", 1);
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        for (int precision = PRECISION_FP32; precision <= PRECISION_FP16; precision++) {
            unroll_model_config spec = spec_of(cells[i].cell);
            unroll_model *model = NULL;
            uint64_t few[2] = {0}, many[2] = {0};
            spec.projection = cells[i].projection;
            CHECK(unroll_model_new(&spec, 5, &model) == UNROLL_OK, "%s", unroll_last_error());
            if (model && count_launches(model, STEPS, (enum precision)precision, few) &&
                count_launches(model, STEPS + MORE, (enum precision)precision, many))
                CHECK(many[0] - few[0] == MORE * cells[i].each && many[1] - few[1] == MORE * cells[i].each,
                      "%s in precision %d: %d steps are %llu and %llu launches, not %llu each", cells[i].cell,
                      precision, MORE, (unsigned long long)(many[0] - few[0]), (unsigned long long)(many[1] - few[1]),
                      (unsigned long long)(MORE * cells[i].each));
            unroll_model_free(model);
        }
    unsetenv("UNROLL_CUDA_ALGORITHM");
}

int main(void)
{
    if (!getenv("UNROLL_CUDA_DRIVER")) {
        fprintf(stderr, "usage: with_fake_cuda.sh BUILD test_cuda\n");
        return 2;
    }
    test_refusals();
    test_kinds();
    test_names();
    test_graphs();
    test_precisions(false);
    test_precisions(true);
    test_added_loss();
    test_loss_scale();
    test_scale_is_kept();
    test_profile();
    test_span();
    test_reads();
    test_long();
    test_lesser_driver();
    test_launches_of_steps();
    check_refused((struct setting){NULL, NULL}, "cuda", NULL, "forked from a process that had opened the CUDA driver");
    return check_finish("test_cuda");
}

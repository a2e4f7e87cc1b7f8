/* The XLA device without XLA: programs as text, and the interface to plugins with one that checks each call
 * (fake_plugin.c). What programs compute is tested with a real plugin (check_xla.sh). Usage: test_xla fake_plugin.so,
 * from the top folder */
/* test: kinds=plain,long-memory; args=$B/tests/device/fake_plugin.so */
#include "base/memory.h"
#include "check.h"
#include "extensions/xla/plugin.h"
#include "extensions/xla/translate.h"
#include "unroll_train.h"
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char device_name[512];

static unroll_model *model_new(void)
{
    unroll_model_config spec = unroll_model_config_default();
    unroll_model *model = NULL;
    spec.hidden = 5, spec.layers = 2, spec.input = 3, spec.output = 4, spec.loss = "mse";
    CHECK(unroll_model_new(&spec, 1, &model) == UNROLL_OK, "%s", unroll_last_error());
    return model;
}

static unroll_status open_session(unroll_model *model, const char *device, unroll_session **session)
{
    unroll_session_config config = unroll_session_config_default();
    config.mode = UNROLL_TRAIN, config.steps = 6, config.rows = 2, config.machine.device = device;
    return unroll_session_new(model, &config, session);
}

/* ---- text ------------------------------------------------------------------------------ */

static size_t occurrences(const struct translation *t, const char *what)
{
    size_t found = 0, length = strlen(what);
    for (size_t i = 0; i + length <= t->h.size; i++) found += !memcmp(t->h.text + i, what, length);
    return found;
}

static void test_text(void)
{
    unroll_model *model = model_new();
    struct plan_config config = plan_config_default();
    struct plan *plan;
    struct translation forward, backward, again;
    config.T = 6, config.B = 2, config.optimizer_states = 2, config.lengths = true;
    config.optimizer = 3;
    CHECK(plan_new(model, &config, &plan) == UNROLL_OK, "%s", unroll_last_error());
    CHECK(translate(plan, PHASE_FORWARD, "forward", &forward) == UNROLL_OK, "%s", unroll_last_error());
    CHECK(translate(plan, PHASE_FORWARD, "forward", &again) == UNROLL_OK, "%s", unroll_last_error());
    CHECK(translate(plan, PHASE_BACKWARD, "backward", &backward) == UNROLL_OK, "%s", unroll_last_error());
    CHECK(forward.h.size == again.h.size && !memcmp(forward.h.text, again.h.text, again.h.size),
          "the same plan gives the same text");
    CHECK(occurrences(&forward, "stablehlo.while") == 2, "a loop for each layer, %zu",
          occurrences(&forward, "stablehlo.while"));
    CHECK(occurrences(&forward, "stablehlo.dot_general") == 2 + 2 + 1,
          "products with x once, with h inside the loop, the head: %zu",
          occurrences(&forward, "stablehlo.dot_general"));
    CHECK(occurrences(&backward, "stablehlo.while") == 2, "a loop for each layer");
    CHECK(occurrences(&backward, "precision HIGHEST") == 2 * occurrences(&backward, "stablehlo.dot_general"),
          "products are in full precision");
    for (int i = 0; i < backward.argument.count; i++)
        CHECK(plan->buffer[backward.argument.buffer[i]].segment != SEG_SCRATCH, "no scratch comes in");
    for (int phase = 0; phase < PHASE_N; phase++) {
        struct translation t;
        CHECK(translate(plan, (enum phase)phase, "part", &t) == UNROLL_OK, "%s", unroll_last_error());
        CHECK(t.h.size == 0 || (occurrences(&t, "func.return") == 1 && t.h.text[t.h.size - 2] == '}'),
              "part %d is a whole program", phase);
        translation_free(&t);
    }
    translation_free(&forward);
    translation_free(&again);
    translation_free(&backward);
    plan_free(plan);
    unroll_model_free(model);
}

/* Values that differ between devices are passed as arguments: shares of 6 units begin at 0 and 3, and one device counts
 * the norm of what both have. The program never queries the device's number. */
static void test_own_numbers(void)
{
    unroll_model *model = NULL;
    unroll_model_config spec = unroll_model_config_default();
    struct plan_config config = plan_config_default();
    struct plan *plan[2];
    struct translation t;
    spec.hidden = 6, spec.input = 3, spec.output = 4, spec.loss = "mse";
    CHECK(unroll_model_new(&spec, 1, &model) == UNROLL_OK, "%s", unroll_last_error());
    config.T = 6, config.B = 2, config.optimizer_states = 2, config.optimizer = 3;
    config.mesh[M_HIDDEN] = 2;
    for (int r = 0; r < 2; r++) {
        config.at[M_HIDDEN] = r;
        CHECK(plan_new(model, &config, &plan[r]) == UNROLL_OK, "%s", unroll_last_error());
    }
    struct mesh_plans mesh = {(const struct plan *const *)plan, 2, 1};
    CHECK(translate_phases(mesh, PHASE_FORWARD, PHASE_UPDATE, "step", &t) == UNROLL_OK, "%s", unroll_last_error());
    CHECK(t.owned == 2 && t.own[0].of[0] == 0 && t.own[0].of[1] == 3 && t.own[1].of[0] == 1 && t.own[1].of[1] == 0,
          "origins of units and who counts norms: %d numbers, the first %d and %d", t.owned, t.own[0].of[0],
          t.own[0].of[1]);
    CHECK(occurrences(&t, ": tensor<i32>, %v") + occurrences(&t, ": tensor<i32>) -> (") >= 2, "they are arguments");
    CHECK(occurrences(&t, "stablehlo.replica_id") == 0, "no device is asked for its number");
    translation_free(&t);
    for (int r = 0; r < 2; r++) plan_free(plan[r]);
    unroll_model_free(model);
}

/* Outputs of a bidirectional last layer, written half by each direction, are not arguments. */
static void test_outputs_are_no_arguments(void)
{
    unroll_model *model = NULL;
    unroll_model_config spec = unroll_model_config_default();
    struct plan_config config = plan_config_default();
    struct plan *plan;
    struct translation t;
    int arguments = 0, results = 0;
    spec.hidden = 6, spec.input = 3, spec.loss = "none", spec.bidirectional = 1;
    CHECK(unroll_model_new(&spec, 1, &model) == UNROLL_OK, "%s", unroll_last_error());
    config.T = 6, config.B = 2, config.mode = MODE_INFER;
    CHECK(plan_new(model, &config, &plan) == UNROLL_OK, "%s", unroll_last_error());
    CHECK(translate(plan, PHASE_FORWARD, "forward", &t) == UNROLL_OK, "%s", unroll_last_error());
    for (int i = 0; i < t.argument.count; i++) arguments += plan->buffer[t.argument.buffer[i]].name[0] == 'y';
    for (int i = 0; i < t.result.count; i++) results += plan->buffer[t.result.buffer[i]].name[0] == 'y';
    CHECK(arguments == 0 && results == 1, "y is %d arguments and %d results", arguments, results);
    translation_free(&t);
    plan_free(plan);
    unroll_model_free(model);
}

static void test_text_without_memory(void)
{
    unroll_model *model = model_new();
    struct plan_config config = plan_config_default();
    struct plan *plan;
    config.T = 6, config.B = 2;
    CHECK(plan_new(model, &config, &plan) == UNROLL_OK, "%s", unroll_last_error());
    unroll_status status = UNROLL_RESOURCE;
    for (int n = 0; n < 400 && status != UNROLL_OK; n++) {
        struct translation t;
        uint64_t live = memory_live();
        memory_fail_after(n);
        status = translate(plan, PHASE_FORWARD, "forward", &t);
        memory_fail_after(-1);
        CHECK(status == UNROLL_OK || status == UNROLL_RESOURCE, "%s", unroll_last_error());
        translation_free(&t);
        CHECK(memory_live() == live, "%d allocations, then none: nothing is left", n);
    }
    CHECK(status == UNROLL_OK, "in the end there is enough");
    plan_free(plan);
    unroll_model_free(model);
}

/* ---- the interface --------------------------------------------------------------------- */

static long count_of(const char *name)
{
    void *library = dlopen(device_name + strlen("xla:"), RTLD_NOW | RTLD_NOLOAD);
    long *count = library ? dlsym(library, name) : NULL;
    return count ? *count : -1;
}

static void train_some(unroll_session *session)
{
    float x[6 * 2 * 3] = {0}, y[6 * 2 * 4] = {0}, weights[20 * 5];
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    unroll_result result = {.size = sizeof result};
    for (int i = 0; i < 3; i++) {
        rates.learning_rate *= 0.5;
        CHECK(unroll_session_forward(
                  session, &(unroll_batch){.size = sizeof(unroll_batch), .inputs = x, .target_values = y}) == UNROLL_OK,
              "%s", unroll_last_error());
        CHECK(unroll_session_backward(session) == UNROLL_OK, "%s", unroll_last_error());
        CHECK(unroll_session_update(session, &rates, &result) == UNROLL_OK, "%s", unroll_last_error());
        CHECK(unroll_session_read(session, "rnn.weight_hh_l0", weights, 100) == UNROLL_OK, "%s", unroll_last_error());
        CHECK(unroll_session_write(session, "rnn.weight_hh_l0", weights, 100) == UNROLL_OK, "%s", unroll_last_error());
    }
}

/* Whole steps with decreasing rates, then one read: one program each, one round trip for all, and only the batch and
 * the rates are copied to the device. */
static void step_unseen(unroll_session *session, int steps, int devices)
{
    float x[6 * 2 * 3] = {0}, y[6 * 2 * 4] = {0};
    unroll_batch batch = {.size = sizeof batch, .inputs = x, .target_values = y};
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    unroll_result result = {.size = sizeof result};
    CHECK(unroll_session_step(session, &batch, &rates, &result) == UNROLL_OK, "%s", unroll_last_error());
    struct xla_counts before = xla_counts();
    for (int i = 0; i < steps; i++) {
        rates.learning_rate *= 0.9;
        CHECK(unroll_session_step(session, &batch, &rates, NULL) == UNROLL_OK, "%s", unroll_last_error());
    }
    CHECK(xla_counts().looks == before.looks && xla_counts().downloads == before.downloads,
          "%d steps whose losses are not read: %llu round trips", steps,
          (unsigned long long)(xla_counts().looks - before.looks));
    CHECK(unroll_session_result(session, &result) == UNROLL_OK, "%s", unroll_last_error());
    struct xla_counts after = xla_counts();
    CHECK(after.looks == before.looks + 1, "a look is one round trip: %llu",
          (unsigned long long)(after.looks - before.looks));
    CHECK(after.executed == before.executed + (uint64_t)steps, "a program for each step: %llu",
          (unsigned long long)(after.executed - before.executed));
    CHECK(after.uploads == before.uploads + 3 * (uint64_t)(devices * steps),
          "x, targets, rates to each device: %llu arrays in %d steps",
          (unsigned long long)(after.uploads - before.uploads), steps);
}

/* ---- ragged batches -------------------------------------------------------------------- */

enum { RAGGED_STEPS = 16, RAGGED_ROWS = 8, RAGGED_BATCHES = 40, RAGGED_WEIGHTS = 100 };

/* Draws a batch of few rows and steps, sometimes the largest, in arrays of the largest size. */
static void draw_ragged(uint32_t *state, float *x, float *y, int32_t *length)
{
    int max = 1 + (int)((*state = *state * 1664525u + 1013904223u) >> 28), rows = 1 + (int)(*state >> 20) % 8;
    for (int i = 0; i < RAGGED_STEPS * RAGGED_ROWS * 3; i++)
        x[i] = (float)((*state = *state * 1664525u + 1013904223u) >> 8) / (1 << 23) - 1;
    for (int i = 0; i < RAGGED_STEPS * RAGGED_ROWS * 4; i++)
        y[i] = (float)((*state = *state * 1664525u + 1013904223u) >> 8) / (1 << 23) - 1;
    for (int row = 0; row < RAGGED_ROWS; row++)
        length[row] = row < rows ? 1 + (int)((*state = *state * 1664525u + 1013904223u) >> 16) % max : 0;
    length[rows - 1] = max;
}

/* Returns the mean loss of an epoch, and the weights after it. */
static double ragged_epoch(const char *device, float *weights)
{
    static float x[RAGGED_STEPS * RAGGED_ROWS * 3], y[RAGGED_STEPS * RAGGED_ROWS * 4];
    int32_t length[RAGGED_ROWS];
    unroll_session_config config = unroll_session_config_default();
    unroll_model *model = model_new();
    unroll_session *session;
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    unroll_result result = {.size = sizeof result};
    uint32_t state = 5;
    config.mode = UNROLL_TRAIN, config.steps = RAGGED_STEPS, config.rows = RAGGED_ROWS, config.machine.device = device;
    config.lengths = 1;
    CHECK(unroll_session_new(model, &config, &session) == UNROLL_OK, "%s", unroll_last_error());
    for (int i = 0; i < RAGGED_BATCHES; i++) {
        draw_ragged(&state, x, y, length);
        unroll_batch batch = {.size = sizeof batch, .inputs = x, .target_values = y, .lengths = length};
        CHECK(unroll_session_step(session, &batch, &rates, NULL) == UNROLL_OK, "%s", unroll_last_error());
    }
    CHECK(unroll_session_result(session, &result) == UNROLL_OK, "%s", unroll_last_error());
    CHECK(unroll_session_read(session, "rnn.weight_hh_l0", weights, RAGGED_WEIGHTS) == UNROLL_OK, "%s",
          unroll_last_error());
    unroll_session_free(session);
    unroll_model_free(model);
    return result.loss;
}

/* At most 8 programs, each for batches of about its size, and the CPU's results. */
static void test_ragged(void)
{
    float here[RAGGED_WEIGHTS], there[RAGGED_WEIGHTS];
    double cpu = ragged_epoch("cpu", here), max = 0;
    uint64_t compiled = xla_counts().compiled, executed = xla_counts().executed;
    double xla = ragged_epoch(device_name, there);
    compiled = xla_counts().compiled - compiled;
    CHECK(compiled > 4 && compiled <= 8, "%d batches of all sizes take %d programs", RAGGED_BATCHES, (int)compiled);
    CHECK(xla_counts().executed - executed == RAGGED_BATCHES, "one run each");
    for (int i = 0; i < RAGGED_WEIGHTS; i++) max = fmax(max, fabs((double)here[i] - there[i]));
    CHECK(fabs(cpu - xla) < 1e-5, "the loss of a ragged epoch: %g and %g", cpu, xla);
    CHECK(max < 1e-4, "weights after a ragged epoch differ by %g", max);
}

/* ---- many devices ---------------------------------------------------------------------- */

/* The plugin requires that each argument is on its device and is used once. */
static void test_devices(void)
{
    unroll_session_config config = unroll_session_config_default();
    unroll_model *model = NULL;
    unroll_session *session;
    unroll_model_config spec = unroll_model_config_default();
    spec.hidden = 6, spec.layers = 2, spec.input = 3, spec.output = 4, spec.loss = "mse";
    CHECK(unroll_model_new(&spec, 1, &model) == UNROLL_OK, "%s", unroll_last_error());
    config.mode = UNROLL_TRAIN, config.steps = 6, config.rows = 2, config.machine.device = device_name;
    config.machine.split = (unroll_split){.batch = 2, .hidden = 3};
    CHECK(unroll_session_new(model, &config, &session) == UNROLL_OK, "%s", unroll_last_error());
    CHECK(!strcmp(unroll_session_isa(session), "xla fake x 6"), "%s", unroll_session_isa(session));
    step_unseen(session, 7, 6);
    unroll_session_free(session);
    config.machine.split = (unroll_split){.batch = 2, .hidden = 6};
    CHECK(unroll_session_new(model, &config, &session) == UNROLL_UNSUPPORTED && strstr(unroll_last_error(), "has 8"),
          "more devices than there are: %s", unroll_last_error());
    unroll_model_free(model);
}

/* ---- everything ------------------------------------------------------------------------ */

static int good_plugin(void)
{
    unroll_model *model = model_new();
    unroll_session *one, *two;
    CHECK(open_session(model, device_name, &one) == UNROLL_OK, "%s", unroll_last_error());
    uint64_t compiled = xla_counts().compiled;
    train_some(one);
    CHECK(xla_counts().compiled - compiled == 3, "forward, backward, the rest: %llu programs",
          (unsigned long long)(xla_counts().compiled - compiled));
    compiled = xla_counts().compiled;
    train_some(one);
    CHECK(!strcmp(unroll_session_isa(one), "xla fake"), "it is called %s", unroll_session_isa(one));
    CHECK(xla_counts().compiled == compiled, "another learning rate compiles nothing");
    step_unseen(one, 10, 1);
    step_unseen(one, 25, 1);
    CHECK(xla_counts().compiled == compiled + 1, "a step is one program, compiled once");
    unroll_session_config config = unroll_session_config_default();
    config.mode = UNROLL_EVAL, config.steps = 6, config.rows = 2;
    CHECK(unroll_session_new(model, &config, &two) == UNROLL_OK, "without a name, on the model's device: %s",
          unroll_last_error());
    unroll_session_free(two);
    config.machine.device = "cpu";
    CHECK(unroll_session_new(model, &config, &two) == UNROLL_UNSUPPORTED, "two devices at a time are refused");
    unroll_session_free(one);
    CHECK(open_session(model, device_name, &one) == UNROLL_OK, "%s", unroll_last_error());
    train_some(one);
    CHECK(xla_counts().compiled == compiled + 1, "the same programs are compiled once");
    unroll_session_free(one);
    test_ragged();
    test_devices();
    CHECK(count_of("fake_plugin_buffers") == 0, "%ld arrays are left", count_of("fake_plugin_buffers"));
    CHECK(count_of("fake_plugin_events") == 0, "%ld events are left", count_of("fake_plugin_events"));
    CHECK(count_of("fake_plugin_runs") > 8, "it ran");
    unroll_model_free(model);
    return check_finish("good plugin");
}

/* The expected status and a part of the message if the device is refused. */
struct refusal {
    const char *how, *device;
    unroll_status status;
    const char *words;
};

/* Returns the loss of one batch on the interpreter, which rounds the factors of products. */
static double loss_in(const char *precision)
{
    unroll_session_config config = unroll_session_config_default();
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    unroll_result result = {.size = sizeof result};
    unroll_session *session;
    unroll_model *model = model_new();
    float x[6 * 2 * 3], y[6 * 2 * 4];
    for (int i = 0; i < 6 * 2 * 4; i++) y[i] = (float)((i * 7919) % 101) / 50 - 1;
    memcpy(x, y, sizeof x);
    config.mode = UNROLL_TRAIN, config.steps = 6, config.rows = 2, config.machine.device = device_name;
    config.machine.precision = precision;
    CHECK(unroll_session_new(model, &config, &session) == UNROLL_OK, "%s", unroll_last_error());
    CHECK(unroll_session_forward(
              session, &(unroll_batch){.size = sizeof(unroll_batch), .inputs = x, .target_values = y}) == UNROLL_OK &&
              unroll_session_backward(session) == UNROLL_OK &&
              unroll_session_update(session, &rates, &result) == UNROLL_OK,
          "%s: %s", precision, unroll_last_error());
    unroll_session_free(session);
    unroll_model_free(model);
    return result.loss;
}

/* Checks that bf16 changes the loss a little, and that invalid settings are refused. */
static int precisions(const struct refusal *r)
{
    unroll_session_config config = unroll_session_config_default();
    unroll_session *session;
    unroll_model *model = model_new();
    double full = loss_in("fp32"), narrow = loss_in("bf16");
    (void)r;
    CHECK(full != narrow && fabs(full - narrow) < 0.01 * full, "bf16 changes a loss of %.9g a little: %.9g", full,
          narrow);
    config.steps = 6, config.rows = 2, config.machine.device = device_name, config.machine.precision = "tf32";
    CHECK(unroll_session_new(model, &config, &session) == UNROLL_UNSUPPORTED && strstr(unroll_last_error(), "tf32"),
          "%s", unroll_last_error());
    static const char *const wrong[] = {"0", "65", "-1", "2x", "", " 2", "0x2", "99999999999"};
    config.machine.precision = NULL;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv("UNROLL_XLA_UNROLL", wrong[i], 1);
        CHECK_REFUSED(unroll_session_new(model, &config, &session), UNROLL_USAGE, "in a turn of a loop, 1 to 64");
    }
    unsetenv("UNROLL_XLA_UNROLL");
    unroll_model_free(model);
    return check_finish("precisions");
}

/* Checks the status and message for a plugin that misbehaves, and that nothing leaks. */
static int bad_plugin(const struct refusal *r)
{
    unroll_model *model = model_new();
    unroll_session *session = NULL;
    float x[6 * 2 * 3] = {0}, y[6 * 2 * 4] = {0};
    setenv("FAKE_PLUGIN", r->how, 1);
    unsetenv("PJRT_PLUGIN");
    unroll_status status = open_session(model, r->device ? r->device : device_name, &session);
    if (status == UNROLL_OK)
        status = unroll_session_forward(session,
                                        &(unroll_batch){.size = sizeof(unroll_batch), .inputs = x, .target_values = y});
    CHECK(status == r->status, "%s: status %d, %s", r->how, status, unroll_last_error());
    CHECK(strstr(unroll_last_error(), r->words), "%s: %s", r->how, unroll_last_error());
    if (status == r->status && !strcmp(r->how, "faints")) /* and nothing is read from it afterwards */
        CHECK(unroll_session_read(session, "hn.l0", x, 10) == UNROLL_RESOURCE, "a lost state: %s", unroll_last_error());
    unroll_session_free(session);
    CHECK(count_of("fake_plugin_buffers") <= 0, "%s: %ld arrays are left", r->how, count_of("fake_plugin_buffers"));
    CHECK(count_of("fake_plugin_errors") <= 0, "%s: %ld errors are left", r->how, count_of("fake_plugin_errors"));
    unroll_model_free(model);
    return check_finish(r->how);
}

/* Each allocation of a session and of its first batch fails in turn: a message, and no leaks. */
static int without_memory(const struct refusal *r)
{
    float x[6 * 2 * 3] = {0}, y[6 * 2 * 4] = {0};
    unroll_status status = UNROLL_RESOURCE;
    int n = 0;
    (void)r;
    for (; n < 10000 && status == UNROLL_RESOURCE; n++) {
        unroll_model *model = model_new();
        unroll_session *session = NULL;
        memory_fail_after(n);
        status = open_session(model, device_name, &session);
        if (status == UNROLL_OK)
            status = unroll_session_forward(
                session, &(unroll_batch){.size = sizeof(unroll_batch), .inputs = x, .target_values = y});
        memory_fail_after(-1);
        CHECK(status == UNROLL_OK || (status == UNROLL_RESOURCE && strstr(unroll_last_error(), "memory")),
              "allocation %d fails: %d '%s'", n, (int)status, unroll_last_error());
        unroll_session_free(session);
        unroll_model_free(model);
        CHECK(count_of("fake_plugin_buffers") <= 0, "allocation %d fails: arrays are left", n);
    }
    CHECK(status == UNROLL_OK && n > 20, "after %d allocations: %d", n, (int)status);
    return check_finish("without_memory");
}

/* Runs in a process of its own: a plugin is loaded only once and may end the process. */
static void in_child(int (*run)(const struct refusal *), const struct refusal *r)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        checks_passed = checks_failed = checks_skipped = 0;
        int status = run(r);
        fflush(stdout);
        _exit(status);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: the child ended with %d", r ? r->how : "good", status);
}

static int good(const struct refusal *r)
{
    (void)r;
    return good_plugin();
}

static void test_refusals(void)
{
    static const struct refusal refusals[] = {{"version", NULL, UNROLL_UNSUPPORTED, "version 1.81"},
                                              {"short", NULL, UNROLL_UNSUPPORTED, "no function for"},
                                              {"deaf", NULL, UNROLL_UNSUPPORTED, "cannot tell its errors"},
                                              {"uninitialized", NULL, UNROLL_RESOURCE, "the driver sleeps"},
                                              {"nodevice", NULL, UNROLL_RESOURCE, "no device"},
                                              {"nocompile", NULL, UNROLL_RESOURCE, "too long for today"},
                                              {"noexecute", NULL, UNROLL_RESOURCE, "out of memory"},
                                              {"faints", NULL, UNROLL_RESOURCE, "the device was lost"},
                                              {"missing", "xla:/no/such/plugin.so", UNROLL_DATA, "cannot be read"},
                                              {"a text", "xla:Makefile", UNROLL_DATA, "cannot be loaded"},
                                              {"another device", "abacus", UNROLL_USAGE, "no device 'abacus'"}};
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) in_child(bad_plugin, &refusals[i]);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: test_xla fake_plugin.so\n");
        return 2;
    }
    snprintf(device_name, sizeof device_name, "xla:%s", argv[1]);
    test_text();
    test_own_numbers();
    test_outputs_are_no_arguments();
    test_text_without_memory();
    in_child(good, NULL);
    in_child(precisions, NULL);
    in_child(without_memory, NULL);
    test_refusals();
    return check_finish("test_xla");
}

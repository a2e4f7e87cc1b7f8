/* Several devices as one, where no other device is at hand: lists that make no sense, cuts that do not fit, sessions
 * side by side on one division, a device that fails in the middle of a run. Beside the CPU's results: test_several of
 * tests/cases. */
#include "device/device.h"
#include "base/clock.h"
#include "check.h"
#include "unroll_train.h"
#include <math.h>
#include <string.h>

enum { STEPS = 6, ROWS = 4, WIDTH = 5, CLASSES = 3 };

static unroll_model *model_new(int layers)
{
    unroll_spec spec = unroll_spec_default();
    unroll_model *model = NULL;
    spec.hidden = 8, spec.layers = layers, spec.input = WIDTH, spec.output = CLASSES, spec.loss = "mse";
    MUST(unroll_model_new(&spec, 1, &model));
    return model;
}

static unroll_session_config config_of(unroll_mode mode, const char *devices, unroll_split split)
{
    unroll_session_config c = unroll_session_default();
    c.mode = mode, c.steps = STEPS, c.rows = ROWS, c.machine.device = devices, c.machine.split = split;
    return c;
}

static unroll_batch batch_of(void)
{
    static float x[STEPS * ROWS * WIDTH], y[STEPS * ROWS * CLASSES];
    for (int i = 0; i < STEPS * ROWS * WIDTH; i++) x[i] = (float)((i * 7) % 11) / 11;
    for (int i = 0; i < STEPS * ROWS * CLASSES; i++) y[i] = (float)((i * 5) % 7) / 7;
    return (unroll_batch){.size = sizeof(unroll_batch), .inputs = x, .target_values = y};
}

/* ---- what is refused ------------------------------------------------------------------- */

static void check_refused(const char *devices, unroll_split split, unroll_status status, const char *words)
{
    unroll_session_config c = config_of(UNROLL_TRAIN, devices, split);
    unroll_model *model = model_new(2);
    unroll_session *session = NULL;
    CHECK_REFUSED(unroll_session_new(model, &c, &session), status, words);
    unroll_session_free(session);
    unroll_model_free(model);
}

static void test_refusals(void)
{
    const unroll_split layers = {.layer = 2};
    char many[512] = "cpu", far[512] = "cpu,xla:";
    for (int i = 0; i < 32; i++) strcat(many, ",cpu");
    memset(far + strlen(far), 'x', 300);
    check_refused("cpu,gpu", layers, UNROLL_USAGE, "no device 'gpu'");
    check_refused("cpu,", layers, UNROLL_USAGE, "there is no name");
    check_refused(",cpu", layers, UNROLL_USAGE, "there is no name");
    check_refused(",", layers, UNROLL_USAGE, "there is no name");
    check_refused("cpu,,cpu", layers, UNROLL_USAGE, "there is no name");
    check_refused("cpu,cpu:7", layers, UNROLL_USAGE, "nothing comes after cpu");
    check_refused("cpu, cpu", layers, UNROLL_USAGE, "no device ' cpu'");
    check_refused(many, layers, UNROLL_UNSUPPORTED, "more than 32 devices");
    check_refused(far, layers, UNROLL_USAGE, "too long");
    check_refused("cpu,cpu,cpu", layers, UNROLL_USAGE, "3 devices are named for 2 ranks");
    check_refused("cpu,cpu", (unroll_split){.hidden = 2}, UNROLL_UNSUPPORTED, "cut along batch or layer");
    check_refused("cpu,cpu", (unroll_split){.layer = 4}, UNROLL_UNSUPPORTED, "more stages than the 3 layers");
    check_refused("cpu,cpu,cpu,cpu", (unroll_split){0}, UNROLL_UNSUPPORTED, "more stages than the 3 layers");
    check_refused("cpu,cpu", (unroll_split){.batch = 5}, UNROLL_UNSUPPORTED, "only 4 to divide");
}

static void test_other_ways(void)
{
    unroll_session_config c = config_of(UNROLL_TRAIN, "cpu,cpu", (unroll_split){.layer = 2});
    unroll_model *model = model_new(2);
    unroll_session *session = NULL, *other = NULL;
    c.profile = 1;
    CHECK_REFUSED(unroll_session_new(model, &c, &session), UNROLL_UNSUPPORTED, "no times of operations");
    c.profile = 0, c.machine.sum = "native";
    CHECK_REFUSED(unroll_session_new(model, &c, &session), UNROLL_UNSUPPORTED, "MPI's own");
    c.machine.sum = NULL, c.machine.precision = "bf16";
    CHECK_REFUSED(unroll_session_new(model, &c, &session), UNROLL_UNSUPPORTED, "bf16");
    c.machine.precision = NULL;
    MUST(unroll_session_new(model, &c, &session));
    c.mode = UNROLL_EVAL, c.machine.split = (unroll_split){.batch = 2};
    CHECK_REFUSED(unroll_session_new(model, &c, &other), UNROLL_UNSUPPORTED, "divided alike");
    unroll_session_free(session);
    unroll_model_free(model);
}

/* ---- sessions side by side ------------------------------------------------------------- */

/* One trains, one evaluates what it learns, on any division; the model has it in the end. */
static double learn(const char *devices, unroll_split split, double *evaluated)
{
    unroll_session_config c = config_of(UNROLL_TRAIN, devices, split);
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    unroll_result result = {.size = sizeof result}, found = {.size = sizeof found};
    unroll_model *model = model_new(2);
    unroll_session *trains = NULL, *evaluates = NULL;
    const unroll_batch batch = batch_of();
    MUST(unroll_session_new(model, &c, &trains));
    c = config_of(UNROLL_EVAL, devices, split);
    MUST(unroll_session_new(model, &c, &evaluates));
    for (int i = 0; i < 5 && trains && evaluates; i++) {
        MUST(unroll_step(trains, &batch, &rates, &result));
        MUST(unroll_forward(evaluates, &batch));
        MUST(unroll_loss_result(evaluates, &found));
        evaluated[i] = found.loss;
    }
    unroll_session_free(trains);
    unroll_session_free(evaluates);
    c = config_of(UNROLL_EVAL, "cpu", (unroll_split){0}); /* from the model's own memory */
    MUST(unroll_session_new(model, &c, &evaluates));
    MUST(unroll_forward(evaluates, &batch));
    MUST(unroll_loss_result(evaluates, &found));
    CHECK(fabs(found.loss - evaluated[4]) < 1e-6, "%g after all, not %g", found.loss, evaluated[4]);
    unroll_session_free(evaluates);
    unroll_model_free(model);
    return result.loss;
}

static void test_side_by_side(void)
{
    double alone[5], here[5];
    const double loss = learn("cpu", (unroll_split){0}, alone);
    const unroll_split cuts[] = {{.layer = 2}, {.batch = 2}, {.batch = 2, .layer = 2}, {.layer = 3}};
    for (int k = 0; k < 4; k++) {
        CHECK(fabs(learn("cpu,cpu", cuts[k], here) - loss) < 1e-6, "cut %d: another loss", k);
        for (int i = 0; i < 5; i++)
            CHECK(fabs(here[i] - alone[i]) < 1e-6, "cut %d: %g after step %d, not %g", k, here[i], i, alone[i]);
    }
}

/* ---- a device that fails --------------------------------------------------------------- */

static struct device flaky;
static int runs_left;

static unroll_status flaky_run(void *executable, enum phase first, enum phase last)
{
    if (runs_left-- <= 0)
        return fail(UNROLL_RESOURCE, "the device was lost");
    return device_at(0)->run(executable, first, last);
}

static void test_lost_device(void)
{
    unroll_session_config c = config_of(UNROLL_TRAIN, "flaky,cpu", (unroll_split){.layer = 2});
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    unroll_result result = {.size = sizeof result};
    unroll_model *model = model_new(2);
    unroll_session *session = NULL;
    const unroll_batch batch = batch_of();
    flaky = *device_at(0);
    flaky.name = "flaky", flaky.run = flaky_run;
    MUST(device_add(&flaky));
    runs_left = 1 << 20; /* for what is measured */
    MUST(unroll_session_new(model, &c, &session));
    runs_left = 3;
    const double begin = clock_seconds();
    MUST(unroll_step(session, &batch, &rates, &result));
    CHECK_REFUSED(unroll_step(session, &batch, &rates, &result), UNROLL_RESOURCE,
                  "rank 0, on flaky: the device was lost");
    CHECK(clock_seconds() - begin < 30, "the other rank waits for the device that was lost");
    runs_left = 1 << 20;
    CHECK_REFUSED(unroll_step(session, &batch, &rates, &result), UNROLL_RESOURCE, "go on from the last checkpoint");
    unroll_session_free(session);
    unroll_model_free(model);
}

int main(void)
{
    test_refusals();
    test_other_ways();
    test_side_by_side();
    test_lost_device();
    return check_finish("test_several");
}

/* The OpenCL device where a driver is (PoCL's is for processors): bits of forward beside the CPU's, sessions side by
 * side in its one piece of memory, and what it keeps on disk. That it learns test_device shows, failures
 * test_opencl_fails.sh. Usage: test_opencl cases.txt [part of a line] */
#include "base/memory.h"
#include "cases/case.h"
#include "check.h"
#include "device/device.h"
#include "device/opencl/opencl_context.h"
#include "unroll_advanced.h"
#include <stdlib.h>
#include <string.h>

/* ---- bits --------------------------------------------------------------------------------- */

/* What forward leaves of a case: results, and the last states of the layers. NULL: the error is set. */
static float *forward(const struct test_case *c, const char *device, const char *isa, size_t *count)
{
    unroll_session_config config = c->session;
    unroll_model *model;
    unroll_session *session;
    float *found = NULL;
    config.mode = UNROLL_INFER, config.machine.device = device, config.machine.isa = isa;
    if (unroll_model_new(&c->spec, 3, &model) != UNROLL_OK)
        return NULL;
    if (unroll_session_new(model, &config, &session) == UNROLL_OK) {
        struct case_batch *b = case_batch_new(c, 7);
        b->batch.targets = NULL, b->batch.target_values = NULL;
        const size_t results = unroll_count(session, "z"), states = unroll_count(session, "hn.l0");
        *count = results + states;
        found = calloc(*count + 1, sizeof *found);
        if (unroll_forward(session, &b->batch) != UNROLL_OK || unroll_read(session, "z", found, results) != UNROLL_OK ||
            (states && unroll_read(session, "hn.l0", found + results, states) != UNROLL_OK)) {
            free(found);
            found = NULL;
        }
        case_batch_free(b);
        unroll_session_free(session);
    }
    unroll_model_free(model);
    return found;
}

static void check_bits(const struct test_case *c)
{
    size_t count = 0, other = 0;
    float *here = forward(c, "cpu", "scalar", &count), *there = forward(c, "opencl", NULL, &other);
    if (CHECK(here && there && count == other, "%s: %s", c->line, unroll_last_error())) {
        size_t same = 0;
        for (size_t i = 0; i < count; i++) same += !memcmp(&here[i], &there[i], sizeof *here);
        CHECK(same == count, "%s: %zu of %zu numbers have the CPU's bits", c->line, same, count);
    }
    free(here);
    free(there);
}

/* ---- sessions side by side ------------------------------------------------------------------ */

static unroll_model *model_new(int hidden)
{
    unroll_spec spec = unroll_spec_default();
    unroll_model *model = NULL;
    spec.hidden = hidden, spec.layers = 2, spec.input = 3, spec.output = 4, spec.loss = "mse";
    CHECK(unroll_model_new(&spec, 1, &model) == UNROLL_OK, "%s", unroll_last_error());
    return model;
}

static unroll_session *session_new(unroll_model *model, int steps)
{
    unroll_session_config config = unroll_session_default();
    unroll_session *session = NULL;
    config.mode = UNROLL_TRAIN, config.steps = steps, config.rows = 2, config.machine.device = "opencl";
    CHECK(unroll_session_new(model, &config, &session) == UNROLL_OK, "%s", unroll_last_error());
    return session;
}

/* The loss of one step of training. */
static double loss_of(unroll_session *session)
{
    static float x[64 * 2 * 3], y[64 * 2 * 4];
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    unroll_result result = {.size = sizeof result, .loss = -1};
    for (int i = 0; i < 64 * 2 * 4; i++) y[i] = (float)(i % 7) / 7;
    CHECK(unroll_step(session, &(unroll_batch){.size = sizeof(unroll_batch), .inputs = x, .target_values = y}, &rates,
                      &result) == UNROLL_OK,
          "%s", unroll_last_error());
    return result.loss;
}

/* The device's memory grows, is moved, and is given back while sessions go on. */
static void check_memory(void)
{
    unroll_model *model[3] = {model_new(5), model_new(40), model_new(9)};
    unroll_session *first = session_new(model[0], 6), *second = session_new(model[1], 64);
    const double alone = loss_of(first), large = loss_of(second);
    CHECK(unroll_session_bytes(second) == unroll_session_memory_estimate(second), "%llu bytes, estimated %llu",
          (unsigned long long)unroll_session_bytes(second), (unsigned long long)unroll_session_memory_estimate(second));
    unroll_session *third = session_new(model[2], 20);
    const double next = loss_of(first);
    CHECK(next > 0 && next < alone, "a loss falls while others come: %g, %g", alone, next);
    unroll_session_free(second);
    CHECK(loss_of(third) > 0 && loss_of(first) < next, "a session goes on when another is gone");
    second = session_new(model[1], 64);
    CHECK(loss_of(second) < large, "weights outlive a session");
    unroll_session_free(first);
    unroll_session_free(second);
    unroll_session_free(third);
    for (int i = 0; i < 3; i++) unroll_model_free(model[i]);
}

/* Each allocation in turn fails: a sentence, and nothing left behind. What the device keeps is there already. */
static void check_without_memory(void)
{
    unroll_session_config config = unroll_session_default();
    unroll_status status = UNROLL_RESOURCE;
    unroll_model *model = model_new(5);
    unroll_session_free(session_new(model, 6));
    config.mode = UNROLL_TRAIN, config.steps = 6, config.rows = 2, config.machine.device = "opencl";
    for (int n = 0; n < 2000 && status == UNROLL_RESOURCE; n++) {
        unroll_session *session = NULL;
        const uint64_t live = memory_live();
        memory_fail_after(n);
        status = unroll_session_new(model, &config, &session);
        memory_fail_after(-1);
        CHECK(status == UNROLL_OK || status == UNROLL_RESOURCE, "allocation %d fails: %s", n, unroll_last_error());
        unroll_session_free(session);
        CHECK(memory_live() == live, "allocation %d fails: %lld are left", n, (long long)(memory_live() - live));
    }
    CHECK(status == UNROLL_OK, "in the end there is enough: %s", unroll_last_error());
    unroll_model_free(model);
}

int main(int argc, char **argv)
{
    struct test_case *list;
    char about[512];
    if (argc < 2)
        return fprintf(stderr, "usage: test_opencl cases.txt [part of a line]\n"), 2;
    if (device_find("opencl", NULL)->about(about, sizeof about) != UNROLL_OK) {
        printf("skipped: %s\ntest_opencl: 0 passed, 0 failed, 1 skipped\n", unroll_last_error());
        return 0;
    }
    const int count = cases_read(argv[1], argc > 2 ? argv[2] : NULL, &list);
    for (int i = 0; i < count; i++) {
        check_next_case();
        check_bits(&list[i]);
    }
    free(list);
    check_memory();
    check_without_memory();
    return check_finish("test_opencl");
}

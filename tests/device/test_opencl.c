/* The OpenCL device, if there is a driver (such as PoCL for CPUs): bits of forward compared with the CPU's, concurrent
 * sessions in its single buffer, and cached programs. Training is tested in test_device, failures in
 * test_opencl_fails.sh. Usage: test_opencl cases.txt [part of a line] */
/* test: kinds=none; with=cases/case */
#include "base/dtype.h"
#include "base/memory.h"
#include "cases/case.h"
#include "check.h"
#include "device/device.h"
#include "extensions/opencl/opencl_context.h"
#include "unroll_advanced.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- bits --------------------------------------------------------------------------------- */

/* Returns the outputs of a forward of the case and the last states of the layers, or NULL with the error set. */
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
        const size_t results = unroll_session_count(session, "z"), states = unroll_session_count(session, "hn.l0");
        *count = results + states;
        found = calloc(*count + 1, sizeof *found);
        if (unroll_session_forward(session, &b->batch) != UNROLL_OK ||
            unroll_session_read(session, "z", found, results) != UNROLL_OK ||
            (states && unroll_session_read(session, "hn.l0", found + results, states) != UNROLL_OK)) {
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

/* ---- configurable functions, rounded factors --------------------------------------------------- */

enum { STEPS = 4, ROWS = 3, WIDE = 13, UNITS = 21 };

static unroll_model *network_new(const unroll_layer *layer, int layers)
{
    unroll_network network = unroll_network_default();
    unroll_model *model = NULL;
    network.input = WIDE, network.layer = layer, network.layers = layers;
    CHECK(unroll_model_from_network(&network, 5, &model) == UNROLL_OK, "%s", unroll_last_error());
    return model;
}

static unroll_layer layer_of(const char *kind, const char *name, int width, const char *activations)
{
    unroll_layer layer = unroll_layer_default();
    layer.kind = kind, layer.name = name, layer.width = width, layer.activations = activations;
    return layer;
}

/* Creates consecutive cells with every configurable function, clips and coupled gates. */
static unroll_model *chosen_new(void)
{
    unroll_layer layer[] = {layer_of("lstm", "a", 6, "hard_sigmoid(0.2,0.5) softsign elu(0.5)"),
                            layer_of("lstm", "b", 17, "sigmoid scaled_tanh(1.5,0.5) softplus"),
                            layer_of("gru", "c", 7, "softsign leaky_relu(0.1)"),
                            layer_of("gru-before", "d", 4, "hard_sigmoid affine(0.5,0.1)"),
                            layer_of("rnn", "e", 33, "thresholded_relu(0.01)"),
                            layer_of("rnn", "f", 5, "relu"),
                            layer_of("dense", "z", 3, NULL)};
    layer[0].clip = 0.4f, layer[0].input_forget = 1, layer[0].projection = 4;
    layer[1].peephole = 1, layer[1].bidirectional = 1;
    layer[2].clip = 0.7f;
    layer[5].clip = 0.3f;
    return network_new(layer, sizeof layer / sizeof *layer);
}

static void fill(float *x, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++) x[i] = (float)case_random(seed, i);
}

/* Reads the outputs and the gradients of the inputs of a module's run on a device. */
static bool run_module(const char *device, const char *isa, float *z, float *dx)
{
    unroll_session_config config = unroll_session_config_default();
    unroll_session *session = NULL;
    unroll_model *model = chosen_new();
    float x[STEPS * ROWS * WIDE], dz[STEPS * ROWS * 3];
    fill(x, sizeof x / sizeof *x, 1);
    fill(dz, sizeof dz / sizeof *dz, 2);
    config.mode = UNROLL_MODULE, config.steps = STEPS, config.rows = ROWS, config.input_gradient = 1;
    config.machine.device = device, config.machine.isa = isa;
    bool good =
        model && unroll_session_new(model, &config, &session) == UNROLL_OK &&
        unroll_session_forward(session, &(unroll_batch){.size = sizeof(unroll_batch), .inputs = x}) == UNROLL_OK &&
        unroll_session_read(session, "z", z, STEPS * ROWS * 3) == UNROLL_OK &&
        unroll_session_write(session, "d.z", dz, STEPS * ROWS * 3) == UNROLL_OK &&
        unroll_session_backward(session) == UNROLL_OK &&
        unroll_session_read(session, "d.x", dx, STEPS * ROWS * WIDE) == UNROLL_OK;
    unroll_session_free(session);
    unroll_model_free(model);
    return good;
}

static void check_chosen(void)
{
    float z[2][STEPS * ROWS * 3], dx[2][STEPS * ROWS * WIDE], size = 0;
    if (!CHECK(run_module("cpu", "scalar", z[0], dx[0]) && run_module("opencl", NULL, z[1], dx[1]), "%s",
               unroll_last_error()))
        return;
    CHECK(!memcmp(z[0], z[1], sizeof z[0]), "functions that are chosen have the CPU's bits: %g, %g", (double)z[0][0],
          (double)z[1][0]);
    for (size_t i = 0; i < STEPS * ROWS * WIDE; i++) size = fmaxf(size, fabsf(dx[0][i]));
    for (size_t i = 0; i < STEPS * ROWS * WIDE; i++)
        CHECK(fabsf(dx[0][i] - dx[1][i]) <= 1e-5f * size, "gradient %zu: %g, not %g", i, (double)dx[1][i],
              (double)dx[0][i]);
    CHECK(size > 0, "there are gradients");
}

static float rounded(float x) { return bf16_to_f32(f32_to_bf16(x)); }

static void round_all(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) x[i] = rounded(x[i]);
}

/* Reads the outputs of an LSTM in all steps. */
static bool run_lstm(const char *precision, float *y)
{
    const unroll_layer lstm = layer_of("lstm", "a", UNITS, NULL);
    unroll_session_config config = unroll_session_config_default();
    unroll_session *session = NULL;
    unroll_model *model = network_new(&lstm, 1);
    float x[STEPS * ROWS * WIDE];
    fill(x, sizeof x / sizeof *x, 3);
    config.mode = UNROLL_INFER, config.steps = STEPS, config.rows = ROWS;
    config.machine.device = "opencl", config.machine.precision = precision;
    bool good =
        unroll_session_new(model, &config, &session) == UNROLL_OK &&
        unroll_session_forward(session, &(unroll_batch){.size = sizeof(unroll_batch), .inputs = x}) == UNROLL_OK &&
        unroll_session_read(session, "y.l0", y, STEPS * ROWS * UNITS) == UNROLL_OK;
    unroll_session_free(session);
    unroll_model_free(model);
    return good;
}

/* Computes the same in floats on the CPU, one step at a time, with all factors rounded: in an LSTM only products read
 * h. */
static bool run_rounded(float *y)
{
    const unroll_layer lstm = layer_of("lstm", "a", UNITS, NULL);
    unroll_session_config config = unroll_session_config_default();
    unroll_session *session = NULL;
    unroll_model *model = network_new(&lstm, 1);
    float x[STEPS * ROWS * WIDE], h[ROWS * UNITS], c[ROWS * UNITS];
    fill(x, sizeof x / sizeof *x, 3);
    round_all(x, sizeof x / sizeof *x);
    for (int i = 0; i < unroll_model_parameters(model); i++) {
        unroll_parameter p = {.size = sizeof p};
        unroll_model_parameter(model, i, &p);
        if (p.rank == 2)
            round_all(p.data, (size_t)p.shape[0] * (size_t)p.shape[1]);
    }
    config.mode = UNROLL_INFER, config.steps = 1, config.rows = ROWS;
    config.machine.device = "cpu", config.machine.isa = "scalar";
    bool good = unroll_session_new(model, &config, &session) == UNROLL_OK;
    for (int t = 0; good && t < STEPS; t++) {
        const unroll_batch batch = {.size = sizeof batch, .inputs = x + t * ROWS * WIDE};
        float *of = y + t * ROWS * UNITS;
        good = unroll_session_forward(session, &batch) == UNROLL_OK &&
               unroll_session_read(session, "y.l0", of, ROWS * UNITS) == UNROLL_OK &&
               unroll_session_read(session, "sn.l0", c, ROWS * UNITS) == UNROLL_OK;
        memcpy(h, of, sizeof h);
        round_all(h, ROWS * UNITS);
        good = good && unroll_session_write(session, "h0.l0", h, ROWS * UNITS) == UNROLL_OK &&
               unroll_session_write(session, "s0.l0", c, ROWS * UNITS) == UNROLL_OK;
    }
    unroll_session_free(session);
    unroll_model_free(model);
    return good;
}

static void check_bf16(void)
{
    float floats[STEPS * ROWS * UNITS], narrow[STEPS * ROWS * UNITS], reference[STEPS * ROWS * UNITS];
    if (!CHECK(run_lstm("fp32", floats) && run_lstm("bf16", narrow) && run_rounded(reference), "%s",
               unroll_last_error()))
        return;
    for (size_t i = 0; i < STEPS * ROWS * UNITS; i++)
        CHECK(!memcmp(&narrow[i], &reference[i], sizeof *narrow), "output %zu of rounded factors: %a, not %a", i,
              (double)narrow[i], (double)reference[i]);
    CHECK(memcmp(narrow, floats, sizeof floats) != 0, "bf16 is not fp32");
}

/* ---- concurrent sessions -------------------------------------------------------------------- */

static unroll_model *model_new(int hidden)
{
    unroll_model_config spec = unroll_model_config_default();
    unroll_model *model = NULL;
    spec.hidden = hidden, spec.layers = 2, spec.input = 3, spec.output = 4, spec.loss = "mse";
    CHECK(unroll_model_new(&spec, 1, &model) == UNROLL_OK, "%s", unroll_last_error());
    return model;
}

static unroll_session *session_new(unroll_model *model, int steps)
{
    unroll_session_config config = unroll_session_config_default();
    unroll_session *session = NULL;
    config.mode = UNROLL_TRAIN, config.steps = steps, config.rows = 2, config.machine.device = "opencl";
    CHECK(unroll_session_new(model, &config, &session) == UNROLL_OK, "%s", unroll_last_error());
    return session;
}

/* Returns the loss of one training step. */
static double loss_of(unroll_session *session)
{
    static float x[64 * 2 * 3], y[64 * 2 * 4];
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    unroll_result result = {.size = sizeof result, .loss = -1};
    for (int i = 0; i < 64 * 2 * 4; i++) y[i] = (float)(i % 7) / 7;
    CHECK(unroll_session_step(session, &(unroll_batch){.size = sizeof(unroll_batch), .inputs = x, .target_values = y},
                              &rates, &result) == UNROLL_OK,
          "%s", unroll_last_error());
    return result.loss;
}

/* The device's buffer grows, is moved, and is released while sessions are in use. */
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
    CHECK(loss_of(third) > 0 && loss_of(first) < next, "a session continues after another is freed");
    second = session_new(model[1], 64);
    CHECK(loss_of(second) < large, "weights outlive a session");
    unroll_session_free(first);
    unroll_session_free(second);
    unroll_session_free(third);
    for (int i = 0; i < 3; i++) unroll_model_free(model[i]);
}

/* Each allocation fails in turn: a message, and no leaks. What the device keeps is allocated already. */
static void check_without_memory(void)
{
    unroll_session_config config = unroll_session_config_default();
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
    check_chosen();
    check_bf16();
    check_memory();
    check_without_memory();
    return check_finish("test_opencl");
}

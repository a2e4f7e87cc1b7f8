/* Compares several devices that act as one with the CPU alone, over the list of cases. Outputs have the same bits if
 * layers are cut and all devices promise the CPU's bits; losses and weights after training agree within rounding.
 * Usage:
 *     test_several DEVICE,DEVICE.. cases.txt [near]; near: outputs agree within rounding */
/* test: with=cases/case; args=cpu,cpu tests/cases/cases.txt; seconds=10 */
/* test: args=cpu,xla:$B/tests/device/fake_plugin.so tests/cases/short.txt near; seconds=10 */
/* test: args=xla:$B/tests/device/fake_plugin.so,cpu tests/cases/tiny.txt near; seconds=10 */
#include "cases/case.h"
#include "check.h"
#include "listed.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 3, MAX = 1 << 20 };

struct found {
    float *output, *weight;
    double loss[STEPS], norm[STEPS];
    size_t outputs, weights;
};

static unroll_machine machine_of(const char *device, unroll_split mesh, int chunks)
{
    unroll_machine m = unroll_machine_default();
    m.device = device;
    m.split = mesh;
    m.chunks = chunks;
    return m;
}

static bool infer(const struct test_case *c, unroll_machine machine, struct found *f)
{
    unroll_session_config config = c->session;
    unroll_session *session = NULL;
    unroll_model *model;
    config.mode = UNROLL_INFER;
    config.machine = machine;
    if (unroll_model_new(&c->spec, 3, &model) != UNROLL_OK)
        return false;
    bool good = unroll_session_new(model, &config, &session) == UNROLL_OK;
    for (int i = 0; good && i < 2; i++) { /* the second from the states of the first, if any */
        struct case_batch *b = case_batch_new(c, 40 + (uint64_t)i);
        b->batch.targets = NULL, b->batch.target_values = NULL;
        good = unroll_session_forward(session, &b->batch) == UNROLL_OK;
        case_batch_free(b);
    }
    f->outputs = good ? unroll_session_count(session, "z") : 0;
    good = good && f->outputs <= MAX && unroll_session_read(session, "z", f->output, f->outputs) == UNROLL_OK;
    unroll_session_free(session);
    unroll_model_free(model);
    return good;
}

static bool train(const struct test_case *c, unroll_machine machine, struct found *f)
{
    unroll_session_config config = case_trains(c);
    unroll_session *session = NULL;
    unroll_model *model;
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    rates.learning_rate = 0.01;
    unroll_hyperparameters_set(&rates, "epsilon", 0.01);
    config.machine = machine;
    if (unroll_model_new(&c->spec, 3, &model) != UNROLL_OK)
        return false;
    bool good = unroll_session_new(model, &config, &session) == UNROLL_OK;
    for (int i = 0; good && i < STEPS; i++) {
        unroll_result result = {.size = sizeof result};
        struct case_batch *b = case_batch_new(c, 100 + (uint64_t)i);
        good = unroll_session_step(session, &b->batch, &rates, &result) == UNROLL_OK;
        f->loss[i] = result.loss, f->norm[i] = result.norm;
        case_batch_free(b);
    }
    unroll_session_free(session);
    f->weights = 0;
    for (int i = 0; good && i < unroll_model_parameters(model); i++) {
        unroll_parameter p = {.size = sizeof p};
        unroll_model_parameter(model, i, &p);
        memcpy(f->weight + f->weights, p.data, case_length_of(&p) * sizeof *p.data);
        f->weights += case_length_of(&p);
    }
    unroll_model_free(model);
    return good;
}

/* Excludes AMX, whose bits differ from those of other devices. */
static const char *isa_of_all(void)
{
    for (int i = 0, available; listed_isa(i, &available); i++)
        if (!strcmp(listed_isa(i, &available), "amx") && available)
            return "avx512_vnni";
    return NULL;
}

static void compare(const struct test_case *c, const char *devices, unroll_split mesh, int chunks, bool near)
{
    static struct found here, there;
    if (!here.output) {
        here.output = malloc(MAX * sizeof(float)), here.weight = malloc(MAX * sizeof(float));
        there.output = malloc(MAX * sizeof(float)), there.weight = malloc(MAX * sizeof(float));
    }
    unroll_machine alone = machine_of("cpu", (unroll_split){0}, 1), all = machine_of(devices, mesh, chunks);
    alone.isa = all.isa = isa_of_all();
    if (!CHECK(infer(c, alone, &here), "%s on the CPU: %s", c->line, unroll_last_error()) ||
        !CHECK(infer(c, all, &there), "%s on %s: %s", c->line, devices, unroll_last_error()))
        return;
    CHECK(here.outputs == there.outputs &&
              (near ? case_distance(here.output, there.output, here.outputs) <= 1e-5
                    : !memcmp(here.output, there.output, here.outputs * sizeof *here.output)),
          "%s, batch=%d,layer=%d: outputs differ by %.1e", c->line, mesh.batch, mesh.layer,
          case_distance(here.output, there.output, here.outputs));
    if (case_needs_cpu(c)) {
        CHECK(!train(c, all, &there) && strstr(unroll_last_error(), "on the CPU only"), "%s on %s: %s", c->line,
              devices, unroll_last_error());
        return;
    }
    if (!CHECK(train(c, alone, &here), "%s on the CPU: %s", c->line, unroll_last_error()) ||
        !CHECK(train(c, all, &there), "%s on %s: %s", c->line, devices, unroll_last_error()))
        return;
    for (int i = 0; i < STEPS; i++) {
        CHECK(fabs(here.loss[i] - there.loss[i]) <= 1e-6 * fmax(1, fabs(here.loss[i])),
              "%s, batch=%d,layer=%d: loss %d is %.9g, not %.9g", c->line, mesh.batch, mesh.layer, i, there.loss[i],
              here.loss[i]);
        CHECK(fabs(here.norm[i] - there.norm[i]) <= 1e-4 * here.norm[i], "%s: norm %d is %.9g, not %.9g", c->line, i,
              there.norm[i], here.norm[i]);
    }
    CHECK(case_distance(here.weight, there.weight, here.weights) <= 1e-4,
          "%s, batch=%d,layer=%d: weights differ by %.1e", c->line, mesh.batch, mesh.layer,
          case_distance(here.weight, there.weight, here.weights));
}

int main(int argc, char **argv)
{
    static const unroll_split meshes[] = {{.layer = 2}, {.batch = 2}, {.batch = 2, .layer = 2}, {.layer = 2}};
    struct test_case *list;
    if (argc < 3) {
        fprintf(stderr, "usage: test_several DEVICE,DEVICE.. cases.txt [near]\n");
        return 2;
    }
    const bool near = argc > 3 && !strcmp(argv[3], "near");
    const int count = cases_read(argv[2], NULL, &list);
    for (int i = 0; i < count; i++) {
        unroll_split mesh = meshes[i % 4];
        const bool cuts_rows = mesh.batch > 1 && list[i].session.rows < 2;
        if (cuts_rows)
            mesh = meshes[0];
        check_next_case();
        compare(&list[i], argv[1], mesh, list[i].session.steps > 3 && !list[i].spec.bidirectional ? 3 : 1, near);
    }
    free(list);
    return check_finish("test_several");
}

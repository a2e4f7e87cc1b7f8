/* Another device beside the CPU, over the list of cases: outputs, losses, gradients and weights after updates
 * agree within what another order of sums may change. Not bit for bit: test_cases does that among ISAs.
 * Usage: test_device DEVICE cases.txt [part of a line] */
#include "cases/case.h"
#include "check.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 3, MOST = 1 << 20 };
static const double tolerance = 1e-5, tolerance_of_gradients = 1e-4;

/* What a training found: losses, gradients of the first step, weights after the last. */
struct findings { float loss[STEPS], *gradient, *weight; size_t count; };

static size_t length_of(const unroll_parameter *p)
{
    return (size_t)p->shape[0] * (size_t)(p->rank > 1 ? p->shape[1] : 1);
}

static bool read_gradients(unroll_model *model, unroll_session *session, struct findings *f)
{
    size_t done = 0;
    for (int i = 0; i < unroll_model_parameters(model); i++) {
        unroll_parameter p;
        char name[128];
        unroll_model_parameter(model, i, &p);
        snprintf(name, sizeof name, "d.%s", p.name);
        if (unroll_read(session, name, f->gradient + done, length_of(&p)) != UNROLL_OK)
            return false;
        done += length_of(&p);
    }
    f->count = done;
    return true;
}

static bool steps(const struct test_case *c, unroll_model *model, unroll_session *session, const char *optimizer,
                  struct findings *f)
{
    unroll_rates rates = unroll_rates_default(optimizer);
    unroll_result result;
    bool good = true;
    rates.learning_rate = 0.05;
    rates.clip = 0.5;
    rates.epsilon = 0.01;               /* else the smallest gradients decide by their sign */
    for (int i = 0; good && i < STEPS; i++) {
        struct case_batch *b = case_batch_new(c, 100 + (uint64_t)i);
        good = unroll_forward(session, &b->batch) == UNROLL_OK && unroll_backward(session) == UNROLL_OK;
        good = good && (i > 0 || read_gradients(model, session, f));
        good = good && unroll_update(session, &rates, &result) == UNROLL_OK;
        f->loss[i] = (float)result.loss;
        case_batch_free(b);
    }
    return good;
}

static bool train(const struct test_case *c, const char *device, const char *optimizer, struct findings *f)
{
    unroll_session_config config = c->session;
    unroll_model *model;
    unroll_session *session;
    config.mode = UNROLL_TRAIN;
    config.optimizer = optimizer;
    config.device = device;
    if (unroll_model_new(&c->spec, 3, &model) != UNROLL_OK)
        return false;
    bool good = unroll_session_new(model, &config, &session) == UNROLL_OK;
    if (good) {
        good = steps(c, model, session, optimizer, f);
        unroll_session_free(session);
    }
    size_t done = 0;
    for (int i = 0; good && i < unroll_model_parameters(model); i++) {
        unroll_parameter p;
        unroll_model_parameter(model, i, &p);
        memcpy(f->weight + done, p.data, length_of(&p) * sizeof *p.data);
        done += length_of(&p);
    }
    unroll_model_free(model);
    return good;
}

/* Largest difference relative to the largest number. */
static double distance(const float *a, const float *b, size_t n)
{
    double most = 0, scale = 1e-6;
    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)a[i] - b[i]);
        most = d <= most ? most : d;                    /* a NaN stays */
        scale = fmax(scale, fabs((double)a[i]));
    }
    return most / scale;
}

static struct findings findings_new(void)
{
    struct findings f = { .gradient = malloc(MOST * sizeof(float)), .weight = malloc(MOST * sizeof(float)) };
    return f;
}

static void compare(const struct test_case *c, const char *device, const char *optimizer)
{
    static struct findings here, there;
    if (!here.gradient) {
        here = findings_new();
        there = findings_new();
    }
    if (!CHECK(train(c, NULL, optimizer, &here), "%s on the CPU: %s", c->line, unroll_last_error()) ||
        !CHECK(train(c, device, optimizer, &there), "%s on %s: %s", c->line, device, unroll_last_error()))
        return;
    double loss = distance(here.loss, there.loss, STEPS);
    double gradient = distance(here.gradient, there.gradient, here.count);
    double weight = distance(here.weight, there.weight, here.count);
    CHECK(loss <= tolerance, "%s: losses differ by %.1e", c->line, loss);
    CHECK(gradient <= tolerance_of_gradients, "%s: gradients differ by %.1e", c->line, gradient);
    CHECK(weight <= tolerance_of_gradients, "%s: weights after %s differ by %.1e", c->line, optimizer, weight);
}

int main(int argc, char **argv)
{
    struct test_case *list;
    if (argc < 3) {
        fprintf(stderr, "usage: test_device DEVICE cases.txt [part of a line]\n");
        return 2;
    }
    int count = cases_read(argv[2], argc > 3 ? argv[3] : NULL, &list), optimizers = 0;
    while (unroll_optimizer_name(optimizers))
        optimizers++;
    for (int i = 0; i < count; i++)
        compare(&list[i], argv[1], unroll_optimizer_name(i % optimizers));
    free(list);
    return check_finish("test_device");
}

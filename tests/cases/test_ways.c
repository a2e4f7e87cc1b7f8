/* Compares the ways in which a GPU runs a recurrence at real sizes: the portable one, step by step, and each persistent
 * one, in every precision. Outputs of a validation pass, losses and all gradients agree within the precision.
 * test_device compares with the CPU at small sizes.
 * Usage: test_ways DEVICE ways.txt [part of a line]; PRECISIONS="bf16 fp32" limits the precisions. */
/* test: if=g++; with=cases/case; run=env PRECISIONS=bf16 tests/device/with_fake_cuda.sh $B; args=cuda tests/cases/ways-short.txt; seconds=30 */
#include "cases/case.h"
#include "check.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The largest difference relative to the largest value. Operands are rounded to 8 (bf16) or 11 bits (fp16, tf32) before
 * each product; in fp32, only the order of sums differs. Both ways round in the same manner, but a sum near the middle
 * of two values may be rounded either way. */
static const struct {
    const char *name;
    double tolerance;
} precisions[] = {{"bf16", 2e-2}, {"fp16", 4e-3}, {"tf32", 4e-3}, {"fp32", 1e-4}};
static const char *const ways[] = {"cluster", "grid"};

/* Results of one way; the arrays have room for all parameters, each rounded up. */
struct findings {
    float *gradient, *output;
    size_t gradients, outputs;
    double loss;
    char isa[64];
};

static bool train(const struct test_case *c, unroll_model *model, const unroll_session_config *config,
                  struct findings *f)
{
    struct case_batch *b = case_batch_new(c, 100);
    unroll_session *session = NULL;
    unroll_result result = {.size = sizeof result};
    unroll_hyperparameters rates = unroll_hyperparameters_default("sgd");
    rates.learning_rate = 0;
    bool good = unroll_session_new(model, config, &session) == UNROLL_OK &&
                unroll_session_forward(session, &b->batch) == UNROLL_OK &&
                unroll_session_backward(session) == UNROLL_OK && case_read_gradients(model, session, f->gradient) &&
                unroll_session_update(session, &rates, &result) == UNROLL_OK;
    f->loss = result.loss;
    snprintf(f->isa, sizeof f->isa, "%s", good ? unroll_session_isa(session) : "");
    unroll_session_free(session);
    case_batch_free(b);
    return good;
}

static bool evaluate(const struct test_case *c, unroll_model *model, const unroll_session_config *training,
                     struct findings *f)
{
    struct case_batch *b = case_batch_new(c, 101);
    unroll_session *session = NULL;
    unroll_session_config config = *training;
    config.mode = UNROLL_EVAL, config.results = 1;
    bool good = unroll_session_new(model, &config, &session) == UNROLL_OK &&
                unroll_session_forward(session, &b->batch) == UNROLL_OK &&
                unroll_session_read(session, "z", f->output, f->outputs) == UNROLL_OK;
    unroll_session_free(session);
    case_batch_free(b);
    return good;
}

static bool find(const struct test_case *c, const char *device, const char *precision, const char *way,
                 struct findings *f)
{
    unroll_session_config config = case_trains(c);
    unroll_model *model = NULL;
    config.optimizer = "sgd";
    config.machine.device = device;
    config.machine.precision = precision;
    setenv("UNROLL_CUDA_ALGORITHM", way, 1);
    if (unroll_model_new(&c->spec, 3, &model) != UNROLL_OK)
        return false;
    *f = (struct findings){.gradients = case_parameters(model),
                           .outputs = (size_t)c->session.steps * (size_t)c->session.rows * (size_t)c->spec.output};
    f->gradient = calloc(f->gradients, sizeof *f->gradient);
    f->output = calloc(f->outputs, sizeof *f->output);
    bool good = f->gradient && f->output && train(c, model, &config, f) && evaluate(c, model, &config, f);
    unroll_model_free(model);
    return good;
}

static void forget(struct findings *f)
{
    free(f->gradient);
    free(f->output);
    *f = (struct findings){0};
}

static void compare(const struct test_case *c, const char *device, const char *precision, double tolerance)
{
    struct findings plain = {0}, found = {0};
    const bool good = find(c, device, precision, "portable", &plain);
    CHECK(good, "%s %s, portable: %s", c->line, precision, good ? "" : unroll_last_error());
    for (size_t i = 0; good && i < sizeof ways / sizeof *ways; i++) {
        if (!CHECK(find(c, device, precision, ways[i], &found), "%s %s, %s: %s", c->line, precision, ways[i],
                   unroll_last_error())) {
            forget(&found);
            continue;
        }
        const double outputs = case_distance(plain.output, found.output, plain.outputs),
                     gradients = case_distance(plain.gradient, found.gradient, plain.gradients),
                     loss = fabs(plain.loss - found.loss) / fmax(1e-6, fabs(plain.loss));
        printf("%s %s %s: %s, outputs %.1e, gradients %.1e, loss %.1e\n", c->line, precision, ways[i], found.isa,
               outputs, gradients, loss);
        CHECK(outputs <= tolerance, "%s %s, %s: outputs differ by %.1e", c->line, precision, ways[i], outputs);
        CHECK(gradients <= tolerance, "%s %s, %s: gradients differ by %.1e", c->line, precision, ways[i], gradients);
        CHECK(loss <= tolerance, "%s %s, %s: losses differ by %.1e", c->line, precision, ways[i], loss);
        forget(&found);
        fflush(stdout);
    }
    forget(&plain);
}

int main(int count, char **argument)
{
    struct test_case *cases;
    const char *only = getenv("PRECISIONS");
    if (count < 3)
        return fprintf(stderr, "usage: test_ways DEVICE ways.txt [part of a line]\n"), 2;
    const int n = cases_read(argument[2], count > 3 ? argument[3] : NULL, &cases);
    CHECK(n > 0, "%s has no such case", argument[2]);
    for (int i = 0; i < n; i++)
        for (size_t p = 0; p < sizeof precisions / sizeof *precisions; p++)
            if (!only || strstr(only, precisions[p].name))
                compare(&cases[i], argument[1], precisions[p].name, precisions[p].tolerance);
    free(cases);
    return check_finish("test_ways");
}

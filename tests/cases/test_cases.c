/* Runs the list of cases in several modes, on a thread with a small stack. Usage: test_cases MODE cases.txt [part of a
 * line]
 *
 * Mode test: every ISA, and threads x queues x chunks x checkpoints, give the bits of the reference, or the ISA's own
 * bits if it multiplies floats as bf16.
 *
 * Mode near: the losses of 20 updates with floats rounded to bf16 are near those of the reference.
 *
 * Mode grad: gradients of weights, inputs and initial states agree with finite differences, in double.
 *
 * Mode perf: prints milliseconds and GFLOP/s of a training step on the best ISA.
 *
 * Mode downgrade: a debug build, which draws the ISA of each session, gives the bits of the reference.
 *
 * Mode support: prints which ISA runs which case, or why it is refused. */
/* test: with=cases/case; args=test tests/cases/cases.txt; seconds=60 */
/* test: args=test tests/cases/rows.txt; seconds=60 */
/* test: args=near tests/cases/rows.txt; seconds=60 */
/* test: args=grad tests/cases/cases.txt; seconds=60 */
/* test: args=support tests/cases/cases.txt; seconds=60 */
/* test: kinds=long-memory; args=downgrade tests/cases/short.txt; seconds=60 */
/* test: kinds=check-plain; args=test tests/cases/short.txt; seconds=60 */
#include "cases/case.h"
#include "check.h"
#include "small_stack.h"
#include "listed.h"
#include "unroll_advanced.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Stands for the best ISA, with floats rounded to bf16. */
static const char rounded[] = "precision bf16";

static void set_kernels(unroll_machine *machine, const char *isa)
{
    if (isa == rounded)
        machine->precision = "bf16";
    else
        machine->isa = isa;
}

static unroll_session *open_training(const struct test_case *c, const char *isa, unroll_model **model)
{
    unroll_session *session;
    unroll_session_config config = case_trains(c);
    set_kernels(&config.machine, isa);
    if (unroll_model_new(&c->spec, 3, model) != UNROLL_OK)
        return NULL;
    if (unroll_session_new(*model, &config, &session) == UNROLL_OK)
        return session;
    unroll_model_free(*model);
    return NULL;
}

/* True if the ISA multiplies floats as bf16 for this case. Such sums have bits of their own. */
static bool has_bf16(const struct test_case *c, const char *isa)
{
    unroll_model *model;
    unroll_session *session = open_training(c, isa, &model);
    if (!session)
        return false;
    const char *kernels = unroll_session_isa(session);
    bool has = !strcmp(kernels, "amx") || strstr(kernels, "_bf16");
    unroll_session_free(session);
    unroll_model_free(model);
    return has;
}

/* ---- test ------------------------------------------------------------------------------ */

enum { STEPS = 3 };

/* How the work is divided. `checkpoint` counts blocks of the longest accumulation; 0: none. */
struct way {
    int threads, queues, chunks, checkpoint;
};

/* Steps of an accumulation block of gradients (plan.md, gemm_dw): checkpoints may not be closer. */
static int max_steps_of_acc_block(int steps)
{
    const int max = steps / 8 < (int)sqrt(2.0 * steps) ? steps / 8 : (int)sqrt(2.0 * steps);
    return max > 1 ? max : 1;
}

/* Returns all weights, and the loss, after three updates from the same start; NULL if the case is refused (the error is
 * set). */
static float *train(const struct test_case *c, const char *isa, struct way way, size_t *count)
{
    unroll_model *model;
    unroll_session *session;
    unroll_session_config config = case_trains(c);
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    unroll_result result = {.size = sizeof result};
    rates.learning_rate = 0.05;
    rates.clip = 0.5;
    set_kernels(&config.machine, isa);
    config.machine.threads = way.threads;
    config.machine.queues = way.queues;
    config.machine.chunks = way.chunks < c->session.steps ? way.chunks : c->session.steps;
    config.machine.checkpoint_time = way.checkpoint * max_steps_of_acc_block(c->session.steps);
    if (unroll_model_new(&c->spec, 3, &model) != UNROLL_OK)
        return NULL;
    if (unroll_session_new(model, &config, &session) != UNROLL_OK) {
        unroll_model_free(model);
        return NULL;
    }
    for (int i = 0; i < STEPS; i++) {
        struct case_batch *b = case_batch_new(c, 100 + (uint64_t)i);
        CHECK(unroll_session_forward(session, &b->batch) == UNROLL_OK &&
                  unroll_session_backward(session) == UNROLL_OK &&
                  unroll_session_update(session, &rates, &result) == UNROLL_OK,
              "%s on %s: %s", c->line, isa, unroll_last_error());
        case_batch_free(b);
    }
    unroll_session_free(session);
    *count = 2;
    float *all = NULL;
    for (int i = 0; i < unroll_model_parameters(model); i++) {
        unroll_parameter p = {.size = sizeof p};
        unroll_model_parameter(model, i, &p);
        size_t n = (size_t)p.shape[0] * (size_t)(p.rank > 1 ? p.shape[1] : 1);
        all = realloc(all, (*count + n) * sizeof *all);
        memcpy(all + *count, p.data, n * sizeof *all);
        *count += n;
    }
    all[0] = (float)result.loss;
    all[1] = (float)result.norm;
    unroll_model_free(model);
    return all;
}

static void same_bits(const struct test_case *c, const float *reference, size_t count, const char *isa, struct way way)
{
    size_t n = 0, different = 0;
    float *got = train(c, isa, way, &n);
    if (!CHECK(got != NULL, "%s on %s: %s", c->line, isa ? isa : "an ISA drawn", unroll_last_error()))
        return;
    for (size_t i = 0; i < count && n == count; i++) different += memcmp(&got[i], &reference[i], sizeof *got) != 0;
    CHECK(n == count && !different,
          "%s: %s, %d threads, %d queues, %d chunks, checkpoints %d apart: %zu of %zu numbers differ", c->line,
          isa ? isa : "an ISA drawn", way.threads, way.queues, way.chunks, way.checkpoint, different, count);
    free(got);
}

static void test_case_bits(const struct test_case *c)
{
    /* Ragged cases with dropout, the most error-prone, run with all combinations of 1, 2, 3, 7 threads and 1, 3, 6
     * chunks, the others with some of them. */
    static const struct way ways[] = {{1, 1, 1, 0}, {2, 1, 1, 0}, {3, 1, 3, 0}, {7, 3, 6, 0}, {2, 2, 3, 0},
                                      {1, 1, 1, 2}, {2, 1, 1, 3}, {3, 2, 1, 2}, {2, 3, 6, 4}, {0, 0, 1, 0},
                                      {1, 1, 3, 0}, {1, 1, 6, 0}, {2, 1, 6, 0}, {3, 2, 1, 0}, {3, 3, 6, 0},
                                      {7, 1, 1, 0}, {7, 2, 3, 0}, {1, 3, 1, 1}, {3, 1, 3, 1}};
    enum { SCALAR = 4, SOME = 10 }; /* the slowest kernels run in few ways */
    size_t all = sizeof ways / sizeof *ways, tried = c->session.lengths && c->spec.dropout > 0 ? all : SOME;
    size_t count = 0;
    float *reference = train(c, "scalar", ways[0], &count);
    if (!CHECK(reference != NULL, "%s: %s", c->line, unroll_last_error()))
        return;
    bool moved = false;
    for (size_t i = 0; i < count; i++) moved |= !(reference[i] - reference[i] == 0);
    CHECK(!moved, "%s: the weights are finite", c->line);
    const char *isa;
    int available;
    for (int i = 0; (isa = listed_isa(i, &available)); i++) {
        bool own = available && has_bf16(c, isa);
        float *expected = own ? train(c, isa, ways[0], &count) : reference;
        bool scalar = !strcmp(isa, "scalar");
        for (size_t w = scalar; available && w < (scalar ? SCALAR : tried); w++)
            same_bits(c, expected, count, isa, ways[w]);
        if (expected != reference)
            free(expected);
    }
    free(reference);
    reference = has_bf16(c, rounded) ? train(c, rounded, ways[0], &count) : NULL;
    for (size_t w = 1; reference && w < tried; w++) same_bits(c, reference, count, rounded, ways[w]);
    free(reference);
}

/* ---- near ------------------------------------------------------------------------------ */

enum { NEAR_STEPS = 20 };

static bool losses_of(const struct test_case *c, const char *isa, double *loss)
{
    unroll_model *model;
    unroll_session *session = open_training(c, isa, &model);
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    if (!CHECK(session != NULL, "%s on %s: %s", c->line, isa, unroll_last_error()))
        return false;
    bool good = true;
    for (int i = 0; i < NEAR_STEPS && good; i++) {
        struct case_batch *b = case_batch_new(c, 100 + (uint64_t)i);
        unroll_result result = {.size = sizeof result};
        good = CHECK(unroll_session_step(session, &b->batch, &rates, &result) == UNROLL_OK, "%s on %s: %s", c->line,
                     isa, unroll_last_error());
        loss[i] = result.loss;
        case_batch_free(b);
    }
    unroll_session_free(session);
    unroll_model_free(model);
    return good;
}

static void check_near(const struct test_case *c, const char *isa, double allowed)
{
    double reference[NEAR_STEPS], loss[NEAR_STEPS], worst = 0;
    if (!has_bf16(c, isa)) {
        check_skip("this machine, or this case, has no products of floats as bf16");
        return;
    }
    if (!losses_of(c, "scalar", reference) || !losses_of(c, isa, loss))
        return;
    for (int i = 0; i < NEAR_STEPS; i++) {
        double error = fabs(loss[i] - reference[i]) / fabs(reference[i]);
        worst = error <= worst ? worst : error; /* keeps NaN */
    }
    CHECK(worst <= allowed, "%s, %s: losses are off by %.1e", c->line, isa, worst);
    CHECK(worst > 0, "%s, %s: all losses have the bits of scalar: are floats multiplied as bf16?", c->line, isa);
}

/* A sum has an error of some 1e-7 of its terms' magnitudes in both cases (nn/vector/v_tiles.h). A loss is a mean of
 * many sums, and each update propagates the error to the next. Rounding to bf16 has a relative error of 2^-9 per
 * factor. */
static void test_near(const struct test_case *c)
{
    check_near(c, "amx", 1e-6);
    check_near(c, rounded, 1e-2);
}

/* ---- grad ------------------------------------------------------------------------------ */

/* A quantity that the loss depends on, by the name of its buffer. */
struct quantity {
    char name[64];
    float *value, *gradient;
    size_t count;
};

/* Four points, h = 2^-12: the error of the quotient is of order h^4. Values are multiples of h, so that value +- 2h is
 * exact in the interface's floats; sessions compute in double. */
static const double h = 1.0 / 4096;

static double loss_at(unroll_session *session, const struct case_batch *b, struct quantity *q, size_t i, double step)
{
    unroll_result result = {.size = sizeof result};
    float kept = q->value[i];
    q->value[i] = (float)(kept + step);
    unroll_session_set_counters(session, 0, 0); /* the same dropout masks each time */
    bool good = unroll_session_write(session, q->name, q->value, q->count) == UNROLL_OK &&
                unroll_session_forward(session, &b->batch) == UNROLL_OK &&
                unroll_session_result(session, &result) == UNROLL_OK;
    q->value[i] = kept;
    return good ? result.loss * result.weight : NAN;
}

static double slope_of(unroll_session *session, const struct case_batch *b, struct quantity *q, size_t i)
{
    double near = loss_at(session, b, q, i, h) - loss_at(session, b, q, i, -h);
    double far = loss_at(session, b, q, i, 2 * h) - loss_at(session, b, q, i, -2 * h);
    unroll_session_write(session, q->name, q->value, q->count);
    return (8 * near - far) / (12 * h);
}

/* Sets a quantity to random multiples of h. Returns false if the session has no such buffer. */
static bool add_quantity(unroll_session *session, struct quantity *q, const char *name, uint64_t seed, double spread)
{
    snprintf(q->name, sizeof q->name, "%s", name);
    q->count = unroll_session_count(session, name);
    if (!q->count)
        return false;
    q->value = calloc(q->count, sizeof *q->value);
    q->gradient = calloc(q->count, sizeof *q->gradient);
    for (size_t i = 0; i < q->count; i++) q->value[i] = (float)(round(case_random(seed, i) * spread / h) * h);
    CHECK(unroll_session_write(session, name, q->value, q->count) == UNROLL_OK, "%s: %s", name, unroll_last_error());
    return true;
}

static int list_quantities(const struct test_case *c, unroll_model *model, unroll_session *session, struct quantity *q)
{
    static const char *const states[] = {"h0.l%d", "s0.l%d", "h0.l%d.reverse", "s0.l%d.reverse"};
    int n = 0;
    for (int i = 0; i < unroll_model_parameters(model); i++) {
        unroll_parameter p = {.size = sizeof p};
        unroll_model_parameter(model, i, &p);
        n += add_quantity(session, &q[n], p.name, 50 + (uint64_t)i, 0.5);
    }
    for (int layer = 0; layer < c->spec.layers; layer++)
        for (int k = 0; k < 4; k++) {
            char name[32];
            snprintf(name, sizeof name, states[k], layer);
            n += add_quantity(session, &q[n], name, 90 + (uint64_t)(4 * layer + k), 0.8);
        }
    return n;
}

/* Adds the second gradient of a tied embedding, which is used twice; only the update sums the two. */
static void add_second_use(unroll_session *session, const char *name, struct quantity *q)
{
    float *second = calloc(q->count, sizeof *second);
    CHECK(unroll_session_read(session, name, second, q->count) == UNROLL_OK, "%s: %s", name, unroll_last_error());
    for (size_t i = 0; i < q->count; i++) q->gradient[i] += second[i];
    free(second);
}

static void read_gradients(unroll_session *session, struct quantity *q, int n)
{
    for (int i = 0; i < n; i++) {
        char name[80];
        snprintf(name, sizeof name, "d.%.64s", q[i].name);
        CHECK(unroll_session_read(session, name, q[i].gradient, q[i].count) == UNROLL_OK, "%s: %s", name,
              unroll_last_error());
        snprintf(name, sizeof name, "d2.%.64s", q[i].name);
        if (unroll_session_count(session, name) == q[i].count)
            add_second_use(session, name, &q[i]);
    }
}

/* Compares all values of small quantities and 6 evenly spaced ones of large quantities, because the reference is slow
 * in double. */
static void compare_slopes(const struct test_case *c, unroll_session *session, const struct case_batch *b,
                           struct quantity *q)
{
    double worst = 0;
    size_t every = q->count > 60 ? q->count / 6 : 1, at = 0;
    for (size_t i = 0; i < q->count; i += every) {
        double slope = slope_of(session, b, q, i), error = fabs(slope - (double)q->gradient[i]) / (1 + fabs(slope));
        if (!(error <= worst)) { /* also if NaN */
            worst = error;
            at = i;
        }
    }
    CHECK(worst <= 1e-6, "%s: gradient of %s[%zu] is off by %.2e (is %g)", c->line, q->name, at, worst,
          (double)q->gradient[at]);
}

static void test_case_gradients(const struct test_case *c)
{
    unroll_model *model;
    unroll_session *session;
    unroll_session_config config = case_trains(c);
    config.machine.precision = "fp64";
    config.input_gradient = !c->spec.tokens;
    config.machine.threads = 1;
    config.machine.checkpoint_time = (c->session.steps + 1) / 2;
    if (!CHECK(unroll_model_new(&c->spec, 5, &model) == UNROLL_OK, "%s: %s", c->line, unroll_last_error()))
        return;
    if (!CHECK(unroll_session_new(model, &config, &session) == UNROLL_OK, "%s: %s", c->line, unroll_last_error())) {
        unroll_model_free(model);
        return;
    }
    struct quantity q[256] = {0};
    int n = list_quantities(c, model, session, q);
    struct case_batch *b = case_batch_new(c, 100);
    unroll_session_set_counters(session, 0, 0);
    CHECK(unroll_session_forward(session, &b->batch) == UNROLL_OK && unroll_session_backward(session) == UNROLL_OK,
          "%s: %s", c->line, unroll_last_error());
    read_gradients(session, q, n);
    unroll_result result = {.size = sizeof result};
    unroll_session_result(session, &result);
    for (int i = 0; i < n; i++) { /* resets the carried states to the start */
        unroll_session_write(session, q[i].name, q[i].value, q[i].count);
    }
    for (int i = 0; i < n; i++) {
        compare_slopes(c, session, b, &q[i]);
        free(q[i].value);
        free(q[i].gradient);
    }
    case_batch_free(b);
    unroll_session_free(session);
    unroll_model_free(model);
}

/* ---- downgrade ------------------------------------------------------------------------- */

static void test_drawn_isas(const struct test_case *c)
{
    static const struct way ways[] = {{1, 1, 1, 0}, {2, 1, 3, 0}, {1, 1, 1, 2}, {3, 2, 1, 2}, {2, 2, 3, 0}};
    size_t count = 0;
    float *reference = train(c, "scalar", ways[0], &count);
    if (!CHECK(reference != NULL, "%s: %s", c->line, unroll_last_error()))
        return;
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) same_bits(c, reference, count, NULL, ways[w]);
    free(reference);
}

/* 64 draws include each ISA of the machine: the probability of missing one of 5 is 1 in 300000. If amx is drawn but
 * nothing multiplies bf16x3 splits, avx512_vnni runs. */
static void test_draws(const struct test_case *c)
{
    const char *isa, *drawn[64];
    int available;
    for (int i = 0; i < 64; i++) {
        unroll_model *model;
        unroll_session *session = open_training(c, NULL, &model);
        if (!CHECK(session != NULL, "%s: %s", c->line, unroll_last_error()))
            return;
        drawn[i] = unroll_session_isa(session);
        unroll_session_free(session);
        unroll_model_free(model);
    }
    for (int i = 0; (isa = listed_isa(i, &available)); i++) {
        int times = 0;
        for (int k = 0; k < 64; k++) times += !strcmp(drawn[k], isa);
        CHECK((times > 0) == (available && strcmp(isa, "amx")), "%s was drawn %d times of 64: is this a debug build?",
              isa, times);
    }
}

/* ---- perf and support ------------------------------------------------------------------ */

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void time_case(const struct test_case *c)
{
    unroll_model *model;
    unroll_session *session = open_training(c, NULL, &model);
    if (!CHECK(session != NULL, "%s: %s", c->line, unroll_last_error()))
        return;
    struct case_batch *b = case_batch_new(c, 100);
    double best = 1e9;
    for (double begin = seconds(); seconds() - begin < 0.5;) {
        double before = seconds();
        unroll_session_forward(session, &b->batch);
        unroll_session_backward(session);
        double took = seconds() - before;
        best = took < best ? took : best;
    }
    printf("%9.3f ms  %s, %d threads  %s\n", best * 1e3, unroll_session_isa(session), unroll_session_threads(session),
           c->line);
    case_batch_free(b);
    unroll_session_free(session);
    unroll_model_free(model);
}

static void say_support(const struct test_case *c)
{
    const char *isa;
    int available;
    for (int i = 0; (isa = listed_isa(i, &available)); i++) {
        unroll_model *model;
        unroll_session *session = open_training(c, isa, &model);
        printf("%-8s %-60s %s\n", isa, c->line, session ? "runs" : unroll_last_error());
        CHECK(session || !available, "%s on %s: %s", c->line, isa, unroll_last_error());
        if (session) {
            unroll_session_free(session);
            unroll_model_free(model);
        }
    }
}

/* ---- the program ----------------------------------------------------------------------- */

/* Runs the mode in argv[1] on the cases of the file in argv[2]. */
static int run(int argc, char **argv)
{
    setenv("UNROLL_ADAPTIVE", "together", 1); /* small networks, too, must run on all threads */
    static const struct {
        const char *name;
        void (*run)(const struct test_case *);
    } modes[] = {{"test", test_case_bits}, {"grad", test_case_gradients},  {"perf", time_case},
                 {"support", say_support}, {"downgrade", test_drawn_isas}, {"near", test_near}};
    struct test_case *cases;
    if (argc < 3) {
        fprintf(stderr, "usage: test_cases test|near|grad|downgrade|perf|support cases.txt [part of a line]\n");
        return 2;
    }
    int count = cases_read(argv[2], argc > 3 ? argv[3] : NULL, &cases);
    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++)
        for (int i = 0; i < count && !strcmp(argv[1], modes[m].name); i++) {
            check_next_case();
            modes[m].run(&cases[i]);
        }
    if (count > 0 && !strcmp(argv[1], "downgrade"))
        test_draws(&cases[0]);
    free(cases);
    char name[32];
    snprintf(name, sizeof name, "cases %s", argv[1]);
    return check_finish(name);
}

int main(int argc, char **argv) { return on_small_stack(run, argc, argv); }

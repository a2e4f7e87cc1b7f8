/* The checks of `unroll check` on the user's machine, on a small model of every cell. Each ISA must match the reference
 * bit for bit (amx, whose sums of many rows differ in bits, within a tolerance), and gradients must match finite
 * differences. The project's own tests are larger. */
#include "base/memory.h"
#include "base/philox.h"
#include "base/status.h"
#include "unroll_advanced.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 9, ROWS = 5, MANY_ROWS = 20, SYMBOLS = 13, UPDATES = 3 };

struct check_report {
    void (*line)(void *arg, const char *what, bool passed);
    void *arg;
    bool all_passed;
};

static void say(struct check_report *r, bool passed, const char *what)
{
    r->line(r->arg, what, passed);
    r->all_passed &= passed;
}

/* ---- one small training run ------------------------------------------------------------ */

static unroll_model_config small_spec(const char *cell)
{
    unroll_model_config spec = unroll_model_config_default();
    spec.cell = cell;
    spec.layers = 2;
    spec.hidden = 37; /* two vector registers and a remainder */
    spec.tokens = 1;
    spec.input = spec.output = SYMBOLS;
    spec.embed = 19;
    spec.dropout = 0.2f;
    spec.loss = "xent";
    return spec;
}

static unroll_session_config small_config(const char *isa, int rows)
{
    unroll_session_config config = unroll_session_config_default();
    config.steps = STEPS;
    config.rows = rows;
    config.lengths = 1;
    unroll_machine *m = &config.machine;
    m->chunks = isa && strcmp(isa, "scalar") ? 3 : 1; /* neither may change the bits */
    m->threads = m->queues = m->chunks == 3 ? 2 : 1;
    m->isa = isa;
    return config;
}

struct small {
    unroll_model *model;
    unroll_session *session;
};

/* The caller closes it, also after a failure. */
static unroll_status open_small(const char *cell, const char *isa, int rows, bool in_double, struct small *s)
{
    unroll_model_config spec = small_spec(cell);
    unroll_session_config config = small_config(isa, rows);
    config.mode = UNROLL_TRAIN;
    config.machine.precision = in_double ? "fp64" : NULL;
    TRY(unroll_model_new(&spec, 1, &s->model));
    return unroll_session_new(s->model, &config, &s->session);
}

static void close_small(struct small *s)
{
    unroll_session_free(s->session);
    unroll_model_free(s->model);
}

/* Compares the reference with the same model on an ISA. */
typedef unroll_status comparison(struct check_report *, const char *cell, const char *isa, struct small *reference,
                                 struct small *other);

static unroll_status compare_isa(struct check_report *r, const char *cell, const char *isa, int rows,
                                 comparison *compare)
{
    struct small reference = {NULL, NULL}, other = {NULL, NULL};
    unroll_status status = open_small(cell, "scalar", rows, false, &reference);
    if (status == UNROLL_OK)
        status = open_small(cell, isa, rows, false, &other);
    if (status == UNROLL_OK)
        status = compare(r, cell, isa, &reference, &other);
    close_small(&other);
    close_small(&reference);
    return status;
}

struct small_batch {
    int32_t tokens[STEPS * MANY_ROWS], classes[STEPS * MANY_ROWS], lengths[MANY_ROWS];
};

static unroll_batch make_batch(struct small_batch *b, int rows, uint64_t seed)
{
    struct rng rng = rng_new(seed, 0);
    for (int i = 0; i < STEPS * rows; i++) {
        b->tokens[i] = (int32_t)rng_below(&rng, SYMBOLS);
        b->classes[i] = (int32_t)rng_below(&rng, SYMBOLS);
    }
    for (int i = 0; i < rows; i++) b->lengths[i] = (int32_t)rng_below(&rng, STEPS + 1);
    b->lengths[0] = STEPS;
    return (unroll_batch){
        .size = sizeof(unroll_batch), .tokens = b->tokens, .targets = b->classes, .lengths = b->lengths};
}

static unroll_status train_small(unroll_session *session)
{
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    for (int i = 0; i < UPDATES; i++) {
        struct small_batch arrays;
        unroll_batch batch = make_batch(&arrays, ROWS, (uint64_t)i);
        unroll_result result = {.size = sizeof result};
        TRY(unroll_session_forward(session, &batch));
        TRY(unroll_session_backward(session));
        TRY(unroll_session_update(session, &rates, &result));
    }
    return unroll_session_pull(session);
}

/* ---- bits ------------------------------------------------------------------------------ */

static size_t count_of(const unroll_parameter *p)
{
    return (size_t)p->shape[0] * (size_t)(p->rank > 1 ? p->shape[1] : 1);
}

static bool same_weights(unroll_model *a, unroll_model *b)
{
    bool same = true;
    for (int i = 0; i < unroll_model_parameters(a); i++) {
        unroll_parameter p = {.size = sizeof p}, q = {.size = sizeof q};
        unroll_model_parameter(a, i, &p);
        unroll_model_parameter(b, i, &q);
        same &= !memcmp(p.data, q.data, count_of(&p) * sizeof *p.data);
    }
    return same;
}

static unroll_status compare_bits(struct check_report *r, const char *cell, const char *isa, struct small *reference,
                                  struct small *other)
{
    char what[96];
    TRY(train_small(reference->session));
    TRY(train_small(other->session));
    snprintf(what, sizeof what, "%s on %s, 2 threads, 3 chunks: identical to the reference", cell, isa);
    say(r, same_weights(reference->model, other->model), what);
    return UNROLL_OK;
}

/* ---- many rows ------------------------------------------------------------------------- */

static unroll_status run_once(unroll_session *session)
{
    struct small_batch arrays;
    unroll_batch batch = make_batch(&arrays, MANY_ROWS, 7);
    TRY(unroll_session_forward(session, &batch));
    TRY(unroll_session_backward(session));
    unroll_result result = {.size = sizeof result};
    return unroll_session_result(session, &result);
}

/* Raises *worst to the largest difference of a buffer in both sessions, relative to its largest value. */
static unroll_status compare_buffers(unroll_session *one, unroll_session *other, const char *name, double *worst)
{
    size_t count = unroll_session_count(one, name);
    float *a = allocate_zeroed(2 * count, sizeof *a), *b = a + count;
    if (!a)
        return fail(UNROLL_RESOURCE, "no memory for the check");
    unroll_status status = unroll_session_read(one, name, a, count);
    if (status == UNROLL_OK)
        status = unroll_session_read(other, name, b, count);
    double largest = 0;
    for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs((double)a[i]));
    for (size_t i = 0; i < count; i++) {
        double error = fabs((double)a[i] - (double)b[i]) / largest;
        if (a[i] != b[i] && !(error <= *worst))
            *worst = error;
    }
    release(a);
    return status;
}

/* Compares the gradients of a batch of many rows within a tolerance. */
static unroll_status compare_gradients(struct check_report *r, const char *cell, const char *isa,
                                       struct small *reference, struct small *other)
{
    char what[96];
    double worst = 0;
    TRY(run_once(reference->session));
    TRY(run_once(other->session));
    for (int i = 0; i < unroll_model_parameters(reference->model); i++) {
        unroll_parameter p = {.size = sizeof p};
        char name[80];
        unroll_model_parameter(reference->model, i, &p);
        snprintf(name, sizeof name, "d.%.70s", p.name);
        TRY(compare_buffers(reference->session, other->session, name, &worst));
    }
    snprintf(what, sizeof what, "%s on %s, many rows: gradients close to the reference, max error %.1e", cell, isa,
             worst);
    say(r, worst < 1e-5, what);
    return UNROLL_OK;
}

/* ---- narrow weights -------------------------------------------------------------------- */

/* Computes a model's outputs with weights of this dtype; only infer and eval have kernels for narrow weights. */
static unroll_status outputs_with(const char *cell, const char *isa, const char *weights, float *z)
{
    struct small_batch arrays;
    unroll_batch batch = make_batch(&arrays, ROWS, 3);
    unroll_model *model;
    unroll_session *session;
    unroll_model_config spec = small_spec(cell);
    unroll_session_config config = small_config(isa, ROWS);
    batch.targets = NULL;
    config.machine.dtype = weights;
    TRY(unroll_model_new(&spec, 1, &model));
    unroll_status status = unroll_session_new(model, &config, &session);
    if (status == UNROLL_OK) {
        status = unroll_session_forward(session, &batch);
        if (status == UNROLL_OK)
            status = unroll_session_read(session, "z", z, STEPS * ROWS * SYMBOLS);
        unroll_session_free(session);
    }
    unroll_model_free(model);
    return status;
}

static unroll_status check_narrow(struct check_report *r, const char *cell, const char *isa, const char *weights)
{
    float reference[STEPS * ROWS * SYMBOLS], z[STEPS * ROWS * SYMBOLS];
    char what[96];
    TRY(outputs_with(cell, "scalar", weights, reference));
    TRY(outputs_with(cell, isa, weights, z));
    snprintf(what, sizeof what, "%s on %s, %s weights, 2 threads, 3 chunks: identical to the reference", cell, isa,
             weights);
    say(r, !memcmp(z, reference, sizeof z), what);
    return UNROLL_OK;
}

/* ---- gradients ------------------------------------------------------------------------- */

/* Computes the loss with value i changed by `step`. */
static unroll_status loss_with(unroll_session *session, const unroll_batch *batch, const char *name, float *values,
                               size_t count, size_t i, double step, double *loss)
{
    unroll_result result = {.size = sizeof result};
    float kept = values[i];
    values[i] = (float)((double)kept + step);
    unroll_session_set_counters(session, 0, 0); /* the same dropout masks */
    unroll_status status = unroll_session_write(session, name, values, count);
    if (status == UNROLL_OK)
        status = unroll_session_forward(session, batch);
    if (status == UNROLL_OK)
        status = unroll_session_result(session, &result);
    values[i] = kept;
    *loss = result.loss * result.weight;
    return status;
}

/* Central differences with h = 2^-16. Weights are rounded to multiples of 2^-10, so that floats hold weight +- h
 * exactly. */
static unroll_status worst_slope(unroll_session *session, const unroll_batch *batch, const char *name, float *values,
                                 const float *gradient, size_t count, double *worst)
{
    const double h = 1.0 / 65536;
    for (size_t i = 0; i < count; i += count / 5 + 1) {
        double above, below;
        TRY(loss_with(session, batch, name, values, count, i, h, &above));
        TRY(loss_with(session, batch, name, values, count, i, -h, &below));
        double slope = (above - below) / (2 * h), error = fabs(slope - (double)gradient[i]) / (1 + fabs(slope));
        if (!(error <= *worst))
            *worst = error;
    }
    return unroll_session_write(session, name, values, count);
}

static unroll_status round_weights(unroll_model *model, unroll_session *session)
{
    for (int i = 0; i < unroll_model_parameters(model); i++) {
        unroll_parameter p = {.size = sizeof p};
        unroll_model_parameter(model, i, &p);
        for (size_t k = 0; k < count_of(&p); k++) p.data[k] = roundf(p.data[k] * 1024) / 1024;
    }
    return unroll_session_push(session);
}

/* Compares a parameter's gradient with finite differences. */
static unroll_status check_parameter(unroll_session *session, const unroll_batch *batch, const unroll_parameter *p,
                                     double *worst)
{
    char name[80];
    snprintf(name, sizeof name, "d.%.70s", p->name);
    size_t count = unroll_session_count(session, name);
    float *gradient = allocate_zeroed(2 * count, sizeof *gradient), *values = gradient + count;
    if (!gradient)
        return fail(UNROLL_RESOURCE, "no memory for the check");
    unroll_status status = unroll_session_read(session, name, gradient, count);
    memcpy(values, p->data, count * sizeof *values);
    if (status == UNROLL_OK)
        status = worst_slope(session, batch, p->name, values, gradient, count, worst);
    release(gradient);
    return status;
}

/* Compares the gradients of all parameters. */
static unroll_status run_gradients(unroll_model *model, unroll_session *session, double *worst)
{
    struct small_batch arrays;
    unroll_batch batch = make_batch(&arrays, ROWS, 5);
    unroll_result result = {.size = sizeof result};
    TRY(round_weights(model, session));
    unroll_session_set_counters(session, 0, 0);
    TRY(unroll_session_forward(session, &batch));
    TRY(unroll_session_backward(session));
    TRY(unroll_session_result(session, &result));
    for (int i = 0; i < unroll_model_parameters(model); i++) {
        unroll_parameter p = {.size = sizeof p};
        unroll_model_parameter(model, i, &p);
        TRY(check_parameter(session, &batch, &p, worst));
    }
    return UNROLL_OK;
}

static unroll_status check_gradients(struct check_report *r, const char *cell)
{
    struct small s = {NULL, NULL};
    double worst = 0;
    char what[96];
    unroll_status status = open_small(cell, NULL, ROWS, true, &s);
    if (status == UNROLL_OK)
        status = run_gradients(s.model, s.session, &worst);
    snprintf(what, sizeof what, "%s: gradients against finite differences, max error %.1e", cell, worst);
    if (status == UNROLL_OK)
        say(r, worst < 1e-4, what);
    close_small(&s);
    return status;
}

static unroll_status check_on_isa(struct check_report *r, const char *cell, const char *isa)
{
    TRY(compare_isa(r, cell, isa, ROWS, compare_bits));
    if (!strcmp(isa, "amx"))
        TRY(compare_isa(r, cell, isa, MANY_ROWS, compare_gradients));
    TRY(check_narrow(r, cell, isa, "bf16"));
    return check_narrow(r, cell, isa, "int8");
}

unroll_status unroll_self_check(void (*report)(void *arg, const char *what, bool passed), void *arg)
{
    struct check_report r = {report, arg, true};
    unroll_entry cell = {.size = sizeof cell}, isa = {.size = sizeof isa};
    for (int c = 0; unroll_list(UNROLL_LIST_CELLS, c, &cell); c++) {
        for (int i = 0; unroll_list(UNROLL_LIST_ISAS, i, &isa); i++)
            if (isa.available && strcmp(isa.name, "scalar"))
                TRY(check_on_isa(&r, cell.name, isa.name));
        TRY(check_gradients(&r, cell.name));
    }
    return r.all_passed ? UNROLL_OK
                        : fail(UNROLL_FAILURE,
                               "some checks failed: results of this build or machine may be wrong; fix: report it "
                               "with the lines above");
}

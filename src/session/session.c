/* Sessions: a model, a plan and an instance of it on the CPU, behind the public interface. Checks what
 * comes in, hands it to the instance's buffers, runs parts. No kernel and no strategy is known here. */
#include "base/memory.h"
#include "base/status.h"
#include "device/cpu/instance.h"
#include "device/cpu/kernel.h"
#include "optim/optim.h"
#include "session/locate.h"
#include "session/weights.h"
#include <math.h>
#include <string.h>

struct unroll_session {
    struct unroll_model  *model;
    unroll_session_config config;
    struct plan          *plan;
    struct instance      *instance;
    const struct cpu_isa *isa;
    int                   threads;
    bool                  forwarded;        /* a forward ran that no backward has used yet */
};

/* ---- making one ------------------------------------------------------------------------ */

unroll_session_config unroll_session_default(void)
{
    return (unroll_session_config){ .size = sizeof(unroll_session_config), .mode = UNROLL_INFER, .steps = 1,
                                    .rows = 1, .optimizer = "adam", .lanes = 1, .chunks = 1, .shards = 1 };
}

static unroll_status choose_isa(const unroll_session_config *c, const struct cpu_isa **chosen)
{
    enum isa isa = c->double_precision ? ISA_SCALAR : isa_best();
    if (c->isa && !isa_parse(c->isa, &isa))
        return fail(UNROLL_USAGE, "there is no isa '%s'; choose one of scalar, avx2, avx512, neon", c->isa);
    if (c->double_precision && isa != ISA_SCALAR)
        return fail(UNROLL_UNSUPPORTED, "double precision runs on the reference kernels only (isa scalar)");
    const struct cpu_isa *found = cpu_isa_find(isa, c->double_precision ? DTYPE_F64 : DTYPE_F32);
    if (!found)
        return fail(UNROLL_UNSUPPORTED, "this machine or build has no '%s'", c->isa ? c->isa : "isa");
    *chosen = found;
    return UNROLL_OK;
}

static unroll_status make_config(const unroll_session_config *c, struct plan_config *p)
{
    static const enum plan_mode modes[] = { [UNROLL_INFER] = MODE_INFER, [UNROLL_EVAL] = MODE_EVAL,
                                            [UNROLL_TRAIN] = MODE_TRAIN, [UNROLL_MODULE] = MODE_MODULE };
    if (c->steps < 1 || c->rows < 1 || c->shards < 1)
        return fail(UNROLL_USAGE, "steps = %d, rows = %d and shards = %d must be 1 or more", c->steps, c->rows,
                    c->shards);
    if (c->mode < UNROLL_INFER || c->mode > UNROLL_MODULE)
        return fail(UNROLL_USAGE, "mode = %d is none of the modes", (int)c->mode);
    if (c->mode == UNROLL_MODULE && c->carry)
        return fail(UNROLL_UNSUPPORTED, "a module does not carry states: read \"hn..\" and write \"h0..\"");
    *p = plan_config_default();
    p->mode = modes[c->mode];
    p->real = c->double_precision ? DTYPE_F64 : DTYPE_F32;
    p->T = (uint32_t)c->steps;
    p->B = (uint32_t)c->rows;
    p->chunks = c->chunks;
    p->lanes = c->lanes;
    p->shards = (uint32_t)c->shards;
    p->packed = true;
    p->lengths = c->lengths;
    p->resets = c->resets;
    p->carry = c->carry;
    p->input_gradient = c->input_gradient;
    if (c->mode != UNROLL_TRAIN)
        return UNROLL_OK;
    p->optimizer = optimizer_find(c->optimizer ? c->optimizer : "");
    if (p->optimizer < 0)
        return fail(UNROLL_USAGE, "there is no optimizer '%s'; choose one of sgd, momentum, rmsprop, adam, adamw",
                    c->optimizer ? c->optimizer : "");
    p->optimizer_states = optimizer_at(p->optimizer)->states;
    return UNROLL_OK;
}

static unroll_status open_instance(struct unroll_session *s, const struct instance_config *config)
{
    bool first = !s->model->store;
    if (first)
        TRY(store_new(s->plan, &s->model->store));
    unroll_status status = instance_new(s->plan, s->model->store, config, &s->instance);
    if (status == UNROLL_OK && first) {
        weights_push(s->instance, s->plan, s->model->values);
        status = instance_run(s->instance, PART_PACK);
    }
    if (status == UNROLL_OK) {
        s->model->sessions++;
        return UNROLL_OK;
    }
    instance_free(s->instance);
    s->instance = NULL;
    if (first) {
        store_free(s->model->store);
        s->model->store = NULL;
    }
    return status;
}

static unroll_status open_session(struct unroll_session *s)
{
    struct plan_config plan_config;
    TRY(choose_isa(&s->config, &s->isa));
    TRY(make_config(&s->config, &plan_config));
    if (s->config.threads < 0 || s->config.threads > 1024)
        return fail(UNROLL_USAGE, "threads = %d is outside 0..1024 (0: all)", s->config.threads);
    s->threads = s->config.threads ? s->config.threads : cpu_count();
    TRY(plan_new(s->model, &plan_config, &s->plan));
    TRY(open_instance(s, &(struct instance_config){ .isa = s->isa, .threads = s->threads }));
    int64_t *run = instance_buffer(s->instance, "run");
    run[0] = (int64_t)s->config.seed;
    return UNROLL_OK;
}

unroll_status unroll_session_new(unroll_model *model, const unroll_session_config *config, unroll_session **session)
{
    if (!config || config->size != sizeof *config)
        return fail(UNROLL_USAGE, "the configuration was not begun with unroll_session_default()");
    struct unroll_session *s = allocate_zeroed(1, sizeof *s);
    if (!s)
        return fail(UNROLL_RESOURCE, "no memory for a session");
    s->model = model;
    s->config = *config;
    unroll_status status = open_session(s);
    if (status != UNROLL_OK) {
        unroll_session_free(s);
        return status;
    }
    *session = s;
    return UNROLL_OK;
}

void unroll_session_free(unroll_session *s)
{
    if (!s)
        return;
    if (s->instance && --s->model->sessions == 0) {
        weights_pull(s->instance, s->plan, s->model->values);
        store_free(s->model->store);
        s->model->store = NULL;
    }
    instance_free(s->instance);
    plan_free(s->plan);
    release(s);
}

/* ---- a batch comes in ------------------------------------------------------------------ */

static bool counts(const unroll_session *s, const unroll_batch *b, int t, int row)
{
    return !s->config.lengths || t < b->lengths[row];
}

static unroll_status want(const void *array, bool wanted, const char *name)
{
    if (wanted && !array)
        return fail(UNROLL_USAGE, "the batch has no %s, which this session needs", name);
    if (!wanted && array)
        return fail(UNROLL_USAGE, "the batch has %s, which this session was not made for", name);
    return UNROLL_OK;
}

static unroll_status check_arrays(const unroll_session *s, const unroll_batch *b)
{
    const unroll_spec *spec = &s->model->spec;
    bool has_loss = s->config.mode == UNROLL_EVAL || s->config.mode == UNROLL_TRAIN;
    TRY(want(b->tokens, spec->tokens, "tokens"));
    TRY(want(b->inputs, !spec->tokens, "inputs"));
    TRY(want(b->classes, has_loss && spec->loss == UNROLL_LOSS_XENT, "classes"));
    TRY(want(b->values, has_loss && spec->loss == UNROLL_LOSS_MSE, "values"));
    TRY(want(b->lengths, s->config.lengths, "lengths"));
    return want(b->reset, s->config.resets, "reset");
}

static unroll_status check_integers(const unroll_session *s, const unroll_batch *b, const int32_t *array,
                                    const char *name, int least, int most)
{
    for (int t = 0; array && t < s->config.steps; t++)
        for (int row = 0; row < s->config.rows; row++) {
            int32_t n = array[t * s->config.rows + row];
            if (counts(s, b, t, row) && (n < least || n > most))
                return fail(UNROLL_DATA, "%s[t=%d, row=%d] = %d is outside %d..%d", name, t, row, n, least, most);
        }
    return UNROLL_OK;
}

static unroll_status check_floats(const unroll_session *s, const unroll_batch *b, const float *array,
                                  const char *name, int width)
{
    for (int t = 0; array && t < s->config.steps; t++)
        for (int row = 0; row < s->config.rows; row++)
            for (int i = 0; i < width && counts(s, b, t, row); i++) {
                float x = array[((size_t)t * (size_t)s->config.rows + (size_t)row) * (size_t)width + (size_t)i];
                if (!isfinite(x))
                    return fail(UNROLL_DATA, "%s[t=%d, row=%d, %d] is %s", name, t, row, i,
                                isnan(x) ? "NaN" : "infinite");
            }
    return UNROLL_OK;
}

static unroll_status check_batch(const unroll_session *s, const unroll_batch *b)
{
    const unroll_spec *spec = &s->model->spec;
    TRY(check_arrays(s, b));
    for (int row = 0; b->lengths && row < s->config.rows; row++)
        if (b->lengths[row] < 0 || b->lengths[row] > s->config.steps)
            return fail(UNROLL_DATA, "lengths[row=%d] = %d is outside 0..%d", row, b->lengths[row], s->config.steps);
    TRY(check_integers(s, b, b->tokens, "tokens", 0, spec->input - 1));
    TRY(check_integers(s, b, b->classes, "classes", -1, spec->output - 1));
    TRY(check_floats(s, b, b->inputs, "inputs", spec->input));
    return check_floats(s, b, b->values, "values", spec->output);
}

static void take_integers(unroll_session *s, const unroll_batch *b, const int32_t *array, const char *name)
{
    int32_t *to = instance_buffer(s->instance, name);
    for (int t = 0; array && t < s->config.steps; t++)
        for (int row = 0; row < s->config.rows; row++) {
            int i = t * s->config.rows + row;
            to[i] = counts(s, b, t, row) ? array[i] : -1;
        }
}

/* What lies beyond a row's length becomes zero, so that nothing there can reach a sum. */
static void take_floats(unroll_session *s, const unroll_batch *b, const float *array, const char *name, size_t width)
{
    char *to = instance_buffer(s->instance, name);
    size_t size = width * dtype_size(s->plan->config.real);
    for (int t = 0; array && t < s->config.steps; t++)
        for (int row = 0; row < s->config.rows; row++) {
            size_t i = (size_t)t * (size_t)s->config.rows + (size_t)row;
            if (counts(s, b, t, row))
                floats_to_reals(array + i * width, s->plan->config.real, to + i * size, width);
            else
                memset(to + i * size, 0, size);
        }
}

static void take_batch(unroll_session *s, const unroll_batch *b)
{
    const unroll_spec *spec = &s->model->spec;
    take_integers(s, b, b->tokens, "tokens");
    take_integers(s, b, b->classes, "targets");
    take_floats(s, b, b->inputs, "x", (size_t)spec->input);
    take_floats(s, b, b->values, "targets", (size_t)spec->output);
    if (b->lengths)
        memcpy(instance_buffer(s->instance, "lengths"), b->lengths, (size_t)s->config.rows * sizeof *b->lengths);
    if (b->reset)
        memcpy(instance_buffer(s->instance, "reset"), b->reset, (size_t)s->config.rows * (size_t)s->config.steps);
}

/* ---- running --------------------------------------------------------------------------- */

/* A loss that is not finite is reported at once, while the activations that made it are there. */
static unroll_status check_loss(unroll_session *s)
{
    char where[160];
    double *sum = instance_buffer(s->instance, "loss_sum"), loss = *sum;
    if (isfinite(loss))
        return UNROLL_OK;
    *sum = *(double *)instance_buffer(s->instance, "weight_sum") = 0;
    s->forwarded = false;
    locate_in_forward(s->instance, s->plan, where, sizeof where);
    return fail(UNROLL_DIVERGED, "the loss is %s%s%s", isnan(loss) ? "NaN" : "infinite",
                *where ? "; first bad value: " : "", where);
}

unroll_status unroll_forward(unroll_session *s, const unroll_batch *batch)
{
    TRY(check_batch(s, batch));
    take_batch(s, batch);
    int64_t *run = instance_buffer(s->instance, "run");
    run[1]++;                                           /* each forward draws its own dropout masks */
    s->forwarded = false;
    TRY(instance_run(s->instance, PART_FORWARD));
    s->forwarded = true;
    return s->config.mode == UNROLL_TRAIN || s->config.mode == UNROLL_EVAL ? check_loss(s) : UNROLL_OK;
}

/* A module's gradients are those of one backward; in training they add up until the update. */
static void clear_gradients(unroll_session *s)
{
    for (int i = 0; i < s->plan->buffers; i++) {
        const struct buffer *b = &s->plan->buffer[i];
        if (b->segment == SEG_GRAD)
            memset(instance_buffer(s->instance, b->name), 0, b->bytes);
    }
}

unroll_status unroll_backward(unroll_session *s)
{
    if (s->config.mode != UNROLL_TRAIN && s->config.mode != UNROLL_MODULE)
        return fail(UNROLL_USAGE, "this session was made to run, not to train (mode)");
    if (!s->forwarded)
        return fail(UNROLL_USAGE, "a backward needs a forward before it, and each forward has one backward");
    s->forwarded = false;
    if (s->config.mode == UNROLL_MODULE)
        clear_gradients(s);
    TRY(instance_run(s->instance, PART_BACKWARD));
    return s->config.mode == UNROLL_MODULE ? instance_run(s->instance, PART_SUM) : UNROLL_OK;
}

unroll_status unroll_loss_result(unroll_session *s, unroll_result *result)
{
    double *loss = instance_buffer(s->instance, "loss_sum"), *weight = instance_buffer(s->instance, "weight_sum");
    if (s->config.mode != UNROLL_TRAIN && s->config.mode != UNROLL_EVAL)
        return fail(UNROLL_USAGE, "this session computes no loss (mode)");
    *result = (unroll_result){ .loss = *weight > 0 ? *loss / *weight : 0, .weight = *weight };
    *loss = *weight = 0;
    return isfinite(result->loss) ? UNROLL_OK : fail(UNROLL_DIVERGED, "the loss is %s", isnan(result->loss) ?
                                                     "NaN" : "infinite");
}

unroll_rates unroll_rates_default(const char *optimizer)
{
    int index = optimizer_find(optimizer ? optimizer : "");
    unroll_rates rates = { .size = sizeof rates };
    if (index < 0)
        return rates;
    const double *d = optimizer_at(index)->rate;
    rates.learning_rate = d[RATE_LR];
    rates.momentum = d[RATE_MOMENTUM];
    rates.beta1 = d[RATE_BETA1];
    rates.beta2 = d[RATE_BETA2];
    rates.epsilon = d[RATE_EPS];
    rates.decay = d[RATE_DECAY];
    return rates;
}

static void give_rates(unroll_session *s, const unroll_rates *r)
{
    double *rates = instance_buffer(s->instance, "rates");
    rates[RATE_LR] = r->learning_rate;
    rates[RATE_MOMENTUM] = r->momentum;
    rates[RATE_BETA1] = r->beta1;
    rates[RATE_BETA2] = r->beta2;
    rates[RATE_EPS] = r->epsilon;
    rates[RATE_DECAY] = r->decay;
    rates[RATE_CLIP] = r->clip;
    rates[RATE_STEP]++;
}

unroll_status unroll_update(unroll_session *s, const unroll_rates *rates, unroll_result *result)
{
    if (s->config.mode != UNROLL_TRAIN)
        return fail(UNROLL_USAGE, "this session was not made to train (mode)");
    if (!rates || rates->size != sizeof *rates)
        return fail(UNROLL_USAGE, "the rates were not begun with unroll_rates_default()");
    TRY(instance_run(s->instance, PART_SUM));
    const double *norms = instance_buffer(s->instance, "norms");
    double squared = 0, weight = *(double *)instance_buffer(s->instance, "weight_sum");
    for (int i = 0; i < s->model->parameters; i++)
        squared += norms[i];
    give_rates(s, rates);
    TRY(instance_run(s->instance, PART_UPDATE));
    unroll_status status = unroll_loss_result(s, result);
    result->norm = weight > 0 ? sqrt(squared) / weight : 0;
    if (status == UNROLL_OK && !isfinite(squared)) {
        char where[160];
        locate_in_gradients(s->instance, s->plan, where, sizeof where);
        status = fail(UNROLL_DIVERGED, "the norm of the gradient is %s; first: %s", isnan(squared) ? "NaN" :
                      "infinite", where);
    }
    if (status != UNROLL_OK)
        ((double *)instance_buffer(s->instance, "rates"))[RATE_STEP]--;     /* nothing was updated */
    return status;
}

/* ---- looking inside -------------------------------------------------------------------- */

static const struct buffer *find(const unroll_session *s, const char *name)
{
    int i = plan_find_buffer(s->plan, name);
    const struct buffer *b = i < 0 ? NULL : &s->plan->buffer[i];
    bool real = b && (b->dtype == DTYPE_F32 || b->dtype == DTYPE_F64 || b->dtype == DTYPE_I64);
    return real && b->layout == LAYOUT_DENSE && b->segment != SEG_SCRATCH ? b : NULL;
}

size_t unroll_count(const unroll_session *s, const char *name)
{
    const struct buffer *b = find(s, name);
    return b ? b->bytes / dtype_size(b->dtype) : 0;
}

static unroll_status check_access(const unroll_session *s, const char *name, size_t count, const struct buffer **b)
{
    *b = find(s, name);
    if (!*b || (*b)->dtype == DTYPE_I64)
        return fail(UNROLL_USAGE, "the session has no array '%s' of numbers", name);
    if (count != unroll_count(s, name))
        return fail(UNROLL_USAGE, "'%s' holds %zu numbers, not %zu", name, unroll_count(s, name), count);
    return UNROLL_OK;
}

unroll_status unroll_read(unroll_session *s, const char *name, float *to, size_t count)
{
    const struct buffer *b;
    TRY(check_access(s, name, count, &b));
    reals_to_floats(instance_buffer(s->instance, name), b->dtype, to, count);
    return UNROLL_OK;
}

unroll_status unroll_write(unroll_session *s, const char *name, const float *from, size_t count)
{
    const struct buffer *b;
    TRY(check_access(s, name, count, &b));
    floats_to_reals(from, b->dtype, instance_buffer(s->instance, name), count);
    return b->segment == SEG_PARAM ? instance_run(s->instance, PART_PACK) : UNROLL_OK;
}

unroll_status unroll_clear_states(unroll_session *s)
{
    for (int i = 0; i < s->plan->buffers; i++) {
        const struct buffer *b = &s->plan->buffer[i];
        if (b->segment == SEG_CARRY)
            memset(instance_buffer(s->instance, b->name), 0, b->bytes);
    }
    return UNROLL_OK;
}

unroll_status unroll_session_pull(unroll_session *s)
{
    weights_pull(s->instance, s->plan, s->model->values);
    return UNROLL_OK;
}

unroll_status unroll_session_push(unroll_session *s)
{
    weights_push(s->instance, s->plan, s->model->values);
    return instance_run(s->instance, PART_PACK);
}

void unroll_session_counters(const unroll_session *s, int64_t *forwards, int64_t *updates)
{
    *forwards = ((int64_t *)instance_buffer(s->instance, "run"))[1];
    *updates = (int64_t)((double *)instance_buffer(s->instance, "rates"))[RATE_STEP];
}

void unroll_session_set_counters(unroll_session *s, int64_t forwards, int64_t updates)
{
    ((int64_t *)instance_buffer(s->instance, "run"))[1] = forwards;
    ((double *)instance_buffer(s->instance, "rates"))[RATE_STEP] = (double)updates;
}

uint64_t unroll_session_bytes(const unroll_session *s)
{
    return instance_bytes(s->instance);
}

uint64_t unroll_session_forecast(const unroll_session *s)
{
    uint64_t bytes = 0;
    static const enum segment own[] = { SEG_CARRY, SEG_STEP, SEG_SCRATCH, SEG_IO, SEG_VALUES };
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        bytes += s->plan->segment_bytes[own[i]];
    return bytes;
}

const char *unroll_session_isa(const unroll_session *s)
{
    return s->isa->name;
}

int unroll_session_threads(const unroll_session *s)
{
    return s->threads;
}

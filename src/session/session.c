/* Sessions: a model, a plan and an instance of it on a device, behind the public interface. Checks what
 * comes in, hands it to the instance's buffers, runs parts. No kernel and no strategy is known here. */
#include "base/cpu.h"
#include "base/memory.h"
#include "base/status.h"
#include "optim/optim.h"
#include "comm/comm.h"
#include "session/locate.h"
#include "session/mesh.h"
#include "session/session.h"
#include "session/weights.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- making one ------------------------------------------------------------------------ */

unroll_session_config unroll_session_default(void)
{
    return (unroll_session_config){ .size = sizeof(unroll_session_config), .mode = UNROLL_INFER, .steps = 1,
                                    .rows = 1, .optimizer = "adam", .chunks = 1, .shards = 1 };
}

void *session_host(const unroll_session *s, const char *name)
{
    return s->device->host(s->instance, name);
}

static unroll_status refuse_optimizer(const char *name)
{
    char known[256] = "";
    for (int i = 0; optimizer_at(i); i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", optimizer_at(i)->name);
    }
    return fail(UNROLL_USAGE, "there is no optimizer '%s'; choose one of %s", name ? name : "", known);
}

static const struct { const char *name; enum dtype dtype; } weight_types[] = {
    { "fp32", DTYPE_F32 }, { "bf16", DTYPE_BF16 }, { "int8", DTYPE_I8 },
};
enum { WEIGHT_TYPES = sizeof weight_types / sizeof *weight_types };

static unroll_status find_weights(const char *name, enum dtype *weights)
{
    for (int i = 0; i < WEIGHT_TYPES; i++)
        if (!strcmp(name ? name : "fp32", weight_types[i].name)) {
            *weights = weight_types[i].dtype;
            return UNROLL_OK;
        }
    return fail(UNROLL_USAGE, "weights = '%s': choose one of fp32, bf16, int8", name);
}

static const char *weights_name(enum dtype weights)
{
    int i = 0;
    while (weight_types[i].dtype != weights)
        i++;
    return weight_types[i].name;
}

static unroll_status find_precision(const char *name, const struct device *device, enum precision *precision)
{
    static const char *const names[] = {
#define PRECISION_NAME(NAME, name) #name,
        PRECISIONS(PRECISION_NAME)
#undef PRECISION_NAME
    };
    int i = 0;
    while (i < PRECISION_N && strcmp(name ? name : names[PRECISION_FP32], names[i]))
        i++;
    if (i == PRECISION_N)
        return fail(UNROLL_USAGE, "precision = '%s': choose one of fp32, tf32, bf16, fp16", name);
    if (!(device->precisions & 1u << i))
        return fail(UNROLL_UNSUPPORTED, "precision = %s: products on the device %s don't multiply %s; fix: fp32, or a "
                    "device that does", name, device->name, name);
    *precision = (enum precision)i;
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
    TRY(find_weights(c->weights, &p->weights));
    if (p->weights != DTYPE_F32 && (c->mode == UNROLL_TRAIN || c->mode == UNROLL_MODULE))
        return fail(UNROLL_UNSUPPORTED, "weights = %s: gradients are computed with fp32 weights alone; fix: train in "
                    "fp32, and run or evaluate the model in %s", c->weights, c->weights);
    p->T = (uint32_t)c->steps;
    p->B = (uint32_t)c->rows;
    p->chunks = c->chunks;
    p->lanes = c->lanes;
    p->shards = (uint32_t)c->shards;
    p->lengths = c->lengths;
    p->resets = c->resets;
    p->carry = c->carry;
    p->input_gradient = c->input_gradient;
    p->no_dropout = c->no_dropout;
    TRY(plan_set_checkpoint(p, c->checkpoint_time));
    TRY(mesh_place(c, p));
    if (c->mode != UNROLL_TRAIN)
        return UNROLL_OK;
    p->optimizer = optimizer_find(c->optimizer ? c->optimizer : "");
    if (p->optimizer < 0)
        return refuse_optimizer(c->optimizer);
    p->optimizer_states = optimizer_at(p->optimizer)->states;
    return UNROLL_OK;
}

unroll_status session_clear(unroll_session *s, enum segment segment)
{
    static const char zeros[16384];
    for (int i = 0; i < s->plan->buffers; i++) {
        const struct buffer *b = &s->plan->buffer[i];
        if (b->segment != segment || !b->bytes)
            continue;
        for (uint64_t first = 0; first < b->bytes; first += sizeof zeros) {
            uint64_t rest = b->bytes - first;
            TRY(s->device->write(s->instance, b->name, first, rest < sizeof zeros ? rest : sizeof zeros, zeros));
        }
    }
    return UNROLL_OK;
}

static unroll_status run_part(unroll_session *s, enum part part)
{
    return s->device->run(s->instance, part, part);
}

/* The copies that a backward reads are a session's own: another session may have changed the weights. */
static unroll_status keep_up(unroll_session *s)
{
    if (s->packed == s->model->changes)
        return UNROLL_OK;
    TRY(run_part(s, PART_PACK));
    s->packed = s->model->changes;
    return UNROLL_OK;
}

unroll_status session_pack(unroll_session *s)
{
    s->model->changes++;
    return keep_up(s);
}

/* All sessions of a model use one store: one device, one type of numbers. */
static unroll_status join_store(struct unroll_session *s)
{
    struct unroll_model *m = s->model;
    if (s->config.mode == UNROLL_TRAIN && m->training)
        return fail(UNROLL_UNSUPPORTED, "the model is being trained by another session: it has one optimizer at a "
                    "time; free that session first");
    if (m->store && (m->device != s->device || m->store_real != s->plan->config.real))
        return fail(UNROLL_UNSUPPORTED, "the model has sessions in %s on %s: all of its sessions compute alike",
                    dtype_name(m->store_real), m->device->name);
    if (m->store && m->store_weights != s->plan->config.weights)
        return fail(UNROLL_UNSUPPORTED, "the model has sessions with its weights in %s: all of its sessions keep them "
                    "alike; free those first, or load the model twice", weights_name(m->store_weights));
    if (m->store)
        return UNROLL_OK;
    TRY(s->device->store_new(s->plan, &m->store));
    m->device = s->device;
    m->store_real = s->plan->config.real;
    m->store_weights = s->plan->config.weights;
    return UNROLL_OK;
}

static void leave_store(struct unroll_session *s)
{
    if (s->model->sessions > 0 || !s->model->store)
        return;
    s->device->store_free(s->model->store);
    s->model->store = NULL;
}

static unroll_status open_instance(struct unroll_session *s, const struct device_options *options)
{
    bool first = s->model->sessions == 0;
    TRY(join_store(s));
    unroll_status status = s->device->instance_new(s->plan, s->model->store, options, &s->instance);
    if (status == UNROLL_OK && first)
        status = unroll_session_push(s);
    if (status == UNROLL_OK && s->config.mode == UNROLL_TRAIN)          /* nothing of an earlier training */
        status = session_clear(s, SEG_OPT);
    if (status == UNROLL_OK && s->config.mode == UNROLL_TRAIN)
        status = session_clear(s, SEG_GRAD);
    if (status == UNROLL_OK) {
        s->model->sessions++;
        s->model->training |= s->config.mode == UNROLL_TRAIN;
        return UNROLL_OK;
    }
    if (s->instance)
        s->device->instance_free(s->instance);
    s->instance = NULL;
    leave_store(s);
    return status;
}

/* The weights' memory counts with the session that makes it. */
static unroll_status check_memory(const struct unroll_session *s)
{
    const uint64_t *bytes = s->plan->segment_bytes;
    uint64_t limit = s->config.memory ? s->config.memory : unroll_memory_limit(), needed = unroll_session_forecast(s);
    if (!s->model->store)
        needed += bytes[SEG_PARAM] + bytes[SEG_COPY] + bytes[SEG_OPT] + bytes[SEG_GRAD];
    if (needed <= limit)
        return UNROLL_OK;
    return fail(UNROLL_RESOURCE, "%d steps of %d rows need %.1f MB and the memory limit is %.1f MB; fix: fewer steps "
                "at once (--bptt), fewer rows (--batch), --checkpoint-time auto, a smaller network, or a higher limit "
                "(--memory)",
                s->config.steps, s->config.rows, (double)needed / 1e6, (double)limit / 1e6);
}

/* Ranks that share a machine share its processors. */
static int threads_for(const struct unroll_session *s)
{
    int processors = cpu_count() / comm_local_ranks();
    if (s->config.threads || !is_one_of_many(s))
        return s->config.threads;
    return processors > 1 ? processors : 1;
}

/* What this rank can find out by itself. */
static unroll_status prepare_session(struct unroll_session *s, struct plan_config *plan_config)
{
    const char *used = s->model->store ? s->model->device->name : "cpu", *which;
    const char *name = s->config.device ? s->config.device : used;
    s->device = device_find(name, &which);
    if (!s->device)
        return fail(UNROLL_UNSUPPORTED, "this build has no device '%s'; it has cpu and xla", name);
    if (s->config.threads < 0 || s->config.threads > 1024)
        return fail(UNROLL_USAGE, "threads = %d is outside 0..1024 (0: one for each processor)", s->config.threads);
    if (s->config.profile && !s->device->time)
        return fail(UNROLL_UNSUPPORTED, "profile: %s takes no times of operations; fix: use the cpu", name);
    TRY(make_config(&s->config, plan_config));
    TRY(find_precision(s->config.precision, s->device, &plan_config->precision));
    plan_config->packed = s->device->packed;
    int threads = threads_for(s);
    if (s->config.lanes == 0)
        plan_config->lanes = plan_lanes_for(s->model, plan_config, threads ? threads : cpu_count());
    TRY(plan_new(s->model, plan_config, &s->plan));
    if (is_one_of_many(s))
        TRY(mesh_check(s->model, plan_config));
    TRY(check_memory(s));
    TRY(open_instance(s, &(struct device_options){ .which = which, .isa = s->config.isa, .threads = threads,
                                                    .comm = is_one_of_many(s) ? s->config.comm : NULL,
                                                    .profile = s->config.profile != 0 }));
    ((int64_t *)session_host(s, "run"))[0] = (int64_t)s->config.seed;
    return UNROLL_OK;
}

static unroll_status open_session(struct unroll_session *s)
{
    struct plan_config plan_config = plan_config_default();
    unroll_status status = prepare_session(s, &plan_config);
    TRY(comm_agree(s->config.comm, status, mesh_fingerprint(s->model, &plan_config),
                   "the model, the batch or the way it is cut is"));
    return mesh_join(s);
}

unroll_status unroll_session_new(unroll_model *model, const unroll_session_config *config, unroll_session **session)
{
    if (!model)
        return fail(UNROLL_USAGE, "a session needs a model");
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
    if (s->instance) {
        s->model->training &= s->config.mode != UNROLL_TRAIN;
        if (--s->model->sessions == 0 && !is_one_of_many(s))    /* which can't wait for the others here */
            unroll_session_pull(s);                     /* what was learnt stays in the model */
        s->device->instance_free(s->instance);
        leave_store(s);
    }
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

/* An exponent of ones carries into the sign. In blocks of known size, which compilers turn into vector code. */
static bool all_finite(const float *x, size_t n)
{
    enum { BLOCK = 16 };
    uint32_t carried[BLOCK] = { 0 }, any = 0, bits[BLOCK] = { 0 };
    for (size_t i = 0; i < n; i += BLOCK) {
        memcpy(bits, x + i, (n - i < BLOCK ? n - i : BLOCK) * sizeof *x);
        for (size_t j = 0; j < BLOCK; j++)
            carried[j] |= (bits[j] & 0x7f800000u) + 0x00800000u;
    }
    for (size_t j = 0; j < BLOCK; j++)
        any |= carried[j];
    return any < 0x80000000u;
}

static unroll_status refuse_numbers(const float *x, const char *name, int t, int row, int width)
{
    int i = 0;
    while (i < width - 1 && isfinite(x[i]))
        i++;
    return fail(UNROLL_DATA, "%s[t=%d, row=%d, %d] is %s", name, t, row, i, isnan(x[i]) ? "NaN" : "infinite");
}

static unroll_status check_floats(const unroll_session *s, const unroll_batch *b, const float *array,
                                  const char *name, int width)
{
    size_t all = (size_t)s->config.steps * (size_t)s->config.rows * (size_t)width;
    if (!array || (!s->config.lengths && all_finite(array, all)))
        return UNROLL_OK;
    for (int t = 0; t < s->config.steps; t++)
        for (int row = 0; row < s->config.rows; row++, array += width)
            if (counts(s, b, t, row) && !all_finite(array, (size_t)width))
                return refuse_numbers(array, name, t, row, width);
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

/* Arrays of the whole batch: a rank takes its own rows. */
static size_t row_of(const unroll_session *s, int t, uint32_t row)
{
    return (size_t)t * (size_t)s->config.rows + s->plan->first_row + row;
}

static void take_integers(unroll_session *s, const unroll_batch *b, const int32_t *array, const char *name)
{
    int32_t *to = array ? session_host(s, name) : NULL;
    for (int t = 0; to && t < s->config.steps; t++)
        for (uint32_t row = 0; row < s->plan->rows; row++)
            *to++ = counts(s, b, t, (int)(s->plan->first_row + row)) ? array[row_of(s, t, row)] : -1;
}

/* What lies beyond a row's length becomes zero, so that nothing there can reach a sum. */
static void take_floats(unroll_session *s, const unroll_batch *b, const float *array, const char *name, size_t width)
{
    char *to = array ? session_host(s, name) : NULL;
    size_t size = width * dtype_size(s->plan->config.real);
    if (to && !s->config.lengths && (int)s->plan->rows == s->config.rows) {
        floats_to_reals(array, s->plan->config.real, to, (size_t)s->config.steps * (size_t)s->config.rows * width);
        return;
    }
    for (int t = 0; to && t < s->config.steps; t++)
        for (uint32_t row = 0; row < s->plan->rows; row++, to += size) {
            if (counts(s, b, t, (int)(s->plan->first_row + row)))
                floats_to_reals(array + row_of(s, t, row) * width, s->plan->config.real, to, width);
            else
                memset(to, 0, size);
        }
}

static void take_batch(unroll_session *s, const unroll_batch *b)
{
    const unroll_spec *spec = &s->model->spec;
    int32_t *lengths = b->lengths ? session_host(s, "lengths") : NULL;
    uint8_t *reset = b->reset ? session_host(s, "reset") : NULL;
    take_integers(s, b, b->tokens, "tokens");
    take_integers(s, b, b->classes, "targets");
    take_floats(s, b, b->inputs, "x", (size_t)spec->input);
    take_floats(s, b, b->values, "targets", (size_t)spec->output);
    if (lengths)
        memcpy(lengths, b->lengths + s->plan->first_row, s->plan->rows * sizeof *lengths);
    for (int t = 0; reset && t < s->config.steps; t++, reset += s->plan->rows)
        memcpy(reset, b->reset + row_of(s, t, 0), s->plan->rows);
}

/* ---- running --------------------------------------------------------------------------- */

/* A loss that is not finite is reported at once, while the activations that made it are there. */
static unroll_status check_loss(unroll_session *s)
{
    char where[160];
    double *sum = session_host(s, "loss_sum"), loss = *sum;
    if (isfinite(loss))
        return UNROLL_OK;
    *sum = *(double *)session_host(s, "weight_sum") = 0;
    s->forwarded = false;
    locate_in_forward(s->device, s->instance, s->plan, where, sizeof where);
    return fail(UNROLL_DIVERGED, "the loss is %s%s%s", isnan(loss) ? "NaN" : "infinite",
                *where ? "; first bad value: " : "", where);
}

/* The sums of losses so far leave VALUES: what comes now divides by its own weight. */
static void set_aside(unroll_session *s)
{
    double *loss = session_host(s, "loss_sum"), *weight = session_host(s, "weight_sum");
    s->loss += *loss;
    s->weight += *weight;
    s->last_weight = *loss = *weight = 0;
}

static unroll_status take_checked(unroll_session *s, const unroll_batch *batch)
{
    if (!s || !batch)
        return fail(UNROLL_USAGE, "a forward needs a session and a batch");
    TRY(check_batch(s, batch));
    take_batch(s, batch);
    int64_t *run = session_host(s, "run");
    run[1]++;                                           /* each forward draws its own dropout masks */
    s->forwarded = false;
    return UNROLL_OK;
}

unroll_status unroll_forward(unroll_session *s, const unroll_batch *batch)
{
    TRY(take_checked(s, batch));
    if (s->last_weight > 0)
        set_aside(s);
    TRY(run_part(s, PART_FORWARD));
    s->forwarded = true;
    bool looks = s->config.mode == UNROLL_TRAIN || (s->config.mode == UNROLL_EVAL && !s->device->whole_steps);
    return looks && !is_one_of_many(s) ? check_loss(s) : UNROLL_OK;     /* the others find it in the sum */
}

static unroll_status start_backward(unroll_session *s)
{
    if (s->config.mode != UNROLL_TRAIN && s->config.mode != UNROLL_MODULE)
        return fail(UNROLL_USAGE, "this session was made to run, not to train (mode)");
    if (!s->forwarded)
        return fail(UNROLL_USAGE, "a backward needs a forward before it, and each forward has one backward");
    s->forwarded = false;
    s->summing = true;
    if (s->config.mode == UNROLL_MODULE)                /* a module's gradients are those of one backward */
        TRY(session_clear(s, SEG_GRAD));
    return keep_up(s);
}

unroll_status unroll_backward(unroll_session *s)
{
    TRY(start_backward(s));
    return s->device->run(s->instance, PART_BACKWARD, s->config.mode == UNROLL_MODULE ? PART_SUM : PART_BACKWARD);
}

/* Of all that was set aside. */
static unroll_result take_result(unroll_session *s)
{
    unroll_result result = { .loss = s->weight > 0 ? s->loss / s->weight : 0, .weight = s->weight };
    s->loss = s->weight = 0;
    return result;
}

static unroll_status take_loss(unroll_session *s, unroll_result *result)
{
    set_aside(s);
    *result = take_result(s);
    return isfinite(result->loss) ? UNROLL_OK : fail(UNROLL_DIVERGED, "the loss is %s", isnan(result->loss) ?
                                                     "NaN" : "infinite");
}

/* The sum of the squared norms, each of the sum of a parameter's gradients. */
static double squared_norm(const unroll_session *s)
{
    const double *norms = session_host(s, "norms");
    double squared = 0;
    for (int i = 0; i < s->model->parameters; i++)
        squared += norms[i];
    return squared;
}

/* Of whole steps that nobody looked at since. */
static unroll_status take_steps(unroll_session *s, unroll_result *result)
{
    double norm = sqrt(squared_norm(s)) / s->last_weight;
    if (take_loss(s, result) != UNROLL_OK)
        return fail(UNROLL_DIVERGED, "the loss, or the norm of a gradient, of the last step or one before it that was "
                    "not looked at is %s; fix: a lower learning rate, or look at each step to see which (--loss-every 1)",
                    isnan(result->loss) ? "NaN" : "infinite");
    result->norm = norm;
    return UNROLL_OK;
}

unroll_status unroll_loss_result(unroll_session *s, unroll_result *result)
{
    if (s->config.mode != UNROLL_TRAIN && s->config.mode != UNROLL_EVAL)
        return fail(UNROLL_USAGE, "this session computes no loss (mode)");
    if (is_one_of_many(s) && s->config.mode == UNROLL_TRAIN && s->weight == 0)
        return fail(UNROLL_UNSUPPORTED, "a session that trains on several ranks has its loss from unroll_update");
    if (is_one_of_many(s) && s->config.mode == UNROLL_EVAL)
        TRY(run_part(s, PART_SUM));
    return s->last_weight > 0 ? take_steps(s, result) : take_loss(s, result);
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
    double *rates = session_host(s, "rates");
    rates[RATE_LR] = r->learning_rate;
    rates[RATE_MOMENTUM] = r->momentum;
    rates[RATE_BETA1] = r->beta1;
    rates[RATE_BETA2] = r->beta2;
    rates[RATE_EPS] = r->epsilon;
    rates[RATE_DECAY] = r->decay;
    rates[RATE_CLIP] = r->clip;
    rates[RATE_STEP]++;
}

static unroll_status check_training(const unroll_session *s, const unroll_rates *rates)
{
    if (s->config.mode != UNROLL_TRAIN)
        return fail(UNROLL_USAGE, "this session was not made to train (mode)");
    if (!rates || rates->size != sizeof *rates)
        return fail(UNROLL_USAGE, "the rates were not begun with unroll_rates_default()");
    return UNROLL_OK;
}

/* After an update: are its numbers finite? Else nothing was updated. */
static unroll_status check_update(unroll_session *s, double squared)
{
    char where[160];
    if (isfinite(s->loss) && isfinite(squared))
        return UNROLL_OK;
    ((double *)session_host(s, "rates"))[RATE_STEP]--;
    if (!isfinite(s->loss))
        return fail(UNROLL_DIVERGED, "the loss is %s", isnan(s->loss) ? "NaN" : "infinite");
    locate_in_gradients(s->device, s->instance, s->plan, where, sizeof where);
    return fail(UNROLL_DIVERGED, "the norm of the gradient is %s; first: %s", isnan(squared) ? "NaN" : "infinite", where);
}

/* The parts from first on: SUM, or BACKWARD, which ranks then overlap with their sums. */
static unroll_status run_update(unroll_session *s, enum part first, const unroll_rates *rates, unroll_result *result)
{
    give_rates(s, rates);
    TRY(s->device->run(s->instance, first, PART_UPDATE));
    s->summing = false;
    s->packed = ++s->model->changes;
    double squared = squared_norm(s), weight = *(double *)session_host(s, "weight_sum");
    set_aside(s);
    unroll_status status = check_update(s, squared);
    if (!result && status == UNROLL_OK)
        return UNROLL_OK;                                       /* for unroll_loss_result */
    unroll_result found = take_result(s);
    found.norm = weight > 0 ? sqrt(squared) / weight : 0;
    if (result)
        *result = found;
    return status;
}

unroll_status unroll_update(unroll_session *s, const unroll_rates *rates, unroll_result *result)
{
    TRY(check_training(s, rates));
    return run_update(s, PART_SUM, rates, result);
}

/* Rows that the loss counts. */
static double weight_of(const unroll_session *s, const unroll_batch *b)
{
    double weight = 0;
    for (int t = 0; t < s->config.steps; t++)
        for (int row = 0; row < s->config.rows; row++)
            weight += counts(s, b, t, row) && (!b->classes || b->classes[t * s->config.rows + row] >= 0);
    return weight;
}

unroll_status unroll_step(unroll_session *s, const unroll_batch *batch, const unroll_rates *rates,
                          unroll_result *result)
{
    if (!s || !batch)
        return fail(UNROLL_USAGE, "a step needs a session and a batch");
    TRY(check_training(s, rates));
    if (!s->device->whole_steps || s->summing || is_one_of_many(s)) {
        TRY(unroll_forward(s, batch));
        TRY(start_backward(s));
        return run_update(s, PART_BACKWARD, rates, result);
    }
    TRY(take_checked(s, batch));
    double weight = weight_of(s, batch);
    if (s->last_weight == 0)
        set_aside(s);                                           /* of forwards without an update */
    give_rates(s, rates);
    TRY(s->device->run(s->instance, PART_FORWARD, PART_UPDATE));
    s->packed = ++s->model->changes;
    s->last_weight = weight > 0 ? weight : 1;
    return result ? unroll_loss_result(s, result) : UNROLL_OK;
}

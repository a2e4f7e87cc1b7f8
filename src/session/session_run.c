/* Runs a session: phases, whole steps, and their losses and norms. */
#include "base/system/processor.h"
#include "base/sized.h"
#include "base/status.h"
#include "nn/optim/optim.h"
#include "session/locate.h"
#include "session/mesh.h"
#include <math.h>
#include <string.h>

/* Returns sums of a run. The host waits here for the device, which reports its errors. */
static unroll_status look_at(const unroll_session *s, const char *name, double **sums)
{
    TRY(s->device->wait ? s->device->wait(s->executable) : UNROLL_OK);
    *sums = session_host(s, name);
    return *sums ? UNROLL_OK : UNROLL_RESOURCE; /* the device has set the error */
}

/* Reports a loss that is not finite immediately, while its activations still exist. */
static unroll_status check_loss(unroll_session *s)
{
    char where[160];
    double *sum, *weight, loss;
    TRY(look_at(s, "loss_sum", &sum));
    TRY(look_at(s, "weight_sum", &weight));
    loss = *sum;
    if (isfinite(loss))
        return UNROLL_OK;
    *sum = *weight = 0;
    s->forwarded = false;
    locate_in_forward(s->device, s->executable, s->plan, where, sizeof where);
    return fail(UNROLL_DIVERGED, "the loss is %s%s%s; fix: use a lower learning rate", isnan(loss) ? "NaN" : "infinite",
                *where ? "; first bad value: " : "", where);
}

/* Adds a run's results to those not yet returned: sums of losses, and the norm of the last update. */
static unroll_status collect(unroll_session *s)
{
    double *loss, *weight, *norms, squared = 0;
    TRY(look_at(s, "loss_sum", &loss));
    TRY(look_at(s, "weight_sum", &weight));
    s->loss += *loss;
    s->weight += *weight;
    *loss = *weight = 0;
    if (s->last_weight == 0)
        return UNROLL_OK;
    TRY(look_at(s, "norms", &norms));
    for (int i = 0; i < s->model->parameters; i++) /* each is the sum of squares of a parameter's gradients */
        squared += norms[i];
    s->norm = sqrt(squared) / s->last_weight;
    s->last_weight = 0;
    return UNROLL_OK;
}

unroll_status session_take_over(unroll_session *s)
{
    unroll_session *last = s->shared->trainer;
    double *from, *to;
    if (s->config.mode != UNROLL_TRAIN || last == s || last == NULL)
        return UNROLL_OK;
    static const char *const sums[] = {"loss_sum", "weight_sum"};
    for (int i = 0; i < 2 && last->summing; i++) { /* the update divides by the weight of all summed rows */
        TRY(look_at(last, sums[i], &from));
        TRY(look_at(s, sums[i], &to));
        *to += *from;
        *from = 0;
    }
    TRY(collect(last));
    s->summing |= last->summing;
    s->loss += last->loss, s->weight += last->weight, s->norm = last->norm;
    last->summing = last->forwarded = false;
    last->loss = last->weight = last->norm = 0;
    s->shared->trainer = s;
    const double *rates = session_host(last, "rates");
    unroll_session_set_counters(s, ((const int64_t *)session_host(last, "run"))[1], (int64_t)rates[RATE_STEP]);
    unroll_session_set_loss_scale(s, rates[RATE_SCALE], (int64_t)rates[RATE_GOOD]);
    return UNROLL_OK;
}

/* Checks that the collected numbers are finite. If not, nothing was updated. */
static unroll_status check_collected(const unroll_session *s)
{
    char where[160];
    if (isfinite(s->loss) && isfinite(s->norm))
        return UNROLL_OK;
    if (s->device->whole_steps && s->config.mode == UNROLL_TRAIN)
        return fail(UNROLL_DIVERGED,
                    "the loss, or the norm of a gradient, of the last step or of an earlier step whose result was "
                    "not read is %s; fix: use a lower learning rate, or read the result of each step to find the "
                    "first",
                    isnan(s->loss) || isnan(s->norm) ? "NaN" : "infinite");
    if (!isfinite(s->loss))
        return fail(UNROLL_DIVERGED, "the loss is %s; fix: use a lower learning rate",
                    isnan(s->loss) ? "NaN" : "infinite");
    locate_in_gradients(s->device, s->executable, s->plan, where, sizeof where);
    return fail(UNROLL_DIVERGED,
                "the norm of the gradient is %s; first: %s; fix: use a lower learning rate, or `clip` 1",
                isnan(s->norm) ? "NaN" : "infinite", where);
}

/* Sets the caller's result, unless NULL, and resets the sums. */
static void give_result(unroll_session *s, unroll_result *to)
{
    const unroll_result result = {sizeof result, s->weight > 0 ? s->loss / s->weight : 0, s->weight, s->norm};
    s->loss = s->weight = s->norm = 0;
    if (to)
        sized_give(&result, sizeof result, to);
}

/* Checks the batch, if one is given, and copies it. Does not change the session if the batch is invalid. */
static unroll_status take_checked(unroll_session *s, const unroll_batch *batch)
{
    if (!s || (!batch && !s->has_batch))
        return fail(UNROLL_USAGE, "a forward needs a session and a batch; fix: give both");
    TRY(session_check(s));
    TRY(session_take_over(s));
    if (batch) {
        unroll_batch taken = {.size = sizeof taken};
        TRY(sized_take(SIZED_RESULT(unroll_batch), batch, &taken));
        TRY(batch_check(s, &taken));
        batch_take(s, &taken);
        s->has_batch = true;
    }
    int64_t *run = session_host(s, "run");
    run[1]++; /* each forward pass draws new dropout masks */
    s->forwarded = false;
    return UNROLL_OK;
}

unroll_status unroll_session_forward(unroll_session *s, const unroll_batch *batch)
{
    TRY(take_checked(s, batch));
    if (s->last_weight > 0)
        TRY(collect(s)); /* the next results have another weight */
    TRY(session_keep_up(s));
    TRY(session_run(s, PHASE_FORWARD, PHASE_FORWARD));
    s->forwarded = true;
    bool looks = s->config.mode == UNROLL_TRAIN || (s->config.mode == UNROLL_EVAL && !s->device->whole_steps);
    return looks && !is_one_of_many(s) ? check_loss(s) : UNROLL_OK; /* several ranks check the sum */
}

/* Checks that a forward pass is pending and prepares its backward pass. */
static unroll_status start_backward(unroll_session *s)
{
    if (s->config.mode != UNROLL_TRAIN && s->config.mode != UNROLL_MODULE)
        return fail(UNROLL_USAGE,
                    "this session was created to run, not to train; fix: set mode = UNROLL_TRAIN or UNROLL_MODULE");
    TRY(session_check(s));
    if (!s->forwarded)
        return fail(UNROLL_USAGE,
                    "each backward needs one forward before it; fix: call unroll_session_forward before each "
                    "unroll_session_backward");
    s->forwarded = false;
    s->summing = true;
    if (!session_updates(s)) /* a module's gradients are those of one backward pass */
        TRY(session_clear(s, SEG_GRAD));
    return session_keep_up(s);
}

unroll_status unroll_session_backward(unroll_session *s)
{
    TRY(start_backward(s));
    return session_run(s, PHASE_BACKWARD, session_updates(s) ? PHASE_BACKWARD : PHASE_SUM);
}

unroll_status unroll_session_result(unroll_session *s, unroll_result *result)
{
    TRY(sized_check(SIZED_RESULT(unroll_result), result));
    if (s->config.mode != UNROLL_TRAIN && s->config.mode != UNROLL_EVAL)
        return fail(UNROLL_USAGE, "this session does not compute a loss; fix: set mode = UNROLL_EVAL or UNROLL_TRAIN");
    TRY(session_check(s));
    TRY(session_take_over(s));
    if (is_one_of_many(s) && s->config.mode == UNROLL_TRAIN && s->weight == 0 && s->last_weight == 0)
        return fail(UNROLL_UNSUPPORTED,
                    "a session that trains on several ranks returns its loss from unroll_session_update; fix: read the "
                    "result of unroll_session_update");
    if (is_one_of_many(s) && s->config.mode == UNROLL_EVAL)
        TRY(session_run(s, PHASE_SUM, PHASE_SUM));
    TRY(collect(s));
    unroll_status status = check_collected(s);
    give_result(s, result);
    return status;
}

static const struct optimizer *optimizer_of(const unroll_session *s) { return optimizer_at(s->plan->config.optimizer); }

static void give_rates(unroll_session *s, const unroll_hyperparameters *r)
{
    double *rates = session_host(s, "rates");
    rates[RATE_CLIP] = r->clip;
    rates[RATE_STEP]++;
    optimizer_of(s)->make_numbers(r->learning_rate, rates[RATE_STEP], r->hyperparameter, rates + RATE_NUMBERS);
}

static unroll_status check_rate(const char *name, double value, double min, double max)
{
    return value >= min && value <= max
               ? UNROLL_OK
               : fail(UNROLL_USAGE, "%s = %g is outside %g .. %g; fix: use a value in this range", name, value, min,
                      max);
}

/* Refuses rates that could make the weights NaN or infinite as floats, before they change. */
static unroll_status check_rates(const unroll_session *s, const unroll_hyperparameters *r)
{
    const struct optimizer *of = optimizer_of(s);
    if (!r->optimizer || strcmp(r->optimizer, of->name))
        return fail(UNROLL_USAGE,
                    "the session was created to train with %s, not with %s; fix: use "
                    "unroll_hyperparameters_default(\"%s\")",
                    of->name, r->optimizer ? r->optimizer : "an unknown optimizer", of->name);
    TRY(check_rate("learning_rate", r->learning_rate, 0, 1e30));
    for (int i = 0; of->hyperparameter[i].name; i++) {
        const struct hyperparameter *h = &of->hyperparameter[i];
        TRY(check_rate(h->name, r->hyperparameter[i], h->min, h->max));
    }
    return check_rate("clip", r->clip, 0, INFINITY);
}

/* Checks the arguments of an update and converts its rates. */
static unroll_status check_training(unroll_session *s, const unroll_hyperparameters *given, const unroll_result *result,
                                    unroll_hyperparameters *rates)
{
    if (!session_updates(s))
        return fail(UNROLL_USAGE,
                    "this session was not created to train; fix: set mode = UNROLL_TRAIN, or updates = 1 with mode = "
                    "UNROLL_MODULE");
    *rates = unroll_hyperparameters_default(optimizer_of(s)->name);
    TRY(sized_take(SIZED(unroll_hyperparameters, "unroll_hyperparameters_default()"), given, rates));
    if (result)
        TRY(sized_check(SIZED_RESULT(unroll_result), result));
    TRY(session_check(s));
    TRY(session_take_over(s));
    return check_rates(s, rates);
}

static void take_back_rates(unroll_session *s) { ((double *)session_host(s, "rates"))[RATE_STEP]--; }

/* Runs an update with an exchange of gradients before it. */
static unroll_status run_in_turns(unroll_session *s, enum phase first, const unroll_hyperparameters *rates)
{
    struct turn turn = {.rates = rates, .update = (int64_t)((double *)session_host(s, "rates"))[RATE_STEP]};
    TRY(session_run(s, first, PHASE_SUM));
    TRY(look_at(s, "loss_sum", &turn.sums[0]));
    TRY(look_at(s, "weight_sum", &turn.sums[1]));
    TRY(look_at(s, "norms", &turn.norms));
    const uint64_t mode = cpu_flush_denormals(); /* as in the plan's own sums */
    unroll_status status = s->between(s->between_arg, s, &turn);
    cpu_restore_float_mode(mode);
    TRY(status);
    return turn.updated ? UNROLL_OK : session_run(s, PHASE_UPDATE, PHASE_UPDATE);
}

/* Runs the phases from `first` to the update. `weight` is that of a whole step, 0 otherwise. Without `result`, a whole
 * step may still run when this returns (unroll_session_result). */
static unroll_status run_update(unroll_session *s, enum phase first, double weight, const unroll_hyperparameters *rates,
                                unroll_result *result)
{
    double *weight_sum;
    give_rates(s, rates);
    unroll_status status = s->between ? run_in_turns(s, first, rates) : session_run(s, first, PHASE_UPDATE);
    if (status != UNROLL_OK) {
        take_back_rates(s);
        return status;
    }
    s->packed = ++s->shared->changes;
    s->summing = false;
    s->last_weight = weight;
    if (weight > 0 && !result)
        return UNROLL_OK;
    if (weight == 0) {
        TRY(look_at(s, "weight_sum", &weight_sum));
        s->last_weight = *weight_sum > 0 ? *weight_sum : 1;
    }
    TRY(collect(s));
    status = check_collected(s);
    if (status != UNROLL_OK)
        take_back_rates(s);
    if (result || status != UNROLL_OK)
        give_result(s, result);
    return status;
}

unroll_status unroll_session_update(unroll_session *s, const unroll_hyperparameters *given, unroll_result *result)
{
    unroll_hyperparameters rates;
    TRY(check_training(s, given, result, &rates));
    if (s->config.updates) /* the caller wrote the gradient itself, not a sum over rows */
        *(double *)session_host(s, "weight_sum") = s->summing;
    return run_update(s, PHASE_SUM, 0, &rates, result);
}

/* Returns the weight of a row in the loss; for numeric targets, the fraction that is not NaN. */
static double weight_of_row(const unroll_session *s, const unroll_batch *b, size_t at)
{
    const float *class_weight = s->config.class_weights;
    const int n = unroll_model_targets(s->model);
    int counted = 0;
    if (b->targets)
        return b->targets[at] < 0 ? 0 : class_weight ? (double)class_weight[b->targets[at]] : 1;
    for (int i = 0; i < n; i++) counted += !isnan(b->target_values[at * (size_t)n + (size_t)i]);
    return (double)counted / n;
}

static double weight_of(const unroll_session *s, const unroll_batch *b)
{
    double weight = 0;
    const int steps = model_is_pooled(s->model) ? 1 : s->config.steps;
    for (int t = 0; t < steps; t++)
        for (int row = 0; row < s->config.rows; row++)
            if (batch_counts(s, b, t, row))
                weight += weight_of_row(s, b, batch_place(s, t, (uint32_t)row));
    return weight;
}

unroll_status unroll_session_step(unroll_session *s, const unroll_batch *batch, const unroll_hyperparameters *given,
                                  unroll_result *result)
{
    unroll_hyperparameters rates;
    unroll_batch taken = {.size = sizeof taken};
    if (!s || !batch)
        return fail(UNROLL_USAGE, "a step needs a session and a batch; fix: give both");
    if (s->config.mode == UNROLL_MODULE)
        return fail(UNROLL_USAGE,
                    "a session in mode module has no loss; fix: call unroll_session_forward, unroll_session_write "
                    "(the gradient of its outputs), unroll_session_backward, unroll_session_update");
    TRY(check_training(s, given, result, &rates));
    if (!s->device->whole_steps || s->staged || s->summing) {
        TRY(unroll_session_forward(s, batch));
        TRY(start_backward(s));
        return run_update(s, PHASE_BACKWARD, 0, &rates, result);
    }
    TRY(sized_take(SIZED_RESULT(unroll_batch), batch, &taken));
    TRY(take_checked(s, &taken));
    double weight = weight_of(s, &taken);
    unroll_status status = run_update(s, PHASE_FORWARD, weight > 0 ? weight : 1, &rates, result);
    if (status != UNROLL_OK && status != UNROLL_DIVERGED)
        ((int64_t *)session_host(s, "run"))[1]--;
    return status;
}

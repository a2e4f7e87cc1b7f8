/* Runs a trainer: updates from one or several batches, validation, and the final test. The caller decides when to
 * validate, save, print or stop. */
#include "base/sized.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "comm/comm.h"
#include "model/model.h"
#include "session/session.h"
#include "train/trainer.h"

/* ---- stepping ---- */

void unroll_trainer_set_total_steps(unroll_trainer *trainer, int64_t total_steps)
{
    trainer->total_steps = total_steps;
}

static unroll_hyperparameters rates_now(const unroll_trainer *trainer)
{
    unroll_hyperparameters rates = trainer->config.rates;
    struct schedule_moment moment = {trainer->state.step, trainer->config.warmup, trainer->total_steps,
                                     &trainer->state.plateau};
    rates.learning_rate *= schedule_factor(trainer->schedule, &moment);
    return rates;
}

/* Trains as usual, and lets another rank repeat the gradients of the update's first batch. */
static unroll_status train_twice(unroll_trainer *trainer, const struct filled *filled,
                                 const unroll_hyperparameters *rates, unroll_result *result)
{
    unroll_session *session = trainer->sessions.session[filled->shape];
    struct twice *twice = trainer->twice[filled->shape];
    trainer->checks = false;
    TRY(twice_begin(twice, &filled->batch));
    TRY(unroll_session_forward(session, &filled->batch));
    TRY(unroll_session_backward(session));
    TRY(twice_compare(twice, &trainer->wrong, &trainer->suspects));
    return rates ? unroll_session_update(session, rates, result) : UNROLL_OK;
}

/* Trains on one batch; with `rates`, makes the update that it completes. */
static unroll_status train_on_batch(unroll_trainer *trainer, struct cursor *cursor, int64_t *items,
                                    const unroll_hyperparameters *rates, unroll_result *result)
{
    const struct filled *filled = feed_take(&trainer->feed, cursor->epoch, cursor->window);
    unroll_session *session = trainer->sessions.session[filled->shape];
    if (filled->arrays.begins || !trainer->config.stateful)
        TRY(unroll_session_reset(session));
    *items += filled->arrays.items;
    if (++cursor->window == trainer->part->batches)
        *cursor = (struct cursor){cursor->epoch + 1, 0};
    if (trainer->checks && trainer->twice[filled->shape])
        return train_twice(trainer, filled, rates, result);
    if (rates)
        return unroll_session_step(session, &filled->batch, rates, result);
    TRY(unroll_session_forward(session, &filled->batch));
    return unroll_session_backward(session);
}

/* Trains on the batches of one update, which does not extend beyond the end of an epoch. */
static unroll_status train_on_batches(unroll_trainer *trainer, const unroll_hyperparameters *rates,
                                      unroll_result *result)
{
    struct trainer_state *state = &trainer->state;
    struct cursor cursor = state->cursor;
    int64_t items = 0, left = trainer->part->batches - cursor.window;
    for (left = left < trainer->config.accumulate ? left : trainer->config.accumulate; left > 0; left--)
        TRY(train_on_batch(trainer, &cursor, &items, left == 1 ? rates : NULL, result));
    state->cursor = cursor;
    state->items += items;
    return UNROLL_OK;
}

/* True in the first step of a process, and in every step that is a multiple of the interval. */
static bool is_time_to_sync(const unroll_trainer *trainer)
{
    return !trainer->synced || (trainer->state.step + 1) % trainer->sync_interval == 0;
}

/* Fills in the progress. The caller has set its size. */
unroll_status unroll_trainer_progress(const unroll_trainer *trainer, unroll_progress *progress)
{
    const struct trainer_state *state = &trainer->state;
    const double unit = trainer->part->loss_unit;
    TRY(sized_check(SIZED_RESULT(unroll_progress), progress));
    const unroll_progress now = {sizeof now,
                                 .step = state->step,
                                 .epoch = (double)state->cursor.epoch +
                                          (double)state->cursor.window / (double)trainer->part->batches,
                                 .loss = trainer->result.loss * (unit > 0 ? unit : 1),
                                 .norm = trainer->result.norm,
                                 .learning_rate = state->learning_rate,
                                 .items = state->items,
                                 .item = trainer->task->item(trainer->data),
                                 .steps_per_epoch = trainer_steps_per_epoch(trainer),
                                 .best_validation = state->best_loss,
                                 .best_metric = isfinite(state->best_metric) ? state->best_metric : (double)NAN,
                                 .best_step = state->best_step,
                                 .since_best = state->since_best,
                                 .met = exchange_met(trainer->exchange, state->step),
                                 .waited = trainer->stepping > 0 ? trainer->waited / trainer->stepping : 0};
    sized_give(&now, sizeof now, progress);
    return UNROLL_OK;
}

void unroll_trainer_meet_at(unroll_trainer *trainer, int64_t step)
{
    if (trainer->exchange)
        trainer->exchange->meet = step;
}

/* Lets a worker that is late at a meeting continue as if it had made the updates in between. */
static unroll_status catch_up(unroll_trainer *trainer)
{
    struct trainer_state *state = &trainer->state;
    const int64_t epoch = state->cursor.epoch, batches = trainer->part->batches, each = trainer->config.accumulate;
    int64_t missed = trainer->exchange ? trainer->exchange->jump - state->step : 0, forwards, updates;
    if (missed <= 0)
        return UNROLL_OK;
    unroll_session_counters(trainer->session, &forwards, &updates);
    unroll_session_set_counters(trainer->session, forwards + missed * each, updates + missed);
    state->step += missed;
    for (; missed > 0; missed--) {
        state->cursor.window += each;
        if (state->cursor.window >= batches)
            state->cursor = (struct cursor){state->cursor.epoch + 1, 0};
    }
    trainer->exchange->step = state->step;
    for (int i = 0; state->cursor.epoch > epoch && i < trainer->sessions.shapes; i++)
        TRY(unroll_session_reset(trainer->sessions.session[i]));
    return UNROLL_OK;
}

static double exposed_now(const unroll_trainer *trainer)
{
    double communication = 0, exposed = 0;
    unroll_comm_seconds(trainer->config.machine.comm, &communication, &exposed);
    return exposed;
}

/* Reports the seconds of an update without waits for other ranks, and divides again if necessary. */
static unroll_status balance(unroll_trainer *trainer, double seconds)
{
    bool divides = false;
    if (trainer->balance)
        TRY(balance_update(trainer->balance, trainer->session, trainer->pretended > 0 ? trainer->pretended : seconds,
                           &divides));
    return divides ? trainer_rebalance(trainer) : UNROLL_OK;
}

/* Compares the weights of all ranks before the first step, to detect an outdated copy of a model or checkpoint on one
 * machine. */
static unroll_status agree_on_weights(unroll_trainer *trainer)
{
    unroll_comm *comm = trainer->config.machine.comm;
    const struct unroll_model *m = trainer->model;
    const int64_t step = trainer->state.step;
    int rank = -1, ranks;
    if (comm == NULL || unroll_comm_ranks(comm) == 1 || trainer->agreed)
        return UNROLL_OK;
    uint64_t hash = hash_bytes(HASH_BEGIN, &step, sizeof step);
    if (step == 0)
        hash = hash_bytes(hash, m->values, m->count * sizeof *m->values);
    TRY(comm_agree(comm, UNROLL_OK, hash, "the initial weights are"));
    if (step > 0 && trainer->exchange == NULL)
        TRY(session_compare_replicas(trainer->session, &rank, &ranks));
    if (rank >= 0)
        return fail(UNROLL_USAGE,
                    "rank %d begins step %" PRId64 " with other weights than the others; fix: give all machines the "
                    "same checkpoint",
                    rank, step + 1);
    trainer->agreed = true;
    return UNROLL_OK;
}

/* Makes one update and, if it is time to synchronize, reports loss and norm. */
unroll_status unroll_trainer_step(unroll_trainer *trainer, unroll_progress *progress)
{
    struct trainer_state *state = &trainer->state;
    const double exposed = exposed_now(trainer);
    unroll_hyperparameters rates = rates_now(trainer);
    bool looks = is_time_to_sync(trainer);
    double began = feed_seconds(), waited = trainer->feed.waited;
    unroll_progress now = {.size = sizeof now};
    TRY(sized_check(SIZED_RESULT(unroll_progress), progress));
    TRY(agree_on_weights(trainer));
    unroll_status status = train_on_batches(trainer, &rates, looks ? &trainer->result : NULL);

    if (status != UNROLL_OK)
        return fail(status, "step %" PRId64 ": %s", state->step + 1, unroll_last_error());
    state->step++;
    TRY(exchange_after(trainer->exchange, state->step));
    TRY(catch_up(trainer));
    trainer->unseen++;
    trainer->stepping += feed_seconds() - began;
    trainer->waited += trainer->feed.waited - waited;
    state->learning_rate = rates.learning_rate;
    TRY(unroll_trainer_progress(trainer, &now));
    now.synced = looks ? trainer->unseen : 0;
    sized_give(&now, sizeof now, progress);
    trainer->synced |= looks;
    trainer->unseen = looks ? 0 : trainer->unseen;
    TRY(balance(trainer, feed_seconds() - began - (exposed_now(trainer) - exposed)));
    return UNROLL_OK;
}

unroll_status trainer_sync(unroll_trainer *trainer)
{
    if (trainer->unseen == 0)
        return UNROLL_OK;
    double norm = trainer->result.norm;
    TRY(unroll_session_result(trainer->session, &trainer->result));
    if (trainer->result.norm == 0) /* for devices that do not compute it */
        trainer->result.norm = norm;
    trainer->unseen = 0;
    return UNROLL_OK;
}

unroll_status unroll_trainer_validate(unroll_trainer *trainer, unroll_evaluation *found)
{
    return unroll_trainer_validate_while(trainer, NULL, NULL, found);
}

/* Compares by the main metric, and by the loss if it is equal or not in the checkpoint. */
static bool is_better(const struct trainer_state *state, const unroll_evaluation *found, double metric)
{
    double gain = found->higher ? metric - state->best_metric : state->best_metric - metric;
    if (!isfinite(state->best_metric) || !isfinite(metric) || gain == 0)
        return found->loss < state->best_loss;
    return gain > 0;
}

static void take_validation(struct trainer_state *state, const unroll_evaluation *found)
{
    double metric = found->metrics > 0 ? found->metric[found->compared].value : found->loss;
    bool is_best = is_better(state, found, metric);
    if (is_best) {
        state->best_step = state->step;
        state->best_loss = found->loss;
        state->best_metric = isfinite(metric) ? metric : INFINITY;
    }
    state->since_best = is_best ? 0 : state->since_best + 1;
    plateau_report(&state->plateau, found->loss);
}

/* Evaluates with the mean of the workers' weights. */
static unroll_status run_on_mean(unroll_trainer *trainer, struct evaluator *evaluator, int (*goes_on)(void *),
                                 void *data, unroll_evaluation *found)
{
    unroll_evaluation all = {.size = sizeof all};
    TRY(exchange_enter_mean(trainer->exchange, false));
    TRY(evaluator_run(evaluator, goes_on, data, &all));
    TRY(exchange_leave_mean(trainer->exchange));
    sized_give(&all, sizeof all, found);
    return UNROLL_OK;
}

unroll_status unroll_trainer_validate_while(unroll_trainer *trainer, int (*goes_on)(void *), void *data,
                                            unroll_evaluation *found)
{
    TRY(sized_check(SIZED_RESULT(unroll_evaluation), found));
    if (trainer->evaluator == NULL)
        return fail(
            UNROLL_USAGE,
            "there is nothing to validate on: the trainer was made with validation 0; fix: hold out a share or a "
            "count");
    TRY(run_on_mean(trainer, trainer->evaluator, goes_on, data, found));
    if (isnan(found->loss))
        return UNROLL_OK;
    TRY(evaluator_learn(trainer->evaluator, trainer->model));
    take_validation(&trainer->state, found);
    if (trainer->state.since_best > 0)
        return UNROLL_OK;
    free(trainer->details);
    return evaluator_details(trainer->evaluator, &trainer->details);
}

const char *unroll_trainer_details(const unroll_trainer *trainer) { return trainer->details; }

/* Evaluates the test part, which can be done once. */
unroll_status unroll_trainer_test(unroll_trainer *trainer, unroll_evaluation *found, char **details)
{
    struct evaluator *evaluator;
    struct part *test = trainer->test;
    TRY(sized_check(SIZED_RESULT(unroll_evaluation), found));
    if (test == NULL)
        return fail(UNROLL_USAGE,
                    "there is nothing to test on: the trainer was made without `test`, or has tested; fix: "
                    "unroll_model_evaluate with the test data");
    clear_notes();
    part_free(test);
    trainer->test = test = NULL;
    TRY(trainer_open_test(trainer, &test)); /* with what validations have added to the schema since */
    TRY(evaluator_new(trainer->model, trainer->task, test, &trainer->config.machine, false, &evaluator));
    unroll_status status = run_on_mean(trainer, evaluator, NULL, NULL, found);
    if (status == UNROLL_OK && details)
        status = evaluator_details(evaluator, details);
    evaluator_free(evaluator);
    return status;
}

unroll_status unroll_trainer_metrics(const unroll_trainer *trainer, double loss, unroll_evaluation *described)
{
    unroll_evaluation all = {.size = sizeof all, .loss = loss};
    TRY(sized_check(SIZED_RESULT(unroll_evaluation), described));
    if (trainer->evaluator)
        evaluator_describe(trainer->evaluator, loss, &all);
    sized_give(&all, sizeof all, described);
    return UNROLL_OK;
}

unroll_status unroll_trainer_compare(unroll_trainer *trainer, int *rank, int *ranks)
{
    TRY(trainer_sync(trainer));
    return session_compare_replicas(trainer->session, rank, ranks);
}

void unroll_trainer_check_next(unroll_trainer *trainer) { trainer->checks = trainer->config.checks_gradients != 0; }

void unroll_trainer_checked(const unroll_trainer *trainer, int *rank, int *ranks)
{
    *rank = trainer->wrong;
    *ranks = trainer->wrong >= 0 ? trainer->suspects : 0;
}

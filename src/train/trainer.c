/* Training: a batch of the task, its gradients, an update; and the validation
 * beside it. When to validate, save, print or stop is the caller's business. */
#include "train/trainer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "comm/comm.h"
#include "model/model.h"
#include "tasks/schema.h"

enum { DEFAULT_EPOCHS = 10 }; /* of a schedule whose total_steps is 0 */

unroll_train_config unroll_train_default(void)
{
    unroll_train_config config = {.size = sizeof(unroll_train_config),
                                  .batch = 32,
                                  .bptt = 64,
                                  .stateful = 1,
                                  .rates = unroll_hyperparameters_default("adam"),
                                  .schedule = "cosine",
                                  .warmup = 100,
                                  .validation = 0.1,
                                  .seed = 1,
                                  .machine = unroll_machine_default()};
    config.rates.learning_rate = 2e-3;
    config.rates.clip = 1;
    return config;
}

/* ---- making a trainer ---- */

static unroll_status check_config(const unroll_train_config *config)
{
    enum { MAX = 1 << 20 };
    const struct schedule *schedule;
    CHECK_BEGUN(config, unroll_train_config, "unroll_train_default()");
    if (config->batch < 1 || config->batch > MAX || config->bptt < 0 || config->bptt > MAX)
        return fail(UNROLL_USAGE, "batch = %d must be 1 .. %d and bptt = %d 0 (all of a row) .. %d", config->batch, MAX,
                    config->bptt, MAX);
    if (!(config->validation >= 0 && config->validation <= 0.5))
        return fail(UNROLL_USAGE, "validation = %g is outside 0 .. 0.5", config->validation);
    if (config->machine.exact < 0 || config->machine.exact > config->batch)
        return fail(UNROLL_USAGE, "exact = %d shards of a batch of %d rows; fix: 1 to as many as there are rows",
                    config->machine.exact, config->batch);
    if (config->log_interval < 0)
        return fail(UNROLL_USAGE, "log_interval = %d must not be negative", config->log_interval);
    if (config->warmup < 0 || config->total_steps < 0)
        return fail(UNROLL_USAGE, "warmup = %" PRId64 " and total_steps = %" PRId64 " must not be negative",
                    config->warmup, config->total_steps);
    TRY(schedule_find(config->schedule, &schedule));
    if (schedule->needs_validation && config->validation == 0 && !config->validation_data)
        return fail(UNROLL_USAGE,
                    "the schedule '%s' follows the validation, and there is none; fix: validate on a part of "
                    "the data or on others (`validation`), or choose another schedule",
                    schedule->name);
    return UNROLL_OK;
}

static struct task_request request_of(const unroll_trainer *trainer)
{
    const unroll_train_config *config = &trainer->config;
    return (struct task_request){.data = trainer->data,
                                 .validation = {.data = config->validation_data, .share = config->validation},
                                 .rows = config->batch,
                                 .steps = config->bptt,
                                 .seed = config->seed,
                                 .ranks = config->machine.split.batch > 1 ? config->machine.split.batch : 1,
                                 .options = config->task_options,
                                 .model = trainer->model};
}

/* The validation's part is opened first: what is too little for it explains more. */
static unroll_status open_parts(unroll_trainer *trainer, struct part **validation)
{
    const unroll_train_config *config = &trainer->config;
    const struct task_request request = request_of(trainer);
    trainer->data_hash = dataset_hash(trainer->data, HASH_BEGIN);
    if (config->validation_data) {
        TRY(trainer->task->check(trainer->model, config->validation_data));
        trainer->data_hash = dataset_hash(config->validation_data, trainer->data_hash);
    }
    if (config->validation > 0 || config->validation_data)
        TRY(trainer->task->open(&request, PART_VALIDATION, validation));
    TRY(trainer->task->open(&request, PART_TRAINING, &trainer->part));
    return feed_new(trainer->model, trainer->part, &trainer->feed);
}

static unroll_status open_sessions(unroll_trainer *trainer, struct part *validation)
{
    unroll_session_config config = unroll_session_default();
    uint64_t memory = trainer->config.machine.memory ? trainer->config.machine.memory : unroll_memory_limit();
    config.mode = UNROLL_TRAIN;
    config.steps = trainer->part->shape->steps;
    config.rows = trainer->part->shape->rows;
    config.lengths = trainer->part->lengths;
    config.resets = trainer->part->resets;
    config.stateful = 1;
    config.optimizer = trainer->config.rates.optimizer;
    config.seed = trainer->config.seed;
    config.machine = trainer->config.machine;
    config.machine.memory = memory;
    unroll_status status = unroll_session_new(trainer->model, &config, &trainer->session);
    if (status != UNROLL_OK || validation == NULL) {
        part_free(validation);
        return status;
    }
    uint64_t used = unroll_session_memory_estimate(trainer->session);
    config.machine.memory = memory > used ? memory - used : 1;
    return evaluator_new(trainer->model, trainer->task, validation, &config.machine, &trainer->evaluator);
}

/* A model made without a schema takes the data's, so that its file can be used without them. */
static unroll_status give_schema(unroll_trainer *trainer)
{
    const struct task_request request = request_of(trainer);
    if (schema_is_fit(trainer->model, trainer->task))
        return UNROLL_OK;
    return schema_fit(trainer->model, trainer->task, &request);
}

/* Devices that wait for what a look asks of them are asked less often. */
static int steps_between_syncs(const unroll_train_config *config)
{
    bool waits = config->machine.device != NULL && strcmp(config->machine.device, "cpu") != 0;
    return config->log_interval ? config->log_interval : waits ? 10 : 1;
}

/* What a rank does alone. */
static unroll_status prepare(unroll_trainer *trainer, struct part **validation)
{
    const unroll_train_config *config = &trainer->config;
    TRY(task_find(config->task, trainer->model, trainer->data, &trainer->task));
    TRY(trainer->task->check(trainer->model, trainer->data));
    TRY(give_schema(trainer));
    TRY(open_parts(trainer, validation));
    TRY(schedule_find(config->schedule, &trainer->schedule));
    trainer->total_steps = config->total_steps;
    if (trainer->total_steps == 0)
        trainer->total_steps = DEFAULT_EPOCHS * trainer->part->batches;
    trainer->sync_interval = steps_between_syncs(config);
    trainer->state.plateau = plateau_new();
    return UNROLL_OK;
}

/* What decides an update, or when a rank sends, and is in no plan. */
static uint64_t hash_course(const unroll_trainer *trainer)
{
    const unroll_train_config *config = &trainer->config;
    const unroll_hyperparameters *r = &config->rates;
    const double numbers[] = {r->learning_rate,
                              r->clip,
                              config->validation,
                              (double)config->warmup,
                              (double)trainer->total_steps,
                              config->stateful,
                              trainer->sync_interval,
                              (double)trainer->part->batches};
    uint64_t hash = hash_bytes(HASH_BEGIN, numbers, sizeof numbers);
    return hash_text(hash_bytes(hash, r->hyperparameter, sizeof r->hyperparameter), trainer->schedule->name);
}

static unroll_status set_up(unroll_trainer *trainer)
{
    unroll_comm *comm = trainer->config.machine.comm;
    struct part *validation = NULL;
    unroll_status status = prepare(trainer, &validation);
    status = comm_agree(comm, status, trainer->data_hash ^ trainer->config.seed, "the data or the seed are");
    if (status == UNROLL_OK)
        status = comm_agree(comm, UNROLL_OK, hash_course(trainer),
                            "a rate, the schedule, its length or the part for validation is");
    if (status == UNROLL_OK)
        return open_sessions(trainer, validation);
    part_free(validation);
    return status;
}

unroll_status unroll_trainer_new(unroll_model *model, const unroll_dataset *dataset, const unroll_train_config *config,
                                 unroll_trainer **trainer)
{
    TRY(check_config(config));
    unroll_trainer *made;
    TRY(ALLOCATE(made, 1, "for a trainer"));
    made->model = model;
    made->data = dataset;
    made->config = *config;
    made->result.size = sizeof made->result;
    unroll_status status = set_up(made);
    if (status != UNROLL_OK) {
        unroll_trainer_free(made);
        return status;
    }
    *trainer = made;
    return UNROLL_OK;
}

void unroll_trainer_free(unroll_trainer *trainer)
{
    if (trainer == NULL)
        return;
    snapshot_free(trainer->snapshot);
    evaluator_free(trainer->evaluator);
    unroll_session_free(trainer->session);
    feed_end(&trainer->feed);
    part_free(trainer->part);
    release(trainer);
}

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

static unroll_status train_on_batch(unroll_trainer *trainer, const unroll_hyperparameters *rates, unroll_result *result)
{
    feed_fill(&trainer->feed, trainer->state.cursor.epoch, trainer->state.cursor.window);
    if (trainer->feed.arrays.begins || !trainer->config.stateful)
        TRY(unroll_clear_states(trainer->session));
    return unroll_step(trainer->session, &trainer->feed.batch, rates, result);
}

/* The first step of a process, then each whose number is a multiple. */
static bool is_time_to_sync(const unroll_trainer *trainer)
{
    return !trainer->synced || (trainer->state.step + 1) % trainer->sync_interval == 0;
}

unroll_status unroll_trainer_progress(const unroll_trainer *trainer, unroll_progress *progress)
{
    const struct trainer_state *state = &trainer->state;
    CHECK_BEGUN(progress, unroll_progress, "{ .size = sizeof(unroll_progress) }");
    *progress = (unroll_progress){sizeof *progress,
                                  .step = state->step,
                                  .epoch = (double)state->cursor.epoch +
                                           (double)state->cursor.window / (double)trainer->part->batches,
                                  .loss = trainer->result.loss,
                                  .norm = trainer->result.norm,
                                  .learning_rate = state->learning_rate,
                                  .items = state->items,
                                  .item = trainer->task->item(trainer->data),
                                  .steps_per_epoch = trainer->part->batches,
                                  .best_validation = state->plateau.best,
                                  .best_step = state->best_step,
                                  .since_best = state->since_best};
    return UNROLL_OK;
}

unroll_status unroll_trainer_step(unroll_trainer *trainer, unroll_progress *progress)
{
    struct trainer_state *state = &trainer->state;
    unroll_hyperparameters rates = rates_now(trainer);
    bool looks = is_time_to_sync(trainer);
    CHECK_BEGUN(progress, unroll_progress, "{ .size = sizeof(unroll_progress) }");
    unroll_status status = train_on_batch(trainer, &rates, looks ? &trainer->result : NULL);

    if (status != UNROLL_OK)
        return fail(status, "step %" PRId64 ": %s", state->step + 1, unroll_last_error());
    state->step++;
    trainer->unseen++;
    state->items += trainer->feed.arrays.items;
    if (++state->cursor.window == trainer->part->batches)
        state->cursor = (struct cursor){state->cursor.epoch + 1, 0};
    state->learning_rate = rates.learning_rate;
    TRY(unroll_trainer_progress(trainer, progress));
    progress->synced = looks ? trainer->unseen : 0;
    trainer->synced |= looks;
    trainer->unseen = looks ? 0 : trainer->unseen;
    return UNROLL_OK;
}

unroll_status trainer_sync(unroll_trainer *trainer)
{
    if (trainer->unseen == 0)
        return UNROLL_OK;
    double norm = trainer->result.norm;
    TRY(unroll_loss_result(trainer->session, &trainer->result));
    if (trainer->result.norm == 0) /* of devices that don't keep it */
        trainer->result.norm = norm;
    trainer->unseen = 0;
    return UNROLL_OK;
}

unroll_status unroll_trainer_validate(unroll_trainer *trainer, unroll_evaluation *found)
{
    return unroll_trainer_validate_while(trainer, NULL, NULL, found);
}

static void take_validation(struct trainer_state *state, double loss)
{
    bool is_best = loss < state->plateau.best;
    state->best_step = is_best ? state->step : state->best_step;
    state->since_best = is_best ? 0 : state->since_best + 1;
    plateau_report(&state->plateau, loss);
}

unroll_status unroll_trainer_validate_while(unroll_trainer *trainer, int (*goes_on)(void *), void *data,
                                            unroll_evaluation *found)
{
    if (trainer->evaluator == NULL)
        return fail(UNROLL_USAGE, "there is nothing to validate on: the trainer was made with validation 0");
    TRY(evaluator_run(trainer->evaluator, goes_on, data, found));
    if (!isnan(found->loss))
        take_validation(&trainer->state, found->loss);
    return UNROLL_OK;
}

void unroll_trainer_describe(const unroll_trainer *trainer, double loss, unroll_evaluation *described)
{
    *described = (unroll_evaluation){.loss = loss};
    if (trainer->evaluator)
        evaluator_describe(trainer->evaluator, loss, described);
}

uint64_t unroll_trainer_memory_estimate(const unroll_trainer *trainer)
{
    uint64_t bytes = unroll_session_memory_estimate(trainer->session) + snapshot_bytes(trainer);
    return trainer->evaluator ? bytes + evaluator_memory_estimate(trainer->evaluator) : bytes;
}

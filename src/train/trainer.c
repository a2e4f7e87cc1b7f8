/* Creates a trainer: checks its configuration, opens the parts of the data and the sessions for their shapes. steps.c
 * runs it. */
#include "base/sized.h"
#include "train/trainer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "comm/comm.h"
#include "session/session.h"
#include "tasks/examples/examples.h"
#include "tasks/schema.h"
#include "train/class_weights.h"

enum { DEFAULT_EPOCHS = 10 }; /* for a schedule with total_steps 0 */
enum { FEWEST_UPDATES = 16 }; /* in an epoch with the largest batch */

#define SIZED_TRAIN                                                                \
    SIZED_WITH(unroll_trainer_config, "unroll_trainer_config_default()",                      \
               PART(unroll_trainer_config, rates, "unroll_hyperparameters_default()"), \
               PART(unroll_trainer_config, machine, "unroll_machine_default()"))

void unroll_trainer_config_begin(unroll_trainer_config *given, size_t size)
{
    unroll_trainer_config config = {.size = sizeof(unroll_trainer_config),
                                    .batch = 32,
                                    .bptt = 64,
                                    .accumulate = 1,
                                    .stateful = 1,
                                    .rates = unroll_hyperparameters_default("adam"),
                                    .schedule = "cosine",
                                    .warmup = 100,
                                    .validation = {.share = 0.1},
                                    .prefetch = UNROLL_AUTO,
                                    .seed = 1,
                                    .machine = unroll_machine_default()};
    config.rates.learning_rate = 2e-3;
    config.rates.clip = 1;
    sized_begin(&config, sizeof config, given, size);
}

/* ---- making a trainer ---- */

static unroll_status check_held_out(const char *name, const unroll_held_out *part)
{
    if (!(part->share >= 0 && part->share <= 0.5))
        return fail(UNROLL_USAGE, "%s = %g is outside 0 .. 0.5; fix: choose a value in this range", name, part->share);
    return part->count >= 0
               ? UNROLL_OK
               : fail(UNROLL_USAGE, "%s: a count of %" PRId64 " is negative; fix: choose a value in this range", name,
                      part->count);
}

/* Checks the options of workers and their exchange. */
static unroll_status check_workers(const unroll_trainer_config *config)
{
    const unroll_machine *m = &config->machine;
    struct exchange_asked asked;
    TRY(exchange_read(config, &asked));
    if (m->workers <= 1 && !asked.by_plan)
        return fail(
            UNROLL_USAGE,
            "`sync` = %s, `compress` = %s are for several workers, but there is one; fix: use `workers` 2 or more",
            asked.sync, asked.compress);
    if (m->workers <= 1 && ((config->arrivals && *config->arrivals) || (config->replay && *config->replay)))
        return fail(
            UNROLL_USAGE,
            "arrivals and replay are of workers that do not wait for all; fix: use `workers` 2 or more, `sync` gossip or "
            "server:S");
    if (m->workers > 1 && m->device && strcmp(m->device, "cpu"))
        return fail(UNROLL_UNSUPPORTED,
                    "`workers` = %d on %s: workers run on the cpu only; fix: use device cpu, or split batch=%d",
                    m->workers, m->device, m->workers);
    return UNROLL_OK;
}

/* Converts workers that add gradients in each update to a cut of the batch. */
static void give_to_plan(unroll_trainer_config *config)
{
    unroll_machine *m = &config->machine;
    struct exchange_asked asked;
    if (m->workers <= 1 || exchange_read(config, &asked) != UNROLL_OK || !asked.by_plan)
        return;
    m->split.batch = m->workers * (m->split.batch > 1 ? m->split.batch : 1);
    m->workers = 1;
}

static unroll_status exchange_open(unroll_trainer *trainer)
{
    const unroll_trainer_config *config = &trainer->config;
    if (config->machine.workers <= 1)
        return UNROLL_OK;
    TRY(exchange_new(trainer->session, config, &trainer->exchange));
    for (int i = 0; i < trainer->sessions.shapes; i++) exchange_join(trainer->exchange, trainer->sessions.session[i]);
    return UNROLL_OK;
}

/* Checks everything that does not depend on the data or the model. */
static unroll_status check_config(const unroll_trainer_config *config)
{
    enum { MAX = 1 << 20 };
    const struct schedule *schedule;
    if (config->batch < 1 || config->batch > MAX || config->bptt < 0 || config->bptt > MAX)
        return fail(
            UNROLL_USAGE,
            "`batch` = %d must be 1 .. %d and `bptt` = %d 0 (all of a row) .. %d; fix: choose a value in this range",
            config->batch, MAX, config->bptt, MAX);
    if (config->accumulate < 1 || config->accumulate > MAX || config->batch_tokens < 0)
        return fail(UNROLL_USAGE,
                    "`accumulate` = %d must be 1 .. %d, and batch_tokens = %" PRId64
                    " not negative; fix: choose a value in this range",
                    config->accumulate, MAX, config->batch_tokens);
    TRY(check_held_out("validation", &config->validation));
    TRY(check_held_out("test", &config->test));
    if (config->machine.exact < 0 || config->machine.exact > config->batch)
        return fail(UNROLL_USAGE,
                    "`exact` = %d shards of a batch of %d rows; fix: choose a value from 1 to the number of rows",
                    config->machine.exact, config->batch);
    if (config->log_interval < 0)
        return fail(UNROLL_USAGE, "`log_interval` = %d must not be negative; fix: choose a value in this range",
                    config->log_interval);
    if (config->warmup < 0 || config->total_steps < 0)
        return fail(UNROLL_USAGE,
                    "`warmup` = %" PRId64 " and total_steps = %" PRId64
                    " must not be negative; fix: choose a value in this range",
                    config->warmup, config->total_steps);
    TRY(check_workers(config));
    TRY(schedule_find(config->schedule, &schedule));
    if (schedule->needs_validation && !is_held_out(&config->validation))
        return fail(UNROLL_USAGE,
                    "the schedule '%s' needs a validation; fix: set `validation`, or choose another schedule",
                    schedule->name);
    return UNROLL_OK;
}

/* Number of ranks with rows of their own; in exact mode the number of shards, so that results do not depend on the
 * ranks. */
static int shares_of(const unroll_trainer_config *config)
{
    const int ranks = config->machine.split.batch > 1 ? config->machine.split.batch : 1;
    const int workers = config->machine.workers > 1 ? config->machine.workers : 1;
    return config->machine.exact > 0 ? config->machine.exact : workers * ranks;
}

static void name_division(unroll_trainer *trainer)
{
    const char *how = trainer->config.divide_by;
    snprintf(trainer->division, sizeof trainer->division, "even");
    if (is_divided(how))
        snprintf(trainer->division, sizeof trainer->division, "%d by %016" PRIx64, shares_of(&trainer->config),
                 hash_text(HASH_BEGIN, how));
}

static struct task_request request_of(const unroll_trainer *trainer)
{
    const unroll_trainer_config *config = &trainer->config;
    const int workers = config->machine.workers > 1 ? config->machine.workers : 1;
    return (struct task_request){.data = trainer->data,
                                 .validation = config->validation,
                                 .test = config->test,
                                 .rows = config->batch,
                                 .tokens = config->batch_tokens,
                                 .steps = config->bptt,
                                 .seed = config->seed,
                                 .ranks = workers * (config->machine.split.batch > 1 ? config->machine.split.batch : 1),
                                 .options = config->task_options,
                                 .augment = config->augment,
                                 .divide_by = config->divide_by,
                                 .shares = shares_of(config),
                                 .model = trainer->model};
}

/* Hashes the data that a checkpoint's cursor refers to: all of it, and its division unless it is a fraction for
 * validation, as in version 0.1. */
static uint64_t hash_data_of(const unroll_trainer *trainer)
{
    const unroll_held_out *validation = &trainer->config.validation, *test = &trainer->config.test;
    const double divided[] = {(double)validation->count, (double)test->count, test->share, test->data != NULL};
    uint64_t hash = dataset_hash(trainer->data, HASH_BEGIN);
    if (validation->data)
        hash = dataset_hash(validation->data, hash);
    if (validation->count || is_held_out(test))
        hash = hash_bytes(hash, divided, sizeof divided);
    if (validation->groups || test->groups)
        hash = hash_number(hash_number(hash, (uint64_t)validation->groups), (uint64_t)test->groups);
    return hash;
}

static unroll_status open_part(const unroll_trainer *trainer, enum part_of which, const unroll_held_out *held_out,
                               struct part **part)
{
    const struct task_request request = request_of(trainer);
    if (!is_held_out(held_out))
        return UNROLL_OK;
    if (held_out->data)
        TRY(task_check(trainer->task, trainer->model, held_out->data, NULL));
    return trainer->task->open(&request, which, part);
}

unroll_status trainer_open_test(const unroll_trainer *trainer, struct part **part)
{
    return open_part(trainer, PART_TEST, &trainer->config.test, part);
}

/* Computes class weights, which the trainer owns until the sessions have copies. */
static unroll_status weigh_classes(unroll_trainer *trainer)
{
    unroll_trainer_config *config = &trainer->config;
    if (config->balanced_classes && config->class_weights)
        return fail(UNROLL_USAGE, "class_weights and balanced_classes are given; fix: use one of them");
    if (config->balanced_classes) {
        TRY(class_weights_new(trainer->model, trainer->part, &trainer->class_weights));
        config->class_weights = trainer->class_weights;
    }
    if (config->class_weights)
        trainer->weights_hash =
            hash_bytes(HASH_BEGIN, config->class_weights, (size_t)unroll_model_outputs(trainer->model) * sizeof(float));
    return UNROLL_OK;
}

/* Opens the parts. The validation part is first, because its error for too little data is the more helpful one. */
static unroll_status open_parts(unroll_trainer *trainer, struct part **validation)
{
    const struct task_request request = request_of(trainer);
    const char *options = trainer->config.task_options;
    trainer->data_hash = hash_data_of(trainer);
    name_division(trainer);
    trainer->options_hash = options && *options ? hash_text(HASH_BEGIN, options) : 0;
    if (trainer->config.augment && *trainer->config.augment)
        trainer->options_hash = hash_text(trainer->options_hash, trainer->config.augment);
    TRY(open_part(trainer, PART_VALIDATION, &trainer->config.validation, validation));
    TRY(open_part(trainer, PART_TEST, &trainer->config.test, &trainer->test));
    TRY(trainer->task->open(&request, PART_TRAINING, &trainer->part));
    TRY(weigh_classes(trainer));
    return feed_new(trainer->model, trainer->part, false, trainer->config.prefetch, &trainer->feed);
}

static unroll_session_config session_of(const unroll_trainer_config *config)
{
    unroll_session_config session = unroll_session_config_default();
    session.mode = UNROLL_TRAIN;
    session.stateful = 1;
    session.optimizer = config->rates.optimizer;
    session.seed = config->seed;
    session.label_smoothing = config->label_smoothing;
    session.class_weights = config->class_weights;
    session.machine = config->machine;
    if (session.machine.memory == 0)
        session.machine.memory = unroll_memory_limit();
    return session;
}

/* True if a training with this batch fits into memory and an epoch has at least `updates` updates. */
static bool batch_fits(const unroll_trainer *trainer, int64_t updates)
{
    struct task_request request = request_of(trainer);
    unroll_session_config config = session_of(&trainer->config);
    struct part *part = NULL;
    uint64_t needed = 0, bytes;
    if (trainer->task->open(&request, PART_TRAINING, &part) != UNROLL_OK)
        return false;
    bool fits = part->batches >= updates * trainer->config.accumulate;
    config.lengths = part->lengths;
    config.resets = part->resets;
    for (int i = 0; i < part->shapes && fits; i++) {
        config.steps = part->shape[i].steps;
        config.rows = part->shape[i].rows;
        fits = session_memory_estimate(trainer->model, &config, &bytes) == UNROLL_OK;
        needed += bytes;
    }
    part_free(part);
    return fits && needed <= config.machine.memory;
}

/* Returns the largest power of two up to `max` that fits; 0: none. */
static int largest_batch(unroll_trainer trainer, int max, int64_t updates)
{
    int batch = 1;
    while (batch <= max / 2) batch *= 2;
    for (; batch > 0; batch /= 2) {
        trainer.config.batch = batch;
        if (batch_fits(&trainer, updates))
            break;
    }
    return batch;
}

/* Fails for a batch that needs too much memory, and suggests one that fits. */
static unroll_status refuse_memory(const unroll_trainer *trainer)
{
    char sentence[512];
    int below = trainer->config.batch / 2;
    snprintf(sentence, sizeof sentence, "%s", unroll_last_error());
    int batch = below > 0 ? largest_batch(*trainer, below, 1) : 0;
    char *fix = strstr(sentence, "; fix: ");
    if (batch == 0 || fix == NULL)
        return fail(UNROLL_RESOURCE, "%s", sentence);
    *fix = '\0';
    return fail(UNROLL_RESOURCE, "%s; fix: use `batch` %d, which fits, or %s", sentence, batch,
                fix + strlen("; fix: "));
}

static uint64_t sessions_memory_estimate(const unroll_trainer *trainer)
{
    uint64_t bytes = shaped_memory_estimate(&trainer->sessions);
    for (int i = 0; i < trainer->sessions.shapes; i++) bytes += twice_memory_estimate(trainer->twice[i]);
    return bytes;
}

static unroll_status open_sessions(unroll_trainer *trainer, struct part *validation)
{
    unroll_session_config config = session_of(&trainer->config);
    uint64_t memory = config.machine.memory;
    unroll_status status = shaped_open(trainer->model, trainer->part, config, &trainer->sessions);
    trainer->session = trainer->sessions.session[0];
    if (status == UNROLL_RESOURCE && trainer->config.machine.comm == NULL)
        status = refuse_memory(trainer);
    for (int i = 0; i < trainer->sessions.shapes && status == UNROLL_OK && trainer->config.checks_gradients; i++)
        status = twice_new(trainer->sessions.session[i], &trainer->twice[i]);
    if (status != UNROLL_OK || validation == NULL) {
        part_free(validation);
        return status;
    }
    uint64_t used = sessions_memory_estimate(trainer);
    config.machine.memory = memory > used ? memory - used : 1;
    return evaluator_new(trainer->model, trainer->task, validation, &config.machine, false, &trainer->evaluator);
}

/* Gives a model without a schema that of the data, so that its file can be used without them. Options must be spelled
 * correctly even if the model already has a schema. */
static unroll_status give_schema(unroll_trainer *trainer)
{
    static const struct key none = {0};
    const struct task_request request = request_of(trainer);
    const struct task *task = trainer->task;
    char owner[64];
    snprintf(owner, sizeof owner, "the task %s", task->name);
    TRY(key_values_read(request.options, owner, task->keys ? task->keys : &none, NULL));
    TRY(accepts_columns(task, request.options, trainer->data));
    if (schema_is_fit(trainer->model, trainer->task))
        return UNROLL_OK;
    return schema_fit(trainer->model, trainer->task, &request);
}

/* Checks and prepares the model. Before it has a schema, only its network can be checked. */
static unroll_status take_model(unroll_trainer *trainer)
{
    const struct task *task = trainer->task;
    const char *unused;
    TRY(task_check(task, trainer->model, trainer->data, NULL));
    TRY(give_schema(trainer));
    TRY(task_check(task, trainer->model, trainer->data, &unused));
    if (trainer->config.batch_tokens > 0 && accepts_lists(unused, "batch_tokens"))
        return fail(UNROLL_UNSUPPORTED,
                    "batch_tokens: the batches of the task %s have no examples of their own lengths; fix: give `batch`",
                    task->name);
    return UNROLL_OK;
}

/* Returns the steps between two synchronizations: fewer on devices that have to wait for them. */
static int steps_between_syncs(const unroll_trainer_config *config)
{
    bool waits = config->machine.device != NULL && strcmp(config->machine.device, "cpu") != 0;
    return config->log_interval ? config->log_interval : waits ? 10 : 1;
}

/* Prepares a rank without communication. */
static unroll_status prepare(unroll_trainer *trainer, struct part **validation)
{
    const unroll_trainer_config *config = &trainer->config;
    TRY(task_find(config->task, trainer->model, trainer->data, &trainer->task));
    if ((config->validation.groups || config->test.groups) && !trainer->task->divides)
        return fail(
            UNROLL_UNSUPPORTED,
            "the task %s holds out the last steps of each series, not whole `groups`; fix: use a share or a count",
            trainer->task->name);
    if (is_divided(config->divide_by) && !trainer->task->divides)
        return fail(UNROLL_UNSUPPORTED,
                    "`divide_by`: the task %s has no sequences of its own to divide; fix: leave it out, or even",
                    trainer->task->name);
    if (config->augment && *config->augment && !trainer->task->augments)
        return fail(UNROLL_UNSUPPORTED, "`augment`: the task %s has no examples to change; fix: leave it out",
                    trainer->task->name);
    TRY(take_model(trainer));
    TRY(open_parts(trainer, validation));
    TRY(schedule_find(config->schedule, &trainer->schedule));
    trainer->total_steps = config->total_steps;
    if (trainer->total_steps == 0)
        trainer->total_steps = DEFAULT_EPOCHS * trainer_steps_per_epoch(trainer);
    trainer->sync_interval = steps_between_syncs(config);
    trainer->state.plateau = plateau_new();
    trainer->state.best_loss = trainer->state.best_metric = INFINITY;
    return UNROLL_OK;
}

/* Hashes what determines an update, or when a rank sends, and is not part of a plan. */
static uint64_t hash_course(const unroll_trainer *trainer)
{
    const unroll_trainer_config *config = &trainer->config;
    const unroll_hyperparameters *r = &config->rates;
    const double numbers[] = {r->learning_rate,         r->clip,
                              config->accumulate,       config->balance,
                              config->checks_gradients, config->validation.share,
                              (double)config->warmup,   (double)trainer->total_steps,
                              config->stateful,         (double)config->label_smoothing,
                              trainer->sync_interval,   (double)trainer->part->batches};
    uint64_t hash = hash_bytes(HASH_BEGIN ^ trainer->weights_hash ^ trainer->options_hash, numbers, sizeof numbers);
    hash = hash_text(hash, trainer->division);
    hash = hash_text(hash_text(hash, config->sync ? config->sync : ""), config->compress ? config->compress : "");
    return hash_text(hash_bytes(hash, r->hyperparameter, sizeof r->hyperparameter), trainer->schedule->name);
}

/* Sets up the trainer on all ranks. A configuration that is refused on one rank fails on all. */
static unroll_status set_up(unroll_trainer *trainer)
{
    unroll_comm *comm = trainer->config.machine.comm;
    struct part *validation = NULL;
    TRY(comm_agree(comm, check_config(&trainer->config), hash_text(HASH_BEGIN, unroll_version()),
                   "the version of unroll is"));
    give_to_plan(&trainer->config);
    unroll_status status = prepare(trainer, &validation);
    status = comm_agree(comm, status, trainer->data_hash ^ trainer->config.seed, "the data or the seed are");
    if (status == UNROLL_OK)
        status = comm_agree(comm, UNROLL_OK, hash_course(trainer),
                            "an option of the training, its length or the part for validation is");
    if (status != UNROLL_OK) {
        part_free(validation);
        return status;
    }
    TRY(open_sessions(trainer, validation));
    if (trainer->config.balance && is_divided(trainer->config.divide_by))
        return fail(UNROLL_UNSUPPORTED,
                    "balance: `divide_by` assigns the sequences to the ranks; fix: use `divide_by` even");
    if (trainer->config.balance)
        TRY(balance_new(trainer->session, &trainer->balance));
    return exchange_open(trainer);
}

/* Creates a trainer. Model and data must outlive it. */
unroll_status unroll_trainer_new(unroll_model *model, const unroll_dataset *dataset,
                                 const unroll_trainer_config *config, unroll_trainer **trainer)
{
    unroll_trainer *made;
    unroll_trainer_config taken = unroll_trainer_config_default();
    clear_notes();
    TRY(sized_take(SIZED_TRAIN, config, &taken));
    TRY(ALLOCATE(made, 1, "for a trainer"));
    made->model = model;
    made->data = dataset;
    made->config = taken;
    made->result.size = sizeof made->result;
    made->wrong = -1;
    unroll_status status = set_up(made);
    if (status != UNROLL_OK) {
        unroll_trainer_free(made);
        return status;
    }
    *trainer = made;
    return UNROLL_OK;
}

static void close_sessions(unroll_trainer *trainer)
{
    evaluator_free(trainer->evaluator);
    trainer->evaluator = NULL;
    for (int i = 0; i < trainer->sessions.shapes; i++) {
        twice_free(trainer->twice[i]);
        trainer->twice[i] = NULL;
    }
    shaped_close(&trainer->sessions);
}

/* Divides again by means of a replica, which does not depend on the division. */
unroll_status trainer_rebalance(unroll_trainer *trainer)
{
    unroll_replica *kept;
    struct part *validation = NULL;
    TRY(unroll_replica_new(&kept));
    unroll_status status = unroll_trainer_replicate(trainer, kept);
    if (status == UNROLL_OK) {
        close_sessions(trainer);
        status = open_part(trainer, PART_VALIDATION, &trainer->config.validation, &validation);
    }
    if (status == UNROLL_OK)
        status = open_sessions(trainer, validation);
    if (status == UNROLL_OK)
        status = unroll_trainer_restore(trainer, kept);
    unroll_replica_free(kept);
    return status;
}

void unroll_trainer_free(unroll_trainer *trainer)
{
    if (trainer == NULL)
        return;
    snapshot_free(trainer->snapshot);
    free(trainer->details);
    exchange_free(trainer->exchange);
    feed_end(&trainer->feed);
    close_sessions(trainer);
    balance_free(trainer->balance);
    part_free(trainer->test);
    part_free(trainer->part);
    release(trainer->class_weights);
    release(trainer);
}

const char *unroll_trainer_held_out(const unroll_trainer *trainer, int test)
{
    const struct part *part = test ? trainer->test : trainer->evaluator ? evaluator_part(trainer->evaluator) : NULL;
    return part ? part->held : "";
}

int64_t trainer_steps_per_epoch(const unroll_trainer *trainer)
{
    return (trainer->part->batches + trainer->config.accumulate - 1) / trainer->config.accumulate;
}

int unroll_trainer_shares(const unroll_trainer *trainer, double *part, int room, int *ranks)
{
    return trainer->balance ? balance_divided(trainer->balance, part, room, ranks)
                            : unroll_session_shares(trainer->session, part, room, ranks);
}

unroll_status unroll_trainer_pieces(const unroll_trainer *trainer, unroll_pieces *pieces)
{
    unroll_pieces all = {.size = sizeof all, .pieces = 1};
    TRY(sized_check(SIZED_RESULT(unroll_pieces), pieces));
    for (int i = 0; i < trainer->sessions.shapes; i++) {
        unroll_pieces one = {.size = sizeof one};
        TRY(unroll_session_pieces(trainer->sessions.session[i], &one));
        all.pieces = one.pieces > all.pieces ? one.pieces : all.pieces;
        all.recurrences += one.recurrences, all.in_order += one.in_order, all.runs += one.runs;
        all.rounds += one.rounds, all.repaired += one.repaired;
    }
    sized_give(&all, sizeof all, pieces);
    return UNROLL_OK;
}

uint64_t unroll_trainer_memory_estimate(const unroll_trainer *trainer)
{
    uint64_t bytes = sessions_memory_estimate(trainer) + snapshot_bytes(trainer);
    return trainer->evaluator ? bytes + evaluator_memory_estimate(trainer->evaluator) : bytes;
}

unroll_status unroll_trainer_choose_batch(unroll_model *model, const unroll_dataset *dataset,
                                          const unroll_trainer_config *config, int max, int *batch)
{
    unroll_trainer trial = {.model = model, .data = dataset, .config = unroll_trainer_config_default()};
    TRY(sized_take(SIZED_TRAIN, config, &trial.config));
    TRY(check_config(&trial.config));
    TRY(task_find(trial.config.task, model, dataset, &trial.task));
    TRY(take_model(&trial));
    *batch = largest_batch(trial, max, FEWEST_UPDATES);
    *batch = *batch > 0 ? *batch : 1;
    return UNROLL_OK;
}

/* Training on a text by truncated backpropagation: a batch, its gradients, an update; and the validation
 * beside it. When to validate, save, print or stop is the caller's business. */
#include "train/trainer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "comm/comm.h"
#include "train/reading.h"

enum { DEFAULT_EPOCHS = 10 };       /* of a schedule whose total_steps is 0 */

unroll_train_config unroll_train_default(void)
{
    unroll_train_config config = {
        .size = sizeof(unroll_train_config), .batch = 32, .bptt = 64, .carry = 1, .optimizer = "adam",
        .rates = unroll_rates_default("adam"), .schedule = "cosine", .warmup = 100, .validation = 0.1,
        .seed = 1, .machine = unroll_machine_default(),
    };

    config.rates.learning_rate = 2e-3;
    config.rates.clip = 1;
    return config;
}

/* ---- making a trainer ---- */

static unroll_status check_config(const unroll_train_config *config)
{
    enum { MOST = 1 << 20 };

    if (!config || config->size != sizeof *config)
        return fail(UNROLL_USAGE, "the training configuration was not begun with unroll_train_default()");
    if (config->batch < 1 || config->batch > MOST || config->bptt < 0 || config->bptt > MOST)
        return fail(UNROLL_USAGE, "batch = %d must be 1 .. %d and bptt = %d 0 (the whole piece) .. %d",
                    config->batch, MOST, config->bptt, MOST);
    if (!(config->validation >= 0 && config->validation <= 0.5))
        return fail(UNROLL_USAGE, "validation = %g is outside 0 .. 0.5", config->validation);
    if (config->machine.exact < 0 || config->machine.exact > config->batch)
        return fail(UNROLL_USAGE, "exact = %d shards of a batch of %d rows; fix: 1 to as many as there are rows",
                    config->machine.exact, config->batch);
    if (config->loss_every < 0)
        return fail(UNROLL_USAGE, "loss_every = %d must not be negative", config->loss_every);
    if (config->warmup < 0 || config->total_steps < 0)
        return fail(UNROLL_USAGE, "warmup = %" PRId64 " and total_steps = %" PRId64 " must not "
                    "be negative", config->warmup, config->total_steps);
    if (config->optimizer == NULL || strlen(config->optimizer) >= OPTIMIZER_NAME_SIZE)
        return fail(UNROLL_USAGE, "the training configuration names no optimizer");
    if (config->schedule == NULL || schedule_find(config->schedule) == NULL)
        return fail(UNROLL_USAGE, "there is no schedule '%.40s'; fix: choose one of constant, cosine, step, "
                    "plateau",
                    config->schedule ? config->schedule : "");
    if (!strcmp(config->schedule, "plateau") && config->validation == 0 && !config->validation_text)
        return fail(UNROLL_USAGE, "the schedule 'plateau' follows the validation, and there is none; fix: validate on "
                    "a part of the text or on another one (--val), or choose another schedule");
    return UNROLL_OK;
}

struct part {
    const int32_t *tokens;      /* [count], the text's */
    size_t count;
};

/* Of the text itself. */
static size_t count_validated(const unroll_train_config *config, size_t count)
{
    return config->validation_text ? 0 : (size_t)((double)count * config->validation);
}

/* The validation text, or the last part of the text: its symbols are predicted but for the first. */
static unroll_status divide_text(unroll_trainer *trainer, struct part *training, struct part *validation)
{
    const unroll_train_config *config = &trainer->config;

    training->tokens = unroll_text_tokens(trainer->text, &training->count);
    trainer->text_hash = hash_words(HASH_BEGIN, training->tokens, training->count);
    if (config->validation_text) {
        TRY(check_model_reads_text(trainer->model, config->validation_text));
        validation->tokens = unroll_text_tokens(config->validation_text, &validation->count);
        trainer->text_hash = hash_words(trainer->text_hash, validation->tokens, validation->count);
        if (validation->count >= 2)
            return UNROLL_OK;
        return fail(UNROLL_DATA, "a validation text of %zu symbol has nothing to predict; fix: a longer one",
                    validation->count);
    }
    validation->count = count_validated(config, training->count);
    if (config->validation > 0 && validation->count < 2)
        return fail(UNROLL_DATA, "%g of %zu symbols is too little to validate on; fix: a longer text, or "
                    "validation 0 (--val 0)", config->validation, training->count);
    training->count -= validation->count;
    validation->tokens = training->tokens + training->count;
    return UNROLL_OK;
}

/* Each row reads its whole piece at once when bptt is 0. */
static unroll_status cut_into_batches(const unroll_train_config *config, const struct part *training,
                                      struct batcher *batcher)
{
    int rows = config->batch, steps = config->bptt;
    size_t piece = training->count > 0 ? (training->count - 1) / (size_t)rows : 0;

    if (steps == 0)
        steps = piece > 0 ? (int)piece : 1;     /* a text has at most INT32_MAX symbols */
    return batcher_init(batcher, training->tokens, training->count, rows, steps, config->seed);
}

int64_t unroll_train_steps_per_epoch(const unroll_train_config *config, const unroll_text *text)
{
    struct part training = {.tokens = unroll_text_tokens(text, &training.count)};
    struct batcher batcher;

    if (check_config(config) != UNROLL_OK)
        return 0;
    training.count -= count_validated(config, training.count);
    return cut_into_batches(config, &training, &batcher) == UNROLL_OK ? batcher.windows : 0;
}

static unroll_status open_sessions(unroll_trainer *trainer, const struct part *validation)
{
    unroll_session_config config = unroll_session_default();
    uint64_t memory = trainer->config.machine.memory ? trainer->config.machine.memory : unroll_memory_limit();

    config.mode = UNROLL_TRAIN;
    config.steps = trainer->batcher.steps;
    config.rows = trainer->config.batch;
    config.carry = 1;
    config.optimizer = trainer->config.optimizer;
    config.seed = trainer->config.seed;
    config.machine = trainer->config.machine;
    config.machine.memory = memory;
    TRY(unroll_session_new(trainer->model, &config, &trainer->session));
    if (validation->count == 0)
        return UNROLL_OK;
    uint64_t used = unroll_session_forecast(trainer->session);
    config.machine.memory = memory > used ? memory - used : 1;
    return evaluator_new(trainer->model, validation->tokens, validation->count, &config.machine, &trainer->evaluator);
}

/* A model made without symbols takes the text's, so that its file can be used without the text. */
static unroll_status give_symbols(unroll_model *model, const unroll_text *text)
{
    return unroll_model_symbols(model) ? UNROLL_OK : unroll_model_set_symbols_of(model, text);
}

/* Devices that wait for what a look asks of them are asked less often. */
static int steps_between_looks(const unroll_train_config *config)
{
    bool waits = config->machine.device != NULL && strcmp(config->machine.device, "cpu") != 0;

    return config->loss_every ? config->loss_every : waits ? 10 : 1;
}

/* What a rank does alone. */
static unroll_status prepare(unroll_trainer *trainer, struct part *validation)
{
    const unroll_train_config *config = &trainer->config;
    struct part training;

    TRY(give_symbols(trainer->model, trainer->text));
    TRY(divide_text(trainer, &training, validation));
    TRY(cut_into_batches(config, &training, &trainer->batcher));
    strcpy(trainer->optimizer, config->optimizer);
    trainer->schedule = schedule_find(config->schedule);
    trainer->total_steps = config->total_steps;
    if (trainer->total_steps == 0)
        trainer->total_steps = DEFAULT_EPOCHS * trainer->batcher.windows;
    trainer->look_every = steps_between_looks(config);
    trainer->state.plateau = plateau_new();
    size_t batch_size = (size_t)trainer->batcher.rows * (size_t)trainer->batcher.steps;
    trainer->inputs = allocate_zeroed(batch_size, sizeof *trainer->inputs);
    trainer->targets = allocate_zeroed(batch_size, sizeof *trainer->targets);
    if (trainer->inputs == NULL || trainer->targets == NULL)
        return fail(UNROLL_RESOURCE, "no memory for batches of %d x %d symbols", trainer->batcher.rows,
                    trainer->batcher.steps);
    return UNROLL_OK;
}

/* What decides an update, or when a rank sends, and is in no plan. */
static uint64_t hash_course(const unroll_trainer *trainer)
{
    const unroll_train_config *config = &trainer->config;
    const unroll_rates *r = &config->rates;
    const double numbers[] = {r->learning_rate, r->momentum, r->beta1, r->beta2, r->epsilon, r->decay, r->clip,
                              config->validation, (double)config->warmup, (double)trainer->total_steps,
                              config->carry, trainer->look_every, (double)trainer->batcher.windows};

    return hash_text(hash_bytes(HASH_BEGIN, numbers, sizeof numbers), trainer->schedule->name);
}

static unroll_status set_up(unroll_trainer *trainer)
{
    unroll_comm *comm = trainer->config.machine.comm;
    struct part validation;

    unroll_status status = prepare(trainer, &validation);
    TRY(comm_agree(comm, status, trainer->text_hash ^ trainer->config.seed, "the text or the seed is"));
    TRY(comm_agree(comm, UNROLL_OK, hash_course(trainer),
                   "a rate, the schedule, its length or the part for validation is"));
    return open_sessions(trainer, &validation);
}

unroll_status unroll_trainer_new(unroll_model *model, const unroll_text *text,
                                 const unroll_train_config *config, unroll_trainer **trainer)
{
    TRY(check_config(config));
    TRY(check_model_reads_text(model, text));
    unroll_trainer *made = allocate_zeroed(1, sizeof *made);
    if (made == NULL)
        return fail(UNROLL_RESOURCE, "no memory for a trainer");
    made->model = model;
    made->text = text;
    made->config = *config;
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
    release(trainer->targets);
    release(trainer->inputs);
    release(trainer);
}

/* ---- stepping ---- */

void unroll_trainer_set_total_steps(unroll_trainer *trainer, int64_t total_steps)
{
    trainer->total_steps = total_steps;
}

static unroll_rates rates_now(const unroll_trainer *trainer)
{
    unroll_rates rates = trainer->config.rates;
    struct schedule_moment moment = {trainer->state.step, trainer->config.warmup, trainer->total_steps,
                                     &trainer->state.plateau};

    rates.learning_rate *= schedule_factor(trainer->schedule, &moment);
    return rates;
}

/* An epoch begins with zero states: its first window does not follow on the last one. */
static unroll_status train_on_batch(unroll_trainer *trainer, const unroll_rates *rates, unroll_result *result)
{
    unroll_batch batch = {.tokens = trainer->inputs, .classes = trainer->targets};

    batcher_fill(&trainer->batcher, trainer->state.cursor, trainer->inputs, trainer->targets);
    if (trainer->state.cursor.window == 0 || !trainer->config.carry)
        TRY(unroll_clear_states(trainer->session));
    return unroll_step(trainer->session, &batch, rates, result);
}

/* The first step of a process, then each whose number is a multiple. */
static bool is_time_to_look(const unroll_trainer *trainer)
{
    return !trainer->looked || (trainer->state.step + 1) % trainer->look_every == 0;
}

void unroll_trainer_progress(const unroll_trainer *trainer, unroll_progress *progress)
{
    const struct trainer_state *state = &trainer->state;

    *progress = (unroll_progress){
        .step = state->step,
        .epoch = (double)state->cursor.epoch
               + (double)state->cursor.window / (double)trainer->batcher.windows,
        .loss = trainer->result.loss, .norm = trainer->result.norm, .learning_rate = state->learning_rate,
        .symbols = state->symbols, .steps_per_epoch = trainer->batcher.windows,
        .best_validation = state->plateau.best, .best_step = state->best_step, .since_best = state->since_best,
    };
}

unroll_status unroll_trainer_step(unroll_trainer *trainer, unroll_progress *progress)
{
    struct trainer_state *state = &trainer->state;
    unroll_rates rates = rates_now(trainer);
    bool looks = is_time_to_look(trainer);
    unroll_status status = train_on_batch(trainer, &rates, looks ? &trainer->result : NULL);

    if (status != UNROLL_OK)
        return fail(status, "step %" PRId64 ": %s", state->step + 1, unroll_last_error());
    state->step++;
    trainer->unseen++;
    state->symbols += (int64_t)trainer->batcher.rows * trainer->batcher.steps;
    state->cursor = batcher_next(&trainer->batcher, state->cursor);
    state->learning_rate = rates.learning_rate;
    unroll_trainer_progress(trainer, progress);
    progress->looked = looks ? trainer->unseen : 0;
    trainer->looked |= looks;
    trainer->unseen = looks ? 0 : trainer->unseen;
    return UNROLL_OK;
}

unroll_status trainer_look(unroll_trainer *trainer)
{
    if (trainer->unseen == 0)
        return UNROLL_OK;
    double norm = trainer->result.norm;
    TRY(unroll_loss_result(trainer->session, &trainer->result));
    if (trainer->result.norm == 0)                      /* of devices that don't keep it */
        trainer->result.norm = norm;
    trainer->unseen = 0;
    return UNROLL_OK;
}

unroll_status unroll_trainer_validate(unroll_trainer *trainer, double *nats)
{
    return unroll_trainer_validate_while(trainer, NULL, NULL, nats);
}

static void take_validation(struct trainer_state *state, double nats)
{
    bool is_best = nats < state->plateau.best;

    state->best_step = is_best ? state->step : state->best_step;
    state->since_best = is_best ? 0 : state->since_best + 1;
    plateau_report(&state->plateau, nats);
}

unroll_status unroll_trainer_validate_while(unroll_trainer *trainer, int (*goes_on)(void *), void *data, double *nats)
{
    double found;

    if (trainer->evaluator == NULL)
        return fail(UNROLL_USAGE, "there is nothing to validate on: the trainer was made with validation 0");
    TRY(evaluator_run(trainer->evaluator, goes_on, data, &found));
    if (!isnan(found))
        take_validation(&trainer->state, found);
    *nats = found;
    return UNROLL_OK;
}

uint64_t unroll_trainer_forecast(const unroll_trainer *trainer)
{
    uint64_t bytes = unroll_session_forecast(trainer->session) + snapshot_bytes(trainer);

    return trainer->evaluator ? bytes + evaluator_forecast(trainer->evaluator) : bytes;
}

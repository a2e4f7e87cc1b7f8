/* Metadata of a checkpoint: the identity of a training, its hyperparameters, its counters. Writes, reads and compares
 * them. */
#include "nn/optim/optim.h"
#include "train/checkpoint/checkpoint_facts.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "train/checkpoint/checkpoint_file.h"

void add_field(struct facts *fields, const char *key, const char *format, ...)
{
    va_list arguments;
    snprintf(fields->key[fields->count], KEY_SIZE, "%s", key);
    va_start(arguments, format);
    vsnprintf(fields->value[fields->count], VALUE_SIZE, format, arguments);
    va_end(arguments);
    fields->count++;
}

/* The keys date from the time when all data were texts and lm was the only task. */
static const char training_items[] = "training_symbols", data_hash[] = "text_hash", task_key[] = "task";
static const char division[] = "divide_by";
/* Values of older checkpoints that do not contain these keys. */
static const struct {
    const char *key, *value;
} unsaid[] = {{task_key, "lm"},         {"accumulate", "1"},
              {"batch_tokens", "0"},    {"task_options", "0000000000000000"},
              {"label_smoothing", "0"}, {"class_weights", "0000000000000000"},
              {division, "even"}};

/* Describes everything that the next step depends on. The data come first: with other data the network differs, too,
 * which explains less. */
void describe_identity(const unroll_trainer *trainer, struct facts *fields)
{
    add_field(fields, task_key, "%s", trainer->task->name);
    add_field(fields, training_items, "%zu", trainer->part->items);
    add_field(fields, data_hash, "%016" PRIx64, trainer->data_hash);
    add_field(fields, "batch", "%d", trainer->config.batch);
    add_field(fields, "bptt", "%d", trainer->config.bptt);
    add_field(fields, "batch_tokens", "%" PRId64, trainer->config.batch_tokens);
    add_field(fields, "accumulate", "%d", trainer->config.accumulate);
    add_field(fields, "label_smoothing", "%.9g", (double)trainer->config.label_smoothing);
    add_field(fields, "class_weights", "%016" PRIx64, trainer->weights_hash);
    add_field(fields, "task_options", "%016" PRIx64, trainer->options_hash);
    add_field(fields, division, "%s", trainer->division);
    add_field(fields, "carry", "%d", trainer->config.stateful != 0);
    add_field(fields, "optimizer", "%s", trainer->config.rates.optimizer);
    add_field(fields, "seed", "%" PRIu64, trainer->config.seed);
}

/* Describes what may be changed only on request. The length of the schedule may always change. */
void describe_rates(const unroll_trainer *trainer, struct facts *fields)
{
    const unroll_hyperparameters *r = &trainer->config.rates;
    const struct hyperparameter *h;

    add_field(fields, "base_learning_rate", "%.15g", r->learning_rate);
    for (int i = 0; (h = optimizer_hyperparameter(r->optimizer, i)); i++)
        add_field(fields, h->name, "%.15g", r->hyperparameter[i]);
    add_field(fields, "clip_norm", "%.15g", r->clip);
    add_field(fields, "schedule", "%s", trainer->schedule->name);
    add_field(fields, "warmup", "%" PRId64, trainer->config.warmup);
}

/* Members of the state, used for both writing and reading. */
#define STATE_INTEGERS(FIELD) \
    FIELD("step", trainer.step) FIELD("symbols", trainer.items) FIELD("epoch", trainer.cursor.epoch) \
    FIELD("window", trainer.cursor.window) FIELD("plateau_waited", trainer.plateau.waited) \
    FIELD("forwards", forwards) FIELD("updates", updates)
#define STATE_REALS(FIELD) \
    FIELD("best_loss", trainer.plateau.best) FIELD("plateau_factor", trainer.plateau.factor)
/* Missing in older checkpoints. */
#define NEWER_STATE_INTEGERS(FIELD) FIELD("best_step", trainer.best_step) FIELD("since_best", trainer.since_best)
#define NEWER_STATE_REALS(FIELD)    FIELD("learning_rate", trainer.learning_rate)
#define NEWEST_STATE_REALS(FIELD) \
    FIELD("best_validation_loss", trainer.best_loss) FIELD("best_metric", trainer.best_metric)
static const char scale_key[] = "loss_scale", scale_updates_key[] = "loss_scale_updates";

#define POLICY_KEY "policy%d"

/* Adds all counters. Optional ones are added only if they are in use. */
void describe_state(const struct saved_state *state, struct facts *fields)
{
#define ADD_INTEGER(key, member) add_field(fields, key, "%" PRId64, state->member);
#define ADD_REAL(key, member)    add_field(fields, key, "%.17g", state->member);
    STATE_INTEGERS(ADD_INTEGER)
    STATE_REALS(ADD_REAL)
    NEWER_STATE_INTEGERS(ADD_INTEGER)
    NEWER_STATE_REALS(ADD_REAL)
    NEWEST_STATE_REALS(ADD_REAL)
    if (state->scale > 0) {
        add_field(fields, scale_key, "%.17g", state->scale);
        add_field(fields, scale_updates_key, "%" PRId64, state->scale_updates);
    }
    for (int i = 0; i < POLICY_INTEGERS; i++)
        if (state->policy[i]) {
            char key[KEY_SIZE];
            snprintf(key, sizeof key, POLICY_KEY, i);
            add_field(fields, key, "%" PRId64, state->policy[i]);
        }
}

unroll_status refuse_identity(const char *path, const char *key, const char *was, const char *is)
{
    if (!strcmp(key, training_items))
        return fail(
            UNROLL_USAGE,
            "'%s' was made with %.80s items to train on, this training has %s; fix: resume with the same data and "
            "validation part",
            path, was, is);
    if (!strcmp(key, data_hash))
        return fail(UNROLL_USAGE, "'%s' was made with other data or validation data; fix: resume with the same", path);
    if (!strcmp(key, division))
        return fail(UNROLL_USAGE,
                    "'%s' was made by another number of ranks that share sequences by `divide_by`, or with another "
                    "`divide_by`; fix: resume with the same of both",
                    path);
    return fail(UNROLL_USAGE, "'%s' was made with %s = %.80s, this training has %s; fix: resume with the same", path,
                key, was, is);
}

static unroll_status check_fields(const struct facts *expected, const struct safetensors *file, const char *path)
{
    for (int i = 0; i < expected->count; i++) {
        const char *value = safetensors_metadata(file, expected->key[i]);
        for (size_t k = 0; value == NULL && k < sizeof unsaid / sizeof *unsaid; k++)
            value = strcmp(expected->key[i], unsaid[k].key) == 0 ? unsaid[k].value : NULL;
        if (value == NULL)
            return fail(
                UNROLL_DATA,
                "'%s' has no '%s': it is not the file of a checkpoint; fix: use another checkpoint, or start a new run",
                path, expected->key[i]);
        if (strcmp(value, expected->value[i]) != 0)
            return refuse_identity(path, expected->key[i], value, expected->value[i]);
    }
    return UNROLL_OK;
}

unroll_status check_identity(const unroll_trainer *trainer, const struct safetensors *file, const char *path)
{
    struct facts identity = {0}, rates = {0};
    describe_identity(trainer, &identity);
    describe_rates(trainer, &rates);
    TRY(check_fields(&identity, file, path));
    if (checkpoint_is_old(file) || trainer->config.new_hyperparameters)
        return UNROLL_OK;
    return check_fields(&rates, file, path);
}

/* Reads a count, at most 2^53, because some are used as doubles. */
static unroll_status read_integer(const struct safetensors *file, const char *path, const char *key, int64_t *value)
{
    const int64_t max = (int64_t)1 << 53;
    const char *text = safetensors_metadata(file, key);
    if (text == NULL || number_whole_integer(text, 0, max, value) != NUMBER_OK)
        return fail(
            UNROLL_DATA,
            "'%s' has an invalid '%s': a count was expected, not '%.40s'; fix: use another checkpoint, or start a new "
            "run",
            path, key, text ? text : "");
    return UNROLL_OK;
}

/* Reads a real; "inf" is the best loss before any validation. */
static unroll_status read_real(const struct safetensors *file, const char *path, const char *key, double *value)
{
    const char *text = safetensors_metadata(file, key);
    *value = INFINITY;
    if (text == NULL || (strcmp(text, "inf") && number_whole_real(text, -DBL_MAX, DBL_MAX, value) != NUMBER_OK))
        return fail(
            UNROLL_DATA,
            "'%s' has an invalid '%s': a number was expected, not '%.40s'; fix: use another checkpoint, or start a "
            "new run",
            path, key, text ? text : "");
    return UNROLL_OK;
}

/* Reads the loss scale, which is missing if the training used another precision. */
static unroll_status read_scale(const struct safetensors *file, const char *path, struct saved_state *state)
{
    if (safetensors_metadata(file, scale_key) == NULL)
        return UNROLL_OK;
    TRY(read_real(file, path, scale_key, &state->scale));
    if (!(state->scale >= 1 && state->scale <= 0x1p24))
        return fail(
            UNROLL_DATA,
            "'%s' scales losses by %g, which is outside 1 .. 2^24; fix: use another checkpoint, or start a new run",
            path, state->scale);
    return read_integer(file, path, scale_updates_key, &state->scale_updates);
}

/* Reads all counters; those missing in older files get defaults. */
unroll_status read_state(const struct safetensors *file, const char *path, struct saved_state *state)
{
#define READ_INTEGER(key, member) TRY(read_integer(file, path, key, &state->member));
#define READ_REAL(key, member)    TRY(read_real(file, path, key, &state->member));
    STATE_INTEGERS(READ_INTEGER)
    STATE_REALS(READ_REAL)
    if (safetensors_metadata(file, "best_step")) {
        NEWER_STATE_INTEGERS(READ_INTEGER)
        NEWER_STATE_REALS(READ_REAL)
    }
    state->trainer.best_loss = state->trainer.plateau.best;
    state->trainer.best_metric = INFINITY;
    if (safetensors_metadata(file, "best_metric")) {
        NEWEST_STATE_REALS(READ_REAL)
    }
    for (int i = 0; i < POLICY_INTEGERS; i++) {
        char key[KEY_SIZE];
        snprintf(key, sizeof key, POLICY_KEY, i);
        if (safetensors_metadata(file, key))
            TRY(read_integer(file, path, key, &state->policy[i]));
    }
    return read_scale(file, path, state);
}

void take_state(const unroll_trainer *trainer, struct saved_state *state)
{
    *state = (struct saved_state){.trainer = trainer->state};
    if (trainer->exchange)
        memcpy(state->policy, trainer->exchange->integer, sizeof state->policy);
    unroll_session_counters(trainer->session, &state->forwards, &state->updates);
    unroll_session_loss_scale(trainer->session, &state->scale, &state->scale_updates);
}

unroll_status give_state(unroll_trainer *trainer, const struct saved_state *state, bool whole)
{
    TRY(exchange_resume(trainer->exchange, state->trainer.step, whole ? state->policy : NULL));
    unroll_session_set_counters(trainer->session, state->forwards, state->updates);
    if (state->scale > 0)
        unroll_session_set_loss_scale(trainer->session, state->scale, state->scale_updates);
    trainer->state = state->trainer;
    return UNROLL_OK;
}

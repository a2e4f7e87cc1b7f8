/* Checkpoints of a trainer: what must be the same when training goes on (the identity), what has changed
 * since it began (the state), and the numbers that the session holds (optimizer and carried states).
 * The weights are a model file like any other. A file is checked completely before anything changes. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/point.h"
#include "comm/comm.h"
#include "file/model_file.h"
#include "file/safetensors.h"
#include "model/model.h"
#include "train/checkpoint_directory.h"
#include "train/checkpoint_file.h"
#include "train/checkpoint_kept.h"
#include "train/trainer.h"
#include "unroll_advanced.h"

/* ---- metadata: a list of keys and values ---- */

enum { KEY_SIZE = 32, VALUE_SIZE = 64, MAX_FIELDS = 64 };

struct facts {
    int count;
    char key[MAX_FIELDS][KEY_SIZE], value[MAX_FIELDS][VALUE_SIZE];
};

__attribute__((format(printf, 3, 4))) static void add_field(struct facts *fields, const char *key, const char *format,
                                                            ...)
{
    va_list arguments;
    snprintf(fields->key[fields->count], KEY_SIZE, "%s", key);
    va_start(arguments, format);
    vsnprintf(fields->value[fields->count], VALUE_SIZE, format, arguments);
    va_end(arguments);
    fields->count++;
}

/* Their names are of a time when all data were texts and the one task was lm. */
static const char training_items[] = "training_symbols", data_hash[] = "text_hash", task_key[] = "task";
static const char division[] = "divide_by";
/* What checkpoints of before these were identities do not say. */
static const struct {
    const char *key, *value;
} unsaid[] = {{task_key, "lm"},         {"accumulate", "1"},
              {"batch_tokens", "0"},    {"task_options", "0000000000000000"},
              {"label_smoothing", "0"}, {"class_weights", "0000000000000000"},
              {division, "even"}};

/* Without these the next step could not be the same. The data come first: of others the network differs too,
 * which explains less. */
static void describe_identity(const unroll_trainer *trainer, struct facts *fields)
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

/* What may be changed only where that is asked for. The length of the schedule may always be. */
static void describe_rates(const unroll_trainer *trainer, struct facts *fields)
{
    const unroll_hyperparameters *r = &trainer->config.rates;
    const unroll_hyperparameter *h;

    add_field(fields, "base_learning_rate", "%.15g", r->learning_rate);
    for (int i = 0; (h = unroll_optimizer_hyperparameter(r->optimizer, i)) != NULL; i++)
        add_field(fields, h->name, "%.15g", r->hyperparameter[i]);
    add_field(fields, "clip_norm", "%.15g", r->clip);
    add_field(fields, "schedule", "%s", trainer->schedule->name);
    add_field(fields, "warmup", "%" PRId64, trainer->config.warmup);
}

/* All counters, of the trainer and of its session. */
struct saved_state {
    struct trainer_state trainer;
    int64_t forwards, updates;
    double scale; /* of losses, and updates since it changed; 0: this training has none */
    int64_t scale_updates;
    int64_t policy[POLICY_INTEGERS]; /* what the exchange between workers counts; 0: there is none */
};

/* Its members, once for writing and reading. */
#define STATE_INTEGERS(FIELD) \
    FIELD("step", trainer.step) FIELD("symbols", trainer.items) FIELD("epoch", trainer.cursor.epoch) \
    FIELD("window", trainer.cursor.window) FIELD("plateau_waited", trainer.plateau.waited) \
    FIELD("forwards", forwards) FIELD("updates", updates)
#define STATE_REALS(FIELD) \
    FIELD("best_loss", trainer.plateau.best) FIELD("plateau_factor", trainer.plateau.factor)
/* Checkpoints that are older lack them. */
#define NEWER_STATE_INTEGERS(FIELD) FIELD("best_step", trainer.best_step) FIELD("since_best", trainer.since_best)
#define NEWER_STATE_REALS(FIELD)    FIELD("learning_rate", trainer.learning_rate)
#define NEWEST_STATE_REALS(FIELD) \
    FIELD("best_validation_loss", trainer.best_loss) FIELD("best_metric", trainer.best_metric)
static const char scale_key[] = "loss_scale", scale_updates_key[] = "loss_scale_updates";

#define POLICY_KEY "policy%d"

static void describe_state(const struct saved_state *state, struct facts *fields)
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

static unroll_status refuse_identity(const char *path, const char *key, const char *was, const char *is)
{
    if (!strcmp(key, training_items))
        return fail(UNROLL_USAGE,
                    "'%s' was made with %.80s items to train on, this training has %s; fix: resume "
                    "with the same data and the same part of them for validation",
                    path, was, is);
    if (!strcmp(key, data_hash))
        return fail(UNROLL_USAGE,
                    "'%s' was made with other data, or with others to validate on; fix: resume with the same", path);
    if (!strcmp(key, division))
        return fail(UNROLL_USAGE,
                    "'%s' was made by another number of ranks that share sequences by `divide_by`, or by another way "
                    "to share them; fix: as many ranks, and the same way",
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
            return fail(UNROLL_DATA, "'%s' does not say its '%s': it is not the file of a checkpoint", path,
                        expected->key[i]);
        if (strcmp(value, expected->value[i]) != 0)
            return refuse_identity(path, expected->key[i], value, expected->value[i]);
    }
    return UNROLL_OK;
}

static unroll_status check_identity(const unroll_trainer *trainer, const struct safetensors *file, const char *path)
{
    struct facts identity = {0}, rates = {0};
    describe_identity(trainer, &identity);
    describe_rates(trainer, &rates);
    TRY(check_fields(&identity, file, path));
    if (checkpoint_is_old(file) || trainer->config.new_hyperparameters)
        return UNROLL_OK;
    return check_fields(&rates, file, path);
}

/* Counts go on from what a file says, some of them as doubles. */
static unroll_status read_integer(const struct safetensors *file, const char *path, const char *key, int64_t *value)
{
    const int64_t max = (int64_t)1 << 53;
    const char *text = safetensors_metadata(file, key);
    if (text == NULL || number_whole_integer(text, 0, max, value) != NUMBER_OK)
        return fail(UNROLL_DATA, "'%s' has no sound '%s': a count was expected, not '%.40s'", path, key,
                    text ? text : "");
    return UNROLL_OK;
}

/* The best loss of none is infinite. */
static unroll_status read_real(const struct safetensors *file, const char *path, const char *key, double *value)
{
    const char *text = safetensors_metadata(file, key);
    *value = INFINITY;
    if (text == NULL || (strcmp(text, "inf") && number_whole_real(text, -DBL_MAX, DBL_MAX, value) != NUMBER_OK))
        return fail(UNROLL_DATA, "'%s' has no sound '%s': a number was expected, not '%.40s'", path, key,
                    text ? text : "");
    return UNROLL_OK;
}

/* There is none where another precision trained. */
static unroll_status read_scale(const struct safetensors *file, const char *path, struct saved_state *state)
{
    if (safetensors_metadata(file, scale_key) == NULL)
        return UNROLL_OK;
    TRY(read_real(file, path, scale_key, &state->scale));
    if (!(state->scale >= 1 && state->scale <= 0x1p24))
        return fail(UNROLL_DATA, "'%s' scales losses by %g, which is outside 1 .. 2^24", path, state->scale);
    return read_integer(file, path, scale_updates_key, &state->scale_updates);
}

static unroll_status read_state(const struct safetensors *file, const char *path, struct saved_state *state)
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

/* What the files of a checkpoint are written from, whatever the trainer does then. */
struct unroll_snapshot {
    struct unroll_model model; /* the trainer's, but for values and schema, which are copies */
    struct kept kept;
    struct facts fields;
};

/* ---- saving ---- */

static unroll_status write_kept(const char *path, const struct kept *kept, const struct facts *fields)
{
    struct tensor_view *tensors = allocate_zeroed((size_t)kept->count, sizeof *tensors);
    struct metadata metadata[MAX_FIELDS];
    const float *at = kept->numbers;
    if (tensors == NULL)
        return fail(UNROLL_RESOURCE, "no memory to write '%s'", path);
    for (int i = 0; i < kept->count; at += kept->size[i++])
        tensors[i] = (struct tensor_view){.name = kept->name[i],
                                          .dtype = DTYPE_F32,
                                          .rank = 1,
                                          .shape = {kept->size[i]},
                                          .data = at,
                                          .bytes = kept->size[i] * sizeof *at};
    for (int i = 0; i < fields->count; i++) metadata[i] = (struct metadata){fields->key[i], fields->value[i]};
    unroll_status status = safetensors_write(path, tensors, kept->count, metadata, fields->count);
    release(tensors);
    return status;
}

static unroll_status write_files(struct unroll_snapshot *snapshot, const char *directory)
{
    struct facts fields = snapshot->fields;
    char path[PATH_MAX];
    TRY(checkpoint_path(directory, MODEL_FILE, path));
    TRY(unroll_model_save(&snapshot->model, path));
    TRY(checkpoint_path(directory, OPTIMIZER_FILE, path));
    add_field(&fields, CHECKPOINT_WEIGHTS_KEY, "%016" PRIx64, hash_weights(&snapshot->model));
    return write_kept(path, &snapshot->kept, &fields);
}

/* What could not be loaded is not written: unroll_model_save looks at the weights. */
static unroll_status check_kept(const struct kept *kept, const char *directory)
{
    const float *at = kept->numbers;
    for (int i = 0; i < kept->count; at += kept->size[i++])
        if (first_nan(at, kept->size[i]) < kept->size[i])
            return fail(UNROLL_DIVERGED, "'%s' is not written: '%s' holds NaN", directory, kept->name[i]);
    return UNROLL_OK;
}

unroll_status unroll_snapshot_write(unroll_snapshot *snapshot, const char *directory)
{
    struct checkpoint_places *places = allocate_zeroed(1, sizeof *places);
    unroll_status status = places ? check_kept(&snapshot->kept, directory)
                                  : fail(UNROLL_RESOURCE, "no memory for the names of a checkpoint's files");
    if (status == UNROLL_OK)
        status = checkpoint_begin(directory, places);
    if (status == UNROLL_OK) {
        locale_t before = point_begin();
        status = write_files(snapshot, places->unfinished);
        point_end(before);
        if (status == UNROLL_OK)
            status = checkpoint_commit(places);
        if (status != UNROLL_OK)
            checkpoint_abandon(places);
    }
    release(places);
    return status;
}

void snapshot_free(struct unroll_snapshot *snapshot)
{
    if (snapshot == NULL)
        return;
    release(snapshot->model.values);
    release(snapshot->model.schema);
    kept_free(&snapshot->kept);
    release(snapshot);
}

/* The trainer's, made for its first checkpoint. */
static unroll_status snapshot_new(unroll_trainer *trainer)
{
    struct unroll_snapshot *made = trainer->snapshot;
    if (made != NULL)
        return UNROLL_OK;
    TRY(ALLOCATE(made, 1, "for a checkpoint"));
    made->model = *trainer->model;
    made->model.schema = NULL;
    made->model.values = allocate_zeroed(made->model.count, sizeof *made->model.values);
    unroll_status status =
        made->model.values ? kept_new(trainer, false, &made->kept)
                           : fail(UNROLL_RESOURCE, "no memory for the %zu weights of a checkpoint", made->model.count);
    if (status == UNROLL_OK)
        trainer->snapshot = made;
    else
        snapshot_free(made);
    return status;
}

uint64_t snapshot_bytes(const unroll_trainer *trainer)
{
    struct kept kept;
    unroll_status status = kept_list(trainer, false, &kept);
    size_t count = status == UNROLL_OK ? kept.total + trainer->model->count : 0;
    kept_free(&kept);
    return count * sizeof(float);
}

static void describe_trainer(const unroll_trainer *trainer, struct facts *fields)
{
    struct saved_state state = {.trainer = trainer->state};
    if (trainer->exchange)
        memcpy(state.policy, trainer->exchange->integer, sizeof state.policy);
    locale_t before = point_begin(); /* not while ranks talk: they may share a thread */
    unroll_session_counters(trainer->session, &state.forwards, &state.updates);
    unroll_session_loss_scale(trainer->session, &state.scale, &state.scale_updates);
    fields->count = 0;
    add_field(fields, CHECKPOINT_FORMAT_KEY, CHECKPOINT_FORMAT);
    describe_identity(trainer, fields);
    describe_rates(trainer, fields);
    describe_state(&state, fields);
    point_end(before);
}

/* Of many ranks all bring what they have: whole arrays, in which no rank can be seen. */
unroll_status unroll_trainer_snapshot(unroll_trainer *trainer, unroll_snapshot **snapshot)
{
    TRY(trainer_sync(trainer));
    TRY(unroll_comm_agree(trainer->config.machine.comm, snapshot_new(trainer)));
    TRY(exchange_enter_mean(trainer->exchange));
    TRY(unroll_session_pull(trainer->session));
    TRY(kept_read(trainer, &trainer->snapshot->kept));
    TRY(exchange_leave_mean(trainer->exchange));
    TRY(model_set_schema(&trainer->snapshot->model, trainer->model->schema));
    *snapshot = trainer->snapshot;
    memcpy((*snapshot)->model.values, trainer->model->values, trainer->model->count * sizeof(float));
    describe_trainer(trainer, &(*snapshot)->fields);
    return UNROLL_OK;
}

unroll_status unroll_trainer_save(unroll_trainer *trainer, const char *directory)
{
    unroll_comm *comm = trainer->config.machine.comm;
    unroll_snapshot *snapshot;
    TRY(unroll_trainer_snapshot(trainer, &snapshot));
    return unroll_comm_agree(comm, unroll_comm_rank(comm) > 0 ? UNROLL_OK : unroll_snapshot_write(snapshot, directory));
}

/* ---- loading ---- */

/* A checkpoint that was read and checked, before it is applied. */
struct loaded {
    unroll_model *model;
    struct kept kept; /* of this worker's own its own */
    struct saved_state state;
    uint64_t hash; /* of all numbers of the file */
    bool whole;    /* it has all that workers keep, of as many as there are now */
};

/* What workers kept is of no use to others. */
static bool is_of_workers(const char *name)
{
    const char *const *kept = exchange_names;
    size_t length = strlen(name);
    for (; *kept; kept++)
        if (length > strlen(*kept) && !strcmp(name + length - strlen(*kept), *kept) &&
            name[length - strlen(*kept) - 1] == '.')
            return true;
    return false;
}

static unroll_status refuse_unknown_tensors(const struct safetensors *file, const char *path, const struct kept *kept)
{
    for (int i = 0; i < safetensors_count(file); i++) {
        const char *name = safetensors_at(file, i)->name;
        bool known = is_of_workers(name);
        for (int k = 0; k < kept->count && !known; k++) known = strcmp(kept->name[k], name) == 0;
        if (!known)
            return fail(UNROLL_DATA, "'%s' holds the tensor '%.80s', which this training does not know", path, name);
    }
    return UNROLL_OK;
}

/* Of the copies of all workers that saved: this worker's own, if they are as many as now; else the mean, or what adds
 * up to the sum. */
static void take_copies(const float *from, size_t copies, size_t size, const struct exchange *e, int kind, float *to)
{
    const bool own = e && copies == (size_t)e->size && copies > 1, sums = kind == KEPT_SUMMED;
    if (own || copies == 1) {
        memcpy(to, from + (own ? (size_t)e->place * size : 0), size * sizeof *to);
        return;
    }
    memset(to, 0, size * sizeof *to);
    for (size_t copy = 0; copy < copies && !(sums && e->place > 0); copy++)
        for (size_t i = 0; i < size; i++) to[i] += from[copy * size + i];
    for (size_t i = 0; i < size && !sums; i++) to[i] /= (float)copies;
}

/* In a checkpoint of one process, or of another policy, there is nothing of workers. */
static unroll_status take_tensor(const struct safetensors *file, const char *path, const struct exchange *e, int index,
                                 struct loaded *loaded, float *at)
{
    const struct kept *kept = &loaded->kept;
    const struct kept_from *from = &kept->from[index];
    const size_t bytes = kept->size[index] * sizeof *at;
    const struct tensor_view *tensor = safetensors_find(file, kept->name[index]);
    if (tensor == NULL && from->vector >= 0) {
        loaded->whole = false;
        return UNROLL_OK;
    }
    if (tensor == NULL)
        return fail(UNROLL_DATA, "'%s' has no tensor '%s'", path, kept->name[index]);
    TRY(checkpoint_check_numbers(tensor, path));
    const size_t copies = tensor->bytes / bytes;
    if (tensor->bytes % bytes || copies < 1 || copies > RANKS_MAX)
        return fail(UNROLL_DATA, "'%s': '%s' is not %zu numbers", path, kept->name[index], kept->size[index]);
    if (from->kind != KEPT_ALIKE && e && copies != (size_t)e->size)
        loaded->whole = false;
    take_copies(tensor->data, copies, kept->size[index], e, from->kind, at);
    loaded->hash = hash_words(loaded->hash, tensor->data, copies * kept->size[index]);
    return UNROLL_OK;
}

static unroll_status take_tensors(const struct safetensors *file, const char *path, const struct exchange *e,
                                  struct loaded *loaded)
{
    float *at = loaded->kept.numbers;
    loaded->whole = true;
    for (int i = 0; i < loaded->kept.count; at += loaded->kept.size[i++])
        TRY(take_tensor(file, path, e, i, loaded, at));
    return refuse_unknown_tensors(file, path, &loaded->kept);
}

/* What the network was, the model's file says. */
static unroll_status check_network(const unroll_trainer *trainer, const unroll_model *model, const char *path)
{
    struct network_difference d;
    char *was = NULL, *is = NULL;
    unroll_status status = describe_network(model, &was);
    if (status == UNROLL_OK)
        status = describe_network(trainer->model, &is);
    if (status == UNROLL_OK && networks_differ(was, is, &d))
        status = refuse_identity(path, d.field, d.was, d.is);
    release(was);
    release(is);
    return status;
}

static unroll_status take_files(const unroll_trainer *trainer, const struct safetensors *file, const char *path,
                                const char *model_path, struct loaded *loaded)
{
    TRY(check_identity(trainer, file, path));
    TRY(unroll_model_load(model_path, &loaded->model));
    TRY(checkpoint_check_weights(loaded->model, file, path));
    TRY(check_network(trainer, loaded->model, model_path));
    TRY(read_state(file, path, &loaded->state));
    if (loaded->state.trainer.cursor.window >= trainer->part->batches)
        return fail(UNROLL_DATA, "'%s' stands at window %" PRId64 " of an epoch of %" PRId64, path,
                    loaded->state.trainer.cursor.window, trainer->part->batches);
    TRY(kept_new(trainer, true, &loaded->kept));
    return take_tensors(file, path, trainer->exchange, loaded);
}

static unroll_status apply(unroll_trainer *trainer, const struct loaded *loaded)
{
    unroll_parameter to, from;
    for (int i = 0; i < unroll_model_parameters(trainer->model); i++) {
        TRY(unroll_model_parameter(trainer->model, i, &to));
        TRY(unroll_model_parameter(loaded->model, i, &from));
        memcpy(to.data, from.data, parameter_count(&to) * sizeof *to.data);
    }
    TRY(unroll_session_push(trainer->session));
    TRY(kept_write(trainer, &loaded->kept));
    TRY(exchange_resume(trainer->exchange, loaded->state.trainer.step, loaded->whole ? loaded->state.policy : NULL));
    unroll_session_set_counters(trainer->session, loaded->state.forwards, loaded->state.updates);
    if (loaded->state.scale > 0)
        unroll_session_set_loss_scale(trainer->session, loaded->state.scale, loaded->state.scale_updates);
    trainer->state = loaded->state.trainer;
    return UNROLL_OK;
}

static unroll_status read_files(const unroll_trainer *trainer, const char *directory, struct loaded *loaded)
{
    char path[PATH_MAX], model_path[PATH_MAX];
    struct safetensors *file;
    TRY(checkpoint_path(directory, OPTIMIZER_FILE, path));
    TRY(checkpoint_path(directory, MODEL_FILE, model_path));
    TRY(checkpoint_file_open(path, &file));
    unroll_status status = take_files(trainer, file, path, model_path, loaded);
    safetensors_close(file);
    return status;
}

/* Of all that was read: ranks on machines of their own may have found older files. */
static uint64_t hash_loaded(const struct loaded *loaded)
{
    const struct trainer_state *trainer = &loaded->state.trainer;
    const int64_t steps[] = {trainer->step, loaded->state.forwards, loaded->state.updates, trainer->best_step,
                             trainer->since_best};
    uint64_t hash = hash_number(hash_bytes(HASH_BEGIN, steps, sizeof steps), hash_weights(loaded->model));
    return hash_number(hash, loaded->hash);
}

unroll_status unroll_trainer_load(unroll_trainer *trainer, const char *directory)
{
    unroll_comm *comm = trainer->config.machine.comm;
    struct loaded loaded = {0};
    char found[PATH_MAX];
    TRY(unroll_comm_agree(comm, checkpoint_find(directory, found)));
    locale_t before = point_begin();
    unroll_status status = read_files(trainer, found, &loaded);
    point_end(before);
    uint64_t hash = comm && status == UNROLL_OK ? hash_loaded(&loaded) : 0;
    status = comm_agree(comm, status, hash, "the checkpoint is");
    if (status == UNROLL_OK)
        status = unroll_comm_agree(comm, apply(trainer, &loaded));
    unroll_model_free(loaded.model);
    kept_free(&loaded.kept);
    return status;
}

/* ---- is a checkpoint whole? ---- */

static unroll_status check_files(const char *path, const struct safetensors *file, const char *model_path,
                                 unroll_progress *progress)
{
    struct saved_state state = {0};
    unroll_model *model;
    for (int i = 0; i < safetensors_count(file); i++) TRY(checkpoint_check_numbers(safetensors_at(file, i), path));
    TRY(read_state(file, path, &state));
    TRY(unroll_model_load(model_path, &model));
    unroll_status status = checkpoint_check_weights(model, file, path);
    unroll_model_free(model);
    if (status == UNROLL_OK)
        *progress = (unroll_progress){sizeof *progress,
                                      .step = state.trainer.step,
                                      .items = state.trainer.items,
                                      .learning_rate = state.trainer.learning_rate,
                                      .best_validation = state.trainer.best_loss,
                                      .best_metric =
                                          isfinite(state.trainer.best_metric) ? state.trainer.best_metric : (double)NAN,
                                      .best_step = state.trainer.best_step,
                                      .since_best = state.trainer.since_best};
    return status;
}

unroll_status unroll_checkpoint_check(const char *directory, unroll_progress *progress)
{
    char found[PATH_MAX], path[PATH_MAX], model_path[PATH_MAX];
    struct safetensors *file;
    CHECK_BEGUN(progress, unroll_progress, "{ .size = sizeof(unroll_progress) }");
    TRY(checkpoint_find(directory, found));
    TRY(checkpoint_path(found, OPTIMIZER_FILE, path));
    TRY(checkpoint_path(found, MODEL_FILE, model_path));
    TRY(checkpoint_file_open(path, &file));
    locale_t before = point_begin();
    unroll_status status = check_files(path, file, model_path, progress);
    point_end(before);
    safetensors_close(file);
    return status;
}

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
/* What checkpoints of before these were identities do not say. */
static const struct {
    const char *key, *value;
} unsaid[] = {{task_key, "lm"},         {"accumulate", "1"},
              {"batch_tokens", "0"},    {"task_options", "0000000000000000"},
              {"label_smoothing", "0"}, {"class_weights", "0000000000000000"}};

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
    return read_scale(file, path, state);
}

/* ---- the session's numbers ---- */

enum { BUFFER_NAME_SIZE = 112, STATES_OF_A_LAYER = 2 }; /* a parameter's is below 96 */

/* Everything that the session keeps from step to step beside the weights. */
struct kept {
    int count;
    char (*name)[BUFFER_NAME_SIZE]; /* [count] */
    size_t *size;                   /* [count] numbers */
    size_t total;
    float *numbers; /* [total] one buffer after the other */
};

static void kept_free(struct kept *kept)
{
    release(kept->numbers);
    release(kept->size);
    release(kept->name);
}

/* False: this optimizer, or this cell, has no such state. */
__attribute__((format(printf, 3, 4))) static bool list_buffer(struct kept *kept, const unroll_session *session,
                                                              const char *format, ...)
{
    char *name = kept->name[kept->count];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, BUFFER_NAME_SIZE, format, arguments);
    va_end(arguments);
    size_t size = unroll_count(session, name);
    if (size == 0)
        return false;
    kept->size[kept->count++] = size;
    kept->total += size;
    return true;
}

static unroll_status list_buffers(const unroll_trainer *trainer, int layers, struct kept *kept)
{
    unroll_parameter parameter;
    int parameters = unroll_model_parameters(trainer->model);
    for (int i = 0; i < parameters; i++) {
        TRY(unroll_model_parameter(trainer->model, i, &parameter));
        for (int state = 0; list_buffer(kept, trainer->session, "%s.opt%d", parameter.name, state); state++);
    }
    for (int layer = 0; layer < layers; layer++) {
        list_buffer(kept, trainer->session, "h0.l%d", layer);
        list_buffer(kept, trainer->session, "s0.l%d", layer);
    }
    return UNROLL_OK;
}

/* Of each parameter, as of the first. */
static size_t count_states(const unroll_trainer *trainer)
{
    char name[BUFFER_NAME_SIZE];
    unroll_parameter first = {.name = ""};
    size_t count = 0;
    unroll_model_parameter(trainer->model, 0, &first);
    for (;; count++) {
        snprintf(name, sizeof name, "%s.opt%zu", first.name, count);
        if (unroll_count(trainer->session, name) == 0)
            return count;
    }
}

/* Without the numbers. The caller gives it to kept_free, also after a failure. */
static unroll_status kept_list(const unroll_trainer *trainer, struct kept *kept)
{
    const int layers = unroll_model_layers(trainer->model);
    size_t max =
        (size_t)unroll_model_parameters(trainer->model) * count_states(trainer) + (size_t)layers * STATES_OF_A_LAYER;
    *kept = (struct kept){.name = allocate_zeroed(max + 1, sizeof *kept->name), /* a name is tried before it counts */
                          .size = allocate_zeroed(max, sizeof *kept->size)};
    if (kept->name == NULL || kept->size == NULL)
        return fail(UNROLL_RESOURCE, "no memory for a checkpoint");
    return list_buffers(trainer, layers, kept);
}

static unroll_status kept_new(const unroll_trainer *trainer, struct kept *kept)
{
    TRY(kept_list(trainer, kept));
    TRY(ALLOCATE(kept->numbers, kept->total, "for the %zu numbers of a checkpoint", kept->total));
    return UNROLL_OK;
}

/* What the files of a checkpoint are written from, whatever the trainer does then. */
struct unroll_snapshot {
    struct unroll_model model; /* the trainer's, but for values and schema, which are copies */
    struct kept kept;
    struct facts fields;
};

static unroll_status read_session(unroll_session *session, struct kept *kept)
{
    float *at = kept->numbers;
    for (int i = 0; i < kept->count; at += kept->size[i++]) TRY(unroll_read(session, kept->name[i], at, kept->size[i]));
    return UNROLL_OK;
}

static unroll_status write_session(unroll_session *session, const struct kept *kept)
{
    const float *at = kept->numbers;
    for (int i = 0; i < kept->count; at += kept->size[i++])
        TRY(unroll_write(session, kept->name[i], at, kept->size[i]));
    return UNROLL_OK;
}

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
        made->model.values ? kept_new(trainer, &made->kept)
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
    unroll_status status = kept_list(trainer, &kept);
    size_t count = status == UNROLL_OK ? kept.total + trainer->model->count : 0;
    kept_free(&kept);
    return count * sizeof(float);
}

static void describe_trainer(const unroll_trainer *trainer, struct facts *fields)
{
    struct saved_state state = {.trainer = trainer->state};
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
    TRY(unroll_session_pull(trainer->session));
    TRY(read_session(trainer->session, &trainer->snapshot->kept));
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
    struct kept kept;
    struct saved_state state;
};

static unroll_status refuse_unknown_tensors(const struct safetensors *file, const char *path, const struct kept *kept)
{
    for (int i = 0; i < safetensors_count(file); i++) {
        bool known = false;
        for (int k = 0; k < kept->count && !known; k++)
            known = strcmp(kept->name[k], safetensors_at(file, i)->name) == 0;
        if (!known)
            return fail(UNROLL_DATA, "'%s' holds the tensor '%.80s', which this training does not know", path,
                        safetensors_at(file, i)->name);
    }
    return UNROLL_OK;
}

static unroll_status take_tensors(const struct safetensors *file, const char *path, struct kept *kept)
{
    float *at = kept->numbers;
    for (int i = 0; i < kept->count; at += kept->size[i++]) {
        const struct tensor_view *tensor = safetensors_find(file, kept->name[i]);
        if (tensor == NULL)
            return fail(UNROLL_DATA, "'%s' has no tensor '%s'", path, kept->name[i]);
        TRY(checkpoint_check_numbers(tensor, path));
        if (tensor->bytes != kept->size[i] * sizeof *at)
            return fail(UNROLL_DATA, "'%s': '%s' is not %zu numbers", path, kept->name[i], kept->size[i]);
        memcpy(at, tensor->data, tensor->bytes);
    }
    return refuse_unknown_tensors(file, path, kept);
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
    TRY(kept_new(trainer, &loaded->kept));
    return take_tensors(file, path, &loaded->kept);
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
    TRY(write_session(trainer->session, &loaded->kept));
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
    return hash_words(hash, loaded->kept.numbers, loaded->kept.total);
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

/* Saves and loads checkpoints of a trainer: the metadata (checkpoint_facts.c), and the optimizer and carried states of
 * the session. The weights are a regular model file, or shards of one. A file is checked completely before anything
 * changes. */
#include "base/sized.h"
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/point.h"
#include "comm/comm.h"
#include "convert/model_file.h"
#include "io/safetensors.h"
#include "model/model.h"
#include "train/checkpoint/checkpoint_directory.h"
#include "train/checkpoint/checkpoint_facts.h"
#include "train/checkpoint/checkpoint_file.h"
#include "train/checkpoint/checkpoint_kept.h"
#include "train/checkpoint/checkpoint_shards.h"
#include "train/trainer.h"

/* A copy of everything that the files of a checkpoint need, so that the trainer can continue. */
struct unroll_snapshot {
    struct unroll_model model; /* the trainer's model with copies of values and schema */
    struct shards shards;      /* for ranks that write shards; count 0: only rank 0 writes */
    int rank;
    struct kept kept;
    struct facts fields;
};

/* ---- saving ---- */

/* Writes states. For shards: either those that belong to no parameter, or those of the parameters that this rank
 * writes. */
static unroll_status write_kept(const char *path, const struct unroll_snapshot *snapshot, bool of_parameters,
                                const struct facts *fields)
{
    const struct kept *kept = &snapshot->kept;
    int count = 0;
    struct tensor_view *tensors = allocate_zeroed((size_t)kept->count, sizeof *tensors);
    struct metadata metadata[MAX_FIELDS];
    const float *at = kept->numbers;
    if (tensors == NULL)
        return fail(UNROLL_RESOURCE, "no memory to write '%s'", path);
    for (int i = 0; i < kept->count; at += kept->size[i++])
        if (snapshot->shards.count == 0 || (shards_keep(&snapshot->shards, kept, i, snapshot->rank) &&
                                            of_parameters == (kept->from[i].parameter >= 0)))
            tensors[count++] = (struct tensor_view){.name = kept->name[i],
                                                    .dtype = DTYPE_F32,
                                                    .rank = 1,
                                                    .shape = {kept->size[i]},
                                                    .data = at,
                                                    .bytes = kept->size[i] * sizeof *at};
    for (int i = 0; i < fields->count; i++) metadata[i] = (struct metadata){fields->key[i], fields->value[i]};
    unroll_status status = safetensors_write(path, tensors, count, metadata, fields->count);
    release(tensors);
    return status;
}

static unroll_status write_files(struct unroll_snapshot *snapshot, const char *directory)
{
    struct facts fields = snapshot->fields;
    const bool is_split = snapshot->shards.count > 0;
    char path[PATH_MAX];
    TRY(checkpoint_path(directory, MODEL_FILE, path));
    TRY(is_split ? shards_write_indexes(&snapshot->shards, &snapshot->model, &snapshot->kept, directory)
                 : unroll_model_save(&snapshot->model, path));
    TRY(checkpoint_path(directory, OPTIMIZER_FILE, path));
    if (is_split)
        add_field(&fields, SHARD_ID_KEY, "%s", snapshot->shards.id);
    else
        add_field(&fields, CHECKPOINT_WEIGHTS_KEY, "%016" PRIx64, hash_weights(&snapshot->model));
    return write_kept(path, snapshot, false, &fields);
}

static unroll_status write_shard(struct unroll_snapshot *snapshot, const char *directory)
{
    const struct shards *shards = &snapshot->shards;
    struct facts fields = {0};
    char path[PATH_MAX], name[SHARD_NAME_SIZE];
    if (shards->mine < 0)
        return UNROLL_OK;
    shards_name(shards, "model", shards->mine, name);
    TRY(checkpoint_path(directory, name, path));
    TRY(model_save_shard(&snapshot->model, path, shards->own, shards->id));
    shards_name(shards, "optim", shards->mine, name);
    TRY(checkpoint_path(directory, name, path));
    add_field(&fields, CHECKPOINT_FORMAT_KEY, CHECKPOINT_FORMAT);
    add_field(&fields, SHARD_ID_KEY, "%s", shards->id);
    return write_kept(path, snapshot, true, &fields);
}

/* States with NaN are not written, because loading them would fail; unroll_model_save checks the weights. */
static unroll_status check_kept(const struct unroll_snapshot *snapshot, const char *directory)
{
    const struct kept *kept = &snapshot->kept;
    const float *at = kept->numbers;
    for (int i = 0; i < kept->count; at += kept->size[i++])
        if (shards_keep(&snapshot->shards, kept, i, snapshot->rank) && first_nan(at, kept->size[i]) < kept->size[i])
            return fail(UNROLL_DIVERGED, "'%s' is not written: '%s' holds NaN; fix: use a lower learning rate",
                        directory, kept->name[i]);
    return UNROLL_OK;
}

/* Writes files with `write`. commits: completes the checkpoint. */
static unroll_status write_part(unroll_snapshot *snapshot, const char *directory, bool commits,
                                unroll_status (*write)(struct unroll_snapshot *, const char *directory))
{
    struct checkpoint_places *places = allocate_zeroed(1, sizeof *places);
    unroll_status status = places ? check_kept(snapshot, directory)
                                  : fail(UNROLL_RESOURCE, "no memory for the names of a checkpoint's files");
    if (status == UNROLL_OK)
        status = checkpoint_begin(directory, snapshot->shards.count ? snapshot->shards.id : NULL, places);
    if (status == UNROLL_OK) {
        locale_t before = point_begin();
        status = write(snapshot, places->unfinished);
        point_end(before);
        if (status == UNROLL_OK && commits)
            status = checkpoint_commit(places);
        if (status != UNROLL_OK)
            checkpoint_abandon(places);
    }
    release(places);
    return status;
}

unroll_status unroll_snapshot_write(unroll_snapshot *snapshot, const char *directory)
{
    return write_part(snapshot, directory, true, write_files);
}

int unroll_snapshot_shards(const unroll_snapshot *snapshot) { return snapshot->shards.count; }

unroll_status unroll_snapshot_write_shard(unroll_snapshot *snapshot, const char *directory)
{
    return snapshot->shards.count ? write_part(snapshot, directory, false, write_shard) : UNROLL_OK;
}

void snapshot_free(struct unroll_snapshot *snapshot)
{
    if (snapshot == NULL)
        return;
    shards_free(&snapshot->shards);
    release(snapshot->model.values);
    (void)model_set_schema(&snapshot->model, NULL);
    kept_free(&snapshot->kept);
    release(snapshot);
}

/* Returns the trainer's snapshot, which is created for its first checkpoint. */
static unroll_status snapshot_new(unroll_trainer *trainer)
{
    struct unroll_snapshot *made = trainer->snapshot;
    if (made != NULL)
        return UNROLL_OK;
    TRY(ALLOCATE(made, 1, "for a checkpoint"));
    made->model = *trainer->model;
    made->model.schema = NULL, made->model.tree = NULL;
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

/* Reads weights and states from the session: complete on rank 0, or on each rank the part that it writes. */
static unroll_status read_session(unroll_trainer *trainer, struct unroll_snapshot *snapshot)
{
    if (snapshot->shards.count > 0)
        return shards_read(trainer, &snapshot->shards, snapshot->model.values, &snapshot->kept);
    TRY(exchange_enter_mean(trainer->exchange, true));
    TRY(unroll_session_pull(trainer->session));
    TRY(kept_read(trainer, &snapshot->kept));
    memcpy(snapshot->model.values, trainer->model->values, trainer->model->count * sizeof(float));
    return exchange_leave_mean(trainer->exchange);
}

static uint64_t hash_facts(const struct facts *fields)
{
    uint64_t hash = HASH_BEGIN;
    for (int i = 0; i < fields->count; i++) hash = hash_text(hash_text(hash, fields->key[i]), fields->value[i]);
    return hash;
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
    struct saved_state state;
    take_state(trainer, &state);
    locale_t before = point_begin(); /* not while ranks communicate: they may share a thread */
    fields->count = 0;
    add_field(fields, CHECKPOINT_FORMAT_KEY, CHECKPOINT_FORMAT);
    describe_identity(trainer, fields);
    describe_rates(trainer, fields);
    describe_state(&state, fields);
    point_end(before);
}

/* Collective: all ranks contribute their data to whole arrays, which do not depend on the division. */
unroll_status unroll_trainer_snapshot(unroll_trainer *trainer, unroll_snapshot **snapshot)
{
    TRY(trainer_sync(trainer));
    TRY(unroll_comm_agree(trainer->config.machine.comm, snapshot_new(trainer)));
    struct unroll_snapshot *made = trainer->snapshot;
    if (made->shards.parameters == 0)
        TRY(shards_new(trainer, &made->shards));
    made->rank = unroll_comm_rank(trainer->config.machine.comm);
    TRY(read_session(trainer, made));
    TRY(model_set_schema(&made->model, trainer->model->schema));
    describe_trainer(trainer, &made->fields);
    if (made->shards.count > 0)
        TRY(shards_identify(trainer, &made->shards, made->model.values, &made->kept, hash_facts(&made->fields)));
    *snapshot = made;
    return UNROLL_OK;
}

unroll_status unroll_trainer_save(unroll_trainer *trainer, const char *directory)
{
    unroll_comm *comm = trainer->config.machine.comm;
    unroll_snapshot *snapshot;
    TRY(unroll_trainer_snapshot(trainer, &snapshot));
    TRY(unroll_comm_agree(comm, unroll_snapshot_write_shard(snapshot, directory)));
    return unroll_comm_agree(comm, unroll_comm_rank(comm) > 0 ? UNROLL_OK : unroll_snapshot_write(snapshot, directory));
}

/* ---- loading ---- */

/* A checkpoint that has been read and checked, but not applied. */
struct loaded_checkpoint {
    unroll_model *model;
    struct kept kept; /* for a worker, its own copies */
    struct saved_state state;
    uint64_t hash;            /* of all values in the file */
    bool whole;               /* contains the vectors of workers, and their number is the same */
    struct tensor_set states; /* of shards: those that this rank needs */
};

/* True for a weight that this rank uses, or its optimizer states; others need not be read. */
static bool is_needed(void *arg, const char *name)
{
    const unroll_trainer *trainer = arg;
    const struct unroll_model *m = trainer->model;
    for (int i = 0; i < m->parameters; i++) {
        size_t length = strlen(m->parameter[i].name);
        if (!strncmp(m->parameter[i].name, name, length) && (!name[length] || !strncmp(name + length, ".opt", 4)))
            return session_holds(trainer->session, i);
    }
    return true; /* will be refused */
}

/* True for vectors of workers, which others do not use. */
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

static unroll_status refuse_unknown(const char *name, const char *path, const struct kept *kept)
{
    bool known = is_of_workers(name);
    for (int k = 0; k < kept->count && !known; k++) known = strcmp(kept->name[k], name) == 0;
    return known
               ? UNROLL_OK
               : fail(UNROLL_DATA,
                      "'%s' holds the tensor '%.80s', which this training does not have; fix: use another checkpoint, "
                      "or start a new run",
                      path, name);
}

static unroll_status refuse_unknown_tensors(const struct safetensors *file, const char *path,
                                            const struct loaded_checkpoint *loaded)
{
    for (int i = 0; i < safetensors_count(file); i++)
        TRY(refuse_unknown(safetensors_at(file, i)->name, path, &loaded->kept));
    for (int i = 0; i < loaded->states.count; i++)
        TRY(refuse_unknown(loaded->states.tensor[i]->name, path, &loaded->kept));
    return UNROLL_OK;
}

/* Reads from the copies of all workers at the time of saving. If the number of workers is the same, each takes its own;
 * otherwise the mean, or values that add up to the sum. */
static void take_copies(const float *from, size_t copies, size_t size, const struct exchange *e, int kind, float *to)
{
    const bool own = e && copies == (size_t)e->vector.workers && copies > 1, sums = kind == KEPT_SUMMED;
    if (own || copies == 1) {
        memcpy(to, from + (own ? (size_t)e->vector.worker * size : 0), size * sizeof *to);
        return;
    }
    memset(to, 0, size * sizeof *to);
    for (size_t copy = 0; copy < copies && !(sums && e->vector.worker > 0); copy++)
        for (size_t i = 0; i < size; i++) to[i] += from[copy * size + i];
    for (size_t i = 0; i < size && !sums; i++) to[i] /= (float)copies;
}

/* Reads a tensor. Vectors of workers are missing in checkpoints of a single process or of another policy. */
static unroll_status take_tensor(const struct safetensors *file, const char *path, const unroll_trainer *trainer,
                                 int index, struct loaded_checkpoint *loaded, float *at)
{
    const struct exchange *e = trainer->exchange;
    const struct kept *kept = &loaded->kept;
    const struct kept_from *from = &kept->from[index];
    const size_t bytes = kept->size[index] * sizeof *at;
    const bool is_sharded = loaded->states.files > 0 && from->parameter >= 0;
    const struct tensor_view *tensor =
        is_sharded ? tensor_set_find(&loaded->states, kept->name[index]) : safetensors_find(file, kept->name[index]);
    if (is_sharded && !session_holds(trainer->session, from->parameter))
        return UNROLL_OK; /* 0: not on this rank */
    if (tensor == NULL && from->vector >= 0) {
        loaded->whole = false;
        return UNROLL_OK;
    }
    if (tensor == NULL)
        return fail(UNROLL_DATA, "'%s' has no tensor '%s'; fix: use another checkpoint, or start a new run", path,
                    kept->name[index]);
    TRY(checkpoint_check_numbers(tensor, path));
    const size_t copies = tensor->bytes / bytes;
    if (tensor->bytes % bytes || copies < 1 || copies > RANKS_MAX)
        return fail(UNROLL_DATA, "'%s': '%s' does not have %zu values; fix: use another checkpoint, or start a new run",
                    path, kept->name[index], kept->size[index]);
    if (from->kind != KEPT_ALIKE && e && copies != (size_t)e->vector.workers)
        loaded->whole = false;
    take_copies(tensor->data, copies, kept->size[index], e, from->kind, at);
    if (!is_sharded)
        loaded->hash = hash_words(loaded->hash, tensor->data, copies * kept->size[index]);
    return UNROLL_OK;
}

static unroll_status take_tensors(const struct safetensors *file, const char *path, const unroll_trainer *trainer,
                                  struct loaded_checkpoint *loaded)
{
    float *at = loaded->kept.numbers;
    loaded->whole = true;
    for (int i = 0; i < loaded->kept.count; at += loaded->kept.size[i++])
        TRY(take_tensor(file, path, trainer, i, loaded, at));
    return refuse_unknown_tensors(file, path, loaded);
}

/* Compares the network with the one in the model file. */
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

/* Reads the weights from one file, or from the shards with this id. */
static unroll_status take_weights(const unroll_trainer *trainer, const struct safetensors *file, const char *path,
                                  const char *directory, const char *model_path, struct loaded_checkpoint *loaded)
{
    const char *id = safetensors_metadata(file, SHARD_ID_KEY);
    char index[PATH_MAX];
    if (id == NULL) {
        TRY(unroll_model_load(model_path, &loaded->model));
        TRY(checkpoint_check_weights(loaded->model, file, path));
        loaded->hash = hash_weights(loaded->model);
        return UNROLL_OK;
    }
    TRY(checkpoint_path(directory, MODEL_FILE INDEX_ENDING, index));
    TRY(model_load_shards(index, is_needed, (void *)trainer, id, &loaded->model));
    TRY(shards_open_states(directory, id, is_needed, (void *)trainer, &loaded->states));
    loaded->hash = hash_text(HASH_BEGIN, id);
    return UNROLL_OK;
}

static unroll_status take_files(const unroll_trainer *trainer, const struct safetensors *file, const char *path,
                                const char *directory, const char *model_path, struct loaded_checkpoint *loaded)
{
    TRY(check_identity(trainer, file, path));
    TRY(take_weights(trainer, file, path, directory, model_path, loaded));
    TRY(check_network(trainer, loaded->model, model_path));
    TRY(read_state(file, path, &loaded->state));
    if (loaded->state.trainer.cursor.window >= trainer->part->batches)
        return fail(UNROLL_DATA,
                    "'%s' is at window %" PRId64 " of an epoch of %" PRId64
                    "; fix: use another checkpoint, or start a new run",
                    path, loaded->state.trainer.cursor.window, trainer->part->batches);
    TRY(kept_new(trainer, true, &loaded->kept));
    return take_tensors(file, path, trainer, loaded);
}

static unroll_status apply(unroll_trainer *trainer, const struct loaded_checkpoint *loaded)
{
    unroll_parameter to = {.size = sizeof to}, from = {.size = sizeof from};
    for (int i = 0; i < unroll_model_parameters(trainer->model); i++) {
        TRY(unroll_model_parameter(trainer->model, i, &to));
        TRY(unroll_model_parameter(loaded->model, i, &from));
        memcpy(to.data, from.data, parameter_count(&to) * sizeof *to.data);
    }
    if (loaded->model->schema) /* including what the last validation has learned */
        TRY(model_set_schema(trainer->model, loaded->model->schema));
    TRY(unroll_session_push(trainer->session));
    TRY(kept_write(trainer, &loaded->kept));
    return give_state(trainer, &loaded->state, loaded->whole);
}

static unroll_status read_files(const unroll_trainer *trainer, const char *directory, struct loaded_checkpoint *loaded)
{
    char path[PATH_MAX], model_path[PATH_MAX];
    struct safetensors *file;
    TRY(checkpoint_path(directory, OPTIMIZER_FILE, path));
    TRY(checkpoint_path(directory, MODEL_FILE, model_path));
    TRY(checkpoint_file_open(path, &file));
    unroll_status status = take_files(trainer, file, path, directory, model_path, loaded);
    safetensors_close(file);
    return status;
}

/* Hashes everything that was read: ranks on other machines may have found older files. */
static uint64_t hash_loaded(const struct loaded_checkpoint *loaded)
{
    const struct trainer_state *trainer = &loaded->state.trainer;
    const int64_t steps[] = {trainer->step, loaded->state.forwards, loaded->state.updates, trainer->best_step,
                             trainer->since_best};
    return hash_number(hash_bytes(HASH_BEGIN, steps, sizeof steps), loaded->hash);
}

unroll_status unroll_trainer_load(unroll_trainer *trainer, const char *directory)
{
    unroll_comm *comm = trainer->config.machine.comm;
    struct loaded_checkpoint loaded = {0};
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
    tensor_set_close(&loaded.states);
    kept_free(&loaded.kept);
    return status;
}

/* ---- checking a checkpoint ---- */

/* Checks all shards. */
static unroll_status check_shards(const char *directory, const char *id)
{
    char index[PATH_MAX];
    struct tensor_set states;
    unroll_model *model;
    unroll_status status = UNROLL_OK;
    TRY(checkpoint_path(directory, MODEL_FILE INDEX_ENDING, index));
    TRY(model_load_shards(index, NULL, NULL, id, &model));
    unroll_model_free(model);
    TRY(shards_open_states(directory, id, NULL, NULL, &states));
    for (int i = 0; i < states.count && status == UNROLL_OK; i++)
        status = checkpoint_check_numbers(states.tensor[i], directory);
    tensor_set_close(&states);
    return status;
}

/* Checks all files of a checkpoint and reads its progress. */
static unroll_status check_files(const char *path, const struct safetensors *file, const char *directory,
                                 const char *model_path, unroll_progress *progress)
{
    const char *id = safetensors_metadata(file, SHARD_ID_KEY);
    struct saved_state state = {0};
    unroll_model *model = NULL;
    for (int i = 0; i < safetensors_count(file); i++) TRY(checkpoint_check_numbers(safetensors_at(file, i), path));
    TRY(read_state(file, path, &state));
    TRY(id ? check_shards(directory, id) : unroll_model_load(model_path, &model));
    unroll_status status = id ? UNROLL_OK : checkpoint_check_weights(model, file, path);
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
    unroll_progress read = {.size = sizeof read};
    TRY(sized_check(SIZED_RESULT(unroll_progress), progress));
    TRY(checkpoint_find(directory, found));
    TRY(checkpoint_path(found, OPTIMIZER_FILE, path));
    TRY(checkpoint_path(found, MODEL_FILE, model_path));
    TRY(checkpoint_file_open(path, &file));
    locale_t before = point_begin();
    unroll_status status = check_files(path, file, found, model_path, &read);
    point_end(before);
    if (status == UNROLL_OK)
        sized_give(&read, sizeof read, progress);
    safetensors_close(file);
    return status;
}

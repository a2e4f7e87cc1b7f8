/* Assigns parameters to ranks, names shards, and writes their indexes. */
#include "train/checkpoint/checkpoint_shards.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "model/model.h"

void shards_free(struct shards *s)
{
    release(s->owner);
    release(s->number);
    release(s->own);
    *s = (struct shards){.mine = -1};
}

/* Numbers the shards: one for each rank that writes a parameter, in the order of the ranks. */
static void number_shards(struct shards *s, int ranks, int rank)
{
    s->mine = -1;
    for (int r = 0; r < ranks; r++) {
        bool writes = false;
        for (int i = 0; i < s->parameters; i++)
            if (s->owner[i] == r) {
                s->number[i] = s->count;
                s->own[i] = r == rank;
                writes = true;
            }
        if (writes && r == rank)
            s->mine = s->count;
        s->count += writes;
    }
}

unroll_status shards_new(const unroll_trainer *trainer, struct shards *s)
{
    unroll_comm *comm = trainer->config.machine.comm;
    *s = (struct shards){.mine = -1};
    if (!session_is_split(trainer->session) || trainer->exchange)
        return UNROLL_OK;
    s->parameters = unroll_model_parameters(trainer->model);
    s->owner = allocate_zeroed((size_t)s->parameters, sizeof *s->owner);
    s->number = allocate_zeroed((size_t)s->parameters, sizeof *s->number);
    s->own = allocate_zeroed((size_t)s->parameters, sizeof *s->own);
    unroll_status status =
        s->owner && s->number && s->own ? UNROLL_OK : fail(UNROLL_RESOURCE, "no memory for the shards of a checkpoint");
    TRY(unroll_comm_agree(comm, status));
    TRY(session_owners(trainer->session, s->owner));
    number_shards(s, unroll_comm_ranks(comm), unroll_comm_rank(comm));
    return UNROLL_OK;
}

bool shards_keep(const struct shards *s, const struct kept *kept, int index, int rank)
{
    const int parameter = kept->from[index].parameter;
    return s->count == 0 || (parameter < 0 ? rank == 0 : s->own[parameter]);
}

/* Reads what this rank writes. Memory for others' parameters is never touched. */
unroll_status shards_read(const unroll_trainer *trainer, const struct shards *s, float *values, struct kept *kept)
{
    const struct unroll_model *m = trainer->model;
    float *at = kept->numbers;
    for (int i = 0; i < s->parameters; i++)
        TRY(session_gather_to(trainer->session, m->parameter[i].name, s->owner[i], values + m->parameter[i].first));
    for (int i = 0; i < kept->count; at += kept->size[i++]) {
        const int parameter = kept->from[i].parameter;
        TRY(session_gather_to(trainer->session, kept->name[i], parameter < 0 ? 0 : s->owner[parameter], at));
    }
    return UNROLL_OK;
}

unroll_status shards_identify(const unroll_trainer *trainer, struct shards *s, const float *values,
                              const struct kept *kept, uint64_t facts)
{
    const struct unroll_model *m = trainer->model;
    const int rank = unroll_comm_rank(trainer->config.machine.comm);
    const float *at = kept->numbers;
    uint64_t hash = HASH_BEGIN;
    for (int i = 0; i < s->parameters; i++)
        if (s->own[i])
            hash = hash_wide(hash, values + m->parameter[i].first, m->parameter[i].count * sizeof *values);
    for (int i = 0; i < kept->count; at += kept->size[i++])
        if (shards_keep(s, kept, i, rank))
            hash = hash_wide(hash, at, kept->size[i] * sizeof *at);
    double halves[] = {(double)(hash >> 32), (double)(hash & 0xffffffff)}; /* sums of halves are exact */
    TRY(unroll_comm_sum(trainer->config.machine.comm, halves, 2));
    snprintf(s->id, sizeof s->id, "%016" PRIx64,
             hash_number(hash_number(facts, (uint64_t)halves[0]), (uint64_t)halves[1]));
    return UNROLL_OK;
}

void shards_name(const struct shards *s, const char *kind, int number, char name[SHARD_NAME_SIZE])
{
    snprintf(name, SHARD_NAME_SIZE, "%s-%05d-of-%05d.safetensors", kind, number + 1, s->count);
}

/* ---- indexes ---- */

struct shard_entries {
    const char **tensor, **shard;
    int count;
    uint64_t bytes;
};

static void add_entry(struct shard_entries *e, const char *tensor, const char *shard, size_t numbers)
{
    e->tensor[e->count] = tensor;
    e->shard[e->count++] = shard;
    e->bytes += numbers * sizeof(float);
}

static unroll_status write_index(const struct shard_entries *e, const char *directory, const char *file)
{
    char path[PATH_MAX];
    TRY(checkpoint_path(directory, file, path));
    return tensor_set_write_index(path, e->tensor, e->shard, e->count, e->bytes);
}

static unroll_status find_shards(const struct shards *s, const char *kind, const char *directory,
                                 char (*names)[SHARD_NAME_SIZE])
{
    char path[PATH_MAX];
    for (int i = 0; i < s->count; i++) {
        shards_name(s, kind, i, names[i]);
        TRY(checkpoint_path(directory, names[i], path));
        if (!file_exists(path))
            return fail(UNROLL_RESOURCE,
                        "'%s' is missing after its rank wrote it; fix: use a run directory that all ranks can read",
                        path);
    }
    return UNROLL_OK;
}

static unroll_status write_both(const struct shards *s, const struct unroll_model *m, const struct kept *kept,
                                const char *directory, char (*names)[SHARD_NAME_SIZE], struct shard_entries *e)
{
    TRY(find_shards(s, "model", directory, names));
    for (int i = 0; i < s->parameters; i++)
        add_entry(e, m->parameter[i].name, names[s->number[i]], m->parameter[i].count);
    TRY(write_index(e, directory, MODEL_FILE INDEX_ENDING));
    e->count = 0, e->bytes = 0;
    TRY(find_shards(s, "optim", directory, names));
    for (int i = 0; i < kept->count; i++)
        if (kept->from[i].parameter >= 0)
            add_entry(e, kept->name[i], names[s->number[kept->from[i].parameter]], kept->size[i]);
    return write_index(e, directory, OPTIMIZER_FILE INDEX_ENDING);
}

unroll_status shards_write_indexes(const struct shards *s, const struct unroll_model *m, const struct kept *kept,
                                   const char *directory)
{
    const size_t most = (size_t)(s->parameters + kept->count);
    struct shard_entries e = {allocate_zeroed(most, sizeof *e.tensor), allocate_zeroed(most, sizeof *e.shard), 0, 0};
    char (*names)[SHARD_NAME_SIZE] = allocate_zeroed((size_t)s->count, sizeof *names);
    unroll_status status = e.tensor && e.shard && names ? write_both(s, m, kept, directory, names, &e)
                                                        : fail(UNROLL_RESOURCE, "no memory for the index of shards");
    release(names);
    release(e.tensor);
    release(e.shard);
    return status;
}

/* ---- reading ---- */

/* See checkpoint_shards.h. All shards must have a checksum and the same id. */
unroll_status shards_open_states(const char *directory, const char *id, tensor_wanted *wanted, void *arg,
                                 struct tensor_set *set)
{
    char path[PATH_MAX];
    TRY(checkpoint_path(directory, OPTIMIZER_FILE INDEX_ENDING, path));
    TRY(tensor_set_open_some(path, wanted, arg, set));
    for (int f = 0; f < set->files; f++) {
        const char *found = safetensors_metadata(set->file[f], SHARD_ID_KEY);
        unroll_status status = safetensors_must_have_checksum(set->file[f], path);
        if (status == UNROLL_OK && (!found || strcmp(found, id)))
            status = fail(
                UNROLL_DATA,
                "'%s': one of its shards is of another checkpoint than the file next to it; fix: use all from one copy",
                path);
        if (status != UNROLL_OK) {
            tensor_set_close(set);
            return status;
        }
    }
    return UNROLL_OK;
}

/* A checkpoint of ranks with different weights. Each writes a shard with some of the parameters and their optimizer
 * states. Two indexes list the shard of each tensor: model.safetensors.index.json, as in other tools, and a similar one
 * for the states. The rest of a checkpoint is in checkpoint.c and checkpoint_directory.c. */
#pragma once
#include "convert/model_file.h"
#include "train/checkpoint/checkpoint_directory.h"
#include "train/checkpoint/checkpoint_kept.h"

struct shards {
    int count, mine; /* count: files of each kind, 0: not sharded; mine: the one written by this rank, -1: none */
    int parameters;
    int *owner;  /* [parameters] rank that writes it */
    int *number; /* [parameters] its shard, 0 .. count - 1 */
    bool *own;   /* [parameters] written by this rank */
    char id[20]; /* the same in all files of a checkpoint; depends on their values */
};

/* Assigns parameters to shards; count is 0 if all ranks have the same weights. Collective. The caller must call
 * shards_free, even after a failure. */
unroll_status shards_new(const unroll_trainer *, struct shards *);
void shards_free(struct shards *);
/* Reads what this rank writes from the session. Collective. */
unroll_status shards_read(const unroll_trainer *, const struct shards *, float *values, struct kept *);
/* Sets the id from everything that was read and from the metadata. Collective. */
unroll_status shards_identify(const unroll_trainer *, struct shards *, const float *values, const struct kept *,
                              uint64_t facts);

bool shards_keep(const struct shards *, const struct kept *, int index, int rank); /* does this rank write it? */
/* Formats the name of a shard. kind: "model" or "optim". */
enum { SHARD_NAME_SIZE = 64 };
void shards_name(const struct shards *, const char *kind, int number, char name[SHARD_NAME_SIZE]);
/* Writes both indexes after all shards; a missing shard is an error that names it. */
unroll_status shards_write_indexes(const struct shards *, const struct unroll_model *, const struct kept *,
                                   const char *directory);
/* Opens the shards of the optimizer states with this id that contain wanted tensors. */
unroll_status shards_open_states(const char *directory, const char *id, tensor_wanted *, void *arg,
                                 struct tensor_set *);

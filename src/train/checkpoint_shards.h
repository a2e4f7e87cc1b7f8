/* A checkpoint of ranks that have different weights: each writes a shard with some of the parameters and their
 * optimizer states, and two indexes say which lies where: model.safetensors.index.json, as other tools have it, and
 * likewise of the states. Not what else a checkpoint says, nor when it is whole: checkpoint.c, checkpoint_directory.c.
 */
#ifndef TRAIN_CHECKPOINT_SHARDS_H
#define TRAIN_CHECKPOINT_SHARDS_H
#include "file/model_file.h"
#include "train/checkpoint_directory.h"
#include "train/checkpoint_kept.h"

struct shards {
    int count, mine; /* files of each kind, 0: this checkpoint is no such; which of them this rank writes, -1: none */
    int parameters;
    int *owner;  /* [parameters] the rank that writes it */
    int *number; /* [parameters] its shard, 0 .. count - 1 */
    bool *own;   /* [parameters] of this rank */
    char id[20]; /* the same in all files of a checkpoint, and of other numbers another */
};

/* Collective. count 0 where all ranks have the same weights. The caller gives it to shards_free, also after a failure.
 */
unroll_status shards_new(const unroll_trainer *, struct shards *);
void shards_free(struct shards *);
/* What this rank writes, from the session. Collective. */
unroll_status shards_read(const unroll_trainer *, const struct shards *, float *values, struct kept *);
/* After that, of all that was read and of what else the checkpoint says. Collective. */
unroll_status shards_identify(const unroll_trainer *, struct shards *, const float *values, const struct kept *,
                              uint64_t facts);

bool shards_keep(const struct shards *, const struct kept *, int index, int rank); /* does this rank write it? */
/* "model" or "optim", of the parameter's shard, or of a number. */
enum { SHARD_NAME_SIZE = 64 };
void shards_name(const struct shards *, const char *kind, int number, char name[SHARD_NAME_SIZE]);
/* Both indexes, when all shards are there; one that is not is named. */
unroll_status shards_write_indexes(const struct shards *, const struct unroll_model *, const struct kept *,
                                   const char *directory);
/* The optimizer's states: those of shards with this id, of wanted tensors at least. */
unroll_status shards_open_states(const char *directory, const char *id, tensor_wanted *, void *arg,
                                 struct tensor_set *);

#endif

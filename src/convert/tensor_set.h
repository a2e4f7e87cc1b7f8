/* The tensors of a safetensors file, or of several with an index (model.safetensors.index.json), as one list. Importers
 * interpret them. */
#pragma once
#include "io/safetensors.h"
#include <stdbool.h>

struct tensor_set {
    struct safetensors **file;
    const struct tensor_view **tensor; /* [count], sorted by name */
    int files, count;
};

/* Opens a file or an index, whose name ends in ".json". The shards must be in the index's folder and contain exactly
 * the tensors that the index lists for them. */
unroll_status tensor_set_open(const char *path, struct tensor_set *set);
/* Opens only the shards of an index that contain a wanted tensor (NULL: all), or one shard if there is none. */
typedef bool tensor_wanted(void *arg, const char *name);
unroll_status tensor_set_open_some(const char *path, tensor_wanted *wanted, void *arg, struct tensor_set *set);
void tensor_set_close(struct tensor_set *set);

/* Writes an index: tensor[i] is stored in file shard[i] of the same folder. bytes: total size of all tensors. */
unroll_status tensor_set_write_index(const char *path, const char *const *tensor, const char *const *shard, int count,
                                     uint64_t bytes);

/* Sorts a list that was filled in directly, as tensor_set_find requires. */
void tensor_set_sort(struct tensor_set *set);

const struct tensor_view *tensor_set_find(const struct tensor_set *set, const char *name); /* NULL: not found */

/* Returns a metadata value of a single file, or NULL. */
const char *tensor_set_metadata(const struct tensor_set *set, const char *key);

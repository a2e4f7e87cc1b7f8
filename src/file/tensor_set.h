/* The tensors of a safetensors file, or of several with an index (model.safetensors.index.json), as one list.
 * Not a model: whose tensors they are is for the importer. */
#ifndef FILE_TENSOR_SET_H
#define FILE_TENSOR_SET_H
#include "file/safetensors.h"
#include <stdbool.h>

struct tensor_set {
    struct safetensors **file;
    const struct tensor_view **tensor; /* [count], sorted by name */
    int files, count;
};

/* An index ends in ".json". Its shards lie beside it; each tensor must be in the shard that the index names,
 * and the shards must hold no other. */
unroll_status tensor_set_open(const char *path, struct tensor_set *set);
/* Of an index only the shards that hold a tensor which is wanted (NULL: all); where none is, one. */
typedef bool tensor_wanted(void *arg, const char *name);
unroll_status tensor_set_open_some(const char *path, tensor_wanted *wanted, void *arg, struct tensor_set *set);
void tensor_set_close(struct tensor_set *set);

/* Such an index: tensor[i] lies in the shard[i] beside it, and all have so many bytes. */
unroll_status tensor_set_write_index(const char *path, const char *const *tensor, const char *const *shard, int count,
                                     uint64_t bytes);

/* For a list made by hand: finding wants it sorted. */
void tensor_set_sort(struct tensor_set *set);

const struct tensor_view *tensor_set_find(const struct tensor_set *set, const char *name); /* or NULL */

/* A value of the metadata of a file that is alone; NULL: there is none. */
const char *tensor_set_metadata(const struct tensor_set *set, const char *key);

#endif

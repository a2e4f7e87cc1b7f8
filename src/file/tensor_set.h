/* The tensors of a safetensors file, or of several with an index (model.safetensors.index.json), as one list.
 * Not a model: whose tensors they are is for the importer. */
#ifndef FILE_TENSOR_SET_H
#define FILE_TENSOR_SET_H
#include "file/safetensors.h"

struct tensor_set {
    struct safetensors **file;
    const struct tensor_view **tensor; /* [count], sorted by name */
    int files, count;
};

/* An index ends in ".json". Its shards lie beside it; each tensor must be in the shard that the index names,
 * and the shards must hold no other. */
unroll_status tensor_set_open(const char *path, struct tensor_set *set);
void tensor_set_close(struct tensor_set *set);

/* For a list made by hand: finding wants it sorted. */
void tensor_set_sort(struct tensor_set *set);

const struct tensor_view *tensor_set_find(const struct tensor_set *set, const char *name); /* or NULL */

/* A value of the metadata of a file that is alone; NULL: there is none. */
const char *tensor_set_metadata(const struct tensor_set *set, const char *key);

#endif

/* Shared by the files of models: the network as JSON. */
#pragma once
#include "base/json.h"
#include "convert/tensor_set.h"
#include "model/model.h"

/* Writes the network as the JSON of model files; equal networks have equal texts. The caller must release(*text). */
unroll_status describe_network(const struct unroll_model *, char **text);

/* Writes the parameters marked in own[parameters] as one shard. All shards of a model have the same `id`. */
unroll_status model_save_shard(const struct unroll_model *, const char *path, const bool *own, const char *id);
/* Loads a model from the index of its shards. Tensors that are not wanted (tensor_set.h) may remain 0. id: the expected
 * id, or NULL if it is enough that all shards agree. */
unroll_status model_load_shards(const char *index, tensor_wanted *, void *arg, const char *id, struct unroll_model **);
#define SHARD_ID_KEY "checkpoint"
#define INDEX_ENDING ".index.json"

/* Finds the first difference between two such texts: "layers[0].width", "16", "17". Returns false if there is none. */
struct network_difference {
    char field[96], was[64], is[64];
};
bool networks_differ(const char *was, const char *is, struct network_difference *);

/* Reads the layers. Their strings belong to the JSON. */
unroll_status layers_from_json(json_t *, const char *path, unroll_layer layer[MODEL_LAYERS_MAX], unroll_network *);

/* In model_file_1.c. Creates the model described by a file of version 1, without its weights. */
unroll_status model_from_version_1(const struct safetensors *, const char *path, struct unroll_model **);

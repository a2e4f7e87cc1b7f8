/* What the files of models share: a network as JSON. */
#ifndef FILE_MODEL_FILE_H
#define FILE_MODEL_FILE_H
#include "base/json.h"
#include "file/tensor_set.h"
#include "model/model.h"

/* The network as the JSON text of model files: equal networks have equal texts. release(*text). */
unroll_status describe_network(const struct unroll_model *, char **text);

/* A file with some of the parameters, as one of those that belong together and say the same `id`; own: [parameters]. */
unroll_status model_save_shard(const struct unroll_model *, const char *path, const bool *own, const char *id);
/* Back from the index of such files: what is not wanted (tensor_set.h) may stay 0. id: what all must say, NULL:
 * anything that is the same in all. */
unroll_status model_load_shards(const char *index, tensor_wanted *, void *arg, const char *id, struct unroll_model **);
#define SHARD_ID_KEY "checkpoint"
#define INDEX_ENDING ".index.json"

/* Where two such texts differ first, and what they say there: "layers[0].width", "16", "17". False: nowhere. */
struct network_difference {
    char field[96], was[64], is[64];
};
bool networks_differ(const char *was, const char *is, struct network_difference *);

/* Their strings belong to the JSON. */
unroll_status layers_from_json(json_t *, const char *path, unroll_layer layer[MODEL_LAYERS_MAX], unroll_network *);

/* model_file_1.c. A model of a file of version 1, without its weights. */
unroll_status model_from_version_1(const struct safetensors *, const char *path, struct unroll_model **);

#endif

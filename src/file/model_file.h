/* What the files of models share: a network as JSON. */
#ifndef FILE_MODEL_FILE_H
#define FILE_MODEL_FILE_H
#include "base/json.h"
#include "file/safetensors.h"
#include "model/model.h"

/* The network as the JSON text of model files: equal networks have equal texts. release(*text). */
unroll_status describe_network(const struct unroll_model *, char **text);

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

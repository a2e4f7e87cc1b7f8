/* Reads model files of version 1, which described a network in one of two ways: `spec` alone, with `names` for the
 * parameters of an imported stack, or `spec` for the input and the loss, and `layers`. */
#include "convert/model_file.h"
#include <string.h>

#define INTEGER_FIELDS(FIELD) \
    FIELD(layers) FIELD(hidden) FIELD(bidirectional) FIELD(projection) FIELD(peephole) FIELD(bias) \
    FIELD(tokens) FIELD(input) FIELD(embed) FIELD(tied) FIELD(output)
#define REAL_FIELDS(FIELD) FIELD(clip) FIELD(dropout)

/* The parsed metadata; NULL: absent. */
struct version_1 {
    json_t *spec, *layers, *names;
};

/* Reads a stack. Its strings belong to the JSON. */
static unroll_status read_spec(json_t *json, const char *path, unroll_model_config *s)
{
#define KNOWN(name) #name,
    static const char *const known[] = {"cell", "loss", INTEGER_FIELDS(KNOWN) REAL_FIELDS(KNOWN) NULL};
    int64_t integer;
    double real;
    *s = unroll_model_config_default();
    TRY(json_fields_known(json, path, known));
    TRY(json_field_string(json, path, "cell", &s->cell));
    TRY(json_field_string(json, path, "loss", &s->loss));
#define GET_INTEGER(name)                                                                   \
    TRY(json_field_integer(json, path, #name, 0, INT32_MAX, &integer));                     \
    s->name = (int)integer;
#define GET_REAL(name)                                                                      \
    TRY(json_field_real(json, path, #name, &real));                                         \
    s->name = (float)real;
    INTEGER_FIELDS(GET_INTEGER)
    REAL_FIELDS(GET_REAL)
    return UNROLL_OK;
}

static unroll_status read_names(json_t *json, const char *path, unroll_layer *layer, unroll_network *n, bool is_stack)
{
    static const char *const known[] = {"embedding", "rnn", "head", NULL};
    const char *rnn, *head;
    TRY(json_fields_known(json, path, known));
    TRY(json_field_string(json, path, "embedding", &n->embedding));
    TRY(json_field_string(json, path, "rnn", &rnn));
    TRY(json_field_string(json, path, "head", &head));
    for (int i = 0; i < n->layers && is_stack; i++) layer[i].name = strcmp(layer[i].name, "head") ? rnn : head;
    return UNROLL_OK;
}

/* Creates the network of either description. */
static unroll_status build(const struct version_1 *v, const char *path, struct unroll_model **m)
{
    unroll_layer layer[MODEL_LAYERS_MAX];
    unroll_network n = unroll_network_default();
    unroll_model_config spec;
    TRY(read_spec(v->spec, path, &spec));
    if (v->layers) {
        n.tokens = spec.tokens;
        n.input = spec.input;
        n.embed = spec.embed;
        n.loss = spec.loss;
        TRY(layers_from_json(v->layers, path, layer, &n));
    } else {
        TRY(network_of_spec(&spec, layer, &n));
    }
    if (v->names)
        TRY(read_names(v->names, path, layer, &n, !v->layers));
    return unroll_model_from_network(&n, 0, m);
}

static unroll_status parse(const struct safetensors *file, const char *key, const char *path, json_t **json)
{
    const char *text = safetensors_metadata(file, key);
    return text ? parse_json(text, strlen(text), path, json) : UNROLL_OK;
}

unroll_status model_from_version_1(const struct safetensors *file, const char *path, struct unroll_model **m)
{
    struct version_1 v = {NULL};
    unroll_status status = parse(file, "spec", path, &v.spec);
    if (status == UNROLL_OK)
        status = parse(file, "layers", path, &v.layers);
    if (status == UNROLL_OK)
        status = parse(file, "names", path, &v.names);
    if (status == UNROLL_OK)
        status = build(&v, path, m);
    json_decref(v.spec);
    json_decref(v.layers);
    json_decref(v.names);
    return status;
}

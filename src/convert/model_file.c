/* Model files: safetensors with PyTorch's parameter names, and the network and vocabulary as JSON in the metadata.
 * There is no time stamp: equal weights give equal bytes. Files of version 1 are read in model_file_1.c. */
#include "convert/model_file.h"
#include "base/file.h"
#include "base/finite.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/status.h"
#include "convert/file_table.h"
#include "nn/losses/loss.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Version 1 has no checksum and may describe a stack differently (model_file_1.c). */
static const char format_version[] = "2", version_1[] = "1";

/* Integer fields of a network, used for both writing and reading. */
#define NETWORK_INTEGERS(FIELD) FIELD(tokens) FIELD(input) FIELD(embed) FIELD(tied)

/* ---- writing --------------------------------------------------------------------------- */

/* Fields of a layer, used for both writing and reading. Its sources are an array. */
#define LAYER_INTEGERS(FIELD) \
    FIELD(level, level) FIELD(width, width) FIELD(bidirectional, bidirectional) \
    FIELD(reverse, reverse) FIELD(coupled, input_forget) FIELD(projection, projection) FIELD(peephole, peephole) \
    FIELD(bias, bias) FIELD(output, output)
#define LAYER_REALS(FIELD) FIELD(clip, clip) FIELD(dropout, dropout) FIELD(alpha, alpha) FIELD(beta, beta)

/* Returns json, or frees it and returns NULL if `good` is false. */
static json_t *whole(json_t *json, bool good)
{
    if (good)
        return json;
    json_decref(json);
    return NULL;
}

static json_t *layer_to_json(const unroll_layer *l)
{
    json_t *sources = json_array();
    bool good = sources != NULL;
    for (int i = 0; good && i < l->sources; i++) good = !json_array_append_new(sources, json_integer(l->source[i]));
    json_t *json = json_pack("{ss ss ss* ss* ss* so}", "kind", l->kind, "name", l->name, "functions", l->activations,
                             "activation", l->activation, "pool", l->pool, "sources", sources);
#define SET_LAYER_INTEGER(key, member) good = good && !json_object_set_new(json, #key, json_integer(l->member));
#define SET_LAYER_REAL(key, member)    good = good && !json_object_set_new(json, #key, json_real((double)l->member));
    LAYER_INTEGERS(SET_LAYER_INTEGER)
    LAYER_REALS(SET_LAYER_REAL)
    return whole(json, good);
}

static json_t *layers_to_json(const struct unroll_model *m)
{
    json_t *json = json_array();
    bool good = true;
    for (int i = 0; good && i < m->layers; i++) {
        unroll_layer layer = {.size = sizeof layer};
        unroll_model_layer(m, i, &layer);
        good = !json_array_append_new(json, layer_to_json(&layer));
    }
    return whole(json, good);
}

static json_t *inputs_to_json(const struct unroll_model *m)
{
    json_t *json = json_array();
    bool good = true;
    for (int i = 0; good && i < m->n_inputs; i++)
        good = !json_array_append_new(json, json_pack("{ss si si}", "name", m->inputs[i].name, "tokens",
                                                      m->inputs[i].tokens, "width", m->inputs[i].width));
    return whole(json, good);
}

/* Fields added in later versions are written only if they are set, so that other files do not change. */
static json_t *network_to_json(const struct unroll_model *m)
{
    json_t *json =
        json_pack("{ss ss so}", "embedding", m->embedding, "loss", m->loss.text, "layers", layers_to_json(m));
    bool good = json != NULL;
#define SET_INTEGER(name) good = good && !json_object_set_new(json, #name, json_integer(m->name));
    NETWORK_INTEGERS(SET_INTEGER)
    if (m->n_inputs > 1)
        good = good && !json_object_set_new(json, "inputs", inputs_to_json(m));
    if (m->input_dropout > 0)
        good = good && !json_object_set_new(json, "input_dropout", json_real((double)m->input_dropout));
    return whole(json, good);
}

static json_t *symbols_to_json(const struct unroll_model *m)
{
    json_t *json = json_array();
    bool good = true;
    for (int i = 0; good && m->symbol && i < m->input; i++)
        good = !json_array_append_new(json, json_string(m->symbol[i]));
    return whole(json, good);
}

static json_t *signature_to_json(const struct unroll_model *m)
{
    json_t *json = json_array();
    bool good = true;
    for (int i = 0; good && i < m->signatures; i++) {
        const struct signature *e = &m->signature[i];
        good = !json_array_append_new(json, json_pack("{ss ss ss}", e->is_output ? "output" : "input", e->name, "array",
                                                      e->array, "axes", e->axes));
    }
    return whole(json, good);
}

static unroll_status to_text(json_t *json, char **text)
{
    if (!json)
        return fail(UNROLL_RESOURCE, "no memory to describe the model");
    unroll_status status = format_json(json, text);
    json_decref(json);
    return status;
}

/* Writes the parameters (own: NULL for all) and the metadata. */
static unroll_status write_tensors(struct unroll_model *m, const char *path, const bool *own,
                                   const struct metadata *metadata, int metadata_count)
{
    struct tensor_view *tensor;
    int count = 0;
    TRY(ALLOCATE(tensor, (size_t)m->parameters, "to write a model"));
    for (int i = 0; i < m->parameters; i++) {
        unroll_parameter q = {.size = sizeof q};
        unroll_model_parameter(m, i, &q);
        if (own && !own[i])
            continue;
        tensor[count++] = (struct tensor_view){.name = q.name,
                                               .dtype = DTYPE_F32,
                                               .rank = q.rank,
                                               .data = q.data,
                                               .shape = {(uint64_t)q.shape[0], (uint64_t)q.shape[1]},
                                               .bytes = m->parameter[i].count * sizeof(float)};
    }
    unroll_status status = safetensors_write(path, tensor, count, metadata, metadata_count);
    release(tensor);
    return status;
}

unroll_status describe_network(const struct unroll_model *m, char **text) { return to_text(network_to_json(m), text); }

/* Compares two JSON values and appends the path of the first difference to d->field: ".width", "[0]". */
static bool values_differ(const json_t *was, const json_t *is, struct network_difference *d, size_t length)
{
    const char *key;
    json_t *value;
    if (json_is_object(was) && json_is_object(is)) {
        json_object_foreach((json_t *)was, key, value)
        {
            snprintf(d->field + length, sizeof d->field - length, "%s%s", length ? "." : "", key);
            if (values_differ(value, json_object_get(is, key), d, strlen(d->field)))
                return true;
        }
        return false;
    }
    for (size_t i = 0; json_is_array(was) && json_array_size(was) == json_array_size(is); i++) {
        if (i == json_array_size(was))
            return false;
        snprintf(d->field + length, sizeof d->field - length, "[%zu]", i);
        if (values_differ(json_array_get(was, i), json_array_get(is, i), d, strlen(d->field)))
            return true;
    }
    if (json_equal(was, is))
        return false;
    const json_t *both[] = {was, is};
    for (int i = 0; i < 2; i++) {
        char *text = json_is_array(both[i]) ? NULL : json_dumps(both[i], JSON_ENCODE_ANY | JSON_REAL_PRECISION(7));
        snprintf(i ? d->is : d->was, sizeof d->is, "%s", text ? text : both[i] ? "others" : "nothing");
        free(text);
    }
    return true;
}

bool networks_differ(const char *was, const char *is, struct network_difference *d)
{
    json_t *a = json_loads(was, 0, NULL), *b = json_loads(is, 0, NULL);
    *d = (struct network_difference){.was = "no network", .is = "one"};
    bool differ = values_differ(a, b, d, 0);
    json_decref(a);
    json_decref(b);
    return differ;
}

/* The metadata of a model file. The texts are released after the file is written. */
struct description {
    struct metadata metadata[9];
    int count;
    char *network, *symbols, *signature;
};

static void describe_as(struct description *d, const char *key, const char *value)
{
    d->metadata[d->count++] = (struct metadata){key, value};
}

/* Fills in all metadata of a model. The caller releases the texts, also on failure. */
static unroll_status describe_model(const struct unroll_model *m, struct description *d)
{
    TRY(describe_network(m, &d->network));
    describe_as(d, "format", "unroll");
    describe_as(d, "format_version", format_version);
    describe_as(d, "network", d->network);
    if (m->symbol) {
        TRY(to_text(symbols_to_json(m), &d->symbols));
        describe_as(d, "symbols", d->symbols);
        if (m->symbol_kind != CUT_CHARACTERS)
            describe_as(d, "symbol_kind", m->symbol_kind == CUT_WORDS ? "words" : "blanks");
    }
    if (*m->task)
        describe_as(d, "task", m->task);
    if (m->schema)
        describe_as(d, "schema", m->schema);
    if (m->signatures) {
        TRY(to_text(signature_to_json(m), &d->signature));
        describe_as(d, "signature", d->signature);
    }
    return UNROLL_OK;
}

/* NaN and infinite weights are not written, because loading them would fail. */
static unroll_status check_weights(const struct unroll_model *m, const char *path, const bool *own)
{
    for (int i = 0; i < m->parameters; i++) {
        if (own && !own[i])
            continue;
        const struct parameter *q = &m->parameter[i];
        size_t k = first_not_finite(m->values + q->first, q->count);
        if (k < q->count)
            return fail(
                UNROLL_DIVERGED,
                "'%s' was not written: value %zu of '%s' is NaN or infinite; fix: train it with a lower learning rate",
                path, k, q->name);
    }
    return UNROLL_OK;
}

/* Writes a model file or a shard. own: NULL for all parameters. id: NULL for a single file. */
static unroll_status save(struct unroll_model *m, const char *path, const bool *own, const char *id)
{
    struct description d = {.count = 0};
    TRY(check_weights(m, path, own));
    unroll_status status = describe_model(m, &d);
    if (id)
        describe_as(&d, SHARD_ID_KEY, id);
    if (status == UNROLL_OK)
        status = write_tensors(m, path, own, d.metadata, d.count);
    release(d.signature);
    release(d.symbols);
    release(d.network);
    return status;
}

unroll_status unroll_model_save(const unroll_model *model, const char *path)
{
    return save((struct unroll_model *)model, path, NULL, NULL); /* not modified */
}

unroll_status model_save_shard(const struct unroll_model *m, const char *path, const bool *own, const char *id)
{
    return save((struct unroll_model *)m, path, own, id);
}

/* ---- reading --------------------------------------------------------------------------- */

/* Reads a layer. Its strings belong to the JSON. */
static unroll_status layer_from_json(json_t *json, const char *where, unroll_layer *l)
{
#define KNOWN(name) #name,
#define KNOWN_FIELD(key, member) #key,
    static const char *const known[] = {"kind",
                                        "name",
                                        "activation",
                                        "functions",
                                        "pool",
                                        "sources",
                                        LAYER_INTEGERS(KNOWN_FIELD) LAYER_REALS(KNOWN_FIELD) NULL};
    json_t *sources;
    int64_t integer;
    double real;
    *l = unroll_layer_default();
    TRY(json_fields_known(json, where, known));
    TRY(json_field_string(json, where, "kind", &l->kind));
    TRY(json_field_string(json, where, "name", &l->name));
    if (json_object_get(json, "activation"))
        TRY(json_field_string(json, where, "activation", &l->activation));
    if (json_object_get(json, "functions"))
        TRY(json_field_string(json, where, "functions", &l->activations));
    if (json_object_get(json, "pool"))
        TRY(json_field_string(json, where, "pool", &l->pool));
    TRY(json_field_array(json, where, "sources", &sources));
    l->sources = (int)json_array_size(sources);
    for (int i = 0; i < l->sources && i < UNROLL_SOURCES_MAX; i++) {
        TRY(json_item_integer(sources, where, "sources", (size_t)i, -1, MODEL_LAYERS_MAX, &integer));
        l->source[i] = (int)integer;
    }
#define GET_LAYER_INTEGER(key, member)                                                             \
    TRY(json_field_integer(json, where, #key, 0, INT32_MAX, &integer));                    \
    l->member = (int)integer;
#define GET_LAYER_REAL(key, member)                                                                \
    TRY(json_field_real(json, where, #key, &real));                                        \
    l->member = (float)real;
    LAYER_INTEGERS(GET_LAYER_INTEGER)
    LAYER_REALS(GET_LAYER_REAL)
    return UNROLL_OK;
}

unroll_status layers_from_json(json_t *json, const char *path, unroll_layer layer[MODEL_LAYERS_MAX], unroll_network *n)
{
    size_t count = json_array_size(json);
    if (!json_is_array(json) || count < 1 || count > MODEL_LAYERS_MAX)
        return fail(UNROLL_DATA,
                    "'%s': its layers must be an array of 1 to %d entries; fix: take another copy of the model", path,
                    MODEL_LAYERS_MAX);
    for (size_t i = 0; i < count; i++) {
        char where[512];
        snprintf(where, sizeof where, "%.400s: layer %zu", path, i);
        TRY(layer_from_json(json_array_get(json, i), where, &layer[i]));
    }
    n->layer = layer;
    n->layers = (int)count;
    return UNROLL_OK;
}

/* Reads the input columns. Their names belong to the JSON. */
static unroll_status inputs_from_json(json_t *json, const char *path, unroll_input input[UNROLL_INPUTS_MAX],
                                      unroll_network *n)
{
    static const char *const known[] = {"name", "tokens", "width", NULL};
    const size_t count = json_array_size(json);
    int64_t integer;
    if (!json_is_array(json) || count < 2 || count > UNROLL_INPUTS_MAX)
        return fail(UNROLL_DATA,
                    "'%s': its inputs must be an array of 2 to %d entries; fix: take another copy of the model", path,
                    UNROLL_INPUTS_MAX);
    for (size_t i = 0; i < count; i++) {
        json_t *column = json_array_get(json, i);
        char where[512];
        snprintf(where, sizeof where, "%.400s: input %zu", path, i);
        input[i] = (unroll_input){.size = sizeof *input};
        TRY(json_fields_known(column, where, known));
        TRY(json_field_string(column, where, "name", &input[i].name));
        TRY(json_field_integer(column, where, "tokens", 0, INT32_MAX, &integer));
        input[i].tokens = (int)integer;
        TRY(json_field_integer(column, where, "width", 0, INT32_MAX, &integer));
        input[i].width = (int)integer;
    }
    n->inputs = input;
    n->n_inputs = (int)count;
    return UNROLL_OK;
}

/* Creates the model that the JSON describes, with initial weights. */
static unroll_status new_from_json(json_t *json, const char *path, struct unroll_model **m)
{
    static const char *const known[] = {"embedding", "loss",          "layers",
                                        "inputs",    "input_dropout", NETWORK_INTEGERS(KNOWN) NULL};
    unroll_input input[UNROLL_INPUTS_MAX];
    unroll_layer layer[MODEL_LAYERS_MAX];
    unroll_network n = unroll_network_default();
    json_t *layers;
    int64_t integer;
    double real = 0;
    TRY(json_fields_known(json, path, known));
    TRY(json_field_string(json, path, "embedding", &n.embedding));
    TRY(json_field_string(json, path, "loss", &n.loss));
    TRY(json_field_array(json, path, "layers", &layers));
#define GET_INTEGER(name)                                                                   \
    TRY(json_field_integer(json, path, #name, 0, INT32_MAX, &integer));                     \
    n.name = (int)integer;
    NETWORK_INTEGERS(GET_INTEGER)
    if (json_object_get(json, "inputs"))
        TRY(inputs_from_json(json_object_get(json, "inputs"), path, input, &n));
    if (json_object_get(json, "input_dropout"))
        TRY(json_field_real(json, path, "input_dropout", &real));
    n.input_dropout = (float)real;
    TRY(layers_from_json(layers, path, layer, &n));
    return unroll_model_from_network(&n, 0, m);
}

static unroll_status check_version(const struct safetensors *file, const char *path)
{
    const char *format = safetensors_metadata(file, "format"), *version = safetensors_metadata(file, "format_version");
    const bool described = safetensors_metadata(file, "network") || safetensors_metadata(file, "spec");
    if (!format || strcmp(format, "unroll") || !version || !described)
        return fail(
            UNROLL_DATA,
            "'%s' is a safetensors file, but not an Unroll model: its metadata does not describe a network; fix: "
            "import it (unroll import torch FILE)",
            path);
    if (!strcmp(version, version_1))
        return UNROLL_OK;
    if (strcmp(version, format_version))
        return fail(UNROLL_UNSUPPORTED,
                    "'%s' has format version %s; this library reads versions %s and %s; fix: install a newer version "
                    "of Unroll",
                    path, version, version_1, format_version);
    return safetensors_must_have_checksum(file, path);
}

static unroll_status new_from_metadata(const struct safetensors *file, const char *path, struct unroll_model **m)
{
    const char *text = safetensors_metadata(file, "network");
    unroll_status status;
    json_t *json;
    TRY(check_version(file, path));
    if (text) {
        TRY(parse_json(text, strlen(text), path, &json));
        status = new_from_json(json, path, m);
        json_decref(json);
    } else {
        status = model_from_version_1(file, path, m);
    }
    return status == UNROLL_USAGE ? fail(UNROLL_DATA, "'%s': %s", path, unroll_last_error()) : status;
}

/* Files without a symbol kind contain characters. */
static unroll_status read_symbol_kind(const struct safetensors *file, const char *path, struct unroll_model *m)
{
    const char *kind = safetensors_metadata(file, "symbol_kind");
    if (kind && strcmp(kind, "words") && strcmp(kind, "blanks"))
        return fail(UNROLL_UNSUPPORTED,
                    "'%s': its tokens are '%s'; this library reads characters, words and blanks; fix: install a "
                    "newer version of Unroll",
                    path, kind);
    m->symbol_kind = kind == NULL ? CUT_CHARACTERS : *kind == 'w' ? CUT_WORDS : CUT_BLANKS;
    return UNROLL_OK;
}

static void read_task(const struct safetensors *file, struct unroll_model *m)
{
    const char *task = safetensors_metadata(file, "task");
    snprintf(m->task, sizeof m->task, "%s", task ? task : "");
}

/* Stores the schema, which must be a JSON object. Its contents are checked by the task. */
static unroll_status read_schema(const struct safetensors *file, const char *path, struct unroll_model *m)
{
    const char *text = safetensors_metadata(file, "schema");
    json_t *json;
    if (!text)
        return UNROLL_OK;
    TRY(parse_json(text, strlen(text), path, &json));
    const bool is_object = json_is_object(json);
    json_decref(json);
    return is_object
               ? model_set_schema(m, text)
               : fail(UNROLL_DATA, "'%s': its schema must be a JSON object; fix: take another copy of the model", path);
}

/* Reads the vocabulary, whose size must match the input. */
static unroll_status read_symbols(const struct safetensors *file, const char *path, struct unroll_model *m)
{
    const char *text = safetensors_metadata(file, "symbols");
    if (!text)
        return UNROLL_OK;
    json_t *json;
    TRY(parse_json(text, strlen(text), path, &json));
    size_t count = json_array_size(json);
    const char **symbol = allocate_zeroed(count + 1, sizeof *symbol);
    unroll_status status = symbol ? UNROLL_OK : fail(UNROLL_RESOURCE, "no memory for %zu tokens", count);
    for (size_t i = 0; i < count && status == UNROLL_OK; i++) {
        symbol[i] = json_string_value(json_array_get(json, i));
        if (!symbol[i])
            status =
                fail(UNROLL_DATA, "'%s': token %zu must be a string; fix: take another copy of the model", path, i);
    }
    if (status == UNROLL_OK && (!m->tokens || count != (size_t)m->input))
        status = fail(UNROLL_DATA, "'%s': %zu tokens for a model of %d; fix: take another copy of the model", path,
                      count, m->input);
    if (status == UNROLL_OK)
        status = model_set_vocabulary(m, symbol, (int)count);
    release(symbol);
    json_decref(json);
    return status;
}

static unroll_status entry_from_json(json_t *json, const char *where, struct unroll_model *m)
{
    static const char *const known[] = {"input", "output", "array", "axes", NULL};
    struct signature e = {.is_output = json_object_get(json, "output") != NULL};
    TRY(json_fields_known(json, where, known));
    TRY(json_field_string(json, where, e.is_output ? "output" : "input", &e.name));
    TRY(json_field_string(json, where, "array", &e.array));
    TRY(json_field_string(json, where, "axes", &e.axes));
    return signature_add(m, &e);
}

static unroll_status read_signature(const struct safetensors *file, const char *path, struct unroll_model *m)
{
    const char *text = safetensors_metadata(file, "signature");
    json_t *json;
    if (!text)
        return UNROLL_OK;
    TRY(parse_json(text, strlen(text), path, &json));
    unroll_status status =
        json_is_array(json)
            ? UNROLL_OK
            : fail(UNROLL_DATA, "'%s': its signature must be an array; fix: take another copy of the model", path);
    for (size_t i = 0; i < json_array_size(json) && status == UNROLL_OK; i++)
        status = entry_from_json(json_array_get(json, i), path, m);
    json_decref(json);
    return status;
}

/* Reads one parameter and checks its type, shape and values. */
static unroll_status read_parameter(const struct tensor_set *set, const char *path, struct unroll_model *m, int i)
{
    unroll_parameter q = {.size = sizeof q};
    unroll_model_parameter(m, i, &q);
    const struct tensor_view *tensor = tensor_set_find(set, q.name);
    if (!tensor)
        return fail(UNROLL_DATA,
                    "'%s' has no tensor '%s', which its network requires; fix: take another copy of the model", path,
                    q.name);
    if (tensor->dtype != DTYPE_F32)
        return fail(UNROLL_UNSUPPORTED, "'%s': '%s' is %s; models hold F32; fix: take another copy of the model", path,
                    q.name, dtype_name(tensor->dtype));
    if (tensor->rank != q.rank || tensor->shape[0] != (uint64_t)q.shape[0] ||
        (q.rank == 2 && tensor->shape[1] != (uint64_t)q.shape[1]))
        return fail(
            UNROLL_DATA,
            "'%s': '%s' does not have the shape that its network requires: %d x %d; fix: take another copy of the "
            "model",
            path, q.name, q.shape[0], q.rank == 2 ? q.shape[1] : 1);
    memcpy(q.data, tensor->data, tensor->bytes);
    size_t k = first_not_finite(q.data, m->parameter[i].count);
    if (k < m->parameter[i].count)
        return fail(UNROLL_DATA,
                    "'%s': '%s' contains NaN or infinity at index %zu; fix: take another copy of the model", path,
                    q.name, k);
    return UNROLL_OK;
}

/* Checks that all shards have the same format, network and id, and a checksum. */
static unroll_status check_shards(const struct tensor_set *set, const char *path, const char *id)
{
    static const char *const same[] = {"format", "format_version", "network", SHARD_ID_KEY};
    const char *first = safetensors_metadata(set->file[0], SHARD_ID_KEY);
    for (int f = 0; f < set->files; f++) {
        TRY(safetensors_must_have_checksum(set->file[f], path));
        for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
            const char *a = safetensors_metadata(set->file[0], same[i]),
                       *b = safetensors_metadata(set->file[f], same[i]);
            if (!a || !b || strcmp(a, b))
                return fail(UNROLL_DATA,
                            "'%s': its shards belong to different checkpoints or models; fix: take all files from "
                            "one copy",
                            path);
        }
    }
    if (id && strcmp(id, first))
        return fail(UNROLL_DATA,
                    "'%s' and its shards belong to a different checkpoint than the file next to them; fix: take all "
                    "files from one copy",
                    path);
    return UNROLL_OK;
}

/* Fills in the model. If only some tensors are wanted, the others may be in shards that were not opened. */
static unroll_status fill_from(const struct tensor_set *set, const char *path, tensor_wanted *wanted, void *arg,
                               struct unroll_model *m)
{
    const struct safetensors *file = set->file[0];
    TRY(read_symbols(file, path, m));
    TRY(read_symbol_kind(file, path, m));
    read_task(file, m);
    TRY(read_schema(file, path, m));
    TRY(read_signature(file, path, m));
    for (int i = 0; i < m->parameters; i++)
        if (!wanted || wanted(arg, m->parameter[i].name))
            TRY(read_parameter(set, path, m, i));
    for (int i = 0; i < set->count; i++) {
        const char *name = set->tensor[i]->name;
        int k = 0;
        while (k < m->parameters && strcmp(m->parameter[k].name, name)) k++;
        if (k == m->parameters)
            return fail(
                UNROLL_DATA,
                "'%s' contains the tensor '%s', which is not part of its network; fix: take another copy of the model",
                path, name);
    }
    return UNROLL_OK;
}

/* Loads a file or an index of shards. */
static unroll_status load(const char *path, tensor_wanted *wanted, void *arg, const char *id, unroll_model **model)
{
    struct tensor_set set;
    struct unroll_model *m = NULL;
    unroll_status status = tensor_set_open_some(path, wanted, arg, &set);
    if (status == UNROLL_OK && set.files == 0)
        status = fail(UNROLL_DATA, "'%s' does not list any shards; fix: take another copy of the model", path);
    if (status == UNROLL_OK)
        status = new_from_metadata(set.file[0], path, &m);
    if (status == UNROLL_OK && path_ends_in(path, INDEX_ENDING))
        status = check_shards(&set, path, id);
    if (status == UNROLL_OK)
        status = fill_from(&set, path, wanted, arg, m);
    tensor_set_close(&set);
    if (status == UNROLL_OK)
        *model = m;
    else
        unroll_model_free(m);
    return status;
}

unroll_status model_load_shards(const char *index, tensor_wanted *wanted, void *arg, const char *id,
                                struct unroll_model **m)
{
    return load(index, wanted, arg, id, m);
}

/* If the file does not exist, loads the shards of its index. */
unroll_status unroll_model_load(const char *path, unroll_model **model)
{
    char index[PATH_MAX];
    bool is_split = !file_exists(path) && snprintf(index, sizeof index, "%s" INDEX_ENDING, path) < (int)sizeof index &&
                    file_exists(index);
    return load(is_split ? index : path, NULL, NULL, NULL, model);
}

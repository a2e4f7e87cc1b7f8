/* Model files: safetensors with PyTorch's names; the specification and the symbols as JSON in the
 * metadata. No time stamp: the same weights give the same bytes. */
#include "base/json.h"
#include "base/memory.h"
#include "base/status.h"
#include "file/safetensors.h"
#include "model/model.h"
#include <stdio.h>
#include <string.h>

/* Version 2 is version 1 with a checksum, which must be there. */
static const char version_of_old_files[] = "1", format_version[] = "2";

/* The fields of a specification that a file holds, once for writing and reading. */
#define INTEGER_FIELDS(FIELD) \
    FIELD(layers) FIELD(hidden) FIELD(bidirectional) FIELD(projection) FIELD(peephole) FIELD(bias) \
    FIELD(tokens) FIELD(input) FIELD(embed) FIELD(tied) FIELD(output)
#define REAL_FIELDS(FIELD) FIELD(clip) FIELD(dropout)

static const char *const loss_names[] = { "none", "xent", "mse" };
enum { LOSSES = sizeof loss_names / sizeof *loss_names };

/* Which number of a parameter is NaN or infinite; as many as it has: none. */
static size_t first_not_finite(const struct unroll_model *m, int i)
{
    unroll_parameter q;
    size_t k = 0;
    unroll_model_parameter((struct unroll_model *)m, i, &q);
    while (k < m->parameter[i].count && q.data[k] - q.data[k] == 0)
        k++;
    return k;
}

/* ---- writing --------------------------------------------------------------------------- */

static json_t *spec_to_json(const unroll_spec *s)
{
    json_t *json = json_object();
    bool good = json && !json_object_set_new(json, "cell", json_string(s->cell)) &&
                !json_object_set_new(json, "loss", json_string(loss_names[s->loss]));
#define SET_INTEGER(name) good = good && !json_object_set_new(json, #name, json_integer(s->name));
#define SET_REAL(name)    good = good && !json_object_set_new(json, #name, json_real((double)s->name));
    INTEGER_FIELDS(SET_INTEGER)
    REAL_FIELDS(SET_REAL)
    if (!good) {
        json_decref(json);
        return NULL;
    }
    return json;
}

/* The fields of a layer, likewise. Its sources are an array. */
#define LAYER_INTEGERS(FIELD) \
    FIELD(level) FIELD(width) FIELD(bidirectional) FIELD(reverse) FIELD(coupled) FIELD(projection) FIELD(peephole) \
    FIELD(bias) FIELD(output)
#define LAYER_REALS(FIELD) FIELD(clip) FIELD(dropout) FIELD(alpha) FIELD(beta)

static json_t *layer_to_json(const unroll_layer *l)
{
    json_t *json = json_object(), *sources = json_array();
    bool good = json && sources && !json_object_set_new(json, "kind", json_string(l->kind)) &&
                !json_object_set_new(json, "name", json_string(l->name)) &&
                (!l->functions || !json_object_set_new(json, "functions", json_string(l->functions))) &&
                (!l->activation || !json_object_set_new(json, "activation", json_string(l->activation)));
    for (int i = 0; good && i < l->sources; i++)
        good = !json_array_append_new(sources, json_integer(l->source[i]));
    good = good && !json_object_set(json, "sources", sources);
#define SET_LAYER_INTEGER(name) good = good && !json_object_set_new(json, #name, json_integer(l->name));
#define SET_LAYER_REAL(name)    good = good && !json_object_set_new(json, #name, json_real((double)l->name));
    LAYER_INTEGERS(SET_LAYER_INTEGER)
    LAYER_REALS(SET_LAYER_REAL)
    json_decref(sources);
    if (good)
        return json;
    json_decref(json);
    return NULL;
}

static json_t *layers_to_json(const struct unroll_model *m)
{
    json_t *json = json_array();
    bool good = json != NULL;
    for (int i = 0; good && i < m->layers; i++) {
        unroll_layer layer;
        unroll_model_layer(m, i, &layer);
        good = !json_array_append_new(json, layer_to_json(&layer));
    }
    if (good)
        return json;
    json_decref(json);
    return NULL;
}

/* The names of what has no name in the specification or in the layers. */
static const char *name_of(const struct unroll_model *m, enum layer_kind kind)
{
    for (int i = 0; i < m->layers && !m->is_network; i++)
        if (m->layer[i].kind == kind)
            return m->layer[i].name;
    return kind == LAYER_DENSE ? "head" : "rnn";
}

static bool has_names(const struct unroll_model *m)
{
    return strcmp(m->embedding, "embedding") || strcmp(name_of(m, LAYER_RECURRENT), "rnn") ||
           strcmp(name_of(m, LAYER_DENSE), "head");
}

static json_t *names_to_json(const struct unroll_model *m)
{
    return json_pack("{ss ss ss}", "embedding", m->embedding, "rnn", name_of(m, LAYER_RECURRENT), "head",
                     name_of(m, LAYER_DENSE));
}

static json_t *symbols_to_json(const struct unroll_model *m)
{
    json_t *json = json_array();
    bool good = json != NULL;
    for (int i = 0; good && m->symbol && i < m->spec.input; i++)
        good = !json_array_append_new(json, json_string(m->symbol[i]));
    if (!good) {
        json_decref(json);
        return NULL;
    }
    return json;
}

static unroll_status to_text(json_t *json, char **text)
{
    if (!json)
        return fail(UNROLL_RESOURCE, "no memory to describe the model");
    unroll_status status = format_json(json, text);
    json_decref(json);
    return status;
}

static unroll_status write_tensors(struct unroll_model *m, const char *path, const struct metadata *metadata,
                                   int metadata_count)
{
    struct tensor_view *tensor = allocate_zeroed((size_t)m->parameters, sizeof *tensor);
    if (!tensor)
        return fail(UNROLL_RESOURCE, "no memory to write a model");
    for (int i = 0; i < m->parameters; i++) {
        unroll_parameter q;
        unroll_model_parameter(m, i, &q);
        tensor[i] = (struct tensor_view){ .name = q.name, .dtype = DTYPE_F32, .rank = q.rank, .data = q.data,
                                          .shape = { (uint64_t)q.shape[0], (uint64_t)q.shape[1] },
                                          .bytes = m->parameter[i].count * sizeof(float) };
    }
    unroll_status status = safetensors_write(path, tensor, m->parameters, metadata, metadata_count);
    release(tensor);
    return status;
}

/* What a file says beside the weights; the texts are released with the model's file. */
struct description { struct metadata metadata[7]; int count; char *spec, *layers, *names, *symbols; };

static void describe_as(struct description *d, const char *key, const char *value)
{
    d->metadata[d->count++] = (struct metadata){ key, value };
}

static unroll_status describe(const struct unroll_model *m, struct description *d)
{
    TRY(to_text(spec_to_json(&m->spec), &d->spec));
    describe_as(d, "format", "unroll");
    describe_as(d, "format_version", format_version);
    describe_as(d, "spec", d->spec);
    if (m->is_network) {
        TRY(to_text(layers_to_json(m), &d->layers));
        describe_as(d, "layers", d->layers);
    }
    if (has_names(m)) {
        TRY(to_text(names_to_json(m), &d->names));
        describe_as(d, "names", d->names);
    }
    if (m->symbol) {
        TRY(to_text(symbols_to_json(m), &d->symbols));
        describe_as(d, "symbols", d->symbols);
        if (m->symbol_kind == UNROLL_WORDS)
            describe_as(d, "symbol_kind", "words");
    }
    return UNROLL_OK;
}

/* What could not be loaded is not written. */
static unroll_status check_weights(const struct unroll_model *m, const char *path)
{
    for (int i = 0; i < m->parameters; i++) {
        size_t k = first_not_finite(m, i);
        if (k < m->parameter[i].count)
            return fail(UNROLL_DIVERGED, "'%s' is not written: number %zu of '%s' is NaN or infinite", path, k,
                        m->parameter[i].name);
    }
    return UNROLL_OK;
}

unroll_status unroll_model_save(const unroll_model *model, const char *path)
{
    struct unroll_model *m = (struct unroll_model *)model;          /* only looked at */
    struct description d = { .count = 0 };
    TRY(check_weights(m, path));
    unroll_status status = describe(m, &d);
    if (status == UNROLL_OK)
        status = write_tensors(m, path, d.metadata, d.count);
    release(d.symbols);
    release(d.names);
    release(d.layers);
    release(d.spec);
    return status;
}

/* ---- reading --------------------------------------------------------------------------- */

static unroll_status spec_from_json(json_t *json, const char *where, unroll_spec *s)
{
#define KNOWN(name) #name,
    static const char *const known[] = { "cell", "loss", INTEGER_FIELDS(KNOWN) REAL_FIELDS(KNOWN) NULL };
    const char *loss;
    *s = unroll_spec_default();
    TRY(json_fields_known(json, where, known));
    TRY(json_field_string(json, where, "cell", &s->cell));
    TRY(json_field_string(json, where, "loss", &loss));
    int64_t integer;
    double real;
#define GET_INTEGER(name)                                                                   \
    TRY(json_field_integer(json, where, #name, 0, INT32_MAX, &integer));                    \
    s->name = (int)integer;
#define GET_REAL(name)                                                                      \
    TRY(json_field_real(json, where, #name, &real));                                        \
    s->name = (float)real;
    INTEGER_FIELDS(GET_INTEGER)
    REAL_FIELDS(GET_REAL)
    for (int i = 0; i < LOSSES; i++)
        if (!strcmp(loss, loss_names[i])) {
            s->loss = (unroll_loss)i;
            return UNROLL_OK;
        }
    return fail(UNROLL_DATA, "%s: there is no loss '%s'", where, loss);
}

static unroll_status layer_from_json(json_t *json, const char *where, unroll_layer *l)
{
    static const char *const known[] = { "kind", "name", "activation", "functions", "sources", LAYER_INTEGERS(KNOWN)
                                         LAYER_REALS(KNOWN) NULL };
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
        TRY(json_field_string(json, where, "functions", &l->functions));
    TRY(json_field_array(json, where, "sources", &sources));
    l->sources = (int)json_array_size(sources);
    for (int i = 0; i < l->sources && i < UNROLL_SOURCES_MAX; i++) {
        TRY(json_item_integer(sources, where, "sources", (size_t)i, -1, MODEL_LAYERS_MAX, &integer));
        l->source[i] = (int)integer;
    }
#define GET_LAYER_INTEGER(name)                                                             \
    TRY(json_field_integer(json, where, #name, 0, INT32_MAX, &integer));                    \
    l->name = (int)integer;
#define GET_LAYER_REAL(name)                                                                \
    TRY(json_field_real(json, where, #name, &real));                                        \
    l->name = (float)real;
    LAYER_INTEGERS(GET_LAYER_INTEGER)
    LAYER_REALS(GET_LAYER_REAL)
    return UNROLL_OK;
}

static unroll_status network_from_json(json_t *json, const unroll_spec *spec, const char *path, struct unroll_model **m)
{
    unroll_layer layer[MODEL_LAYERS_MAX];
    unroll_network network = unroll_network_default();
    size_t count = json_array_size(json);
    if (!json_is_array(json) || count < 1 || count > MODEL_LAYERS_MAX)
        return fail(UNROLL_DATA, "'%s': its layers are not an array of 1 to %d", path, MODEL_LAYERS_MAX);
    for (size_t i = 0; i < count; i++) {
        char where[512];
        snprintf(where, sizeof where, "%.400s: layer %zu", path, i);
        TRY(layer_from_json(json_array_get(json, i), where, &layer[i]));
    }
    network.tokens = spec->tokens;
    network.input = spec->input;
    network.embed = spec->embed;
    network.loss = spec->loss;
    network.layer = layer;
    network.layers = (int)count;
    return unroll_network_new(&network, 0, m);
}

static unroll_status read_network(const char *text, const unroll_spec *spec, const char *path, struct unroll_model **m)
{
    json_t *json;
    TRY(parse_json(text, strlen(text), path, &json));
    unroll_status status = network_from_json(json, spec, path, m);
    json_decref(json);
    return status;
}

static unroll_status check_version(const struct safetensors *file, const char *path)
{
    const char *format = safetensors_metadata(file, "format"), *version = safetensors_metadata(file, "format_version");
    if (!format || strcmp(format, "unroll") || !version || !safetensors_metadata(file, "spec"))
        return fail(UNROLL_DATA, "'%s' is a safetensors file, but no model of ours: it has no specification in "
                    "its metadata", path);
    if (!strcmp(version, version_of_old_files))
        return UNROLL_OK;
    if (strcmp(version, format_version))
        return fail(UNROLL_UNSUPPORTED, "'%s' has format version %s; this library reads version %s", path, version,
                    format_version);
    return safetensors_must_have_checksum(file, path);
}

static unroll_status new_from_metadata(const struct safetensors *file, const char *path, struct unroll_model **m)
{
    const char *text = safetensors_metadata(file, "spec"), *layers = safetensors_metadata(file, "layers");
    TRY(check_version(file, path));
    json_t *json;
    TRY(parse_json(text, strlen(text), path, &json));
    unroll_spec spec;
    unroll_status status = spec_from_json(json, path, &spec);
    if (status == UNROLL_OK) {
        status = layers ? read_network(layers, &spec, path, m) : unroll_model_new(&spec, 0, m);
        if (status == UNROLL_USAGE)
            status = fail(UNROLL_DATA, "'%s': %s", path, unroll_last_error());
    }
    json_decref(json);
    return status;
}

static unroll_status read_name(json_t *json, const char *where, const char *key, const char **name)
{
    enum { LONGEST = 63 };
    TRY(json_field_string(json, where, key, name));
    if (!**name || strlen(*name) > LONGEST)
        return fail(UNROLL_DATA, "'%s': the name of '%s' has not 1 to %d bytes", where, key, LONGEST);
    return UNROLL_OK;
}

static unroll_status rename_from_json(json_t *json, const char *where, struct unroll_model *m)
{
    static const char *const known[] = { "embedding", "rnn", "head", NULL };
    const char *embedding, *rnn, *head;
    TRY(json_fields_known(json, where, known));
    TRY(read_name(json, where, "embedding", &embedding));
    TRY(read_name(json, where, "rnn", &rnn));
    TRY(read_name(json, where, "head", &head));
    if (!m->is_network && (!strcmp(embedding, rnn) || !strcmp(embedding, head) || !strcmp(rnn, head)))
        return fail(UNROLL_DATA, "'%s': two of its names are alike", where);
    model_rename(m, embedding, m->is_network ? NULL : rnn, m->is_network ? NULL : head);
    return UNROLL_OK;
}

static unroll_status read_names(const struct safetensors *file, const char *path, struct unroll_model *m)
{
    const char *text = safetensors_metadata(file, "names");
    json_t *json;
    if (!text)
        return UNROLL_OK;
    TRY(parse_json(text, strlen(text), path, &json));
    unroll_status status = rename_from_json(json, path, m);
    json_decref(json);
    return status;
}

/* Symbols of a file that does not say their kind are characters. */
static unroll_status read_symbol_kind(const struct safetensors *file, const char *path, struct unroll_model *m)
{
    const char *kind = safetensors_metadata(file, "symbol_kind");
    if (kind && strcmp(kind, "words"))
        return fail(UNROLL_UNSUPPORTED, "'%s': its symbols are '%s'; this library reads characters and words", path,
                    kind);
    m->symbol_kind = kind ? UNROLL_WORDS : UNROLL_CHARACTERS;
    return UNROLL_OK;
}

static unroll_status read_symbols(const struct safetensors *file, const char *path, struct unroll_model *m)
{
    const char *text = safetensors_metadata(file, "symbols");
    if (!text)
        return UNROLL_OK;
    json_t *json;
    TRY(parse_json(text, strlen(text), path, &json));
    size_t count = json_array_size(json);
    const char **symbol = allocate_zeroed(count + 1, sizeof *symbol);
    unroll_status status = symbol ? UNROLL_OK : fail(UNROLL_RESOURCE, "no memory for %zu symbols", count);
    for (size_t i = 0; i < count && status == UNROLL_OK; i++) {
        symbol[i] = json_string_value(json_array_get(json, i));
        if (!symbol[i])
            status = fail(UNROLL_DATA, "'%s': symbol %zu is not a string", path, i);
    }
    if (status == UNROLL_OK && (!m->spec.tokens || count != (size_t)m->spec.input))
        status = fail(UNROLL_DATA, "'%s': %zu symbols for a model of %d", path, count, m->spec.input);
    if (status == UNROLL_OK)
        status = unroll_model_set_symbols(m, symbol, (int)count);
    release(symbol);
    json_decref(json);
    return status;
}

static unroll_status read_parameter(const struct safetensors *file, const char *path, struct unroll_model *m, int i)
{
    unroll_parameter q;
    unroll_model_parameter(m, i, &q);
    const struct tensor_view *tensor = safetensors_find(file, q.name);
    if (!tensor)
        return fail(UNROLL_DATA, "'%s' has no tensor '%s', which its specification asks for", path, q.name);
    if (tensor->dtype != DTYPE_F32)
        return fail(UNROLL_UNSUPPORTED, "'%s': '%s' is %s; models hold F32", path, q.name,
                    dtype_name(tensor->dtype));
    if (tensor->rank != q.rank || tensor->shape[0] != (uint64_t)q.shape[0] ||
        (q.rank == 2 && tensor->shape[1] != (uint64_t)q.shape[1]))
        return fail(UNROLL_DATA, "'%s': '%s' does not have the shape that the specification asks for: %d x %d", path,
                    q.name, q.shape[0], q.rank == 2 ? q.shape[1] : 1);
    memcpy(q.data, tensor->data, tensor->bytes);
    size_t k = first_not_finite(m, i);
    if (k < m->parameter[i].count)
        return fail(UNROLL_DATA, "'%s': '%s' holds NaN or infinity at number %zu", path, q.name, k);
    return UNROLL_OK;
}

static unroll_status fill_from(const struct safetensors *file, const char *path, struct unroll_model *m)
{
    TRY(read_names(file, path, m));
    TRY(read_symbols(file, path, m));
    TRY(read_symbol_kind(file, path, m));
    for (int i = 0; i < m->parameters; i++)
        TRY(read_parameter(file, path, m, i));
    for (int i = 0; i < safetensors_count(file); i++) {
        bool known = false;
        for (int k = 0; k < m->parameters && !known; k++)
            known = !strcmp(m->parameter[k].name, safetensors_at(file, i)->name);
        if (!known)
            return fail(UNROLL_DATA, "'%s' holds the tensor '%s', which its specification does not know", path,
                        safetensors_at(file, i)->name);
    }
    return UNROLL_OK;
}

unroll_status unroll_model_load(const char *path, unroll_model **model)
{
    struct safetensors *file;
    struct unroll_model *m = NULL;
    TRY(safetensors_open(path, &file));
    unroll_status status = new_from_metadata(file, path, &m);
    if (status == UNROLL_OK)
        status = fill_from(file, path, m);
    safetensors_close(file);
    if (status != UNROLL_OK) {
        unroll_model_free(m);
        return status;
    }
    *model = m;
    return UNROLL_OK;
}

/* Connects models and data sets: data are read as a model requires, and a model stores what it must know of the data.
 * Neither model/ nor data/ depends on the other. */
#include "base/memory.h"
#include "base/sized.h"
#include "tasks/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "data/own_data.h"
#include "model/model.h"

struct schema schema_of_model(const unroll_model *model, struct schema_column *column)
{
    return schema_of_text(column, model->symbol_kind, unroll_model_vocabulary(model), model->input);
}

static const char *kind_name(enum token_kind kind) { return kind == CUT_CHARACTERS ? "characters" : "words"; }

unroll_status check_vocabulary(const unroll_model *model, const struct column *text)
{
    const char *const *of_model = unroll_model_vocabulary(model);

    if (model->input != text->vocabulary_size)
        return fail(UNROLL_DATA, "the model has %d tokens and the text %d; fix: open the text with the model's tokens",
                    model->input, text->vocabulary_size);
    if (of_model && model->symbol_kind != text->kind)
        return fail(UNROLL_DATA, "the model reads %s and the text was opened as %s; fix: open it for the model",
                    kind_name(model->symbol_kind), kind_name(text->kind));
    for (int i = 0; of_model && i < text->vocabulary_size; i++)
        if (strcmp(of_model[i], text->vocabulary[i]) != 0)
            return fail(UNROLL_DATA,
                        "token %d is '%s' in the model and '%s' in the text; fix: open the "
                        "text with the model's vocabulary",
                        i, of_model[i], text->vocabulary[i]);
    return UNROLL_OK;
}

/* ---- what a model stores ---- */

enum { SCHEMA_VERSION = 1 };

static const char where[] = "the model's schema";

/* Describes the columns of the data and marks the targets of the task; the column that the task spells itself accepts
 * any strings. */
static unroll_status describe_data(const unroll_dataset *data, const json_t *found, json_t **described)
{
    const json_t *targets = json_object_get(found, "targets"), *spelled = json_object_get(found, "spelled");
    struct schema *schema;
    TRY(schema_of_dataset(data, &schema));
    for (size_t i = 0; i < json_array_size(targets); i++) {
        struct schema_column *column = schema_named(schema, json_string_value(json_array_get(targets, i)));
        if (column)
            column->target = true;
    }
    struct schema_column *open = spelled ? schema_named(schema, json_string_value(spelled)) : NULL;
    if (open)
        open->vocabulary_size = 0;
    *described = schema_to_json(schema);
    schema_free(schema);
    return *described ? UNROLL_OK : fail(UNROLL_RESOURCE, "no memory for a schema");
}

static unroll_status keep(unroll_model *model, const struct task *task, const unroll_dataset *data, json_t *found)
{
    json_t *described;
    TRY(describe_data(data, found, &described));
    json_object_set_new(found, "name", json_string(task->name));
    json_t *schema = json_pack("{s:i, s:o, s:O}", "version", SCHEMA_VERSION, "data", described, "task", found);
    char *text = schema ? json_dumps(schema, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    unroll_status status = text ? model_set_schema(model, text) : fail(UNROLL_RESOURCE, "no memory for a schema");
    free(text);
    json_decref(schema);
    return status;
}

/* Returns the object `key` of the model's schema as a new reference; NULL: it has none. */
static unroll_status object_of(const unroll_model *model, const char *key, json_t **object)
{
    json_t *schema, *found;
    int64_t version;
    *object = NULL;
    if (model->schema == NULL)
        return UNROLL_OK;
    TRY(parse_json(model->schema, strlen(model->schema), where, &schema));
    unroll_status status = json_field_integer(schema, where, "version", 1, INT32_MAX, &version);
    if (status == UNROLL_OK && version != SCHEMA_VERSION)
        status = fail(UNROLL_DATA, "%s is of version %d, which this library does not support; fix: use a newer unroll",
                      where, (int)version);
    if (status == UNROLL_OK)
        status = json_field_object(schema, where, key, &found);
    if (status == UNROLL_OK)
        *object = json_incref(found);
    json_decref(schema);
    return status;
}

static const char of_all[] = "of_all_data"; /* marks values computed without a known training part */

unroll_status schema_fit(unroll_model *model, const struct task *task, const struct task_request *request)
{
    const struct column *text = dataset_column(request->data, COLUMN_TOKENS, NULL);
    json_t *found = NULL;
    TRY(accepts_columns(task, request->options, request->data));
    if (text && model->tokens && model->input == text->vocabulary_size) {
        TRY(model_set_vocabulary(model, text->vocabulary, text->vocabulary_size));
        model->symbol_kind = text->kind;
    }
    snprintf(model->task, sizeof model->task, "%s", task->name);
    if (task->fit == NULL)
        return UNROLL_OK;
    TRY(task->fit(request, &found));
    if (found == NULL)
        return UNROLL_OK;
    if (request->model == NULL)
        json_object_set_new(found, of_all, json_true());
    unroll_status status = keep(model, task, request->data, found);
    json_decref(found);
    return status == UNROLL_OK && task->start ? task->start(model, request) : status;
}

unroll_status schema_learn(unroll_model *model, const struct task *task, const struct part *validation)
{
    json_t *schema;
    if (task->learn == NULL || model->schema == NULL)
        return UNROLL_OK;
    TRY(parse_json(model->schema, strlen(model->schema), where, &schema));
    unroll_status status = task->learn(validation, json_object_get(schema, "task"));
    char *text = status == UNROLL_OK ? json_dumps(schema, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    if (status == UNROLL_OK)
        status = text ? model_set_schema(model, text) : fail(UNROLL_RESOURCE, "no memory for a schema");
    free(text);
    json_decref(schema);
    return status;
}

bool schema_is_fit(const unroll_model *model, const struct task *task)
{
    json_t *found = NULL;
    bool is_fit = false;
    if (strcmp(model->task, task->name) != 0)
        return false;
    if (task->fit == NULL)
        return !model->tokens || unroll_model_vocabulary(model);
    if (schema_task(model, &found) == UNROLL_OK && found)
        is_fit = json_object_get(found, of_all) == NULL;
    json_decref(found);
    return is_fit;
}

unroll_status schema_task(const unroll_model *model, json_t **task) { return object_of(model, "task", task); }

/* ---- the public functions ---- */

void unroll_dataset_config_begin(unroll_dataset_config *config, size_t size)
{
    const unroll_dataset_config standard = {.size = sizeof(unroll_dataset_config)};
    sized_begin(&standard, sizeof standard, config, size);
}

/* A file, or rows passed in memory. */
struct data_source {
    const char *path;
    hand_rows *hand;
    void *arg;
    enum row_layout layout;
};

static unroll_status read_source(const struct data_source *source, const unroll_dataset_config *config,
                                 const struct schema *schema, unroll_dataset **dataset)
{
    if (source->path)
        return dataset_open(source->path, config->reader, config->options, schema, dataset);
    return dataset_of_rows(source->hand, source->arg, source->layout, config->options, schema, dataset);
}

/* Opens the data and takes ownership of the description. Targets may be missing: the data may be for prediction. */
static unroll_status open_described(const struct data_source *source, const unroll_dataset_config *config,
                                    json_t *described, unroll_dataset **dataset)
{
    struct schema *schema;
    unroll_status status = schema_from_json(described, where, &schema);
    json_decref(described);
    TRY(status);
    schema->targets_optional = true;
    status = read_source(source, config, schema, dataset);
    schema_free(schema);
    return status;
}

/* Opens the source, as described by the schema of the model if the configuration has one. */
static unroll_status open_source(const struct data_source *source, const unroll_dataset_config *given,
                                 unroll_dataset **dataset)
{
    unroll_dataset_config config = unroll_dataset_config_default();
    struct schema_column column;
    struct schema schema;
    json_t *described = NULL;
    if (given)
        TRY(sized_take(SIZED(unroll_dataset_config, "unroll_dataset_config_default()"), given, &config));
    const bool reads_text = config.model && config.model->tokens;
    if (config.model)
        TRY(object_of(config.model, "data", &described));
    if (described)
        return open_described(source, &config, described, dataset);
    if (reads_text)
        schema = schema_of_model(config.model, &column);
    if (reads_text && column.vocabulary == NULL)
        return fail(UNROLL_UNSUPPORTED,
                    "the model has no vocabulary, so it cannot read text; fix: use one that was trained on a text");
    return read_source(source, &config, reads_text ? &schema : NULL, dataset);
}

unroll_status unroll_dataset_open(const char *path, const unroll_dataset_config *config, unroll_dataset **dataset)
{
    return open_source(&(struct data_source){.path = path}, config, dataset);
}

struct callback {
    unroll_rows *rows;
    void *arg;
};

static unroll_status call_back(void *arg, struct builder *builder)
{
    const struct callback *callback = arg;
    return callback->rows(callback->arg, (unroll_builder *)builder);
}

unroll_status unroll_dataset_from_rows(unroll_rows *rows, void *arg, int rows_are_steps,
                                       const unroll_dataset_config *config, unroll_dataset **dataset)
{
    struct callback callback = {rows, arg};
    const enum row_layout layout = rows_are_steps == UNROLL_AUTO ? ROWS_OPEN
                                   : rows_are_steps              ? ROWS_ARE_STEPS
                                                                 : ROWS_ARE_EXAMPLES;
    const struct data_source source = {.hand = call_back, .arg = &callback, .layout = layout};
    return open_source(&source, config, dataset);
}

unroll_status unroll_dataset_from_columns(const unroll_column *arrays, int count, const int64_t *lengths,
                                          int64_t examples, const unroll_dataset_config *config,
                                          unroll_dataset **dataset)
{
    unroll_column *taken;
    TRY(own_arrays_take(arrays, count, &taken));
    struct own_arrays own = {taken, count, lengths, examples};
    const struct data_source source = {
        .hand = own_arrays_hand, .arg = &own, .layout = lengths ? ROWS_ARE_EXAMPLES : ROWS_ARE_STEPS};
    unroll_status status = own_arrays_check(&own);
    if (status == UNROLL_OK)
        status = open_source(&source, config, dataset);
    release(taken);
    return status;
}

unroll_status unroll_model_set_schema(unroll_model *model, const char *name, const char *options,
                                      const unroll_dataset *data)
{
    const struct task_request request = {.data = data, .ranks = 1, .options = options};
    const struct task *task;
    TRY(task_find(name, NULL, data, &task));
    return schema_fit(model, task, &request);
}

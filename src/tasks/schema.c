/* Where a model and a data set meet: data are read as a model does, or a model takes what it must know of the data.
 * Neither model/ nor data/ knows the other. */
#include "tasks/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

#include "model/model.h"

struct schema schema_of_model(const unroll_model *model, struct schema_column *column)
{
    return schema_of_text(column, model->symbol_kind, unroll_model_vocabulary(model), model->input);
}

static const char *kind_name(unroll_token_kind kind) { return kind == UNROLL_CHARACTERS ? "characters" : "words"; }

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

/* ---- what a model keeps ---- */

enum { SCHEMA_VERSION = 1 };

/* Takes the object over. */
static unroll_status keep_task(unroll_model *model, const struct task *task, json_t *found)
{
    json_t *schema = json_pack("{s:i, s:o}", "version", SCHEMA_VERSION, "task", found);
    json_object_set_new(found, "name", json_string(task->name));
    char *text = schema ? json_dumps(schema, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    unroll_status status = text ? model_set_schema(model, text) : fail(UNROLL_RESOURCE, "no memory for a schema");
    free(text);
    json_decref(schema);
    return status;
}

unroll_status schema_fit(unroll_model *model, const struct task *task, const struct task_request *request)
{
    const struct column *text = dataset_column(request->data, COLUMN_TOKENS, NULL);
    json_t *found = NULL;
    if (text && model->tokens) {
        TRY(model_set_vocabulary(model, text->vocabulary, text->vocabulary_size));
        model->symbol_kind = text->kind;
    }
    if (task->fit) {
        TRY(task->fit(request, &found));
        TRY(keep_task(model, task, found));
    }
    snprintf(model->task, sizeof model->task, "%s", task->name);
    return UNROLL_OK;
}

unroll_status schema_task(const unroll_model *model, json_t **task)
{
    json_t *schema, *found;
    *task = NULL;
    if (model->schema == NULL)
        return UNROLL_OK;
    TRY(parse_json(model->schema, strlen(model->schema), "the model's schema", &schema));
    unroll_status status = json_field_object(schema, "the model's schema", "task", &found);
    if (status == UNROLL_OK)
        *task = json_incref(found);
    json_decref(schema);
    return status;
}

/* ---- the public functions ---- */

unroll_dataset_config unroll_dataset_default(void)
{
    return (unroll_dataset_config){.size = sizeof(unroll_dataset_config)};
}

unroll_status unroll_dataset_open(const char *path, const unroll_dataset_config *given, unroll_dataset **dataset)
{
    unroll_dataset_config config = given ? *given : unroll_dataset_default();
    struct schema_column column;
    struct schema schema;
    bool reads_text = config.model && config.model->tokens;
    if (given)
        CHECK_BEGUN(given, unroll_dataset_config, "unroll_dataset_default()");
    if (reads_text)
        schema = schema_of_model(config.model, &column);
    if (reads_text && column.vocabulary == NULL)
        return fail(UNROLL_UNSUPPORTED,
                    "the model has no vocabulary, so it reads no text; fix: take one that was trained on a text");
    return dataset_open(path, config.reader, config.options, reads_text ? &schema : NULL, dataset);
}

unroll_status unroll_model_set_schema(unroll_model *model, const char *name, const char *options,
                                      const unroll_dataset *data)
{
    const struct task_request request = {.data = data, .ranks = 1, .options = options};
    const struct task *task;
    TRY(task_find(name, NULL, data, &task));
    return schema_fit(model, task, &request);
}

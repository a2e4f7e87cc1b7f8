/* Reads the meaning of tokens and classes (symbols.h). */
#include "cli/options/symbols.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/show/console.h"

/* Returns an array of strings that the schema owns; NULL if there are none. */
static const char **strings_of(const json_t *array, int *count)
{
    const size_t n = json_array_size(array);
    const char **string = n ? malloc(n * sizeof *string) : NULL;
    for (size_t i = 0; string && i < n; i++) {
        string[i] = json_string_value(json_array_get(array, i));
        if (string[i] == NULL)
            string[i] = "";
    }
    *count = string ? (int)n : 0;
    return string;
}

static const json_t *column_called(const json_t *schema, const char *name)
{
    size_t i;
    const json_t *column, *columns = json_object_get(json_object_get(schema, "data"), "columns");
    json_array_foreach(columns, i, column) if (name && !strcmp(json_string_value(json_object_get(column, "name")),
                                                               name)) return column;
    return NULL;
}

/* Reads the schema of a model that has one column of characters and no other input. */
static void read_schema(struct symbols *s)
{
    const json_t *task = json_object_get(s->schema, "task"), *inputs = json_object_get(task, "inputs");
    const json_t *input = json_array_get(inputs, 0);
    const json_t *column = column_called(s->schema, json_string_value(json_object_get(input, "column")));
    const char *tokens = json_string_value(json_object_get(column, "tokens"));
    const json_int_t ids = json_integer_value(json_object_get(input, "ids"));
    if (json_array_size(inputs) != 1 || tokens == NULL || ids < 1 || ids > INT_MAX)
        return;
    s->symbol = strings_of(json_object_get(column, "vocabulary"), &s->count);
    s->characters = strcmp(tokens, "chars") == 0;
    s->unknown = (int)ids - 1;
    if (symbols_find(s, "<unk>") >= 0)
        s->unknown = symbols_find(s, "<unk>");
    if (!json_is_true(json_object_get(task, "several")))
        s->label = strings_of(json_object_get(task, "labels"), &s->labels);
}

unroll_status symbols_open(const unroll_model *model, struct symbols *s)
{
    const char *schema = unroll_model_schema(model);
    unroll_network network = {.size = sizeof network};
    unroll_model_network(model, &network);
    *s = (struct symbols){.unknown = -1};
    if (unroll_model_vocabulary(model)) {
        s->symbol = unroll_model_vocabulary(model);
        s->count = network.input;
        s->characters = !strcmp(unroll_model_tokens(model), "chars");
        s->predicts = unroll_model_outputs(model) == network.input;
        return UNROLL_OK;
    }
    if (schema == NULL || !network.tokens)
        return UNROLL_OK;
    s->schema = json_loads(schema, 0, NULL);
    if (s->schema == NULL)
        return complain(UNROLL_DATA, "the model's schema is not JSON; fix: use another copy of the model");
    read_schema(s);
    return UNROLL_OK;
}

void symbols_close(struct symbols *s)
{
    if (s->schema)
        free((void *)s->symbol);
    free(s->label);
    json_decref(s->schema);
}

int32_t symbols_find(const struct symbols *s, const char *symbol)
{
    for (int i = 0; i < s->count; i++)
        if (strcmp(s->symbol[i], symbol) == 0)
            return i;
    return -1;
}

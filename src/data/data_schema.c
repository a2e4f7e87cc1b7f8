/* Schemas: their memory and their JSON. */
#include "data/data_schema.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

const char *const column_type_names[] = {"tokens", "category", "set", "numbers", "time"};
struct schema schema_of_text(struct schema_column *column, enum token_kind kind, const char *const *vocabulary,
                             int vocabulary_size)
{
    *column = (struct schema_column){.name = "text",
                                     .type = COLUMN_TOKENS,
                                     .kind = kind,
                                     .vocabulary = vocabulary,
                                     .vocabulary_size = vocabulary_size};
    return (struct schema){.column = column, .columns = 1, .options = ""};
}

struct schema_column *schema_named(const struct schema *schema, const char *name)
{
    for (int i = 0; i < schema->columns; i++)
        if (strcmp(schema->column[i].name, name) == 0)
            return &schema->column[i];
    return NULL;
}

void schema_free(struct schema *schema)
{
    if (schema) {
        json_decref(schema->json);
        release(schema->memory);
        release(schema->column);
        release(schema);
    }
}

/* ---- of a data set ---- */

/* Computes the size of all strings of the vocabularies and options, which are stored one after another; pointers to
 * them precede them. */
static size_t bytes_of_strings(const unroll_dataset *dataset, size_t *pointers)
{
    size_t bytes = (dataset->options ? strlen(dataset->options) : 0) + 1;
    *pointers = 0;
    for (int i = 0; i < dataset->columns; i++)
        for (int v = 0; v < dataset->column[i].vocabulary_size; v++, ++*pointers)
            bytes += strlen(dataset->column[i].vocabulary[v]) + 1;
    return bytes;
}

static const char *copy_string(char **at, const char *string)
{
    char *copy = *at;
    *at = stpcpy(copy, string ? string : "") + 1;
    return copy;
}

static void describe_column(const struct column *column, struct schema_column *to, const char ***pointer, char **at)
{
    *to = (struct schema_column){.type = column->type,
                                 .of_sequence = column->of_sequence,
                                 .unaligned = column->begin != NULL,
                                 .kind = column->kind,
                                 .vocabulary = column->vocabulary_size ? *pointer : NULL,
                                 .vocabulary_size = column->vocabulary_size,
                                 .width = column->width,
                                 .style = column->style,
                                 .place = column->place};
    memcpy(to->name, column->name, sizeof to->name);
    for (int v = 0; v < column->vocabulary_size; v++) *(*pointer)++ = copy_string(at, column->vocabulary[v]);
}

/* Creates the schema of a data set, with its own copies of all strings. */
unroll_status schema_of_dataset(const unroll_dataset *dataset, struct schema **schema)
{
    size_t pointers, bytes = bytes_of_strings(dataset, &pointers);
    struct schema *made;
    TRY(ALLOCATE(made, 1, "for a schema"));
    made->column = allocate_zeroed((size_t)dataset->columns, sizeof *made->column);
    made->memory = allocate_zeroed(pointers * sizeof(char *) + bytes, 1);
    if (made->column == NULL || made->memory == NULL) {
        schema_free(made);
        return fail(UNROLL_RESOURCE, "no memory for a schema");
    }
    const char **pointer = made->memory;
    char *at = (char *)(pointer + pointers);
    made->columns = dataset->columns;
    made->rows_are_steps = dataset->rows_are_steps;
    for (int i = 0; i < dataset->columns; i++) describe_column(&dataset->column[i], &made->column[i], &pointer, &at);
    if (dataset->group >= 0)
        snprintf(made->group, sizeof made->group, "%s", dataset->column[dataset->group].name);
    if (dataset->time >= 0)
        snprintf(made->time, sizeof made->time, "%s", dataset->column[dataset->time].name);
    snprintf(made->reader, sizeof made->reader, "%s", dataset->reader);
    made->options = copy_string(&at, dataset->options);
    *schema = made;
    return UNROLL_OK;
}

/* ---- JSON ---- */

static const char *const time_forms[TIME_FORMS] = {[TIME_TEXT_FREE] = "text",
                                                   [TIME_DMY] = "dmy",
                                                   [TIME_MDY] = "mdy",
                                                   [TIME_QUARTER] = "quarter",
                                                   [TIME_SECONDS] = "seconds",
                                                   [TIME_MILLISECONDS] = "milliseconds",
                                                   [TIME_MICROSECONDS] = "microseconds",
                                                   [TIME_NANOSECONDS] = "nanoseconds",
                                                   [TIME_COMPACT] = "compact",
                                                   [TIME_YEAR] = "year",
                                                   [TIME_STEP] = "step"};

json_t *time_style_to_json(const struct time_style *style)
{
    json_t *json = json_pack("{ss si}", "form", time_forms[style->form], "digits", style->digits);
    if (json && style->zoned)
        json_object_set_new(json, "zone", json_integer(style->zone));
    return json;
}

/* Writes a column as JSON. */
static json_t *column_to_json(const struct schema_column *column)
{
    json_t *json =
        json_pack("{ss ss sb sb si si}", "name", column->name, "type", column_type_names[column->type], "of_sequence",
                  column->of_sequence, "target", column->target, "width", column->width, "place", column->place);
    if (json && column->unaligned)
        json_object_set_new(json, "unaligned", json_true());
    bool has_vocabulary =
        column->type == COLUMN_TOKENS || column->type == COLUMN_CATEGORY || column->type == COLUMN_SET;
    if (json && column->type == COLUMN_TOKENS)
        json_object_set_new(json, "tokens", json_string(token_kind_names[column->kind]));
    if (json && column->type == COLUMN_TIME)
        json_object_set_new(json, "times", time_style_to_json(&column->style));
    json_t *strings = json && has_vocabulary ? json_array() : NULL;
    for (int i = 0; strings && i < column->vocabulary_size; i++)
        if (json_array_append_new(strings, json_string(column->vocabulary[i]))) {
            json_decref(strings);
            json_decref(json);
            return NULL;
        }
    if (strings)
        json_object_set_new(json, "vocabulary", strings);
    return json;
}

json_t *schema_to_json(const struct schema *schema)
{
    json_t *columns = json_array(), *column;
    for (int i = 0; columns && i < schema->columns; i++)
        if ((column = column_to_json(&schema->column[i])) == NULL || json_array_append_new(columns, column)) {
            json_decref(columns);
            return NULL;
        }
    return json_pack("{so sb ss ss ss ss}", "columns", columns, "rows_are_steps", schema->rows_are_steps, "group",
                     schema->group, "time", schema->time, "reader", schema->reader, "options",
                     schema->options ? schema->options : "");
}

static unroll_status find_word(const json_t *json, const char *where, const char *key, const char *const *words,
                               int count, int *found)
{
    const char *word;
    TRY(json_field_string(json, where, key, &word));
    for (*found = 0; *found < count; ++*found)
        if (strcmp(words[*found], word) == 0)
            return UNROLL_OK;
    return fail(UNROLL_DATA, "%s: %s is '%.40s', which this version lacks; fix: use a newer one", where, key, word);
}

unroll_status time_style_from_json(const json_t *json, const char *where, struct time_style *style)
{
    int64_t digits, zone = 0;
    int form;
    *style = (struct time_style){.zoned = json_object_get(json, "zone") != NULL};
    if (json == NULL)
        return UNROLL_OK;
    TRY(find_word(json, where, "form", time_forms, TIME_FORMS, &form));
    TRY(json_field_integer(json, where, "digits", 0, 18, &digits));
    if (style->zoned)
        TRY(json_field_integer(json, where, "zone", -1440, 1440, &zone));
    style->form = (enum time_form)form, style->digits = (int)digits, style->zone = (int)zone;
    return UNROLL_OK;
}

static unroll_status copy_field(const json_t *json, const char *where, const char *key, char *to, size_t size)
{
    const char *text;
    TRY(json_field_string(json, where, key, &text));
    if (strlen(text) >= size)
        return fail(UNROLL_DATA, "%s: %s is longer than %zu bytes; fix: use another copy of the model", where, key,
                    size - 1);
    strcpy(to, text);
    return UNROLL_OK;
}

/* Reads the vocabulary; its strings belong to the JSON, which the schema references. */
static unroll_status read_vocabulary(const json_t *json, const char *where, struct schema_column *column,
                                     const char ***pointer)
{
    json_t *strings;
    if (column->type != COLUMN_TOKENS && column->type != COLUMN_CATEGORY && column->type != COLUMN_SET)
        return UNROLL_OK;
    TRY(json_field_array(json, where, "vocabulary", &strings));
    column->vocabulary = *pointer;
    column->vocabulary_size = (int)json_array_size(strings);
    for (int i = 0; i < column->vocabulary_size; i++)
        if ((*(*pointer)++ = json_string_value(json_array_get(strings, (size_t)i))) == NULL)
            return fail(UNROLL_DATA,
                        "%s: entry %d of the vocabulary is not a string; fix: use another copy of the model", where, i);
    return UNROLL_OK;
}

/* Reads a column from JSON. */
static unroll_status read_column(const json_t *json, const char *where, struct schema_column *column,
                                 const char ***pointer)
{
    int64_t number;
    int word;
    if (!json_is_object(json))
        return fail(UNROLL_DATA, "%s: a column is not an object; fix: use another copy of the model", where);
    TRY(copy_field(json, where, "name", column->name, sizeof column->name));
    TRY(find_word(json, where, "type", column_type_names, COLUMN_TIME + 1, &word));
    column->type = (enum column_type)word;
    if (column->type == COLUMN_TOKENS) {
        TRY(find_word(json, where, "tokens", token_kind_names, TOKEN_KINDS, &word));
        column->kind = (enum token_kind)word;
    }
    if (column->type == COLUMN_TIME)
        TRY(time_style_from_json(json_object_get(json, "times"), where, &column->style));
    TRY(json_field_integer(json, where, "width", 0, INT32_MAX, &number));
    column->width = (int)number;
    TRY(json_field_integer(json, where, "place", 0, INT32_MAX, &number));
    column->place = (int)number;
    column->of_sequence = json_is_true(json_object_get(json, "of_sequence"));
    column->unaligned = json_is_true(json_object_get(json, "unaligned"));
    column->target = json_is_true(json_object_get(json, "target"));
    return read_vocabulary(json, where, column, pointer);
}

static size_t count_strings(const json_t *columns)
{
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(columns); i++)
        count += json_array_size(json_object_get(json_array_get(columns, i), "vocabulary"));
    return count;
}

static unroll_status read_fields(const json_t *json, const char *where, struct schema *to)
{
    json_t *columns;
    TRY(json_field_array(json, where, "columns", &columns));
    size_t count = json_array_size(columns);
    TRY(ALLOCATE(to->column, count, "for a schema"));
    TRY(copy_field(json, where, "group", to->group, sizeof to->group));
    TRY(copy_field(json, where, "time", to->time, sizeof to->time));
    TRY(copy_field(json, where, "reader", to->reader, sizeof to->reader));
    TRY(json_field_string(json, where, "options", &to->options));
    to->rows_are_steps = json_is_true(json_object_get(json, "rows_are_steps"));
    const char **pointer = to->memory;
    for (; (size_t)to->columns < count; to->columns++)
        TRY(read_column(json_array_get(columns, (size_t)to->columns), where, &to->column[to->columns], &pointer));
    return UNROLL_OK;
}

unroll_status schema_from_json(const json_t *json, const char *name_for_errors, struct schema **schema)
{
    struct schema *made;
    TRY(ALLOCATE(made, 1, "for a schema"));
    made->json = json_incref((json_t *)json);
    made->memory = allocate_zeroed(count_strings(json_object_get(json, "columns")), sizeof(char *));
    unroll_status status =
        made->memory ? read_fields(json, name_for_errors, made) : fail(UNROLL_RESOURCE, "no memory for a schema");
    if (status == UNROLL_OK)
        *schema = made;
    else
        schema_free(made);
    return status;
}

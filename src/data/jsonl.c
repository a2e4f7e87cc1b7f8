/* The reader jsonl: a JSON object a line, which is a row. Strings, numbers, true and false are cells; an array of
 * numbers, or of arrays of as many numbers, is a sequence of steps; an array of strings is one too, or a set where the
 * name says so (labels, genres) or `columns` does. null is missing. Objects inside are refused. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/memory.h"
#include "data/reader_table.h"

enum { KEYS_MAX = 4096 };

/* The columns that the lines so far have had. */
struct fields {
    struct field {
        char name[COLUMN_NAME];
        enum cell cell;
        int column, width;
    } *field;
    int count, room;
    float *numbers; /* of one array */
    size_t numbers_room;
};

static bool is_jsonl(const char *path, const char *head, size_t bytes)
{
    const char *end = memchr(head, '\n', bytes);
    if (bytes == 0 || head[0] != '{')
        return false;
    json_t *json = json_loadb(head, end ? (size_t)(end - head) : bytes, 0, NULL);
    bool object = json_is_object(json);
    json_decref(json);
    return object || path_ends_with(path, ".jsonl");
}

static bool names_a_set(const char *name)
{
    static const char *const names[] = {"labels", "genres", "categories", "keywords", "topics", "classes"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(names[i], name) == 0)
            return true;
    return false;
}

static unroll_status refuse(struct builder *builder, const char *key, const char *what)
{
    return fail(UNROLL_DATA, "%s: '%s' %s", builder_place(builder), key, what);
}

/* What a value is as a column. */
static unroll_status describe(struct builder *builder, const char *key, const json_t *value, struct field *field)
{
    const json_t *first = json_array_get(value, 0);
    field->width = 1;
    if (json_is_object(value) || json_is_object(first))
        return refuse(builder, key, "is an object; fix: give its fields names of their own, beside the others");
    if (!json_is_array(value))
        field->cell = CELL_TEXT;
    else if (json_is_string(first) || (first == NULL && names_a_set(key)))
        field->cell = names_a_set(key) ? CELL_SET : CELL_WORD;
    else if (json_is_number(first) || json_is_array(first))
        field->cell = CELL_NUMBERS;
    else
        return refuse(builder, key, "is an array of neither numbers nor strings; fix: give such, or null");
    if (json_is_array(first))
        field->width = (int)json_array_size(first);
    if (field->width < 1)
        return refuse(builder, key, "has steps without numbers; fix: give each step as many");
    return UNROLL_OK;
}

static unroll_status add_field(struct fields *fields, struct builder *builder, const char *key, const json_t *value,
                               struct field **field)
{
    if (fields->count == KEYS_MAX)
        return refuse(builder, key, "is one key too many; fix: an object has at most 4096");
    if (strlen(key) >= COLUMN_NAME)
        return refuse(builder, key, "is too long a name; fix: at most 63 bytes");
    if (fields->count == fields->room) {
        int room = 2 * fields->room + 8;
        if (!enlarge(&fields->field, (size_t)fields->count * sizeof *fields->field,
                     (size_t)room * sizeof *fields->field))
            return fail(UNROLL_RESOURCE, "no memory for %d columns", room);
        fields->room = room;
    }
    *field = &fields->field[fields->count];
    TRY(describe(builder, key, value, *field));
    strcpy((*field)->name, key);
    fields->count++;
    bool of_sequence = (*field)->cell == CELL_TEXT || (*field)->cell == CELL_SET;
    return builder_column(builder, key, (*field)->cell, of_sequence, (*field)->width, &(*field)->column);
}

/* Lines have mostly the same keys in the same order. */
static struct field *find_field(const struct fields *fields, const char *key, int likely)
{
    if (likely < fields->count && strcmp(fields->field[likely].name, key) == 0)
        return &fields->field[likely];
    for (int i = 0; i < fields->count; i++)
        if (strcmp(fields->field[i].name, key) == 0)
            return &fields->field[i];
    return NULL;
}

static unroll_status take_cell(struct builder *builder, const struct field *field, const json_t *value)
{
    char text[40];
    if (json_is_string(value))
        return builder_text(builder, field->column, json_string_value(value), json_string_length(value));
    if (json_is_integer(value))
        snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        snprintf(text, sizeof text, "%.17g", json_real_value(value));
    else
        strcpy(text, json_is_true(value) ? "true" : "false");
    return builder_text(builder, field->column, text, strlen(text));
}

static unroll_status take_strings(struct builder *builder, const struct field *field, const json_t *value)
{
    size_t count = json_array_size(value);
    if (field->cell == CELL_SET)
        TRY(builder_text(builder, field->column, "", 0));
    for (size_t i = 0; i < count; i++) {
        const json_t *part = json_array_get(value, i);
        if (!json_is_string(part))
            return refuse(builder, field->name, "has strings and others in one array; fix: give strings alone");
        TRY(builder_text(builder, field->column, json_string_value(part), json_string_length(part)));
    }
    return UNROLL_OK;
}

static unroll_status take_number(struct builder *builder, const struct field *field, const json_t *value, float *to)
{
    if (json_is_null(value))
        *to = NAN;
    else if (json_is_number(value))
        *to = (float)json_number_value(value);
    else
        return refuse(builder, field->name, "has an entry that is no number; fix: give numbers, or null");
    return UNROLL_OK;
}

static unroll_status take_step(struct builder *builder, const struct field *field, const json_t *value, float *to)
{
    if (field->width == 1 && !json_is_array(value))
        return take_number(builder, field, value, to);
    if (json_array_size(value) != (size_t)field->width)
        return refuse(builder, field->name, "has steps of different widths; fix: give each as many numbers");
    for (int i = 0; i < field->width; i++) TRY(take_number(builder, field, json_array_get(value, (size_t)i), to + i));
    return UNROLL_OK;
}

static unroll_status take_numbers(struct fields *fields, struct builder *builder, const struct field *field,
                                  const json_t *value)
{
    size_t count = json_array_size(value), wanted = count * (size_t)field->width;
    if (wanted > fields->numbers_room) {
        release(fields->numbers);
        fields->numbers_room = 0;
        TRY(ALLOCATE(fields->numbers, 2 * wanted, "for an array of %zu numbers", wanted));
        fields->numbers_room = 2 * wanted;
    }
    for (size_t i = 0; i < count; i++)
        TRY(take_step(builder, field, json_array_get(value, i), fields->numbers + i * (size_t)field->width));
    return builder_numbers(builder, field->column, fields->numbers, count);
}

static unroll_status take_value(struct fields *fields, struct builder *builder, const char *key, const json_t *value,
                                int likely)
{
    struct field *field = find_field(fields, key, likely);
    const bool empty = json_is_array(value) && json_array_size(value) == 0;
    const bool set = field ? field->cell == CELL_SET : names_a_set(key);
    if (json_is_null(value) || (empty && !set))
        return UNROLL_OK;
    if (field == NULL)
        TRY(add_field(fields, builder, key, value, &field));
    if (json_is_object(value))
        return refuse(builder, key, "is an object; fix: give its fields names of their own, beside the others");
    if (json_is_array(value) != (field->cell != CELL_TEXT))
        return refuse(builder, key, "is an array in some rows and a single value in others; fix: give one of them");
    return field->cell == CELL_TEXT      ? take_cell(builder, field, value)
           : field->cell == CELL_NUMBERS ? take_numbers(fields, builder, field, value)
                                         : take_strings(builder, field, value);
}

static unroll_status take_line(struct fields *fields, struct input *input, struct builder *builder, const char *line,
                               size_t length)
{
    json_error_t error;
    json_t *json = json_loadb(line, length, JSON_REJECT_DUPLICATES, &error), *value;
    unroll_status status = UNROLL_OK;
    const char *key;
    int likely = 0;
    if (!json_is_object(json))
        status = fail(UNROLL_DATA, "'%s', line %lld is no JSON object: %s; fix: %s", input_name(input),
                      (long long)input_lines(input), json ? "it is another value" : error.text,
                      !json && (strstr(error.text, "NaN") || strstr(error.text, "Infinity"))
                          ? "write null for a number that is missing; JSON has no NaN"
                          : "give one object a line");
    if (status == UNROLL_OK)
        json_object_foreach(json, key,
                            value) if ((status = take_value(fields, builder, key, value, likely++)) != UNROLL_OK) break;
    json_decref(json);
    return status == UNROLL_OK ? builder_end_row(builder) : status;
}

static unroll_status read_lines(struct fields *fields, struct input *input, struct builder *builder)
{
    const char *line;
    size_t length;
    bool more;
    TRY(builder_columns(builder, ROWS_OPEN));
    for (;;) {
        TRY(input_next_line(input, &line, &length, &more));
        if (!more)
            return UNROLL_OK;
        if (!line_is_blank(line, length))
            TRY(take_line(fields, input, builder, line, length));
    }
}

static unroll_status read_jsonl(struct input *input, const void *options, struct builder *builder)
{
    struct fields fields = {0};
    (void)options;
    unroll_status status = read_lines(&fields, input, builder);
    release(fields.field);
    release(fields.numbers);
    return status;
}

const struct reader reader_jsonl = {
    .name = "jsonl", .about = "JSON objects, one a line", .recognises = is_jsonl, .read = read_jsonl};

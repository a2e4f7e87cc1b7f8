/* The reader jsonl: one JSON object per line, or an array of objects; each object is a row. Strings, numbers, true and
 * false are cells. An array of numbers, or of equally long arrays of numbers, is a sequence of steps. An array of
 * strings is also a sequence, or a set if the name (labels, genres) or the option `columns` says so. null is missing.
 * Nested objects are refused. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/memory.h"
#include "data/readers/reader_table.h"

enum { KEYS_MAX = 4096, BUFFER = 1 << 18, OBJECT_MAX = 64 << 20 };

/* The columns of the lines so far. */
struct json_fields {
    struct field {
        char name[COLUMN_NAME];
        enum cell cell;
        int column, width;
    } *field;
    int count, room;
    float *numbers; /* of one array */
    size_t numbers_room;
};

static size_t skip_blanks(const char *bytes, size_t at, size_t size)
{
    while (at < size && bytes[at] && strchr(" \t\r\n", bytes[at])) at++;
    return at;
}

static bool is_array(const char *head, size_t bytes)
{
    const size_t at = skip_blanks(head, 0, bytes), first = skip_blanks(head, at + 1, bytes);
    return first < bytes && head[at] == '[' && head[first] == '{';
}

static bool is_jsonl(const char *path, const char *head, size_t bytes)
{
    if (is_array(head, bytes))
        return true;
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

static unroll_status refuse_key(struct builder *builder, const char *key, const char *what)
{
    return fail(UNROLL_DATA, "%s: '%s' %s", builder_place(builder), key, what);
}

/* Finds the type of the column for a value. */
static unroll_status describe_field(struct builder *builder, const char *key, const json_t *value, struct field *field)
{
    const json_t *first = json_array_get(value, 0);
    field->width = 1;
    if (json_is_object(value) || json_is_object(first))
        return refuse_key(builder, key, "is an object; fix: move its fields to the outer object");
    if (!json_is_array(value))
        field->cell = CELL_TEXT;
    else if (json_is_string(first) || (first == NULL && names_a_set(key)))
        field->cell = names_a_set(key) ? CELL_SET : CELL_WORD;
    else if (json_is_number(first) || json_is_array(first))
        field->cell = CELL_NUMBERS;
    else
        return refuse_key(builder, key,
                          "is an array of neither numbers nor strings; fix: give numbers, strings or null");
    if (json_is_array(first))
        field->width = (int)json_array_size(first);
    if (field->width < 1)
        return refuse_key(builder, key, "has steps without numbers; fix: give each step the same number");
    return UNROLL_OK;
}

/* Declares a column for a key. */
static unroll_status add_field(struct json_fields *fields, struct builder *builder, const char *key,
                               const json_t *value, struct field **field)
{
    if (fields->count == KEYS_MAX)
        return refuse_key(builder, key, "is more than the 4096 keys of an object; fix: use fewer keys");
    if (strlen(key) >= COLUMN_NAME)
        return refuse_key(builder, key, "is too long; fix: use at most 63 bytes");
    if (fields->count == fields->room) {
        int room = 2 * fields->room + 8;
        if (!enlarge(&fields->field, (size_t)fields->count * sizeof *fields->field,
                     (size_t)room * sizeof *fields->field))
            return fail(UNROLL_RESOURCE, "no memory for %d columns", room);
        fields->room = room;
    }
    *field = &fields->field[fields->count];
    TRY(describe_field(builder, key, value, *field));
    strcpy((*field)->name, key);
    fields->count++;
    bool of_sequence = (*field)->cell == CELL_TEXT || (*field)->cell == CELL_SET;
    return builder_column(builder, key, (*field)->cell, of_sequence, (*field)->width, &(*field)->column);
}

/* Finds the field of a key; lines usually have the same keys in the same order. */
static struct field *find_field(const struct json_fields *fields, const char *key, int likely)
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
            return refuse_key(builder, field->name, "has strings and others in one array; fix: give strings only");
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
        return refuse_key(builder, field->name, "has an entry that is not a number; fix: give numbers, or null");
    return UNROLL_OK;
}

static unroll_status take_step(struct builder *builder, const struct field *field, const json_t *value, float *to)
{
    if (field->width == 1 && !json_is_array(value))
        return take_number(builder, field, value, to);
    if (json_array_size(value) != (size_t)field->width)
        return refuse_key(builder, field->name,
                          "has steps of different widths; fix: give each the same number of values");
    for (int i = 0; i < field->width; i++) TRY(take_number(builder, field, json_array_get(value, (size_t)i), to + i));
    return UNROLL_OK;
}

static unroll_status take_numbers(struct json_fields *fields, struct builder *builder, const struct field *field,
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

static unroll_status take_value(struct json_fields *fields, struct builder *builder, const char *key,
                                const json_t *value, int likely)
{
    struct field *field = find_field(fields, key, likely);
    const bool empty = json_is_array(value) && json_array_size(value) == 0;
    const bool set = field ? field->cell == CELL_SET : names_a_set(key);
    if (json_is_null(value) || (empty && !set))
        return UNROLL_OK;
    if (field == NULL)
        TRY(add_field(fields, builder, key, value, &field));
    if (json_is_object(value))
        return refuse_key(builder, key, "is an object; fix: move its fields to the outer object");
    if (json_is_array(value) != (field->cell != CELL_TEXT))
        return refuse_key(builder, key, "is an array in some rows and a single value in others; fix: give one of them");
    return field->cell == CELL_TEXT      ? take_cell(builder, field, value)
           : field->cell == CELL_NUMBERS ? take_numbers(fields, builder, field, value)
                                         : take_strings(builder, field, value);
}

/* Takes a row and releases json. where: "line 3" or "element 3". json NULL: error describes the syntax error. */
static unroll_status take_object(struct json_fields *fields, struct input *input, struct builder *builder, json_t *json,
                                 const json_error_t *error, const char *where)
{
    unroll_status status = UNROLL_OK;
    const char *key;
    json_t *value;
    int likely = 0;
    if (!json_is_object(json))
        status = fail(UNROLL_DATA, "'%s', %s is not a JSON object: %s; fix: %s", input_name(input), where,
                      json ? "it is another value" : error->text,
                      !json && (strstr(error->text, "NaN") || strstr(error->text, "Infinity"))
                          ? "write null for a number that is missing; JSON has no NaN"
                          : "give one object a line, or an array of objects");
    if (status == UNROLL_OK)
        json_object_foreach(json, key,
                            value) if ((status = take_value(fields, builder, key, value, likely++)) != UNROLL_OK) break;
    json_decref(json);
    return status == UNROLL_OK ? builder_end_row(builder) : status;
}

static unroll_status read_lines(struct json_fields *fields, struct input *input, struct builder *builder)
{
    const char *line;
    size_t length;
    bool more;
    json_error_t error;
    char where[32];
    for (;;) {
        TRY(input_line(input, &line, &length, &more));
        if (!more)
            return UNROLL_OK;
        if (line_is_blank(line, length))
            continue;
        json_t *json = json_loadb(line, length, JSON_REJECT_DUPLICATES, &error);
        snprintf(where, sizeof where, "line %lld", (long long)input_lines(input));
        TRY(take_object(fields, input, builder, json, &error, where));
    }
}

/* ---- arrays of objects ---- */

/* Bytes of a member that are not parsed yet. */
struct unread_bytes {
    struct input *input;
    char *bytes;
    size_t room, begin, end;
    bool ended; /* no bytes follow these */
};

static unroll_status read_more(struct unread_bytes *w)
{
    const size_t kept = w->end - w->begin;
    size_t got;
    if (kept > OBJECT_MAX)
        return fail(UNROLL_DATA, "'%s' has an object that is larger than 64 MiB; fix: divide it", input_name(w->input));
    memmove(w->bytes, w->bytes + w->begin, kept);
    w->begin = 0, w->end = kept;
    if (w->room < 2 * kept && !enlarge(&w->bytes, kept, 2 * kept))
        return fail(UNROLL_RESOURCE, "no memory for an object of '%s'", input_name(w->input));
    w->room = w->room < 2 * kept ? 2 * kept : w->room;
    TRY(input_read(w->input, w->bytes + kept, w->room - kept, &got));
    w->end += got;
    w->ended = got == 0;
    return UNROLL_OK;
}

/* Returns the next byte that is not a space; 0: none. */
static unroll_status next_byte(struct unread_bytes *w, char *byte)
{
    while ((w->begin = skip_blanks(w->bytes, w->begin, w->end)) == w->end && !w->ended) TRY(read_more(w));
    *byte = w->begin < w->end ? w->bytes[w->begin] : 0;
    return UNROLL_OK;
}

/* True for an error near the end of the bytes: the value is incomplete and is parsed again with more bytes. */
static unroll_status next_value(struct unread_bytes *w, json_t **json, json_error_t *error)
{
    enum { NEAR = 16 };
    for (;;) {
        const size_t left = w->end - w->begin;
        *json = json_loadb(w->bytes + w->begin, left, JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, error);
        if (*json)
            w->begin += (size_t)error->position;
        if (*json || w->ended || (size_t)error->position + NEAR < left)
            return UNROLL_OK;
        TRY(read_more(w));
    }
}

/* Reads the elements of an array, one at a time. */
static unroll_status read_elements(struct json_fields *fields, struct unread_bytes *w, struct builder *builder)
{
    json_error_t error;
    json_t *json;
    char byte = '[', where[40];
    for (long long element = 1; byte != ']'; element++) {
        w->begin++; /* '[' or ',' */
        TRY(next_value(w, &json, &error));
        snprintf(where, sizeof where, "element %lld", element);
        TRY(take_object(fields, w->input, builder, json, &error, where));
        TRY(next_byte(w, &byte));
        if (byte != ',' && byte != ']')
            return fail(UNROLL_DATA, "'%s': after element %lld of the array follows neither ',' nor ']'; fix: %s",
                        input_name(w->input), element,
                        byte ? "separate the objects by commas" : "the file is truncated; get it again");
    }
    w->begin++;
    TRY(next_byte(w, &byte));
    return byte ? fail(UNROLL_DATA, "'%s' has text after its array; fix: keep only the array", input_name(w->input))
                : UNROLL_OK;
}

static unroll_status read_array(struct json_fields *fields, struct input *input, struct builder *builder)
{
    struct unread_bytes w = {.input = input, .room = BUFFER};
    char byte;
    TRY(ALLOCATE(w.bytes, w.room, "to read '%s'", input_name(input)));
    unroll_status status = next_byte(&w, &byte);
    if (status == UNROLL_OK && byte)
        status = read_elements(fields, &w, builder);
    release(w.bytes);
    return status;
}

static unroll_status read_members(struct json_fields *fields, struct input *input, struct builder *builder, bool array)
{
    const char *member;
    TRY(builder_columns(builder, ROWS_OPEN));
    for (;;) {
        TRY(input_next(input, &member));
        if (member == NULL)
            return UNROLL_OK;
        TRY(array ? read_array(fields, input, builder) : read_lines(fields, input, builder));
    }
}

static unroll_status read_jsonl(struct input *input, const void *options, struct builder *builder)
{
    struct json_fields fields = {0};
    char head[64];
    size_t bytes;
    (void)options;
    TRY(input_head(input, head, sizeof head, &bytes));
    unroll_status status = read_members(&fields, input, builder, is_array(head, bytes));
    release(fields.field);
    release(fields.numbers);
    return status;
}

const struct reader reader_jsonl = {
    .name = "jsonl", .about = "JSON objects, one a line or in an array", .recognizes = is_jsonl, .read = read_jsonl};

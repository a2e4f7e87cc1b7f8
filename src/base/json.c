/* Strict JSON reading with located errors, on top of jansson. Depth is checked before parsing, because jansson
 * recurses. */
#include "base/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"

/* ---- text ---- */

/* Counts brackets outside strings; jansson checks everything else. */
static unroll_status check_depth(const char *text, size_t size, const char *name)
{
    int depth = 0, line = 1, column = 0;
    bool in_string = false;
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        column++;
        if (c == '\n') {
            line++;
            column = 0;
        } else if (c == '"') {
            in_string = !in_string;
        } else if (in_string) {
            i += c == '\\'; /* an escaped quote does not end the string */
        } else if (c == '{' || c == '[') {
            if (++depth > JSON_LARGEST_DEPTH)
                return fail(UNROLL_DATA,
                            "'%s', line %d, column %d: nested deeper than %d levels; fix: use fewer levels", name, line,
                            column, JSON_LARGEST_DEPTH);
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    return UNROLL_OK;
}

unroll_status parse_json(const char *text, size_t size, const char *name, json_t **json)
{
    json_error_t error;
    TRY(check_depth(text, size, name));
    json_t *parsed = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    if (parsed == NULL && json_error_code(&error) == json_error_out_of_memory)
        return fail(UNROLL_RESOURCE, "no memory for the JSON of '%s' (%zu bytes)", name, size);
    if (parsed == NULL)
        return fail(UNROLL_DATA, "'%s', line %d, column %d: %s; fix: correct the file at this place", name, error.line,
                    error.column, error.text);
    *json = parsed;
    return UNROLL_OK;
}

unroll_status read_json_file(const char *path, uint64_t max_bytes, json_t **json)
{
    void *text;
    size_t size;
    TRY(read_whole_file(path, max_bytes, &text, &size));
    unroll_status status = parse_json(text, size, path, json);
    release(text);
    return status;
}

unroll_status format_json(const json_t *json, char **text)
{
    size_t flags = JSON_SORT_KEYS | JSON_INDENT(2) | JSON_ENCODE_ANY;
    size_t size = json_dumpb(json, NULL, 0, flags);
    if (size == 0)
        return fail(UNROLL_FAILURE,
                    "a value cannot be written as JSON (it is not finite, or it contains itself); fix: use finite "
                    "values");
    char *formatted;
    TRY(ALLOCATE(formatted, size + 2, "for JSON text (%zu bytes)", size));
    json_dumpb(json, formatted, size, flags);
    formatted[size] = '\n';
    *text = formatted;
    return UNROLL_OK;
}

/* ---- fields ---- */

static const char *type_name(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "an array";
    case JSON_STRING: return "a string";
    case JSON_INTEGER: return "an integer";
    case JSON_REAL: return "a number";
    case JSON_TRUE:
    case JSON_FALSE: return "a boolean";
    default: return "null";
    }
}

enum { NUMBER = 1u << JSON_INTEGER | 1u << JSON_REAL };

/* Finds a field of one of `types`, a set of 1 << json_type. `wanted` describes them in messages. */
static unroll_status find_field(const json_t *object, const char *where, const char *key, unsigned types,
                                const char *wanted, json_t **value)
{
    if (!json_is_object(object))
        return fail(UNROLL_DATA, "%s: must be an object with the key '%s'; fix: correct it", where, key);
    json_t *found = json_object_get(object, key);
    if (found == NULL)
        return fail(UNROLL_DATA, "%s: the key '%s' is missing; fix: add it with %s as its value", where, key, wanted);
    if ((types >> json_typeof(found) & 1u) == 0)
        return fail(UNROLL_DATA, "%s: '%s' must be %s, but is %s; fix: correct it", where, key, wanted,
                    type_name(found));
    *value = found;
    return UNROLL_OK;
}

unroll_status json_field_string(const json_t *object, const char *where, const char *key, const char **value)
{
    json_t *field;
    TRY(find_field(object, where, key, 1u << JSON_STRING, "a string", &field));
    *value = json_string_value(field);
    return UNROLL_OK;
}

unroll_status json_field_integer(const json_t *object, const char *where, const char *key, int64_t min, int64_t largest,
                                 int64_t *value)
{
    json_t *field;
    TRY(find_field(object, where, key, 1u << JSON_INTEGER, "an integer", &field));
    int64_t number = json_integer_value(field);
    if (number < min || number > largest)
        return fail(UNROLL_DATA,
                    "%s: '%s' is %" PRId64 ", but must be in %" PRId64 " .. %" PRId64 "; fix: use a value in this "
                    "range",
                    where, key, number, min, largest);
    *value = number;
    return UNROLL_OK;
}

unroll_status json_item_integer(const json_t *array, const char *where, const char *key, size_t index, int64_t min,
                                int64_t largest, int64_t *value)
{
    const json_t *item = json_array_get(array, index);
    int64_t number = json_integer_value(item);
    if (!json_is_integer(item) || number < min || number > largest)
        return fail(UNROLL_DATA,
                    "%s: %s[%zu] is not an integer in %" PRId64 " .. %" PRId64 "; fix: use a value in this range",
                    where, key, index, min, largest);
    *value = number;
    return UNROLL_OK;
}

unroll_status json_field_real(const json_t *object, const char *where, const char *key, double *value)
{
    json_t *field;
    TRY(find_field(object, where, key, NUMBER, "a number", &field));
    *value = json_number_value(field);
    return UNROLL_OK;
}

unroll_status json_field_array(const json_t *object, const char *where, const char *key, json_t **value)
{
    return find_field(object, where, key, 1u << JSON_ARRAY, "an array", value);
}

unroll_status json_field_object(const json_t *object, const char *where, const char *key, json_t **value)
{
    return find_field(object, where, key, 1u << JSON_OBJECT, "an object", value);
}

unroll_status json_fields_known(json_t *object, const char *where, const char *const known[])
{
    const char *key;
    json_t *value;
    if (!json_is_object(object))
        return fail(UNROLL_DATA, "%s: must be an object; fix: correct it", where);
    json_object_foreach(object, key, value)
    {
        int i = 0;
        while (known[i] != NULL && strcmp(known[i], key) != 0) i++;
        if (known[i] == NULL)
            return fail(UNROLL_DATA, "%s: the key '%.200s' is unknown; fix: remove it", where, key);
    }
    return UNROLL_OK;
}

/* Strict JSON on top of jansson: limits, located errors, typed fields. Our names start with json_field or are verbs;
 * plain json_* is jansson's. There is no schema: each caller reads its fields and refuses others with
 * json_fields_known. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { JSON_LARGEST_DEPTH = 64 }; /* nested arrays and objects */

/* Parses one object or array. Duplicate keys, deep nesting and trailing text are errors with line and column. `name`
 * appears in messages. The caller owns *json (json_decref). */
unroll_status parse_json(const char *text, size_t size, const char *name, json_t **json);
unroll_status read_json_file(const char *path, uint64_t max_bytes, json_t **json);

/* Formats with sorted keys, indentation and a final newline: equal values give equal text. The caller frees *text with
 * release(). */
unroll_status format_json(const json_t *json, char **text);

/* Reads the field `key` of an object, which must exist and have the type. `where` starts the message, e.g.
 * "config.json: model". Strings, arrays and objects remain owned by `object`. */
unroll_status json_field_string(const json_t *object, const char *where, const char *key, const char **value);
unroll_status json_field_integer(const json_t *object, const char *where, const char *key, int64_t min, int64_t largest,
                                 int64_t *value);
/* Reads an array's element, which must exist. `key` is the array's name in messages. */
unroll_status json_item_integer(const json_t *array, const char *where, const char *key, size_t index, int64_t min,
                                int64_t largest, int64_t *value);
unroll_status json_field_real(const json_t *object, const char *where, const char *key, double *value);
unroll_status json_field_array(const json_t *object, const char *where, const char *key, json_t **value);
unroll_status json_field_object(const json_t *object, const char *where, const char *key, json_t **value);

/* Refuses keys that are not in known[], a NULL-terminated list. */
unroll_status json_fields_known(json_t *object, const char *where, const char *const known[]);

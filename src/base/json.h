/* JSON as strict as we need it, on top of jansson: limits, located errors, fields by type.
 * The names start with json_field or say what they do; plain json_* is jansson's.
 * Not a schema: each user asks for its fields and refuses the others with json_fields_known. */
#ifndef BASE_JSON_H
#define BASE_JSON_H
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { JSON_LARGEST_DEPTH = 64 }; /* arrays and objects inside one another */

/* The text of one object or array. Duplicate keys, deep nesting and anything after it are errors with
 * line and column. `name` is for messages. The caller owns *json (json_decref). */
unroll_status parse_json(const char *text, size_t size, const char *name, json_t **json);
unroll_status read_json_file(const char *path, uint64_t max_bytes, json_t **json);

/* Keys sorted, indented, a newline at the end: equal values give equal text. release(*text). */
unroll_status format_json(const json_t *json, char **text);

/* The field `key` of an object; it must be there and have the type. `where` begins the message,
 * e.g. "config.json: model". Strings, arrays and objects stay the property of `object`. */
unroll_status json_field_string(const json_t *object, const char *where, const char *key, const char **value);
unroll_status json_field_integer(const json_t *object, const char *where, const char *key, int64_t min, int64_t largest,
                                 int64_t *value);
/* The element of an array; it must be there. key: the array's name in messages. */
unroll_status json_item_integer(const json_t *array, const char *where, const char *key, size_t index, int64_t min,
                                int64_t largest, int64_t *value);
unroll_status json_field_real(const json_t *object, const char *where, const char *key, double *value);
unroll_status json_field_array(const json_t *object, const char *where, const char *key, json_t **value);
unroll_status json_field_object(const json_t *object, const char *where, const char *key, json_t **value);

/* Refuses a key that is not among known[], a list ended by NULL. */
unroll_status json_fields_known(json_t *object, const char *where, const char *const known[]);

#endif

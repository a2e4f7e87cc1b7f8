/* Lines of metrics.jsonl: JSON objects, each with a checksum of its text that detects damage. */
#pragma once
#include <jansson.h>
#include <stddef.h>

/* Returns a line with its end. free() it; NULL: no memory. */
char *metrics_format(const json_t *object);
/* Returns the object of a line, or NULL if it is damaged. Lines of older runs have no checksum. json_decref() it. */
json_t *metrics_parse(const char *line, size_t length);

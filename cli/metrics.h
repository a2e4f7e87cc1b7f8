/* Lines of metrics.jsonl: JSON objects, each with a checksum of its text, by which a damaged one is known. */
#ifndef CLI_METRICS_H
#define CLI_METRICS_H
#include <jansson.h>
#include <stddef.h>

/* With a line end. free() it; NULL: no memory. */
char *metrics_format(const json_t *object);
/* NULL: the line is damaged. Lines without a checksum, of older runs, must be objects. json_decref() it. */
json_t *metrics_parse(const char *line, size_t length);

#endif

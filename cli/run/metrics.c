/* The checksum is the last member, so that a line is its text, this member and the end of the object. */
#include "cli/run/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/run/crc.h"

#define MEMBER ",\"crc\":\""
enum { MEMBER_LENGTH = sizeof MEMBER - 1, TAIL_LENGTH = MEMBER_LENGTH + 8 + 3 }; /* digits, then "} and a line end */

static void format_tail(const char *text, size_t length, char tail[TAIL_LENGTH + 1])
{
    snprintf(tail, TAIL_LENGTH + 1, MEMBER "%08" PRIx32 "\"}\n", crc32c(text, length));
}

char *metrics_format(const json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(10));
    size_t length = text ? strlen(text) - 1 : 0; /* without the brace */
    char *line = text ? realloc(text, length + TAIL_LENGTH + 1) : NULL;
    if (line)
        format_tail(line, length, line + length);
    else
        free(text);
    return line;
}

json_t *metrics_parse(const char *line, size_t length)
{
    char tail[TAIL_LENGTH + 1];
    const char *end = length >= TAIL_LENGTH ? line + length - TAIL_LENGTH : line;
    format_tail(line, (size_t)(end - line), tail);
    if (strncmp(end, MEMBER, MEMBER_LENGTH) == 0 && strncmp(end, tail, TAIL_LENGTH) != 0)
        return NULL;
    json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object(object))
        return object;
    json_decref(object);
    return NULL;
}

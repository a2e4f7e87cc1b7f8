/* Bytes that grow: the body of an answer while it is written. */
#ifndef SERVE_BUFFER_H
#define SERVE_BUFFER_H
#include <stdbool.h>
#include <stddef.h>

struct buffer {
    char *bytes;
    size_t count, room;
    bool failed; /* no memory: what was added since is missing */
};

/* Room for `count` more bytes, which are then part of the buffer; NULL: no memory. */
char *buffer_extend(struct buffer *, size_t count);
void buffer_add(struct buffer *, const void *bytes, size_t count);
void buffer_print(struct buffer *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A text of UTF-8 as JSON, in quotes. */
void buffer_json(struct buffer *, const char *text);
void buffer_free(struct buffer *);

#endif

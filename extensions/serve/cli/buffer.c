#include "extensions/serve/cli/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *buffer_extend(struct buffer *b, size_t count)
{
    size_t room = b->room ? b->room : 1024;
    while (room < b->count + count) room *= 2;
    if (room != b->room) {
        char *bytes = realloc(b->bytes, room);
        b->failed |= bytes == NULL;
        if (!bytes)
            return NULL;
        b->bytes = bytes;
        b->room = room;
    }
    b->count += count;
    return b->bytes + b->count - count;
}

void buffer_add(struct buffer *b, const void *bytes, size_t count)
{
    char *to = count ? buffer_extend(b, count) : NULL;
    if (to)
        memcpy(to, bytes, count);
}

void buffer_print(struct buffer *b, const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    const int count = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    b->failed |= count < 0 || count >= (int)sizeof text;
    if (!b->failed)
        buffer_add(b, text, (size_t)count);
}

void buffer_json(struct buffer *b, const char *text)
{
    buffer_add(b, "\"", 1);
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            buffer_print(b, "\\%c", c);
        else if (c < 0x20)
            buffer_print(b, "\\u%04x", c);
        else
            buffer_add(b, text, 1);
    }
    buffer_add(b, "\"", 1);
}

void buffer_free(struct buffer *b)
{
    free(b->bytes);
    *b = (struct buffer){0};
}

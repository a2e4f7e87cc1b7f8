/* A text in memory as symbol numbers, and the way from bytes to it.
 * Not a file: text_open reads one and calls text_parse; prompts come from memory. */
#ifndef DATA_TEXT_H
#define DATA_TEXT_H
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct unroll_text {
    int32_t *tokens;        /* [count] numbers of symbols */
    size_t count;
    char *spelling;         /* of all symbols in UTF-8, each ended by zero */
    const char **symbols;   /* [symbol_count] point into spelling */
    int symbol_count;
    unroll_symbol_kind kind;
};

/* How bytes become symbols. */
struct text_reading {
    unroll_symbol_kind kind;
    const char *const *symbols;     /* NULL: they are found in the text */
    int symbol_count;
    int vocabulary;                 /* of words that are found: the most symbols, 2 or more */
};

/* The bytes are only read. `name` is for messages. */
unroll_status text_parse(const void *bytes, size_t size, const char *name, const struct text_reading *reading,
                         unroll_text **text);
/* path "-": standard input. */
unroll_status text_open(const char *path, const struct text_reading *reading, unroll_text **text);

#endif

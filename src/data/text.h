/* A text in memory as symbol numbers, and the way from bytes to it.
 * Not a file: unroll_text_open reads one and calls text_parse; prompts come from memory. */
#ifndef DATA_TEXT_H
#define DATA_TEXT_H
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { TEXT_LONGEST_CHARACTER = 4 };    /* bytes in UTF-8 */

struct unroll_text {
    int32_t *tokens;        /* [count] numbers of symbols */
    size_t count;
    char (*spelling)[TEXT_LONGEST_CHARACTER + 1];   /* [symbol_count] in UTF-8, ended by zero */
    const char **symbols;   /* [symbol_count] point into spelling */
    int symbol_count;
};

/* As unroll_text_open, for bytes in memory, which are only read. `name` is for messages. */
unroll_status text_parse(const void *bytes, size_t size, const char *name, const char *const *symbols,
                         int symbol_count, unroll_text **text);

#endif

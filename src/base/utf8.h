/* Strict UTF-8: decodes one character to its code point. Splitting and numbering of text is in data/tokenize.c. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum { UTF8_LONGEST = 4 }; /* bytes of a character */

/* Decodes the character at `at`, before `end`. Returns its length in bytes; 0: ill-formed or truncated. */
int utf8_read(const unsigned char *at, const unsigned char *end, int32_t *code);

/* Returns whether all bytes are well-formed. JSON cannot contain others. */
bool utf8_is_valid(const char *string);

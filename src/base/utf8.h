/* UTF-8, strictly: one character to its code point.
 * Not a text: data/tokenize.c cuts and numbers what is decoded here. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H
#include <stdbool.h>
#include <stdint.h>

enum { UTF8_LONGEST = 4 }; /* bytes of a character */

/* The character at `at`, before `end`. Returns its length in bytes; 0: ill-formed or cut short. */
int utf8_read(const unsigned char *at, const unsigned char *end, int32_t *code);

/* Is all of it well-formed? JSON can't hold what is not. */
bool utf8_is_valid(const char *string);

#endif

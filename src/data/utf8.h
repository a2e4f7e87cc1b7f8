/* UTF-8, strictly: one character to its code point and back.
 * Not a text: data/text.h counts and numbers what is decoded here. */
#ifndef DATA_UTF8_H
#define DATA_UTF8_H
#include <stdint.h>

enum { UTF8_LONGEST = 4 };      /* bytes of a character */

/* The character at `at`, before `end`. Returns its length in bytes; 0: ill-formed or cut short. */
int utf8_decode(const unsigned char *at, const unsigned char *end, int32_t *code);

/* The other way, ended by zero. Returns the length in bytes. */
int utf8_encode(int32_t code, char spelling[UTF8_LONGEST + 1]);

#endif

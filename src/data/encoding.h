/* Tables that are not UTF-8: spreadsheets of Windows write its code page 1252, which has ISO 8859-1 in it. */
#ifndef DATA_ENCODING_H
#define DATA_ENCODING_H
#include <stdbool.h>
#include <stddef.h>

#include "data/input.h"

enum { WINDOWS_BYTES = 3 }; /* the most bytes of one of its characters in UTF-8 */

/* Reads all members and rewinds: are there bytes that are not UTF-8, and could all be of code page 1252? */
unroll_status encoding_is_windows(struct input *input, bool *windows);
/* Writes at most WINDOWS_BYTES for each byte. Returns how many. */
size_t windows_to_utf8(const char *bytes, size_t length, char *to);

#endif

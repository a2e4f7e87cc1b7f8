/* Tables that are not UTF-8: spreadsheets on Windows write code page 1252, a superset of ISO 8859-1. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "io/input.h"

enum { WINDOWS_BYTES = 3 }; /* the most bytes of one of its characters in UTF-8 */

/* Reads all members and rewinds: finds whether some bytes are not UTF-8, and whether all may be code page 1252. */
unroll_status encoding_is_windows(struct input *input, bool *windows);
/* Writes at most WINDOWS_BYTES for each byte. Returns the number of bytes written. */
size_t windows_to_utf8(const char *bytes, size_t length, char *to);

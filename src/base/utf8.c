/* Well-formed sequences of the Unicode Standard, table 3-7: no overlong forms, no surrogates, nothing above
 * U+10FFFF. */
#include "base/utf8.h"
#include <string.h>

typedef unsigned char byte;

enum { LARGEST_CODE = 0x10ffff };

/* Returns the length that a first byte implies; 0 if no character starts with it. */
static int sequence_length(byte first)
{
    if (first < 0x80)
        return 1;
    if (first >= 0xc2 && first <= 0xdf)
        return 2;
    if (first >= 0xe0 && first <= 0xef)
        return 3;
    return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

int utf8_read(const byte *at, const byte *end, int32_t *code)
{
    static const int32_t min[UTF8_LONGEST + 1] = {0, 0, 0x80, 0x800, 0x10000};
    int length = sequence_length(at[0]);
    if (length == 1) {
        *code = at[0];
        return 1;
    }
    if (length == 0 || end - at < length)
        return 0;
    int32_t value = at[0] & (0x7f >> length);
    for (int i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (at[i] & 0x3f);
    }
    if (value < min[length] || value > LARGEST_CODE || (value >= 0xd800 && value <= 0xdfff))
        return 0;
    *code = value;
    return length;
}

bool utf8_is_valid(const char *string)
{
    const byte *at = (const byte *)string, *end = at + strlen(string);
    int32_t code;
    int length;
    while (at < end && (length = utf8_read(at, end, &code)) > 0) at += length;
    return at == end;
}

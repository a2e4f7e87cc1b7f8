/* Cells that are missing or plain numbers: most of them, so they are read fast. */
#include "data/table_cell.h"

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"

static void trim(const char **bytes, size_t *length)
{
    while (*length && (**bytes == ' ' || **bytes == '\t')) ++*bytes, --*length;
    while (*length && ((*bytes)[*length - 1] == ' ' || (*bytes)[*length - 1] == '\t')) --*length;
}

bool cell_is_empty(const char *bytes, size_t length)
{
    trim(&bytes, &length);
    return length == 0;
}

bool cell_is_missing(const char *bytes, size_t length)
{
    static const char *const words[] = {"?", "NA", "N/A", "nan", "null", "none", "#N/A", "-nan", "NaT"};
    trim(&bytes, &length);
    if (length == 0)
        return true;
    for (size_t i = 0; length <= 4 && i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == length && strncasecmp(words[i], bytes, length) == 0)
            return true;
    return false;
}

/* What the quick way does not know exactly: many digits, large exponents. */
static bool slow_number(const char *bytes, size_t length, double *value)
{
    char text[400];
    if (length >= sizeof text)
        return false;
    memcpy(text, bytes, length);
    text[length] = 0;
    return strlen(text) == length && number_whole_real(text, -1e308, 1e308, value) == NUMBER_OK;
}

/* A whole number below 2^53 times or by a power of ten up to 10^22: both are exact, so the result is rounded once, as
 * strtod's (Clinger 1990). */
bool cell_number(const char *bytes, size_t length, double *value)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    trim(&bytes, &length);
    const char *at = bytes, *end = bytes + length;
    bool negative = at < end && *at == '-';
    at += at < end && (*at == '-' || *at == '+');
    uint64_t digits = 0;
    int count = 0, point = 0;
    bool fraction = false;
    for (; at < end; at++) {
        unsigned digit = (unsigned)(*at - '0');
        if (*at == '.' && !fraction) {
            fraction = true;
            continue;
        }
        if (digit > 9 || ++count > 18)
            break;
        digits = digits * 10 + digit;
        point += fraction;
    }
    if (at < end || count == 0 || digits >> 53)
        return slow_number(bytes, length, value);
    *value = (double)digits / tens[point];
    *value = negative ? -*value : *value;
    return true;
}

/* Cells that are missing or plain numbers. Most cells are, so this is fast. */
#include "data/builder/table_cell.h"

#include <float.h>
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
    const char first = *bytes;
    if (length > 4 || (first != '?' && (first | 32) != 'n' && first != '#' && first != '-'))
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == length && strncasecmp(words[i], bytes, length) == 0)
            return true;
    return false;
}

/* Parses numbers that the fast path cannot convert exactly: many digits, large exponents. */
static bool slow_number(const char *bytes, size_t length, double *value)
{
    char text[400];
    if (length >= sizeof text)
        return false;
    memcpy(text, bytes, length);
    text[length] = 0;
    return strlen(text) == length && number_whole_real(text, -1e308, 1e308, value) == NUMBER_OK;
}

/* digits * 10^power, rounded once, as strtod rounds; false: it is not known to be. Whole numbers below 2^53 and powers
 * of ten up to 10^22 are exact, so is their quotient's rounding (Clinger 1990). With more digits the same holds of 64
 * bits and 10^27; a result of 64 bits that is not near the middle of two doubles is rounded to the right one. */
static inline bool scale_digits(uint64_t digits, int power, double *value)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (digits >> 53 == 0 && power <= 22 && power >= -22) {
        *value = power < 0 ? (double)digits / tens[-power] : (double)digits * tens[power];
        return true;
    }
#if LDBL_MANT_DIG == 64
    if (power <= 0 && power >= -27) {
        const long double exact = (long double)digits / ((long double)tens[-power > 22 ? 22 : -power] *
                                                         (long double)tens[-power > 22 ? -power - 22 : 0]);
        uint64_t bits;
        memcpy(&bits, &exact, sizeof bits); /* the mantissa */
        *value = (double)exact;
        return (bits & 0x7ff) < 0x3ff || (bits & 0x7ff) > 0x401;
    }
#endif
    return false;
}

/* Reads the exponent after 'e'. Returns false if there is none. */
static bool read_exponent(const char *at, const char *end, int *power)
{
    const bool negative = at < end && *at == '-';
    int exponent = 0;
    at += at < end && (*at == '-' || *at == '+');
    if (at == end || end - at > 4)
        return false;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9')
            return false;
        exponent = 10 * exponent + *at - '0';
    }
    *power += negative ? -exponent : exponent;
    return true;
}

bool cell_digits(const char *bytes, size_t length, double *value, int *fraction)
{
    if (length && (*bytes <= ' ' || bytes[length - 1] <= ' '))
        trim(&bytes, &length);
    const char *at = bytes, *end = bytes + length;
    const bool negative = at < end && *at == '-';
    at += at < end && (*at == '-' || *at == '+');
    const char *first = at, *point = NULL;
    uint64_t digits = 0;
    for (unsigned digit; at < end; at++) {
        if ((digit = (unsigned)(*at - '0')) <= 9)
            digits = digits * 10 + digit;
        else if (*at == '.' && point == NULL)
            point = at;
        else
            break;
    }
    const ptrdiff_t count = at - first - (point != NULL);
    *fraction = point ? (int)(at - point - 1) : 0;
    int power = -*fraction;
    if (count == 0)
        return false;
    const bool whole_cell = at == end || ((*at | 32) == 'e' && read_exponent(at + 1, end, &power));
    if (!whole_cell)
        return false;
    if (count > 19 || !scale_digits(digits, power, value))
        return slow_number(bytes, length, value);
    *value = negative ? -*value : *value;
    return true;
}

bool cell_number(const char *bytes, size_t length, double *value)
{
    int fraction;
    return cell_digits(bytes, length, value, &fraction);
}

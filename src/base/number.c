/* Parses numbers. Integers are read digit by digit. Reals are read by strtod after a check of their grammar, because
 * strtod also accepts blanks, hex, "inf" and "nan". */
#include "base/number.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/point.h"

static const char digits[] = "0123456789";

static bool is_digit(const char *at, const char *end) { return at != end && *at >= '0' && *at <= '9'; }

enum number_state number_integer(const char **at, const char *end, int64_t min, int64_t max, int64_t *value)
{
    const char *t = *at;
    const bool negative = t != end && *t == '-';
    uint64_t size = 0, largest = (uint64_t)INT64_MAX + negative;
    bool fits = true;
    t += negative;
    if (!is_digit(t, end))
        return NUMBER_NONE;
    for (; is_digit(t, end); t++) {
        uint64_t digit = (uint64_t)(*t - '0');
        fits = fits && size <= (largest - digit) / 10;
        size = fits ? size * 10 + digit : 0;
    }
    *at = t;
    int64_t found = negative ? (int64_t)-size : (int64_t)size;
    if (!fits || found < min || found > max)
        return NUMBER_OUTSIDE;
    *value = found;
    return NUMBER_OK;
}

/* Returns the end of the real that `text` starts with, or `text` if there is none. */
static const char *end_of_real(const char *text)
{
    const char *t = text + (*text == '-' || *text == '+');
    size_t whole = strspn(t, digits), fraction = t[whole] == '.' ? strspn(t + whole + 1, digits) : 0;
    if (whole + fraction == 0)
        return text;
    t += whole + (t[whole] == '.') + fraction;
    if (*t != 'e' && *t != 'E')
        return t;
    const char *power = t + 1 + (t[1] == '-' || t[1] == '+');
    return *power >= '0' && *power <= '9' ? power + strspn(power, digits) : t;
}

enum number_state number_real(const char **at, double min, double max, double *value)
{
    const char *end = end_of_real(*at);
    char *after;
    if (end == *at)
        return NUMBER_NONE;
    const locale_t before = point_begin();
    double found = strtod(*at, &after);
    point_end(before);
    if (after != end) /* 0x10 */
        return NUMBER_NONE;
    *at = end;
    if (!(found >= min && found <= max) || isinf(found))
        return NUMBER_OUTSIDE;
    *value = found;
    return NUMBER_OK;
}

enum number_state number_whole_integer(const char *text, int64_t min, int64_t max, int64_t *value)
{
    enum number_state state = number_integer(&text, NULL, min, max, value);
    return *text ? NUMBER_NONE : state;
}

enum number_state number_whole_real(const char *text, double min, double max, double *value)
{
    enum number_state state = number_real(&text, min, max, value);
    return *text ? NUMBER_NONE : state;
}

/* Cells, and the Gregorian calendar. */
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

bool cell_is_missing(const char *bytes, size_t length)
{
    static const char *const words[] = {"?", "NA", "N/A", "nan", "null"};
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

/* ---- times ---- */

/* Days since 1970-01-01 in the Gregorian calendar: years begin in March, eras have 400 of them. */
static int64_t days_of(int64_t year, int month, int day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400, of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static bool digits(const char **at, const char *end, int count, int min, int max, int *value)
{
    *value = 0;
    for (int i = 0; i < count; i++, ++*at) {
        if (*at >= end || **at < '0' || **at > '9')
            return false;
        *value = *value * 10 + (**at - '0');
    }
    return *value >= min && *value <= max;
}

static bool is_one_of(const char *at, const char *end, const char *set)
{
    return at < end && *at && strchr(set, *at) != NULL;
}

static bool read_zone(const char **at, const char *end, double *seconds)
{
    int hours, minutes = 0, sign;
    if (is_one_of(*at, end, "Z")) {
        ++*at;
        return true;
    }
    if (!is_one_of(*at, end, "+-"))
        return true;
    sign = *(*at)++ == '-' ? -1 : 1;
    if (!digits(at, end, 2, 0, 23, &hours))
        return false;
    if (is_one_of(*at, end, ":"))
        ++*at;
    if (*at < end && !digits(at, end, 2, 0, 59, &minutes))
        return false;
    *seconds -= sign * (hours * 3600.0 + minutes * 60.0);
    return true;
}

static bool read_time_of_day(const char **at, const char *end, double *seconds)
{
    int hour, minute, second = 0;
    double part = 0, unit = 0.1;
    if (!digits(at, end, 2, 0, 24, &hour) || !is_one_of((*at)++, end, ":") || !digits(at, end, 2, 0, 59, &minute))
        return false;
    if (is_one_of(*at, end, ":")) {
        ++*at;
        if (!digits(at, end, 2, 0, 60, &second))
            return false;
        if (is_one_of(*at, end, ".,"))
            for (++*at; is_one_of(*at, end, "0123456789"); ++*at, unit /= 10) part += unit * (**at - '0');
    }
    *seconds += hour * 3600.0 + minute * 60.0 + second + part;
    return read_zone(at, end, seconds);
}

bool cell_time(const char *bytes, size_t length, double *seconds)
{
    static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year, month, day = 1;
    trim(&bytes, &length);
    const char *at = bytes, *end = bytes + length;
    if (!digits(&at, end, 4, 1, 9999, &year) || !is_one_of(at, end, "-/"))
        return false;
    char separator = *at++;
    if (!digits(&at, end, 2, 1, 12, &month))
        return false;
    if (at < end && (*at++ != separator || !digits(&at, end, 2, 1, days[month - 1], &day)))
        return false;
    *seconds = (double)days_of(year, month, day) * 86400;
    if (at == end)
        return true;
    return is_one_of(at++, end, "T ") && read_time_of_day(&at, end, seconds) && at == end;
}

const char *time_text(double seconds, char text[TIME_TEXT])
{
    if (!(fabs(seconds) < 2e11)) {
        snprintf(text, TIME_TEXT, "%.10g", seconds);
        return text;
    }
    int64_t all = (int64_t)floor(seconds), day = (all >= 0 ? all : all - 86399) / 86400, of_day = all - day * 86400;
    int64_t from = day + 719468, era = (from >= 0 ? from : from - 146096) / 146097, of_era = from - era * 146097;
    int64_t years = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * years + years / 4 - years / 100), month = (5 * of_year + 2) / 153;
    int date = (int)(of_year - (153 * month + 2) / 5 + 1), number = (int)(month < 10 ? month + 3 : month - 9);
    int length = snprintf(text, TIME_TEXT, "%04d-%02d-%02d", (int)(years + era * 400 + (number <= 2)), number, date);
    if (of_day)
        snprintf(text + length, (size_t)(TIME_TEXT - length), " %02d:%02d:%02d", (int)(of_day / 3600),
                 (int)(of_day / 60 % 60), (int)(of_day % 60));
    return text;
}

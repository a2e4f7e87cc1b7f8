/* See series_line.h. */
#include "data/readers/series_line.h"

#include <math.h>
#include <strings.h>

#include "base/memory.h"
#include "base/number.h"

enum { LONGEST_NUMBER = 64, FIRST_ROOM = 1024 };

/* Parses a missing value, or a number that a float can represent. */
static bool read_value(const char *at, size_t length, float *value)
{
    char text[LONGEST_NUMBER];
    double number;
    if (length == 0 || length >= sizeof text)
        return false;
    for (size_t i = 0; i < length; i++) text[i] = at[i];
    text[length] = '\0';
    *value = NAN;
    if (strcasecmp(text, "?") == 0 || strcasecmp(text, "nan") == 0)
        return true;
    if (number_whole_real(text, -3e38, 3e38, &number) != NUMBER_OK)
        return false;
    *value = (float)number;
    return true;
}

static bool is_space(char c) { return c == ' ' || c == '\t'; }

unroll_status series_line_reserve(struct series_line *series, const struct input *input, size_t count)
{
    size_t room = series->room ? series->room : FIRST_ROOM;
    while (room < count) room *= 2;
    if (room == series->room)
        return UNROLL_OK;
    if (!enlarge(&series->number, series->room * sizeof(float), room * sizeof(float)))
        return fail(UNROLL_RESOURCE, "no memory for the numbers of a series of '%s'", input_name(input));
    series->room = room;
    return UNROLL_OK;
}

/* Appends the numbers of a line. */
unroll_status series_line_add(struct series_line *series, const struct input *input, const char *at, const char *end,
                              char separator)
{
    for (size_t number = 1; at <= end; number++) {
        while (at < end && is_space(*at)) at++;
        const char *begin = at;
        while (at < end && *at != separator) at++;
        size_t length = (size_t)(at - begin);
        while (length > 0 && is_space(begin[length - 1])) length--;
        if (separator == ' ' && length == 0) /* spaces at the end */
            break;
        TRY(series_line_reserve(series, input, series->count + 1));
        if (!read_value(begin, length, &series->number[series->count]))
            return fail(
                UNROLL_DATA,
                "'%s', line %lld: value %zu, '%.*s', is not a number; fix: correct the line; a missing value is ?",
                input_name(input), (long long)input_lines(input), number, (int)(length < 40 ? length : 40), begin);
        series->count++, at++;
    }
    return UNROLL_OK;
}

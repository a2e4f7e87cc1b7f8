/* See series_file.h. */
#include "data/readers/series_file.h"

#include <stdlib.h>
#include <string.h>

#include "data/readers/array_input.h"

bool series_file_is(const char *name)
{
    return path_ends_with(name, ".npy") || path_ends_with(name, ".csv") || path_ends_with(name, ".tsv");
}

static unroll_status read_array(struct input *in, struct series_line *series, size_t *width)
{
    struct array array;
    uint64_t all, of_step;
    TRY(array_npy_header(in, &array));
    if (array.rank > 2 || array_is_text(&array))
        return fail(UNROLL_DATA,
                    "'%s' is not a series: it has %d axes%s; fix: give numbers of [steps] or [steps, features]",
                    input_name(in), array.rank, array_is_text(&array) ? " of texts" : "");
    TRY(array_count(in, &array, 0, MAX_EXAMPLE_NUMBERS, &all));
    TRY(array_count(in, &array, 1, MAX_EXAMPLE_NUMBERS, &of_step));
    TRY(series_line_reserve(series, in, (size_t)all));
    TRY(array_floats(in, &array, series->number, (size_t)all));
    series->count = (size_t)all;
    *width = (size_t)of_step;
    return array_end(in);
}

/* True if a line has names of columns: it begins with something that is neither a number nor a missing value. */
static bool is_header(const char *line, size_t length) { return length > 0 && !strchr("0123456789+-. ?nN", *line); }

/* Reads lines of numbers; all must have the same width. */
static unroll_status read_lines(struct input *in, struct series_line *series, size_t *width)
{
    const char *line;
    size_t length;
    bool more;
    series->count = *width = 0;
    for (;;) {
        TRY(input_line(in, &line, &length, &more));
        if (!more)
            break;
        if (length == 0 || (input_lines(in) == 1 && is_header(line, length)))
            continue;
        size_t before = series->count;
        char separator = memchr(line, '\t', length) ? '\t' : memchr(line, ',', length) ? ',' : ' ';
        TRY(series_line_add(series, in, line, line + length, separator));
        *width = before ? *width : series->count;
        if (series->count - before != *width)
            return fail(UNROLL_DATA, "'%s', line %lld: %zu numbers, the lines before have %zu; fix: correct the line",
                        input_name(in), (long long)input_lines(in), series->count - before, *width);
    }
    return *width ? UNROLL_OK : fail(UNROLL_DATA, "'%s' has no steps; fix: leave the file out", input_name(in));
}

unroll_status series_file_read(struct input *input, struct series_line *series, size_t *width)
{
    return path_ends_with(input_name(input), ".npy") ? read_array(input, series, width)
                                                     : read_lines(input, series, width);
}

/* Series with a class, one per line: the class, then the numbers, separated by tabs, commas or spaces. The files
 * NAME_TRAIN.tsv and NAME_TEST.tsv of the UCR archive have this format (cs.ucr.edu/~eamonn/time_series_data_2018).
 * Shorter series end in NaN. Tables whose columns have names or different meanings are read by csv. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "data/builder/builder.h"
#include "data/readers/reader_table.h"
#include "data/readers/series_line.h"

enum { LABEL = 64 };

static char separator_of(const char *line, size_t length)
{
    return memchr(line, '\t', length) ? '\t' : memchr(line, ',', length) ? ',' : ' ';
}

/* Recognizes NAME_TRAIN.tsv, name_test.txt.gz: by content such a file would be a table. */
static bool is_ucr(const char *path, const char *head, size_t bytes)
{
    static const char *const splits[] = {"_TRAIN.", "_TEST.", "_train.", "_test."};
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    bool named = false;
    for (size_t i = 0; i < sizeof splits / sizeof *splits; i++) named = named || strstr(name, splits[i]);
    if (!named)
        return false;
    size_t numbers = 0;
    for (size_t i = 0; i < bytes && head[i] != '\n'; i++) {
        if (!strchr("0123456789+-.eENna,\t \r", head[i]) || head[i] == '\0')
            return false;
        numbers += isdigit((unsigned char)head[i]) && (i == 0 || strchr(",\t ", head[i - 1]));
    }
    return numbers > 0;
}

/* Normalizes a class: "1.0000000e+00" in old files is the class 1. */
static size_t tidy_label(const char *at, size_t length, char label[LABEL])
{
    double value;
    length = length < LABEL - 1 ? length : LABEL - 1;
    memcpy(label, at, length);
    label[length] = '\0';
    if (number_whole_real(label, -1e9, 1e9, &value) == NUMBER_OK && floor(value) == value)
        length = (size_t)snprintf(label, LABEL, "%.0f", value);
    return length;
}

/* Takes a line: the class, then the numbers up to the trailing NaN. */
static unroll_status take_line(struct input *in, struct builder *b, struct series_line *series, int x, int class,
                               const char *line, size_t length)
{
    const char *end = line + length, *at = line;
    char separator = separator_of(line, length), label[LABEL];
    while (at < end && *at == ' ') at++;
    const char *first = at;
    while (at < end && *at != separator) at++;
    if (at == end || at == first)
        return fail(UNROLL_DATA,
                    "'%s', line %lld: expected a class and a series; fix: write CLASS, tab, NUMBER, tab, ..",
                    input_name(in), (long long)input_lines(in));
    series->count = 0;
    TRY(builder_text(b, class, label, tidy_label(first, (size_t)(at - first), label)));
    TRY(series_line_add(series, in, at + 1, end, separator));
    while (series->count > 0 && isnan(series->number[series->count - 1])) series->count--;
    if (series->count == 0)
        return fail(UNROLL_DATA, "'%s', line %lld: the series has no step; fix: leave the line out", input_name(in),
                    (long long)input_lines(in));
    TRY(builder_numbers(b, x, series->number, series->count));
    return builder_end_row(b);
}

static unroll_status read_lines(struct input *in, struct builder *b, struct series_line *series, int x, int class)
{
    const char *line;
    size_t length;
    bool more;
    for (;;) {
        TRY(input_next_line(in, &line, &length, &more));
        if (!more)
            return UNROLL_OK;
        if (length > 0)
            TRY(take_line(in, b, series, x, class, line, length));
    }
}

static unroll_status read_ucr(struct input *in, const void *options, struct builder *b)
{
    struct series_line series = {.number = NULL};
    int x, class;
    (void)options;
    TRY(builder_columns(b, ROWS_ARE_EXAMPLES));
    TRY(builder_column(b, "label", CELL_LABEL, true, 1, &class));
    TRY(builder_column(b, "x", CELL_NUMBERS, false, 1, &x));
    unroll_status status = read_lines(in, b, &series, x, class);
    release(series.number);
    return status;
}

const struct reader reader_ucr = {.name = "ucr", .about = "series of UCR", .recognizes = is_ucr, .read = read_ucr};

/* Series with a class or a number to predict, one per line: the .ts files of the UEA and UCR archives
 * (aeon-toolkit.org, timeseriesclassification.com). They contain headers "@name value", then "@data", then lines
 *     0.1,0.2,0.3:1,2,3:walking
 * with one part for each dimension, and the class. Series may have different lengths; ? is a missing value. Time stamps
 * are not supported. */
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/number.h"
#include "data/builder/builder.h"
#include "data/readers/reader_table.h"
#include "data/readers/series_line.h"

enum { MAX_DIMENSIONS = 1 << 16, SHOWN = 40 };

struct ts {
    struct input *in;
    struct builder *builder;
    enum { NO_TARGET, CLASS, NUMBER } target;
    char *classes;    /* " NAME NAME " of @classLabel true */
    int64_t declared; /* dimensions; 0: given by the first line */
    size_t dimensions;
    int x, y;
    struct series_line series; /* one dimension after another */
    float *steps;              /* [steps, dimensions] */
    size_t steps_room;
};

static bool is_ts(const char *path, const char *head, size_t bytes)
{
    (void)path;
    for (const char *at = head, *end = head + bytes, *next; at < end; at = next + 1) {
        if (*at == '@')
            return end - at > 12 &&
                   (strncasecmp(at, "@problemname", 12) == 0 || strncasecmp(at, "@timestamps", 11) == 0 ||
                    strncasecmp(at, "@univariate", 11) == 0 || strncasecmp(at, "@classlabel", 11) == 0);
        next = memchr(at, '\n', (size_t)(end - at));
        if (!next || (*at != '#' && *at != '\n' && *at != '\r'))
            return false;
    }
    return false;
}

static unroll_status refuse_line(const struct ts *t, const char *what, const char *fix)
{
    return fail(UNROLL_DATA, "'%s', line %lld: %s; fix: %s", input_name(t->in), (long long)input_lines(t->in), what,
                fix);
}

/* ---- headers ---- */

static unroll_status keep_classes(struct ts *t, const char *names)
{
    size_t length = strlen(names);
    release(t->classes);
    TRY(ALLOCATE(t->classes, length + 2, "for the classes of '%s'", input_name(t->in)));
    memcpy(t->classes, names, length); /* begins with the space after "true" */
    for (char *at = t->classes; *at; at++) *at = *at == '\t' ? ' ' : *at;
    t->classes[length] = ' ';
    return UNROLL_OK;
}

/* Reads a header line. */
static unroll_status take_header(struct ts *t, const char *line, size_t length)
{
    char *text, *value;
    TRY(ALLOCATE(text, length + 1, "for a line of '%s'", input_name(t->in)));
    memcpy(text, line, length);
    size_t name = strcspn(text, " \t");
    value = text + name + strspn(text + name, " \t");
    bool is_true = strncasecmp(value, "true", 4) == 0 && (value[4] == '\0' || value[4] == ' ' || value[4] == '\t');
    text[name] = '\0';
    unroll_status status = UNROLL_OK;
    if (strcasecmp(text, "@timestamps") == 0 && is_true)
        status = refuse_line(t, "series with time stamps are not read",
                             "write the values alone, at even distances, and @timestamps false");
    else if (strcasecmp(text, "@classlabel") == 0 && is_true)
        t->target = CLASS, status = keep_classes(t, value + 4);
    else if (strcasecmp(text, "@targetlabel") == 0 && is_true)
        t->target = NUMBER;
    else if ((strcasecmp(text, "@dimensions") == 0 || strcasecmp(text, "@dimension") == 0) &&
             number_whole_integer(value, 1, MAX_DIMENSIONS, &t->declared) != NUMBER_OK)
        status =
            refuse_line(t, "@dimensions is not a whole number from 1 to 65536", "correct the line, or leave it out");
    release(text);
    return status;
}

static unroll_status begin_data(struct ts *t, size_t dimensions)
{
    t->dimensions = dimensions;
    TRY(builder_columns(t->builder, ROWS_ARE_EXAMPLES));
    TRY(builder_column(t->builder, "x", CELL_NUMBERS, false, (int)dimensions, &t->x));
    if (t->target == NO_TARGET)
        return UNROLL_OK;
    return builder_column(t->builder, t->target == CLASS ? "label" : "target",
                          t->target == CLASS ? CELL_LABEL : CELL_TEXT, true, 1, &t->y);
}

/* ---- series ---- */

static bool is_class(const struct ts *t, const char *name, size_t length)
{
    for (const char *at = t->classes; (at = strchr(at, ' ')); at++)
        if (strncmp(at + 1, name, length) == 0 && at[1 + length] == ' ')
            return true;
    return strspn(t->classes, " ") == strlen(t->classes); /* no class is named */
}

static unroll_status take_target(struct ts *t, const char *at, size_t length)
{
    while (length > 0 && *at == ' ') at++, length--;
    while (length > 0 && at[length - 1] == ' ') length--;
    if (length == 0 || (length == 1 && *at == '?'))
        return UNROLL_OK; /* missing */
    if (t->target == CLASS && !is_class(t, at, length))
        return fail(
            UNROLL_DATA,
            "'%s', line %lld: the class '%.*s' is not listed after @classLabel; fix: add it there, or correct the line",
            input_name(t->in), (long long)input_lines(t->in), (int)(length < SHOWN ? length : SHOWN), at);
    return builder_text(t->builder, t->y, at, length);
}

/* Reorders the numbers from dimension by dimension to step by step. */
static unroll_status give_steps(struct ts *t)
{
    size_t steps = t->series.count / t->dimensions;
    if (t->steps_room < t->series.count) {
        if (!enlarge(&t->steps, 0, t->series.room * sizeof(float)))
            return fail(UNROLL_RESOURCE, "no memory for a series of '%s'", input_name(t->in));
        t->steps_room = t->series.room;
    }
    for (size_t d = 0; d < t->dimensions; d++)
        for (size_t s = 0; s < steps; s++) t->steps[s * t->dimensions + d] = t->series.number[d * steps + s];
    return builder_numbers(t->builder, t->x, t->steps, steps);
}

/* Takes a line: its dimensions, then the class or number. */
static unroll_status take_series(struct ts *t, const char *line, size_t length)
{
    const char *end = line + length, *at = line, *colon;
    size_t parts = t->target == NO_TARGET, steps = 0;
    for (const char *c = line; (c = memchr(c, ':', (size_t)(end - c))); c++) parts++;
    if (t->dimensions == 0 && parts > 0 && parts <= MAX_DIMENSIONS)
        TRY(begin_data(t, t->declared ? (size_t)t->declared : parts));
    if (parts != t->dimensions || parts == 0)
        return fail(
            UNROLL_DATA,
            "'%s', line %lld: %zu dimensions, not %zu; fix: separate the dimensions and the class by ':', and give no "
            "other data on the line",
            input_name(t->in), (long long)input_lines(t->in), parts, t->dimensions);
    t->series.count = 0;
    for (size_t d = 0; d < parts; d++, at = colon + 1) {
        size_t before = t->series.count;
        colon = memchr(at, ':', (size_t)(end - at));
        colon = colon ? colon : end;
        TRY(series_line_add(&t->series, t->in, at, colon, ','));
        if (d > 0 && t->series.count - before != steps)
            return fail(UNROLL_DATA,
                        "'%s', line %lld: dimension %zu has %zu steps, those before have %zu; fix: fill the "
                        "shorter ones with ?",
                        input_name(t->in), (long long)input_lines(t->in), d + 1, t->series.count - before, steps);
        steps = t->series.count - before;
    }
    TRY(give_steps(t));
    if (t->target != NO_TARGET)
        TRY(take_target(t, at, (size_t)(end - at)));
    return builder_end_row(t->builder);
}

/* Reads the headers and lines of a member. */
static unroll_status read_member(struct ts *t)
{
    const char *line;
    size_t length;
    bool more, in_data = false;
    for (;;) {
        TRY(input_line(t->in, &line, &length, &more));
        if (!more)
            break;
        while (length > 0 && (line[length - 1] == ' ' || line[length - 1] == '\t')) length--;
        if (length == 0 || *line == '#')
            continue;
        if (in_data)
            TRY(take_series(t, line, length));
        else if (length == 5 && strncasecmp(line, "@data", 5) == 0)
            in_data = true;
        else if (*line == '@')
            TRY(take_header(t, line, length));
        else
            return refuse_line(t, "neither a header nor after @data",
                               "put the line @data before the series, and leave other files out of a folder");
    }
    return t->dimensions ? UNROLL_OK : refuse_line(t, "there is no series after @data", "get the file again");
}

static unroll_status read_ts(struct input *in, const void *options, struct builder *b)
{
    struct ts t = {.in = in, .builder = b};
    const char *member;
    int members = 0;
    (void)options;
    unroll_status status;
    while ((status = input_next(in, &member)) == UNROLL_OK && member && (status = read_member(&t)) == UNROLL_OK)
        if (++members == 2)
            status = builder_note(
                b,
                "all its files are read as one set, test files included; to separate them, give one part as the data "
                "and another as `validation` or `test`");
    release(t.series.number);
    release(t.steps);
    release(t.classes);
    return status;
}

const struct reader reader_ts = {.name = "ts", .about = "series of UEA (.ts)", .recognizes = is_ts, .read = read_ts};

/* Reads frames of pandas, polars and pyarrow through the Arrow C data interface. Each column of numbers, strings, times
 * or categories (dictionaries), or of lists of these, becomes a column of a table. Nulls are missing values. Columns
 * with one number or time per row are passed on as text, so that numbers, categories and times are distinguished as in
 * a file. */
#include "py_table.h"
#include "arrow.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TEXT_MAX = 64, PLAIN = -1 };

/* An entry as text, in its own memory or ours. */
struct cell_text {
    const char *bytes;
    size_t length;
    char own[TEXT_MAX];
};

static bool is_null(const struct ArrowArray *a, int64_t i)
{
    const uint8_t *valid = a->n_buffers ? a->buffers[0] : NULL;
    i += a->offset;
    return valid && !(valid[i / 8] >> i % 8 & 1);
}

/* ---- numbers ---- */

static double half(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                        : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                       : ldexp(fraction, -24);
    return bits >> 15 ? -size : size;
}

static bool is_whole(char format) { return strchr("bcCsSiIlL", format) != NULL; }

static bool is_number(const char *format) { return *format && !format[1] && strchr("bcCsSiIlLefg", *format); }

/* Returns an integer; for unsigned ones, its bits. */
static int64_t whole_at(char format, const struct ArrowArray *a, int64_t i)
{
    const void *data = a->buffers[1];
    i += a->offset;
    switch (format) {
    case 'b': return ((const uint8_t *)data)[i / 8] >> i % 8 & 1;
    case 'c': return ((const int8_t *)data)[i];
    case 'C': return ((const uint8_t *)data)[i];
    case 's': return ((const int16_t *)data)[i];
    case 'S': return ((const uint16_t *)data)[i];
    case 'i': return ((const int32_t *)data)[i];
    case 'I': return ((const uint32_t *)data)[i];
    default: return ((const int64_t *)data)[i];
    }
}

static double number_at(char format, const struct ArrowArray *a, int64_t i)
{
    const void *data = a->buffers[1];
    if (is_null(a, i))
        return NAN;
    if (format == 'L')
        return (double)(uint64_t)whole_at(format, a, i);
    if (is_whole(format))
        return (double)whole_at(format, a, i);
    i += a->offset;
    return format == 'e'   ? half(((const uint16_t *)data)[i])
           : format == 'f' ? (double)((const float *)data)[i]
                           : ((const double *)data)[i];
}

static void say_number(char format, const struct ArrowArray *a, int64_t i, struct cell_text *t)
{
    if (format == 'L')
        snprintf(t->own, sizeof t->own, "%" PRIu64, (uint64_t)whole_at(format, a, i));
    else if (format == 'b')
        snprintf(t->own, sizeof t->own, "%s", whole_at(format, a, i) ? "true" : "false");
    else if (is_whole(format))
        snprintf(t->own, sizeof t->own, "%" PRId64, whole_at(format, a, i));
    else if (isfinite(number_at(format, a, i)))
        snprintf(t->own, sizeof t->own, "%.*g", format == 'g' ? 17 : 9, number_at(format, a, i));
    else
        t->own[0] = '\0';
}

/* ---- times ---- */

/* Returns the units per second of "tsm:..", "tdD" (0, for days) and "tdm"; PLAIN if it is not a calendar time. */
static int64_t units_of(const char *format)
{
    static const char letters[] = "smun";
    static const int64_t units[] = {1, 1000, 1000000, 1000000000};
    if (!strcmp(format, "tdD"))
        return 0;
    if (!strcmp(format, "tdm"))
        return 1000;
    const char *at = strncmp(format, "ts", 2) == 0 && format[2] ? strchr(letters, format[2]) : NULL;
    return at ? units[at - letters] : PLAIN;
}

/* Returns the zone of "tsu:+02:00" in minutes. *mark: the suffix to write: an offset, Z for a named zone, or "" if
 * there is none. Timestamps are in UTC. */
static int zone_of(const char *format, const char **mark)
{
    const char *zone = strncmp(format, "ts", 2) == 0 ? strchr(format, ':') + 1 : "";
    const bool digits = strlen(zone) == 6 && zone[3] == ':' && strspn(zone + 1, "0123456789:") == 5;
    const bool offset = digits && (*zone == '+' || *zone == '-');
    const int minutes = offset ? 60 * (10 * (zone[1] - '0') + zone[2] - '0') + 10 * (zone[4] - '0') + zone[5] - '0' : 0;
    *mark = offset ? zone : *zone ? "Z" : "";
    return *zone == '-' ? -minutes : minutes;
}

/* Formats ISO 8601. */
static void say_time(const char *format, const struct ArrowArray *a, int64_t i, struct cell_text *t)
{
    const int64_t units = units_of(format), value = units ? whole_at('l', a, i) : whole_at('i', a, i);
    const int64_t unit = units ? units : 1, rest = (value % unit + unit) % unit;
    const char *mark = "";
    const int zone = units ? zone_of(format, &mark) : 0;
    const time_t seconds = (time_t)(units ? (value - rest) / unit + 60 * zone : value * 86400);
    struct tm tm;
    t->own[0] = '\0';
    if (!gmtime_r(&seconds, &tm))
        return;
    size_t length = strftime(t->own, sizeof t->own, "%Y-%m-%dT%H:%M:%S", &tm);
    if (rest)
        length += (size_t)snprintf(t->own + length, sizeof t->own - length, ".%09" PRId64, rest * (1000000000 / unit));
    while (rest && strncmp(t->own + length - 3, "000", 3) == 0) length -= 3;
    snprintf(t->own + length, sizeof t->own - length, "%s", mark);
}

/* ---- strings ---- */

/* Reads a view of 16 bytes: a string of at most 12 bytes is stored inline, a longer one in a separate buffer. */
static void view_at(const struct ArrowArray *a, int64_t i, struct cell_text *t)
{
    const char *view = (const char *)a->buffers[1] + 16 * (i + a->offset);
    int32_t length, buffer, offset;
    memcpy(&length, view, 4);
    memcpy(&buffer, view + 8, 4);
    memcpy(&offset, view + 12, 4);
    t->length = (size_t)length;
    t->bytes = length <= 12 ? view + 4 : (const char *)a->buffers[2 + buffer] + offset;
}

static void string_at(const char *format, const struct ArrowArray *a, int64_t i, struct cell_text *t)
{
    if (!strcmp(format, "vu")) {
        view_at(a, i, t);
        return;
    }
    const int32_t *narrow = a->buffers[1];
    const int64_t *wide = a->buffers[1];
    const int64_t at = i + a->offset, from = *format == 'u' ? narrow[at] : wide[at];
    t->bytes = (const char *)a->buffers[2] + from;
    t->length = (size_t)((*format == 'u' ? narrow[at + 1] : wide[at + 1]) - from);
}

static bool is_string(const char *format)
{
    return !strcmp(format, "u") || !strcmp(format, "U") || !strcmp(format, "vu");
}

static bool is_void(const struct ArrowSchema *s) { return !strcmp(s->format, "n"); }

static bool is_single(const struct ArrowSchema *s)
{
    return s->dictionary ? is_single(s->dictionary)
                         : is_number(s->format) || is_string(s->format) || units_of(s->format) != PLAIN || is_void(s);
}

/* Formats entry i as the text of a cell: a string, a number or a time; no text for a missing entry. */
static void text_at(const struct ArrowSchema *s, const struct ArrowArray *a, int64_t i, struct cell_text *t)
{
    t->bytes = NULL;
    t->length = 0;
    t->own[0] = '\0';
    if (is_void(s) || is_null(a, i))
        return;
    if (s->dictionary) {
        text_at(s->dictionary, a->dictionary, whole_at(*s->format, a, i), t);
        return;
    }
    if (is_string(s->format)) {
        string_at(s->format, a, i, t);
        return;
    }
    if (is_number(s->format))
        say_number(*s->format, a, i, t);
    else
        say_time(s->format, a, i, t);
    t->length = strlen(t->own);
}

static bool add_text(struct table_column *c, const struct ArrowSchema *s, const struct ArrowArray *a, int64_t i)
{
    struct cell_text t;
    text_at(s, a, i, &t);
    return column_text(c, t.bytes ? t.bytes : t.own, t.length);
}

/* ---- lists ---- */

/* Returns the size of a fixed-size list ("+w:7": 7), 0 for other lists, PLAIN if it is not a list. */
static int64_t size_of_list(const char *format)
{
    int64_t size = 0;
    if (!strncmp(format, "+w:", 3)) {
        for (const char *at = format + 3; *at >= '0' && *at <= '9' && size < INT32_MAX; at++)
            size = 10 * size + *at - '0';
        return size;
    }
    return !strcmp(format, "+l") || !strcmp(format, "+L") ? 0 : PLAIN;
}

static void list_at(const struct ArrowSchema *s, const struct ArrowArray *a, int64_t i, int64_t *from, int64_t *end)
{
    const int64_t size = size_of_list(s->format), at = i + a->offset;
    const int32_t *narrow = size ? NULL : a->buffers[1];
    const int64_t *wide = size ? NULL : a->buffers[1];
    *from = size ? at * size : s->format[1] == 'l' ? narrow[at] : wide[at];
    *end = is_null(a, i) ? *from : size ? *from + size : s->format[1] == 'l' ? narrow[at + 1] : wide[at + 1];
}

/* The steps of a list: numbers, several numbers each, or words. */
struct step {
    const struct ArrowSchema *schema; /* of an entry's elements */
    int width;
    bool inner; /* it is inside a fixed-size list */
};

static bool step_of(const struct ArrowSchema *list, struct step *step)
{
    const struct ArrowSchema *s = list->children[0];
    const int64_t size = size_of_list(s->format);
    *step = (struct step){s, 1, false};
    if (size > 0 && size <= INT32_MAX && is_number(s->children[0]->format))
        *step = (struct step){s->children[0], (int)size, true};
    return is_single(step->schema);
}

static bool add_list(struct table_column *c, const struct ArrowSchema *s, const struct ArrowArray *a, int64_t i,
                     const struct step *step)
{
    const struct ArrowArray *entries = a->children[0], *numbers = step->inner ? entries->children[0] : entries;
    const int64_t skipped = step->inner ? entries->offset : 0;
    int64_t from, end;
    list_at(s, a, i, &from, &end);
    if (c->cell != UNROLL_COLUMN_NUMBERS) {
        for (; from < end; from++)
            if (!add_text(c, step->schema, entries, from))
                return false;
        return true;
    }
    float *to = column_numbers(c, end - from);
    for (int64_t at = (from + skipped) * step->width; to && at < (end + skipped) * step->width; at++)
        *to++ = (float)number_at(*step->schema->format, numbers, at);
    return to != NULL;
}

/* ---- frames ---- */

static bool refuse_column(const struct ArrowSchema *s)
{
    PyErr_Format(
        PyExc_TypeError,
        "column '%s' has Arrow's type '%s', which data sets do not support; fix: use numbers, strings, times, categories, "
        "or lists of these",
        s->name, s->format);
    return false;
}

/* Adds a column to the table for each column of the frame; sets an exception for an unsupported type. */
static bool begin_columns(struct table *table, const struct ArrowSchema *frame)
{
    if (strcmp(frame->format, "+s"))
        return PyErr_Format(PyExc_TypeError, "expected a frame with columns, not Arrow's type '%s'", frame->format),
               false;
    for (int64_t i = 0; i < frame->n_children; i++) {
        const struct ArrowSchema *s = frame->children[i];
        struct step step;
        bool listed = size_of_list(s->format) != PLAIN;
        if (listed ? !step_of(s, &step) : !is_single(s))
            return refuse_column(s);
        unroll_column_kind cell = s->dictionary                                                ? UNROLL_COLUMN_LABEL
                                  : !listed                                                    ? UNROLL_COLUMN_TEXT
                                  : is_number(step.schema->format) && !step.schema->dictionary ? UNROLL_COLUMN_NUMBERS
                                                                                               : UNROLL_COLUMN_WORD;
        if (!column_add(table, s->name ? s->name : "", cell, !listed, listed ? step.width : 1))
            return false;
    }
    return true;
}

static bool add_rows(struct table *table, int first, const struct ArrowSchema *frame, const struct ArrowArray *rows)
{
    struct step step = {NULL, 1, false};
    for (int64_t k = 0; k < frame->n_children; k++) {
        const struct ArrowSchema *s = frame->children[k];
        const struct ArrowArray *a = rows->children[k];
        struct table_column *c = &table->column[first + k];
        const bool listed = size_of_list(s->format) != PLAIN && step_of(s, &step);
        for (int64_t i = rows->offset; i < rows->offset + rows->length; i++)
            if (!(listed ? add_list(c, s, a, i, &step) && column_end_row(c, table->rows + i - rows->offset)
                         : add_text(c, s, a, i)))
                return false;
    }
    table->rows += rows->length;
    return true;
}

static bool refuse_stream(struct ArrowArrayStream *stream)
{
    const char *why = stream->get_last_error(stream);
    PyErr_Format(PyExc_ValueError, "the frame can't be read: %s", why ? why : "it gives no reason");
    return false;
}

/* Adds the columns and rows of a stream to the table and releases them; false: with an exception. */
static bool take_stream(struct table *table, struct ArrowArrayStream *stream)
{
    struct ArrowSchema frame = {0};
    const int first = table->columns;
    if (stream->get_schema(stream, &frame))
        return refuse_stream(stream);
    bool taken = begin_columns(table, &frame), more = taken;
    while (more) {
        struct ArrowArray rows = {0};
        taken = stream->get_next(stream, &rows) == 0 || refuse_stream(stream);
        more = taken && rows.release;
        if (more)
            more = taken = add_rows(table, first, &frame, &rows);
        if (rows.release)
            rows.release(&rows);
    }
    frame.release(&frame);
    return taken;
}

bool table_take_frame(struct table *table, PyObject *frame)
{
    PyObject *capsule = PyObject_CallMethod(frame, "__arrow_c_stream__", NULL);
    struct ArrowArrayStream *stream = capsule ? PyCapsule_GetPointer(capsule, "arrow_array_stream") : NULL;
    bool taken = stream && take_stream(table, stream); /* releasing the capsule releases the stream */
    Py_XDECREF(capsule);
    return taken;
}

/* Summarizes the decisions of a reader for people, one per line: what was guessed or changes the meaning, with the
 * field of the configuration that overrides it. Nothing is counted here, so it is fast for large data, too. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/dataset.h"
#include "data/builder/table_cell.h"
#include "data/readers/reader_table.h"

enum { TEXT = 4096, COLUMNS_SHOWN = 6, MISSING_SHOWN = 4 };

struct text {
    char bytes[TEXT];
    size_t used;
};

static void add_text(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add_text(struct text *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int wanted = vsnprintf(t->bytes + t->used, sizeof t->bytes - t->used, format, arguments);
    va_end(arguments);
    t->used += (size_t)wanted < sizeof t->bytes - t->used ? (size_t)wanted : sizeof t->bytes - t->used - 1;
}

/* Adds "rows: steps of 30 series, one for each 'store', 20 to 700 each (`group`, `layout`)". */
static void add_rows(struct text *t, const unroll_dataset *d)
{
    size_t least = SIZE_MAX, most = 0;
    for (size_t s = 0; s < d->sequences; s++) {
        const size_t length = d->begin[s + 1] - d->begin[s];
        least = length < least ? length : least;
        most = length > most ? length : most;
    }
    const bool one = d->sequences == 1;
    if (d->rows_are_steps && one)
        add_text(t, "rows: %zu steps of one series", most);
    else
        add_text(t, "rows: %s%zu %s", d->rows_are_steps ? "steps of " : "", d->sequences,
                 d->rows_are_steps ? "series"
                 : one             ? "example"
                                   : "examples");
    if (d->rows_are_steps && d->group >= 0)
        add_text(t, ", one for each '%s'", d->column[d->group].name);
    if (least < most)
        add_text(t, ", %zu to %zu steps each", least, most);
    else if (!(d->rows_are_steps && one))
        add_text(t, ", %zu step%s%s", most, most == 1 ? "" : "s", one ? "" : " each");
    add_text(t, d->rows_are_steps ? " (`group`, `layout`)\n" : reader_is_tables(d->reader) ? " (`layout`)\n" : "\n");
}

static const char *column_words(const struct column *c)
{
    static const char *const names[] = {
        [COLUMN_CATEGORY] = "category", [COLUMN_SET] = "set", [COLUMN_NUMBERS] = "number", [COLUMN_TIME] = "time"};
    static const char *const kinds[] = {"characters", "words", "words between blanks"};
    return c->type == COLUMN_TOKENS ? kinds[c->kind] : names[c->type];
}

/* Adds "columns: 'time' time, 'x' 3 numbers, 'y' category (10)". */
static void add_columns(struct text *t, const unroll_dataset *d)
{
    bool tokens = false;
    add_text(t, "columns: ");
    for (int i = 0; i < d->columns && i < COLUMNS_SHOWN; i++) {
        const struct column *c = &d->column[i];
        add_text(t, "%s'%s' ", i ? ", " : "", c->name);
        if (c->type == COLUMN_NUMBERS && c->width != 1)
            add_text(t, "%d numbers", c->width);
        else
            add_text(t, "%s", column_words(c));
        if (c->vocabulary_size)
            add_text(t, " (%d)", c->vocabulary_size);
        tokens = tokens || c->type == COLUMN_TOKENS;
    }
    if (d->columns > COLUMNS_SHOWN)
        add_text(t, ", %d more", d->columns - COLUMNS_SHOWN);
    add_text(t, " (`columns` NAME=TYPE%s)\n", tokens ? ", `tokens`" : "");
}

static void add_zone(struct text *t, const struct time_style *style, double seconds)
{
    const int minutes = abs(style->zone);
    if (style->zoned && style->zone)
        add_text(t, ", UTC%c%02d:%02d", style->zone < 0 ? '-' : '+', minutes / 60, minutes % 60);
    else if (style->zoned)
        add_text(t, ", UTC");
    else if (style->form <= TIME_MDY && seconds < 86400)
        add_text(t, ", without a time zone");
}

/* Adds "order: by 'time', milliseconds since 1970, every hour, UTC (`time`, `order`)". */
static void add_order(struct text *t, const unroll_dataset *d)
{
    if (!d->rows_are_steps)
        return;
    if (d->time < 0) {
        add_text(t, "order: of the file (`time` NAME)\n");
        return;
    }
    const struct column *c = &d->column[d->time];
    const double seconds = time_interval(c->times, d->steps);
    char interval[INTERVAL_TEXT];
    const char *unit = c->style.form == TIME_STEP ? NULL : time_form_name(c->style.form);
    add_text(t, "order: by '%s'%s%s", c->name, unit ? ", " : "", unit ? unit : "");
    if (c->style.form == TIME_STEP && seconds > 0)
        add_text(t, ", %.4g apart", seconds);
    else if (c->style.form != TIME_STEP && seconds > 0)
        add_text(t, ", every %s", interval_words(seconds, interval));
    add_zone(t, &c->style, seconds);
    add_text(t, " (`time` NAME, `order`)\n");
}

/* Adds "missing: 22 of 960 in 'load', 3 in 'x' (`missing` WORD)". */
static void add_missing(struct text *t, const unroll_dataset *d)
{
    int shown = 0, more = 0;
    for (int i = 0; i < d->columns; i++) {
        const struct column *c = &d->column[i];
        if (c->missing == 0)
            continue;
        if (shown == MISSING_SHOWN)
            more++;
        else
            add_text(t, "%s%zu of %zu in '%s'", shown++ ? ", " : "missing: ", c->missing,
                     column_entries(d, c) * (c->type == COLUMN_NUMBERS ? (size_t)c->width : 1), c->name);
    }
    if (more)
        add_text(t, ", some in %d more columns", more);
    if (shown)
        add_text(t, " (`missing` WORD)\n");
}

static void add_table(struct text *t, const unroll_dataset *d)
{
    add_text(t, "%s%s\n", *d->read_as ? ", " : "", d->read_as);
    add_rows(t, d);
    add_columns(t, d);
    add_order(t, d);
    add_missing(t, d);
}

unroll_status unroll_dataset_summary(const unroll_dataset *dataset, char **text)
{
    struct text *t;
    TRY(ALLOCATE(t, 1, "for a summary of '%s'", dataset->name));
    const struct column *first = dataset->column;
    add_text(t, "data: %s", dataset->reader);
    if (dataset->columns == 1 && dataset->sequences == 1 && first->type == COLUMN_TOKENS)
        add_text(t, ", %zu %s, %d distinct (`tokens`)%s%s\n", dataset->steps, column_words(first),
                 first->vocabulary_size, *dataset->read_as ? ", " : "", dataset->read_as);
    else
        add_table(t, dataset);
    char *copy = strdup(t->bytes);
    release(t);
    if (copy == NULL)
        return fail(UNROLL_RESOURCE, "no memory for a summary of '%s'", dataset->name);
    *text = copy;
    return UNROLL_OK;
}

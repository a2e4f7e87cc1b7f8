/* Describes a data set as JSON for `unroll inspect FILE`: columns, types, missing values, ranges, counts of categories,
 * lengths, groups, notes, first rows. Everything is counted; nothing is guessed here. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "data/data_schema.h"
#include "data/builder/table_cell.h"

enum { FIRST_ROWS = 5, FIRST_STEPS = 8, SHOWN = 80, COUNTS = 20 };

static bool has_ids(const struct column *c) { return c->type == COLUMN_TOKENS || c->type == COLUMN_CATEGORY; }

/* ---- values ---- */

static json_t *number_json(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static json_t *set_json(const struct column *c, size_t entry)
{
    const float *numbers = c->numbers + entry * (size_t)c->width;
    json_t *parts = json_array();
    for (int v = 0; v < c->width; v++)
        if (numbers[v] > 0)
            json_array_append_new(parts, json_string(c->vocabulary[v]));
    return parts;
}

static json_t *numbers_json(const struct column *c, size_t entry)
{
    const float *numbers = c->numbers + entry * (size_t)c->width;
    if (c->width == 1)
        return number_json((double)*numbers);
    json_t *all = json_array();
    for (int i = 0; i < c->width && i < FIRST_STEPS; i++) json_array_append_new(all, number_json((double)numbers[i]));
    return all;
}

static json_t *entry_json(const struct column *c, size_t entry)
{
    char text[TIME_TEXT];
    if (has_ids(c)) {
        int32_t id = column_id(c, entry);
        return id < 0 ? json_null() : json_string(c->vocabulary[id]);
    }
    if (c->type == COLUMN_TIME)
        return isnan(c->times[entry]) ? json_null() : json_string(time_text(c->times[entry], &c->style, text));
    return c->type == COLUMN_SET ? set_json(c, entry) : numbers_json(c, entry);
}

/* Returns the beginning of a text: its original characters, or its words separated by spaces. */
static json_t *text_json(const struct column *c, size_t from, size_t to)
{
    char text[SHOWN + 1] = "";
    for (size_t i = from, at = 0; i < to; i++) {
        int32_t id = column_id(c, i);
        const char *piece = id < 0 ? "" : c->vocabulary[id];
        size_t length = strlen(piece), space = c->kind == CUT_BLANKS && at > 0 && text[at - 1] != '\n';
        if (at + space + length > SHOWN)
            break;
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", space ? " " : "", piece);
    }
    return json_string(text);
}

static json_t *steps_json(const struct column *c, size_t from, size_t to)
{
    if (c->type == COLUMN_TOKENS)
        return text_json(c, from, to);
    json_t *steps = json_array();
    for (size_t i = from; i < to && i < from + FIRST_STEPS; i++) json_array_append_new(steps, entry_json(c, i));
    return steps;
}

static json_t *first_rows(const unroll_dataset *d)
{
    size_t rows = d->rows_are_steps ? d->steps : d->sequences;
    json_t *all = json_array();
    for (size_t row = 0; row < rows && row < FIRST_ROWS; row++) {
        json_t *object = json_object();
        for (int i = 0; i < d->columns; i++) {
            const struct column *c = &d->column[i];
            bool single = d->rows_are_steps || c->of_sequence;
            json_object_set_new(object, c->name,
                                single ? entry_json(c, row)
                                       : steps_json(c, column_first(d, c, row), column_first(d, c, row + 1)));
        }
        json_array_append_new(all, object);
    }
    return all;
}

/* ---- columns ---- */

/* Adds the range, mean and deviation of a column of numbers. */
static void describe_numbers(const struct column *c, size_t entries, json_t *to)
{
    size_t count = entries * (size_t)c->width, found = 0;
    double min = INFINITY, max = -INFINITY, mean = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        double x = (double)c->numbers[i];
        if (isnan(x))
            continue;
        double off = x - mean; /* Welford 1962 */
        mean += off / (double)++found;
        squares += off * (x - mean);
        min = x < min ? x : min;
        max = x > max ? x : max;
    }
    json_object_set_new(to, "missing", json_integer((json_int_t)(count - found)));
    json_object_set_new(to, "width", json_integer(c->width));
    json_object_set_new(to, "min", number_json(min));
    json_object_set_new(to, "max", number_json(max));
    json_object_set_new(to, "mean", number_json(found ? mean : (double)NAN));
    json_object_set_new(to, "std", number_json(found ? sqrt(squares / (double)found) : (double)NAN));
}

/* Adds the range of a column of times. */
static void describe_times(const struct column *c, size_t entries, json_t *to)
{
    double min = INFINITY, max = -INFINITY;
    size_t found = 0;
    char text[TIME_TEXT];
    for (size_t i = 0; i < entries; i++)
        if (!isnan(c->times[i])) {
            found++;
            min = fmin(min, c->times[i]);
            max = fmax(max, c->times[i]);
        }
    json_object_set_new(to, "missing", json_integer((json_int_t)(entries - found)));
    if (found) {
        json_object_set_new(to, "min", json_string(time_text(min, &c->style, text)));
        json_object_set_new(to, "max", json_string(time_text(max, &c->style, text)));
        const double seconds = c->style.form == TIME_STEP ? NAN : time_interval(c->times, entries);
        if (seconds > 0) {
            char words[INTERVAL_TEXT];
            json_object_set_new(to, "interval_seconds", number_json(seconds));
            json_object_set_new(to, "interval", json_string(interval_words(seconds, words)));
        }
    }
}

/* Counts each entry of the vocabulary. */
static void count_entries(const struct column *c, size_t entries, size_t *count, size_t *missing)
{
    for (size_t i = 0; i < entries; i++) {
        if (c->ids) {
            int32_t id = column_id(c, i);
            *(id < 0 ? missing : &count[id]) += 1;
            continue;
        }
        const float *set = c->numbers + i * (size_t)c->width;
        *missing += c->width && isnan(*set);
        for (int v = 0; v < c->width; v++) count[v] += set[v] > 0;
    }
}

static void add_counts(const struct column *c, size_t *count, json_t *to)
{
    json_t *counts = json_object();
    for (int turn = 0; turn < COUNTS && turn < c->vocabulary_size; turn++) {
        int best = 0;
        for (int v = 1; v < c->vocabulary_size; v++) best = count[v] > count[best] ? v : best;
        if (count[best] == 0)
            break;
        json_object_set_new(counts, c->vocabulary[best], json_integer((json_int_t)count[best]));
        count[best] = 0;
    }
    json_object_set_new(to, "most_frequent", counts);
}

static unroll_status describe_vocabulary(const struct column *c, size_t entries, json_t *to)
{
    size_t *count, missing = 0;
    TRY(ALLOCATE(count, (size_t)c->vocabulary_size, "to count %d entries", c->vocabulary_size));
    count_entries(c, entries, count, &missing);
    json_object_set_new(to, "missing", json_integer((json_int_t)missing));
    json_object_set_new(to, "distinct", json_integer(c->vocabulary_size));
    if (c->type == COLUMN_TOKENS)
        json_object_set_new(to, "tokens", json_string(token_kind_names[c->kind]));
    add_counts(c, count, to);
    release(count);
    return UNROLL_OK;
}

static unroll_status describe_column(const unroll_dataset *d, const struct column *c, json_t *to)
{
    size_t entries = column_entries(d, c);
    json_object_set_new(to, "name", json_string(c->name));
    json_object_set_new(to, "type", json_string(column_type_names[c->type]));
    json_object_set_new(to, "of", json_string(c->of_sequence || c->begin ? "example" : "step"));
    if (c->begin)
        json_object_set_new(to, "unaligned", json_true());
    if (c->type == COLUMN_NUMBERS)
        describe_numbers(c, entries, to);
    else if (c->type == COLUMN_TIME)
        describe_times(c, entries, to);
    else
        return describe_vocabulary(c, entries, to);
    return UNROLL_OK;
}

/* ---- the data set ---- */

static json_t *describe_lengths(const unroll_dataset *d)
{
    size_t min = SIZE_MAX, max = 0, empty = 0;
    for (size_t s = 0; s < d->sequences; s++) {
        size_t length = d->begin[s + 1] - d->begin[s];
        min = length < min ? length : min;
        max = length > max ? length : max;
        empty += length == 0;
    }
    return json_pack("{sI sI sf sI}", "min", (json_int_t)(d->sequences ? min : 0), "max", (json_int_t)max, "mean",
                     d->sequences ? (double)d->steps / (double)d->sequences : 0.0, "empty", (json_int_t)empty);
}

static json_t *note_lines(const char *notes)
{
    json_t *lines = json_array();
    for (size_t length; *notes; notes += length + (notes[length] == '\n')) {
        length = strcspn(notes, "\n");
        json_array_append_new(lines, json_stringn(notes, length));
    }
    return lines;
}

/* Describes the whole data set: summary, sizes, columns, notes and first rows. */
static unroll_status describe_whole(const unroll_dataset *d, json_t **description)
{
    char *summary;
    TRY(unroll_dataset_summary(d, &summary));
    json_t *all = json_object(), *columns = json_array();
    unroll_status status = UNROLL_OK;
    json_object_set_new(all, "reader", json_string(d->reader));
    json_object_set_new(all, "rows", json_string(d->rows_are_steps ? "steps" : "examples"));
    json_object_set_new(all, "sequences", json_integer((json_int_t)d->sequences));
    json_object_set_new(all, "steps", json_integer((json_int_t)d->steps));
    json_object_set_new(all, "lengths", describe_lengths(d));
    json_object_set_new(all, "group", d->group >= 0 ? json_string(d->column[d->group].name) : json_null());
    json_object_set_new(all, "time", d->time >= 0 ? json_string(d->column[d->time].name) : json_null());
    for (int i = 0; i < d->columns && status == UNROLL_OK; i++) {
        json_t *column = json_object();
        status = describe_column(d, &d->column[i], column);
        json_array_append_new(columns, column);
    }
    json_object_set_new(all, "columns", columns);
    json_object_set_new(all, "read_as", json_string(d->read_as));
    json_object_set_new(all, "summary", note_lines(summary));
    json_object_set_new(all, "notes", note_lines(d->notes));
    json_object_set_new(all, "first", first_rows(d));
    free(summary);
    if (status == UNROLL_OK)
        *description = all;
    else
        json_decref(all);
    return status;
}

/* ---- the public functions ---- */

unroll_status unroll_dataset_describe(const unroll_dataset *dataset, char **json)
{
    json_t *description;
    TRY(describe_whole(dataset, &description));
    char *text = json_dumps(description, JSON_INDENT(1));
    json_decref(description);
    if (text == NULL)
        return fail(UNROLL_RESOURCE, "no memory for a description of '%s'", dataset->name);
    *json = text;
    return UNROLL_OK;
}

const char *unroll_dataset_notes(const unroll_dataset *dataset) { return dataset->notes; }

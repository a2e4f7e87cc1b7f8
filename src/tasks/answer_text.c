#include "tasks/answer_text.h"

#include <math.h>

#include "data/builder/table_cell.h"

enum { FEW = 6, USUAL = 8, MOST = 15, AFTER_POINT = 2 };

/* Returns the number of digits before the decimal point. */
static int whole_digits(double value)
{
    const double size = fabs(value);
    return isfinite(size) && size >= 1 ? (int)floor(log10(size)) + 1 : 1;
}

void print_number(double value, FILE *file)
{
    const int digits = whole_digits(value) + AFTER_POINT;
    fprintf(file, "%.*g", digits < FEW ? FEW : digits < MOST ? digits : MOST, value);
}

static int most_digits(const json_t *value, int most)
{
    const char *key;
    json_t *item;
    size_t i;
    if (json_is_real(value)) {
        const int digits = whole_digits(json_real_value(value)) + AFTER_POINT;
        return digits > most ? digits : most;
    }
    json_object_foreach((json_t *)value, key, item) most = most_digits(item, most);
    json_array_foreach(value, i, item) most = most_digits(item, most);
    return most;
}

static json_t *entry_of(const struct column *column, size_t at)
{
    char text[TIME_TEXT];
    if (column->type == COLUMN_TIME)
        return isnan(column->times[at]) ? json_null() : json_string(time_text(column->times[at], &column->style, text));
    if (column->type == COLUMN_NUMBERS && column->width == 1)
        return isnan(column->numbers[at]) ? json_null() : json_real((double)column->numbers[at]);
    const int32_t id = column->type == COLUMN_CATEGORY ? column_id(column, at) : -1;
    return id < 0 ? json_null() : json_string(column->vocabulary[id]);
}

/* step ALL_STEPS: arrays with the values of all steps. */
void answer_keep(json_t *answer, const unroll_dataset *data, size_t sequence, size_t step)
{
    for (int i = 0; answer && i < data->columns; i++) {
        const struct column *column = &data->column[i];
        if (column->kept != KEPT_COLUMN)
            continue;
        json_t *kept = json_object_get(answer, "kept"), *value = NULL;
        if (kept == NULL)
            json_object_set_new(answer, "kept", kept = json_object());
        if (column->of_sequence)
            value = entry_of(column, sequence);
        else if (step != (size_t)ALL_STEPS && column->begin == NULL)
            value = entry_of(column, step);
        else
            for (size_t at = column_first(data, column, sequence); at < column_first(data, column, sequence + 1);
                 at++) {
                value = value ? value : json_array();
                json_array_append_new(value, entry_of(column, at));
            }
        json_object_set_new(kept, column->name, value ? value : json_null());
    }
}

void answer_keep_range(json_t *answer, const unroll_dataset *data, size_t sequence, size_t from, size_t count)
{
    json_t *kept = json_object();
    for (int i = 0; answer && i < data->columns; i++) {
        const struct column *column = &data->column[i];
        if (column->kept != KEPT_COLUMN)
            continue;
        json_t *values = json_array();
        for (size_t at = data->begin[sequence] + from; count > json_array_size(values); at++)
            json_array_append_new(values, column->of_sequence              ? entry_of(column, sequence)
                                          : at < data->begin[sequence + 1] ? entry_of(column, at)
                                                                           : json_null());
        json_object_set_new(kept, column->name, values);
    }
    if (answer && json_object_size(kept))
        json_object_set(answer, "kept", kept);
    json_decref(kept);
}

int answer_digits(const json_t *answer)
{
    const int digits = most_digits(answer, USUAL);
    return digits < MOST ? digits : MOST;
}

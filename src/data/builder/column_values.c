/* Columns of formatted numbers ("1,234.5 kg") and of times, recognized by the survey and the names of columns.
 * Ambiguous values are refused, or noted with the option that decides. */
#include <string.h>

#include "data/builder/column_names.h"
#include "data/builder/draft.h"
#include "data/builder/table_cell.h"

enum { RISES_LONG = 8, COMPACT_CELLS = 5, COMPACT_MONTH = 1000000 };

/* ---- numbers ---- */

static bool may_be_written(const struct draft *draft)
{
    const struct survey *s = &draft->survey;
    const bool found = draft->cell == CELL_TEXT && draft->given == NULL && !draft->ignored && s->cells > 0;
    const bool free = draft->wish == WISH_NUMBER || (draft->wish == WISH_NONE && !is_label_name(draft->column.name) &&
                                                     !is_text_name(draft->column.name));
    return found && free && s->numbers + s->written == s->cells;
}

static bool has_units_that_differ(const struct survey *s)
{
    return s->written && (*s->other_unit || (*s->unit && s->numbers));
}

/* True for units: "12A" and "13B" are names; 12 kg and 300 g, $7 and 30% are quantities. */
static bool are_units(const struct survey *s)
{
    const unsigned char first = (unsigned char)(*s->unit ? *s->unit : *s->other_unit);
    const bool letter = (first | 32) >= 'a' && (first | 32) <= 'z';
    return s->spaced_units || !letter;
}

bool columns_is_written(const struct draft *draft)
{
    return may_be_written(draft) && draft->survey.written && !has_units_that_differ(&draft->survey);
}

unroll_status columns_check_units(struct builder *b, const struct draft *draft)
{
    const struct survey *s = &draft->survey;
    if (!may_be_written(draft) || !has_units_that_differ(s) || !are_units(s))
        return UNROLL_OK;
    return fail(
        UNROLL_DATA,
        "'%.120s', row %zu, column '%s': '%s' is not a number like the others: their units are '%s' and '%s'; fix: "
        "give all in one, or `columns` %s=category",
        b->name, s->first_written.row, draft->column.name, s->first_written.text, *s->unit ? s->unit : "none",
        *s->other_unit ? s->other_unit : "none", draft->column.name);
}

static unroll_status refuse_marks(struct builder *b, const struct draft *comma, const struct draft *point)
{
    return fail(
        UNROLL_DATA,
        "'%.120s' has numbers with a decimal comma, '%s' in '%s', and with a point, '%s' in '%s'; fix: write all "
        "alike, or `columns` %s=text for one that is no number",
        b->name, comma->survey.comma.text, comma->column.name, point->survey.point.text, point->column.name,
        comma->column.name);
}

/* Adds a note about an ambiguous decimal mark. point: commas cannot be delimiters of this table, so they may be in
 * numbers, and no cell has another mark. */
static unroll_status note_doubt(struct builder *b, const struct draft *draft, bool point)
{
    const struct sample *doubt = b->decimal == '.' && !point ? &draft->survey.doubt_comma : &draft->survey.doubt_point;
    struct written w;
    if (doubt->row == 0 || !cell_written(doubt->text, strlen(doubt->text), b->decimal, &w))
        return UNROLL_OK;
    return builder_note(b, "'%s' in '%s' is read as %.15g; `decimal` %s reads it otherwise", doubt->text,
                        draft->column.name, w.value, b->decimal == '.' ? "comma" : "point");
}

/* Chooses the decimal mark from the option or the cells; adds a note if it is ambiguous. */
unroll_status columns_choose_decimal(struct builder *b)
{
    const struct draft *comma = NULL, *point = NULL;
    for (int i = 0; i < b->drafts; i++) {
        const struct draft *draft = &b->draft[i];
        if (!may_be_written(draft) || (draft->survey.written && !columns_is_written(draft)))
            continue;
        comma = comma == NULL && draft->survey.comma.row ? draft : comma;
        point = point == NULL && draft->survey.point.row ? draft : point;
    }
    const int told = b->options->decimal;
    if (comma && point && told == DECIMAL_FOUND)
        return refuse_marks(b, comma, point);
    b->decimal = told == DECIMAL_COMMA || (told == DECIMAL_FOUND && comma) ? ',' : '.';
    if (told == DECIMAL_FOUND && comma) {
        strcat(b->decisions, ",decimal=comma");
        TRY(builder_note(b,
                         "numbers are read with a decimal comma, as '%s' in '%s'; `decimal` point reads them otherwise",
                         comma->survey.comma.text, comma->column.name));
    }
    for (int i = 0; i < b->drafts; i++) {
        struct draft *draft = &b->draft[i];
        const struct survey *s = &draft->survey;
        draft->written = columns_is_written(draft) ||
                         (b->decimal == ',' && may_be_written(draft) && (s->doubt_point.row || s->point.row));
        const bool foreign =
            b->delimiter && b->delimiter != ',' && comma == NULL && point == NULL && may_be_written(draft);
        if ((draft->written || foreign) && told == DECIMAL_FOUND)
            TRY(note_doubt(b, draft, foreign && s->doubt_point.row));
    }
    return UNROLL_OK;
}

/* Adds a note about units that are removed from the cells. */
unroll_status columns_note_written(struct builder *b, const struct draft *draft)
{
    const struct survey *s = &draft->survey;
    struct written w;
    if (!draft->written || *s->unit == 0 ||
        !cell_written(s->first_written.text, strlen(s->first_written.text), b->decimal, &w))
        return UNROLL_OK;
    return builder_note(
        b, "the column '%s' is read as numbers without their unit: '%s' is %.15g; `columns` %s=text keeps it",
        draft->column.name, s->first_written.text, w.value, draft->column.name);
}

/* ---- times ---- */

static unroll_status ask_for_order(struct builder *b, const struct draft *draft)
{
    char text[48];
    size_t size;
    const char *first = vocabulary_size(draft->vocabulary) ? vocabulary_at(draft->vocabulary, 0, &size) : "";
    snprintf(text, sizeof text, "%.*s", *first ? (int)(size < 40 ? size : 40) : 0, first);
    return fail(
        UNROLL_DATA,
        "'%.120s', column '%s': dates such as '%s' may have the day or the month first; fix: use `dates` dmy or `dates` "
        "mdy, or `columns` %s=ignore",
        b->name, draft->column.name, text, draft->column.name);
}

static unroll_status note_zones(struct builder *b, struct draft *draft)
{
    if (!draft->survey.zones_differ)
        return UNROLL_OK;
    draft->column.style.zoned = true;
    draft->column.style.zone = 0;
    return builder_note(b, "the times of '%s' have different offsets from UTC: they are sorted and printed in UTC",
                        draft->column.name);
}

/* Finds times written as strings; *found: all of them are times of one form. */
unroll_status columns_find_times(struct builder *b, struct draft *draft, bool *found)
{
    const struct survey *s = &draft->survey;
    const size_t *times = s->times;
    const bool free = times[TIME_TEXT_FREE] == s->cells, dmy = times[TIME_DMY] == s->cells,
               mdy = times[TIME_MDY] == s->cells;
    *found = free || dmy || mdy;
    if (!*found && s->timed == s->cells)
        return fail(UNROLL_DATA,
                    "'%.120s', column '%s': dates have the day first in some rows and the month in others; fix: "
                    "write all alike, or `columns` %s=ignore",
                    b->name, draft->column.name, draft->column.name);
    if (!*found)
        return UNROLL_OK;
    draft->column.style = s->style;
    draft->column.style.form = free ? TIME_TEXT_FREE : dmy ? TIME_DMY : TIME_MDY;
    if (times[TIME_QUARTER] == s->cells)
        draft->column.style.form = TIME_QUARTER;
    if (dmy && mdy && !free) {
        if (b->options->dates == DATES_FOUND)
            return ask_for_order(b, draft);
        draft->column.style.form = b->options->dates == DATES_DMY ? TIME_DMY : TIME_MDY;
    } else if (!free)
        TRY(builder_note(b, "dates of '%s' are read as %s", draft->column.name,
                         dmy ? "day, month, year" : "month, day, year"));
    draft->column.type = COLUMN_TIME;
    return note_zones(b, draft);
}

static bool rises(const struct survey *s)
{
    return s->numbers == s->cells && (s->rising + 1 == s->numbers || s->falling + 1 == s->numbers);
}

static bool find_unix(const struct survey *s, bool named, enum time_form *form)
{
    static const double units[] = {1, 1e3, 1e6, 1e9};
    for (int i = 0; i < 4; i++) {
        const double min = s->min / units[i], max = s->max / units[i];
        const bool likely = rises(s) && s->numbers >= RISES_LONG && min >= 6.3e8 && max <= 2.3e9;
        if (min < 1e8 || max > 5e9 || !(named || likely) || (i > 0 && s->whole < s->cells))
            continue;
        *form = (enum time_form)(TIME_SECONDS + i);
        return true;
    }
    return false;
}

/* Finds the form of times that are numbers. named: the column's name suggests a time; told: the user says so. */
static bool find_form(const struct builder *b, const struct survey *s, bool named, bool told, enum time_form *form)
{
    const bool whole = s->whole == s->cells, grouped = *b->group_name;
    if (find_unix(s, named || told, form))
        return true;
    if (s->compact == s->cells && (named || told || (s->cells >= COMPACT_CELLS && s->min >= COMPACT_MONTH))) {
        *form = TIME_COMPACT;
        return true;
    }
    if (whole && s->min >= 1500 && s->max <= 2200 && (told || (named && (rises(s) || grouped)))) {
        *form = TIME_YEAR;
        return true;
    }
    *form = TIME_STEP;
    return told || (named && s->numbers > 2 && (rises(s) || (grouped && whole)));
}

unroll_status columns_find_number_times(struct builder *b, struct draft *draft, bool *found)
{
    const struct survey *s = &draft->survey;
    const bool told = draft->wish == WISH_TIME;
    enum time_form form;
    *found = find_form(b, s, is_time_name(draft->column.name), told, &form);
    if (!*found)
        return UNROLL_OK;
    draft->column.type = COLUMN_TIME;
    draft->column.style.form = form;
    draft->column.style.digits = form == TIME_STEP || form == TIME_SECONDS ? s->digits : 0;
    return told ? UNROLL_OK
                : builder_note(b, "the column '%s' is read as %s; `columns` %s=number makes it an ordinary number",
                               draft->column.name, time_form_name(form), draft->column.name);
}

/* True for the first column of a table if it only counts the rows and its name says no more. */
bool columns_counts_rows(const struct builder *b, const struct draft *draft)
{
    const struct survey *s = &draft->survey;
    return is_counter_name(draft->column.name) && draft == b->draft && b->drafts > 1 && s->numbers == s->cells &&
           s->cells == b->rows && s->numbers >= RISES_LONG && s->by_one + 1 == s->numbers &&
           (s->min == 0 || s->min == 1);
}

/* The survey of the first run: what the cells of a column contain, each by itself and compared with the previous
 * one. */
#include <math.h>
#include <string.h>

#include "data/builder/draft.h"
#include "data/builder/table_cell.h"

enum { DISTINCT_NUMBERS = 1024, DISTINCT_MAX = 1 << 16, SHOWN = 40, GROUP = 3 };

static size_t count_words(const char *bytes, size_t length)
{
    size_t words = 0;
    for (const char *end = bytes + length; bytes < end; bytes++) {
        words += *bytes != ' ';
        if (*bytes != ' ' && (bytes = memchr(bytes, ' ', (size_t)(end - bytes))) == NULL)
            return words;
    }
    return words;
}

static void remember(struct sample *sample, size_t row, const char *bytes, size_t length)
{
    if (sample->row)
        return;
    sample->row = row;
    snprintf(sample->text, sizeof sample->text, "%.*s", (int)(length < SHOWN ? length : SHOWN), bytes);
}

static void survey_unit(struct survey *s, const struct written *w)
{
    char unit[sizeof s->unit];
    snprintf(unit, sizeof unit, "%.*s", (int)w->unit_length, w->unit ? w->unit : "");
    if (s->written == 0)
        memcpy(s->unit, unit, sizeof unit);
    else if (strcmp(s->unit, unit) != 0 && *s->other_unit == 0)
        snprintf(s->other_unit, sizeof s->other_unit, "%s", *unit ? unit : "none");
    s->spaced_units += w->unit && w->spaced;
}

static void survey_marks(struct survey *s, size_t row, const char *bytes, size_t length, char mark, char doubt)
{
    if (mark == ',')
        remember(&s->comma, row, bytes, length);
    if (mark == '.')
        remember(&s->point, row, bytes, length);
    if (doubt == ',')
        remember(&s->doubt_comma, row, bytes, length);
    if (doubt == '.')
        remember(&s->doubt_point, row, bytes, length);
}

static bool survey_written(struct survey *s, size_t row, const char *bytes, size_t length)
{
    struct written w;
    if (!cell_written(bytes, length, 0, &w))
        return false;
    survey_unit(s, &w);
    survey_marks(s, row, bytes, length, w.mark, w.doubt);
    remember(&s->first_written, row, bytes, length);
    s->written++;
    return true;
}

static bool may_be_time(const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (bytes[i] >= '0' && bytes[i] <= '9')
            return true;
    return false;
}

/* Counts the forms of a written time that the cell has. *free: it is a time whatever the order of day and month. */
static bool survey_forms(struct survey *s, const char *bytes, size_t length, struct time_read *r, bool *free)
{
    bool any = false;
    *free = cell_time(bytes, length, TIME_TEXT_FREE, r);
    if (*free) {
        struct time_read same;
        s->times[TIME_TEXT_FREE]++, s->times[TIME_DMY]++, s->times[TIME_MDY]++;
        s->times[TIME_QUARTER] +=
            s->times[TIME_QUARTER] + 1 == s->cells && cell_time(bytes, length, TIME_QUARTER, &same);
        return true;
    }
    /* first the orders that all cells have had; the others count only as times */
    for (int turn = 0; turn < 2 && !any; turn++)
        for (enum time_form form = TIME_DMY; form <= TIME_MDY; form++)
            if ((s->times[form] + 1 == s->cells) == (turn == 0) && cell_time(bytes, length, form, r)) {
                s->times[form]++;
                any = true;
            }
    return any;
}

/* Keeps a sample of cells that are no times. Returns the time of a cell of the form TIME_TEXT_FREE, or NAN. */
static double survey_time(struct survey *s, size_t row, const char *bytes, size_t length)
{
    struct time_read found;
    bool free;
    if (!may_be_time(bytes, length) || !survey_forms(s, bytes, length, &found, &free)) {
        remember(&s->no_time, row, bytes, length);
        return NAN;
    }
    if (s->timed++ > 0 && (s->style.zoned != found.zoned || s->style.zone != found.zone))
        s->zones_differ = true;
    else
        s->style.zoned = found.zoned, s->style.zone = found.zone;
    s->style.digits = found.digits > s->style.digits ? found.digits : s->style.digits;
    return free ? found.seconds : NAN;
}

static double survey_string(struct survey *s, size_t row, const char *bytes, size_t length)
{
    const double time = survey_time(s, row, bytes, length);
    if (s->numbers + s->written + 1 == s->cells) /* else not all cells are such numbers */
        survey_written(s, row, bytes, length);
    s->sets += memchr(bytes, '|', length) != NULL;
    s->words += count_words(bytes, length);
    s->bytes += length;
    remember(&s->no_number, row, bytes, length);
    return time;
}

/* Surveys a decimal point: 1.234 may be a number with thousands; 12.5 and 0.123 have a decimal point. */
static void survey_point(struct survey *s, size_t row, const char *bytes, size_t length)
{
    struct written w;
    const char *point = memchr(bytes, '.', length);
    if (point && s->point.row == 0 && cell_written(bytes, length, 0, &w))
        survey_marks(s, row, bytes, length, w.mark, w.doubt);
}

/* fraction: digits after the decimal point. */
static void survey_number(struct survey *s, double value, int fraction)
{
    double seconds;
    const double most_exact = 9007199254740992; /* 2^53 */
    const bool whole = fabs(value) >= most_exact || (double)(int64_t)value == value;
    if (s->numbers > 0) {
        s->rising += value > s->last;
        s->falling += value < s->last;
        s->by_one += value == s->last + 1;
    }
    s->last = value;
    s->min = s->numbers == 0 || value < s->min ? value : s->min;
    s->max = s->numbers == 0 || value > s->max ? value : s->max;
    s->numbers++;
    s->whole += whole;
    /* of a column that has other numbers none counts */
    s->compact += whole && value > 1e5 && s->compact + 1 == s->numbers && number_time(value, TIME_COMPACT, &seconds);
    if (!whole && fraction > s->digits)
        s->digits = fraction;
}

/* Counts a word for a missing value, which may be a value if the column has strings. */
static unroll_status survey_missing(struct builder *b, struct draft *draft, const char *bytes, size_t length)
{
    int32_t index;
    if (cell_is_empty(bytes, length) || *b->options->missing)
        return UNROLL_OK;
    if (draft->missing == NULL)
        TRY(vocabulary_new(&draft->missing));
    draft->survey.missing_words++;
    return vocabulary_size(draft->missing) < DISTINCT_NUMBERS ? vocabulary_add(draft->missing, bytes, length, &index)
                                                              : UNROLL_OK;
}

/* Keeps distinct values as long as they may be categories. */
static unroll_status remember_value(struct builder *b, struct draft *draft, const char *bytes, size_t length,
                                    int32_t *id)
{
    struct survey *s = &draft->survey;
    const int32_t max = draft->wish != WISH_NONE ? INT32_MAX : s->numbers == s->cells ? DISTINCT_NUMBERS : DISTINCT_MAX;
    s->many = vocabulary_size(draft->vocabulary) > max;
    return s->many || draft->wish == WISH_NUMBER ? UNROLL_OK : draft_add_string(b, draft, bytes, length, id);
}

/* Keeps a cell that is not missing. The column's first one chooses what is kept; a cell that is something else ends
 * it. time: NAN if the cell is none. id: of its string, or VOCABULARY_NONE. */
static void keep_cell(struct builder *b, struct draft *draft, bool number, double value, double time, int32_t id)
{
    if (draft->survey.cells == 1 && !number)
        draft_keep_as(b, draft, isnan(time) ? KEPT_IDS : KEPT_TIMES);
    if (draft->kept_as == KEPT_NUMBERS && number)
        draft_keep(b, draft, value);
    else if (draft->kept_as == KEPT_TIMES && !isnan(time))
        draft_keep(b, draft, time);
    else if (draft->kept_as == KEPT_IDS && id >= 0)
        draft_keep(b, draft, id);
    else
        draft_drop_kept(b, draft);
}

unroll_status columns_survey(struct builder *b, struct draft *draft, const char *bytes, size_t length)
{
    struct survey *s = &draft->survey;
    const size_t row = b->rows + 1;
    double value, time = NAN;
    int fraction;
    int32_t id = VOCABULARY_NONE;
    const bool number = cell_digits(bytes, length, &value, &fraction);
    if ((!number || *b->options->missing) && builder_is_missing(b, bytes, length)) {
        draft_keep(b, draft, NAN);
        return survey_missing(b, draft, bytes, length);
    }
    s->cells++;
    if (number) {
        survey_number(s, value, fraction);
        if (fraction && s->point.row == 0)
            survey_point(s, row, bytes, length);
    } else
        time = survey_string(s, row, bytes, length);
    if (!s->many)
        TRY(remember_value(b, draft, bytes, length, &id));
    keep_cell(b, draft, number, value, time, id);
    return UNROLL_OK;
}

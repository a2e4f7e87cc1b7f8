/* The survey of the first run: what the cells of a column are, each by itself and next to the one before. */
#include <math.h>
#include <string.h>

#include "data/draft.h"
#include "data/table_cell.h"

enum { DISTINCT_NUMBERS = 1024, DISTINCT_MAX = 1 << 16, SHOWN = 40, GROUP = 3 };

static size_t count_words(const char *bytes, size_t length)
{
    size_t words = 0;
    for (size_t i = 0; i < length; i++) words += bytes[i] != ' ' && (i == 0 || bytes[i - 1] == ' ');
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

static void survey_time(struct survey *s, size_t row, const char *bytes, size_t length)
{
    static const enum time_form forms[TIME_WRITTEN] = {TIME_TEXT_FREE, TIME_DMY, TIME_MDY, TIME_QUARTER};
    struct time_read r, found = {0};
    bool any = false;
    for (int i = 0; i < TIME_WRITTEN; i++)
        if (cell_time(bytes, length, forms[i], &r)) {
            s->times[i]++;
            found = any ? found : r;
            any = true;
        }
    if (!any) {
        remember(&s->no_time, row, bytes, length);
        return;
    }
    if (s->timed++ > 0 && (s->style.zoned != found.zoned || s->style.zone != found.zone))
        s->zones_differ = true;
    else
        s->style.zoned = found.zoned, s->style.zone = found.zone;
    s->style.digits = found.digits > s->style.digits ? found.digits : s->style.digits;
}

static void survey_string(struct survey *s, size_t row, const char *bytes, size_t length)
{
    survey_time(s, row, bytes, length);
    survey_written(s, row, bytes, length);
    s->sets += memchr(bytes, '|', length) != NULL;
    s->words += count_words(bytes, length);
    s->bytes += length;
    remember(&s->no_number, row, bytes, length);
}

/* 1.234 may be a number with thousands; 12.5 and 0.123 have a decimal point. */
static void survey_point(struct survey *s, size_t row, const char *bytes, size_t length)
{
    struct written w;
    const char *point = memchr(bytes, '.', length);
    if (point && s->point.row == 0 && cell_written(bytes, length, 0, &w))
        survey_marks(s, row, bytes, length, w.mark, w.doubt);
}

/* Digits after the decimal point. */
static int count_digits(const char *bytes, size_t length)
{
    const char *point = memchr(bytes, '.', length), *at = point ? point + 1 : bytes + length;
    int count = 0;
    while (at < bytes + length && *at >= '0' && *at <= '9') at++, count++;
    return count;
}

static void survey_number(struct survey *s, double value, const char *bytes, size_t length)
{
    double seconds;
    const bool whole = floor(value) == value;
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
    s->compact += whole && value > 1e5 && number_time(value, TIME_COMPACT, &seconds);
    if (!whole) {
        const int count = count_digits(bytes, length);
        s->digits = count > s->digits ? count : s->digits;
    }
}

/* A word for what is missing may be a value where the column has strings. */
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

unroll_status columns_survey(struct builder *b, struct draft *draft, const char *bytes, size_t length)
{
    struct survey *s = &draft->survey;
    const size_t row = b->rows + 1;
    double value;
    if (builder_is_missing(b, bytes, length))
        return survey_missing(b, draft, bytes, length);
    s->cells++;
    if (cell_number(bytes, length, &value)) {
        survey_number(s, value, bytes, length);
        survey_point(s, row, bytes, length);
    } else
        survey_string(s, row, bytes, length);
    int32_t max = draft->wish != WISH_NONE ? INT32_MAX : s->numbers == s->cells ? DISTINCT_NUMBERS : DISTINCT_MAX;
    s->many = s->many || vocabulary_size(draft->vocabulary) > max;
    return s->many || draft->wish == WISH_NUMBER ? UNROLL_OK : draft_add_string(b, draft, bytes, length);
}

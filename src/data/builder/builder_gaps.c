/* Fills missing steps between the times of a table with rows without values, so that neighbors are one step apart. This
 * happens only if the distance is nearly always the same, and all columns contain numbers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/memory.h"
#include "data/builder/draft.h"
#include "data/builder/table_cell.h"

enum { NEIGHBORS = 2000, FEW = 20, DAY = 86400, WEEK_DAYS = 7, THURSDAY = 4 };

struct gaps {
    const double *times;
    double seconds; /* the distance of neighbors; or .. */
    int months;
    size_t missing, irregular, first; /* first: the row after the first gap */
};

/* Returns the whole months between two times with the same day of the month and time of day; 0: none. */
static int months_between(double from, double to)
{
    int year[2], month[2], day[2];
    time_calendar(from, &year[0], &month[0], &day[0]);
    time_calendar(to, &year[1], &month[1], &day[1]);
    const bool same = day[0] == day[1] && fmod(to - from, DAY) == 0;
    return same ? (year[1] - year[0]) * 12 + month[1] - month[0] : 0;
}

static size_t longest_group(const struct builder *b)
{
    size_t longest = 0;
    for (size_t g = 1; g < b->sequences; g++)
        if (b->begin[g + 1] - b->begin[g] > b->begin[longest + 1] - b->begin[longest])
            longest = g;
    return longest;
}

/* Finds the median distance; in months if all are whole months. */
static void find_distance(const struct builder *b, struct gaps *gaps)
{
    const size_t g = longest_group(b), from = b->begin[g], to = b->begin[g + 1];
    double distance[NEIGHBORS], months[NEIGHBORS];
    size_t count = 0;
    bool monthly = true;
    for (size_t i = from + 1; i < to && count < NEIGHBORS; i++, count++) {
        distance[count] = gaps->times[i] - gaps->times[i - 1];
        months[count] = months_between(gaps->times[i - 1], gaps->times[i]);
        monthly = monthly && months[count] > 0;
    }
    if (count == 0)
        return;
    qsort(distance, count, sizeof *distance, compare_doubles);
    qsort(months, count, sizeof *months, compare_doubles);
    gaps->seconds = distance[(count - 1) / 2];
    gaps->months = monthly ? (int)months[(count - 1) / 2] : 0;
}

/* Returns how many steps lie between two neighbors, or 0 if that is not a whole number. */
static size_t steps_between(const struct gaps *gaps, double from, double to)
{
    if (gaps->months) {
        const int months = months_between(from, to);
        return months > 0 && months % gaps->months == 0 ? (size_t)(months / gaps->months) : 0;
    }
    const double steps = (to - from) / gaps->seconds, whole = floor(steps + 0.5);
    return fabs(steps - whole) <= 0.05 && whole < 1e9 ? (size_t)whole : 0;
}

/* True for days without weekends, such as those of stock exchanges: weekends are not gaps. */
static bool are_weekdays(const struct builder *b, const struct gaps *gaps)
{
    for (size_t i = 0; i < b->steps; i++) {
        const int64_t days = (int64_t)floor(gaps->times[i] / DAY) + THURSDAY;
        const int weekday = (int)(((days % WEEK_DAYS) + WEEK_DAYS) % WEEK_DAYS);
        if (weekday == 0 || weekday == WEEK_DAYS - 1)
            return false;
    }
    return gaps->seconds == DAY;
}

static void count_gaps(const struct builder *b, struct gaps *gaps)
{
    for (size_t g = 0; g < b->sequences; g++)
        for (size_t i = b->begin[g] + 1; i < b->begin[g + 1]; i++) {
            const size_t steps = steps_between(gaps, gaps->times[i - 1], gaps->times[i]);

            gaps->irregular += steps == 0;
            gaps->missing += steps > 1 ? steps - 1 : 0;
            gaps->first = gaps->first || steps < 2 ? gaps->first : i;
        }
}

static bool are_numbers(const struct builder *b)
{
    for (int i = 0; i < b->drafts; i++)
        if (!b->draft[i].ignored && i != b->time && i != b->group && b->draft[i].column.type != COLUMN_NUMBERS)
            return false;
    return true;
}

/* Writes one new row: a time, the group of the row before, or a missing value. */
static void put_row(const struct builder *b, const struct draft *draft, char *to, const char *before, double time)
{
    if (draft == &b->draft[b->time])
        memcpy(to, &time, sizeof time);
    else if (has_ids(draft))
        memcpy(to, before, entry_bytes(draft));
    else
        for (int i = 0; i < draft->column.width; i++) ((float *)(void *)to)[i] = NAN;
}

/* Copies a column with the new rows between its old ones. */
static unroll_status fill_column(struct builder *b, struct draft *draft, const struct gaps *gaps)
{
    const size_t each = entry_bytes(draft), all = b->steps + gaps->missing;
    const char *from = draft->array;
    char *made = allocate(all * each), *to = made;
    if (made == NULL)
        return fail(UNROLL_RESOURCE, "no memory to fill %zu steps", gaps->missing);
    for (size_t g = 0; g < b->sequences; g++)
        for (size_t i = b->begin[g]; i < b->begin[g + 1]; i++) {
            const double last = i > b->begin[g] ? gaps->times[i - 1] : 0, distance = gaps->times[i] - last;
            const size_t steps = i > b->begin[g] ? steps_between(gaps, last, gaps->times[i]) : 1;

            for (size_t k = 1; k < steps; k++, to += each)
                put_row(b, draft, to, to - each, last + distance * (double)k / (double)steps);
            memcpy(to, from + i * each, each);
            to += each;
        }
    draft->filled = draft->room = draft->entries = all;
    if (draft->column.type == COLUMN_NUMBERS)
        draft->column.missing += gaps->missing * (size_t)draft->column.width;
    draft->array = made;
    return UNROLL_OK;
}

static void move_sequences(struct builder *b, const struct gaps *gaps)
{
    size_t added = 0;
    for (size_t g = 0, at = 0; g < b->sequences; g++) {
        const size_t from = at, to = b->begin[g + 1];

        for (size_t i = from + 1; i < to; i++) {
            const size_t steps = steps_between(gaps, gaps->times[i - 1], gaps->times[i]);
            added += steps > 1 ? steps - 1 : 0;
        }
        at = to;
        b->begin[g + 1] += added;
    }
    b->steps += gaps->missing;
}

/* Fills the gaps of all columns and adds a note. */
static unroll_status fill_gaps(struct builder *b, const struct gaps *gaps)
{
    char text[TIME_TEXT];
    unroll_status status = UNROLL_OK;
    void **before;
    TRY(ALLOCATE(before, (size_t)b->drafts, "to fill %zu steps", gaps->missing));
    for (int i = 0; i < b->drafts && status == UNROLL_OK; i++)
        if (!b->draft[i].ignored) {
            void *array = b->draft[i].array;
            status = fill_column(b, &b->draft[i], gaps);
            before[i] = status == UNROLL_OK ? array : NULL;
        }
    if (status == UNROLL_OK) {
        status = builder_note(
            b,
            "%zu of %zu steps are missing, the first after %s: they are added with missing values; `gaps` keep joins "
            "the rows on both sides",
            gaps->missing, b->steps + gaps->missing,
            time_text(gaps->times[gaps->first - 1], &b->draft[b->time].column.style, text));
        move_sequences(b, gaps);
    }
    for (int i = 0; i < b->drafts; i++) release(before[i]);
    release(before);
    return status;
}

/* Fills the gaps if the option says so, or if the times are regular and the columns are numbers. */
unroll_status builder_fill_gaps(struct builder *b)
{
    struct gaps gaps = {0};
    if (b->time < 0 || b->options->gaps == GAPS_KEEP || b->steps < 3)
        return UNROLL_OK;
    gaps.times = b->draft[b->time].array;
    find_distance(b, &gaps);
    if (!(gaps.seconds > 0) || are_weekdays(b, &gaps))
        return UNROLL_OK;
    count_gaps(b, &gaps);
    const bool told = b->options->gaps == GAPS_FILL;
    const bool regular = gaps.irregular <= b->steps / FEW && gaps.missing <= b->steps / 2;
    if (gaps.missing == 0 || !(told || (regular && are_numbers(b))))
        return UNROLL_OK;
    if (b->cached)
        return builder_note(
            b,
            "%zu steps are missing between the times; parsed data in a file are not filled; UNROLL_CACHE=off reads "
            "them into memory",
            gaps.missing);
    return fill_gaps(b, &gaps);
}

/* Sorts the steps of a table by groups and times. Groups keep the order of their first rows; two rows of a group must
 * not have the same time. A table that is already in order, as most are, is not moved. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/builder/table_cell.h"
#include "data/builder/draft.h"

enum { NAME_SHOWN = 120 };

static int32_t group_of(const struct builder *b, size_t row)
{
    return b->group < 0 ? 0 : column_id(&b->draft[b->group].column, row);
}

static const double *times_of(const struct builder *b) { return b->time >= 0 ? b->draft[b->time].array : NULL; }

/* Chooses the first column of times, if each row has one. */
static unroll_status choose_time(struct builder *b)
{
    const int order = b->options->order;
    if (order == ORDER_FILE && b->time >= 0 && b->schema == NULL)
        return fail(UNROLL_USAGE, "`order` file and `time` %s: both set the order of the rows; fix: give one of them",
                    b->options->time);
    for (int i = 0; i < b->drafts && b->time < 0 && b->schema == NULL && order != ORDER_FILE; i++) {
        const struct draft *draft = &b->draft[i];
        const double *times = draft->array;
        size_t row = 0;
        if (draft->ignored || draft->column.type != COLUMN_TIME)
            continue;
        while (row < b->steps && !isnan(times[row])) row++;
        if (row == b->steps)
            b->time = i;
        else
            TRY(builder_note(b, "the rows are not in the order of '%s': row %zu has no time", draft->column.name,
                             row + 1));
    }
    return order != ORDER_TIME || b->time >= 0
               ? UNROLL_OK
               : fail(UNROLL_DATA,
                      "'%.*s' has no column with a time in each row; fix: use `time` NAME, or `order` file", NAME_SHOWN,
                      b->name);
}

static unroll_status check_rows(struct builder *b)
{
    const double *times = times_of(b);
    for (size_t row = 0; row < b->steps; row++) {
        bool no_group = group_of(b, row) < 0, no_time = times && isnan(times[row]);
        if (no_group || no_time)
            return fail(UNROLL_DATA, "'%.*s', row %zu has no %s in '%s'; fix: give it, or remove the row", NAME_SHOWN,
                        b->name, row + 1, no_group ? "group" : "time",
                        b->draft[no_group ? b->group : b->time].column.name);
    }
    return UNROLL_OK;
}

/* Sets begin to the beginnings of the groups; groups of the schema without a row are empty. */
static void count_groups(struct builder *b, size_t groups)
{
    for (size_t row = 0; row < b->steps; row++) b->begin[group_of(b, row) + 1]++;
    for (size_t g = 0; g < groups; g++) b->begin[g + 1] += b->begin[g];
    b->sequences = groups;
}

/* The times for qsort; each thread sorts with its own. */
static _Thread_local const double *sorted_times;

static int compare_rows(const void *left, const void *right)
{
    size_t a = *(const size_t *)left, b = *(const size_t *)right;
    if (sorted_times[a] != sorted_times[b])
        return sorted_times[a] < sorted_times[b] ? -1 : 1;
    return (a > b) - (a < b);
}

/* Sets order[i] to the row that becomes the i-th. *moved: some rows change their place. */
static void find_order(struct builder *b, size_t *order, size_t *next, bool *moved, bool *sorted)
{
    const double *times = times_of(b);
    memcpy(next, b->begin, b->sequences * sizeof *next);
    for (size_t row = 0; row < b->steps; row++) order[next[group_of(b, row)]++] = row;
    *sorted = false;
    for (size_t g = 0; times && g < b->sequences; g++) {
        size_t from = b->begin[g], to = b->begin[g + 1];
        bool rising = true;
        for (size_t i = from + 1; i < to && rising; i++) rising = times[order[i - 1]] <= times[order[i]];
        *sorted = *sorted || !rising;
        sorted_times = times;
        if (!rising)
            qsort(order + from, to - from, sizeof *order, compare_rows);
    }
    *moved = false;
    for (size_t i = 0; i < b->steps && !*moved; i++) *moved = order[i] != i;
}

/* Returns a column that may distinguish the series of a table: by its name, or the first category. */
static const char *likely_group(const struct builder *b)
{
    if (columns_series(b))
        return columns_series(b);
    for (int i = 0; i < b->drafts; i++)
        if (!b->draft[i].ignored && b->draft[i].column.type == COLUMN_CATEGORY)
            return b->draft[i].column.name;
    return "COLUMN";
}

static unroll_status refuse_same_times(struct builder *b, const size_t *order)
{
    const double *times = times_of(b);
    char text[TIME_TEXT];
    for (size_t g = 0; times && g < b->sequences; g++)
        for (size_t i = b->begin[g] + 1; i < b->begin[g + 1]; i++)
            if (times[order[i]] == times[order[i - 1]])
                return fail(
                    UNROLL_DATA,
                    "'%.*s', rows %zu and %zu have the same time, %s, in '%s'; fix: remove one, or name the column "
                    "that separates the series with `group` %s, or leave the times out with `columns` %s=ignore",
                    NAME_SHOWN, b->name, order[i - 1] + 1, order[i] + 1,
                    time_text(times[order[i]], &b->draft[b->time].column.style, text), b->draft[b->time].column.name,
                    likely_group(b), b->draft[b->time].column.name);
    return UNROLL_OK;
}

static unroll_status move(struct builder *b, struct draft *draft, const size_t *order)
{
    const size_t bytes = entry_bytes(draft);
    char *copy = allocate(b->steps * bytes), *to = draft->array;
    if (copy == NULL)
        return fail(UNROLL_RESOURCE, "no memory to sort %zu rows", b->steps);
    memcpy(copy, draft->array, b->steps * bytes);
    for (size_t i = 0; i < b->steps; i++) memcpy(to + i * bytes, copy + order[i] * bytes, bytes);
    release(copy);
    return UNROLL_OK;
}

static unroll_status put_rows(struct builder *b, size_t *order, size_t *next)
{
    bool moved, sorted;
    find_order(b, order, next, &moved, &sorted);
    TRY(refuse_same_times(b, order));
    for (int i = 0; moved && i < b->drafts; i++)
        if (!b->draft[i].ignored)
            TRY(move(b, &b->draft[i], order));
    if (sorted)
        TRY(builder_note(b, "the rows were sorted by '%s'", b->draft[b->time].column.name));
    return UNROLL_OK;
}

/* Chooses the time, checks the rows and moves them into the order of groups and times. */
unroll_status builder_put_in_order(struct builder *b)
{
    size_t groups = b->group >= 0 ? (size_t)b->draft[b->group].column.vocabulary_size : 1, *order, *next;
    if (b->group >= 0)
        b->draft[b->group].column.ids = b->draft[b->group].array;
    TRY(choose_time(b));
    TRY(check_rows(b));
    count_groups(b, groups);
    if (b->group < 0 && b->time < 0)
        return UNROLL_OK;
    TRY(ALLOCATE(order, b->steps, "to sort %zu rows", b->steps));
    unroll_status status = ALLOCATE(next, groups, "for %zu groups", groups);
    if (status == UNROLL_OK) {
        status = put_rows(b, order, next);
        release(next);
    }
    release(order);
    return status == UNROLL_OK ? builder_fill_gaps(b) : status;
}

/* Implements the public builder with the internal one; checks for errors of the caller first. */
#include "base/memory.h"
#include "base/sized.h"
#include "data/own_data.h"

#include <string.h>

#include "data/builder/draft.h"

/* ---- rows ---- */

/* Checks a column; a run may only use columns that it has declared. */
static unroll_status check_column(const struct builder *b, int column)
{
    if (column >= 0 && column < b->next_column)
        return UNROLL_OK;
    return fail(UNROLL_USAGE, "there is no column %d; fix: one that unroll_builder_column gave in this run", column);
}

unroll_status unroll_builder_column(unroll_builder *builder, const char *name, unroll_column_kind kind, int of_example,
                                    int width, int *column)
{
    struct builder *b = (struct builder *)builder;
    if ((int)kind < 0 || kind > UNROLL_COLUMN_NUMBERS)
        return fail(UNROLL_USAGE, "%d is not an unroll_column_kind; fix: use one of the enum", (int)kind);
    if (name == NULL || *name == 0 || strlen(name) >= COLUMN_NAME)
        return fail(UNROLL_USAGE, "a column needs a name of 1 to %d bytes; fix: give one", COLUMN_NAME - 1);
    if (kind == UNROLL_COLUMN_NUMBERS && (width < 1 || width > 1 << 20))
        return fail(UNROLL_USAGE, "the column '%s' of numbers has the width %d; fix: choose a value from 1 to %d", name,
                    width, 1 << 20);
    if (b->next_column < b->drafts &&
        (strcmp(b->draft[b->next_column].column.name, name) || b->draft[b->next_column].told != (enum cell)kind))
        return fail(UNROLL_USAGE, "the column '%s' differs from the first run; fix: pass the same columns in each run",
                    name);
    if (b->rows)
        return fail(UNROLL_USAGE, "the column '%s' comes after the first row; fix: name all columns first", name);
    return builder_column(b, name, (enum cell)kind, of_example != 0 || kind == UNROLL_COLUMN_TEXT,
                          kind == UNROLL_COLUMN_NUMBERS ? width : 1, column);
}

unroll_status unroll_builder_text(unroll_builder *builder, int column, const char *bytes, size_t length)
{
    struct builder *b = (struct builder *)builder;
    TRY(check_column(b, column));
    if (b->draft[column].told == CELL_NUMBERS)
        return fail(UNROLL_USAGE, "'%s' has numbers; fix: unroll_builder_numbers", b->draft[column].column.name);
    return builder_text(b, column, bytes, length);
}

unroll_status unroll_builder_numbers(unroll_builder *builder, int column, const float *numbers, size_t entries)
{
    struct builder *b = (struct builder *)builder;
    TRY(check_column(b, column));
    if (b->draft[column].told != CELL_NUMBERS)
        return fail(UNROLL_USAGE, "'%s' has no numbers; fix: unroll_builder_text", b->draft[column].column.name);
    return builder_numbers(b, column, numbers, entries);
}

unroll_status unroll_builder_end_row(unroll_builder *builder) { return builder_end_row((struct builder *)builder); }

unroll_status unroll_builder_end_sequence(unroll_builder *builder)
{
    struct builder *b = (struct builder *)builder;
    if (b->layout != ROWS_ARE_STEPS)
        return fail(UNROLL_USAGE, "each row is an example; fix: leave unroll_builder_end_sequence out");
    return builder_end_sequence(b);
}

/* ---- arrays ---- */

unroll_status own_arrays_take(const unroll_column *given, int count, unroll_column **arrays)
{
    unroll_column *taken;
    if (count < 1)
        return fail(UNROLL_USAGE, "there are %d arrays; fix: give at least one", count);
    TRY(ALLOCATE(taken, (size_t)count, "for %d arrays", count));
    unroll_status status =
        sized_take_all(SIZED(unroll_column, "{ .size = sizeof(unroll_column) }"), given, count, taken);
    if (status == UNROLL_OK)
        *arrays = taken;
    else
        release(taken);
    return status;
}

/* Checks the sizes, lengths and kinds of the arrays. */
unroll_status own_arrays_check(const struct own_arrays *own)
{
    if (own->count < 1 || own->examples < 1)
        return fail(UNROLL_USAGE, "there are %d arrays of %lld examples; fix: give at least one of each", own->count,
                    (long long)own->examples);
    for (int64_t i = 0; own->lengths && i < own->examples; i++)
        if (own->lengths[i] < 0)
            return fail(UNROLL_USAGE, "the length of example %lld is %lld; fix: use 0 or more", (long long)i,
                        (long long)own->lengths[i]);
    for (int i = 0; i < own->count; i++) {
        const unroll_column *array = &own->array[i];
        if ((array->numbers == NULL) == (array->strings == NULL))
            return fail(UNROLL_USAGE, "the array '%.63s' needs numbers or strings; fix: give one of the two",
                        array->name ? array->name : "");
        if ((array->kind == UNROLL_COLUMN_NUMBERS) != (array->numbers != NULL))
            return fail(UNROLL_USAGE, "the array '%.63s' has %s, but another `kind`; fix: set `kind` to match",
                        array->name ? array->name : "", array->numbers ? "numbers" : "strings");
    }
    return UNROLL_OK;
}

/* True if an example has one entry: a text has one string; other columns of steps have one entry per step. */
static bool is_single(const struct own_arrays *own, const unroll_column *array)
{
    return own->lengths == NULL || array->of_example || array->kind == UNROLL_COLUMN_TEXT ||
           array->kind == UNROLL_COLUMN_TOKENS;
}

static unroll_status hand_entries(struct builder *b, const unroll_column *array, int column, int64_t first,
                                  int64_t count)
{
    unroll_builder *builder = (unroll_builder *)b;
    if (array->numbers)
        return count ? unroll_builder_numbers(builder, column, array->numbers + first * array->width, (size_t)count)
                     : UNROLL_OK;
    for (int64_t i = first; i < first + count; i++)
        if (array->strings[i])
            TRY(unroll_builder_text(builder, column, array->strings[i], strlen(array->strings[i])));
        else if (count > 1)
            TRY(unroll_builder_text(builder, column, "", 0));
    return UNROLL_OK;
}

/* Passes all arrays to the builder, example by example. */
unroll_status own_arrays_hand(void *arg, struct builder *b)
{
    const struct own_arrays *own = arg;
    int64_t step = 0;
    int column;
    for (int i = 0; i < own->count; i++) {
        const unroll_column *array = &own->array[i];
        TRY(unroll_builder_column((unroll_builder *)b, array->name, array->kind, array->of_example, array->width,
                                  &column));
    }
    for (int64_t example = 0; example < own->examples; example++) {
        int64_t steps = own->lengths ? own->lengths[example] : 1;
        for (int i = 0; i < own->count; i++) {
            bool single = is_single(own, &own->array[i]);
            TRY(hand_entries(b, &own->array[i], i, single ? example : step, single ? 1 : steps));
        }
        TRY(builder_end_row(b));
        step += steps;
    }
    return UNROLL_OK;
}

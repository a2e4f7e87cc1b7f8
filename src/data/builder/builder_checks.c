/* Checks data after all of them are read: whether they have steps and values, and whether floats can represent them. */
#include <math.h>
#include <string.h>

#include "data/builder/draft.h"

enum { NAME_SHOWN = 120, STEPS_TOLD_APART = 2000 };

/* Adds a note if a float distinguishes only a few of the values, because they differ little. */
static unroll_status note_digits(struct builder *b, const struct draft *draft)
{
    const float largest = fmaxf(fabsf(draft->least), fabsf(draft->most));
    const double step = (double)(nextafterf(largest, INFINITY) - largest),
                 range = (double)draft->most - (double)draft->least;
    static const int noted = 20; /* notes for the first columns are enough */
    const bool lost = range == 0 && draft->survey.min < draft->survey.max;
    if (!(range > 0 || lost) || range >= STEPS_TOLD_APART * step || b->rounded++ >= noted)
        return UNROLL_OK;
    return builder_note(
        b,
        "the values of '%s', about %.9g, are rounded to steps of %g, a large part of their range; subtract %.9g from "
        "all of them",
        draft->column.name, (double)draft->least, step, (double)draft->least);
}

/* True if the column has a value in any step. */
static bool has_content(const struct draft *draft)
{
    return draft->column.type != COLUMN_NUMBERS || draft->least <= draft->most;
}

/* Checks that the columns of steps have values; adds notes for those without any. */
static unroll_status check_values(struct builder *b)
{
    const char *first = NULL;
    int with = 0, empty = 0;
    for (int i = 0; i < b->drafts; i++) {
        const struct draft *draft = &b->draft[i];
        if (draft->ignored || draft->column.type == COLUMN_TIME || i == b->group)
            continue;
        if (draft->column.type == COLUMN_NUMBERS && draft->column.width > 0)
            TRY(note_digits(b, draft));
        if (draft->column.of_sequence && b->layout != ROWS_ARE_STEPS)
            continue;
        with += has_content(draft);
        empty += !has_content(draft);
        first = has_content(draft) ? first : draft->column.name;
    }
    if (empty && with == 0)
        return fail(UNROLL_DATA, "'%.*s' has no number in '%s': all are missing; fix: give data with values",
                    NAME_SHOWN, b->name, first);
    return empty ? builder_note(b, "the column '%s' has no number: all are missing", first) : UNROLL_OK;
}

static bool is_missing_entry(const struct draft *draft, size_t entry)
{
    if (draft->column.type == COLUMN_SET)
        return draft->column.width && isnan(((const float *)draft->array)[entry * (size_t)draft->column.width]);
    struct column column = draft->column;
    column.ids = draft->array;
    return column_id(&column, entry) < 0;
}

/* Adds a note about examples without a label, which are not used for training. */
static unroll_status note_unlabelled(struct builder *b)
{
    for (int i = 0; i < b->drafts; i++) {
        const struct draft *draft = &b->draft[i];
        size_t missing = 0;
        const bool labels = draft->column.type == COLUMN_CATEGORY || draft->column.type == COLUMN_SET;
        if (draft->ignored || !labels || !draft->column.of_sequence || b->layout == ROWS_ARE_STEPS)
            continue;
        for (size_t entry = 0; entry < draft->filled; entry++) missing += is_missing_entry(draft, entry);
        if (missing)
            TRY(builder_note(b, "'%s' is missing in %zu of %zu rows%s", draft->column.name, missing, draft->filled,
                             draft->column.type == COLUMN_SET ? "; none of the labels is written |" : ""));
    }
    return UNROLL_OK;
}

static unroll_status check_text(struct builder *b)
{
    const struct draft *text = b->draft;
    const bool alone = b->drafts == 1 && text->column.type == COLUMN_TOKENS && text->unknown == VOCABULARY_NONE;
    if (!alone || text->column.vocabulary_size != 1 || b->steps < 2)
        return UNROLL_OK;
    return fail(UNROLL_DATA,
                "'%.*s' is a text of a single symbol, '%.8s': there is nothing to learn; fix: give another text",
                NAME_SHOWN, b->name, text->column.vocabulary[0]);
}

unroll_status builder_check_content(struct builder *b)
{
    if (b->steps == 0)
        return fail(UNROLL_DATA, "'%.*s' has no step: each of its %zu sequences is empty; fix: give data with steps",
                    NAME_SHOWN, b->name, b->sequences);
    TRY(check_text(b));
    TRY(note_unlabelled(b));
    return check_values(b);
}

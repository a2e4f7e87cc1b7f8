/* Columns of steps that are not in the data: the number of remaining steps in the series, and the columns of another
 * table with a row for each value of a key. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "data/builder/draft.h"

enum { NAME_SHOWN = 120, COUNTDOWN_MAX = 1 << 24 };

/* ---- before the last run: the columns ---- */

/* Parses "rul=125". */
static unroll_status read_countdown(const struct builder *b, char name[COLUMN_NAME], int64_t *most)
{
    const char *text = b->options->countdown, *equals = strchr(text, '=');
    const size_t length = equals ? (size_t)(equals - text) : strlen(text);
    *most = COUNTDOWN_MAX;
    snprintf(name, COLUMN_NAME, "%.*s", (int)length, text);
    if (length > 0 && (!equals || number_whole_integer(equals + 1, 1, COUNTDOWN_MAX, most) == NUMBER_OK))
        return UNROLL_OK;
    return fail(UNROLL_USAGE,
                "`countdown` %s: it must be NAME or NAME=N with N from 1 to %d; fix: use `countdown` rul=125", text,
                COUNTDOWN_MAX);
}

static unroll_status add_column(struct builder *b, const char *name, enum cell cell, int joined)
{
    TRY(builder_add_draft(b, name, cell, false, 1));
    struct draft *draft = &b->draft[b->drafts - 1];
    draft->derived = true;
    draft->joined = joined;
    draft->least = draft->most = 0;
    return UNROLL_OK;
}

/* Adds a column of the other table; all its categories are known, whether these data contain them or not. */
static unroll_status add_joined(struct builder *b, int index)
{
    const struct column *c = &b->joined->column[index];
    const bool category = c->type == COLUMN_CATEGORY;
    int32_t id;
    if (strcmp(c->name, b->options->key) == 0)
        return UNROLL_OK;
    if (!category && c->type != COLUMN_NUMBERS)
        return builder_note(b, "the column '%s' of '%s' is left out: it is neither numbers nor categories", c->name,
                            b->joined->name);
    TRY(add_column(b, c->name, category ? CELL_WORD : CELL_NUMBERS, index));
    const struct draft *draft = &b->draft[b->drafts - 1];
    for (int i = 0; category && draft->grows && i < c->vocabulary_size; i++)
        TRY(vocabulary_add(draft->vocabulary, c->vocabulary[i], strlen(c->vocabulary[i]), &id));
    return UNROLL_OK;
}

/* Adds the countdown. Later data may contain the column, such as the truth of series that were cut. */
static unroll_status add_countdown(struct builder *b)
{
    char name[COLUMN_NAME];
    int64_t most;
    TRY(read_countdown(b, name, &most));
    if (b->schema && schema_named(b->schema, name) == NULL)
        return fail(UNROLL_USAGE, "`countdown` %s: the model has no column '%s'; fix: leave it out",
                    b->options->countdown, name);
    for (int i = 0; b->schema && i < b->drafts; i++)
        if (strcmp(b->draft[i].column.name, name) == 0)
            return UNROLL_OK;
    TRY(add_column(b, name, CELL_NUMBERS, -1));
    return builder_note(b, "'%s' counts the remaining steps of each series, which is assumed to be complete", name);
}

unroll_status builder_add_derived(struct builder *b)
{
    if (*b->options->countdown)
        TRY(add_countdown(b));
    for (int i = 0; b->joined && i < b->joined->columns; i++) TRY(add_joined(b, i));
    return UNROLL_OK;
}

unroll_status builder_size_derived(struct builder *b)
{
    for (int i = 0; i < b->drafts; i++) {
        if (!b->draft[i].derived)
            continue;
        if (b->layout != ROWS_ARE_STEPS || b->sequences_ended)
            return fail(
                UNROLL_DATA,
                "'%.*s': `countdown` and `static` are for tables whose rows are steps of series; fix: leave them "
                "out",
                NAME_SHOWN, b->name);
        b->draft[i].entries = b->steps;
    }
    return UNROLL_OK;
}

/* ---- after the last run: their values ---- */

/* Finds the row of the other table for each value of the key in these data: row[id]. */
static unroll_status find_rows(const struct builder *b, const struct column *key, size_t *row)
{
    const struct column *other = dataset_named(b->joined, b->options->key);
    struct vocabulary *rows;
    int32_t id;
    TRY(vocabulary_new(&rows));
    unroll_status status = UNROLL_OK;
    for (size_t i = 0; i < b->joined->steps && status == UNROLL_OK; i++) {
        const int32_t value = column_id(other, i);
        const char *text = value < 0 ? "" : other->vocabulary[value];
        status = vocabulary_add(rows, text, strlen(text), &id);
        if (status == UNROLL_OK && (size_t)id != i)
            status = fail(UNROLL_DATA, "'%s' has two rows for '%s'; fix: keep one", b->joined->name, text);
    }
    for (int i = 0; i < key->vocabulary_size && status == UNROLL_OK; i++) {
        id = vocabulary_find(rows, key->vocabulary[i], strlen(key->vocabulary[i]));
        row[i] = (size_t)id;
        if (id == VOCABULARY_NONE)
            status = fail(UNROLL_DATA, "'%s' has no row for '%s' of '%s'; fix: add it", b->joined->name,
                          key->vocabulary[i], b->options->key);
    }
    vocabulary_free(rows);
    return status;
}

static void put_joined(struct draft *draft, const struct column *from, size_t row, bool missing)
{
    if (from->type == COLUMN_NUMBERS) {
        const float value = missing ? NAN : from->numbers[row];
        draft->column.missing += isnan(value);
        ((float *)draft->array)[draft->filled++] = value;
        return;
    }
    const int32_t id = missing ? VOCABULARY_NONE : column_id(from, row);
    const char *text = id < 0 ? NULL : from->vocabulary[id];
    draft_put_id(draft, text ? vocabulary_find(draft->vocabulary, text, strlen(text)) : VOCABULARY_NONE);
}

/* Fills the columns of the joined table by the row for each value of the key. */
unroll_status builder_fill_joined(struct builder *b)
{
    size_t *row;
    const int32_t at =
        b->joined ? vocabulary_find(b->names, b->options->key, strlen(b->options->key)) : VOCABULARY_NONE;
    if (at == VOCABULARY_NONE)
        return UNROLL_OK;
    struct column key = b->draft[at].column;
    key.ids = b->draft[at].array;
    TRY(ALLOCATE(row, (size_t)key.vocabulary_size + 1, "to join '%s'", b->joined->name));
    const unroll_status status = find_rows(b, &key, row);
    for (int i = 0; i < b->drafts && status == UNROLL_OK; i++) {
        struct draft *draft = &b->draft[i];
        for (size_t step = 0; step < b->steps && draft->derived && draft->joined >= 0 && !draft->ignored; step++) {
            const int32_t id = column_id(&key, step);
            put_joined(draft, &b->joined->column[draft->joined], id < 0 ? 0 : row[id], id < 0);
        }
    }
    release(row);
    return status;
}

static void count_down(const struct builder *b, float *to, int64_t most)
{
    for (size_t s = 0; s < b->sequences; s++)
        for (size_t step = b->begin[s]; step < b->begin[s + 1]; step++) {
            const int64_t left = (int64_t)(b->begin[s + 1] - 1 - step);

            to[step] = (float)(left < most ? left : most);
        }
}

unroll_status builder_fill_countdown(struct builder *b)
{
    char name[COLUMN_NAME];
    int64_t most;
    for (int i = 0; i < b->drafts; i++) {
        struct draft *draft = &b->draft[i];
        if (!draft->derived || draft->joined >= 0 || draft->ignored)
            continue;
        TRY(read_countdown(b, name, &most));
        draft->column.missing = 0;
        count_down(b, draft->array, most);
    }
    return UNROLL_OK;
}

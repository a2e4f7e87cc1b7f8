/* The work between two runs of a reader: the first run yields types and vocabularies, then arrays are allocated, and
 * finally the data set is created. */
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "data/builder/column_names.h"
#include "data/builder/draft.h"

enum { NAME_SHOWN = 120, CATEGORIES_MAX = 1 << 24, WORDS_MAX = 10000 };

/* ---- vocabularies ---- */

/* Checks that each string of the schema's vocabulary is a single token, and that it contains the unknown token if the
 * kind of tokens needs it. */
static unroll_status check_tokens(const struct draft *draft)
{
    const struct schema_column *given = draft->given;
    const struct word_pieces *pieces = &pieces_of_kind[given->kind];
    for (int i = 0; i < given->vocabulary_size; i++) {
        const unsigned char *at = (const unsigned char *)given->vocabulary[i];
        size_t size = strlen(given->vocabulary[i]);
        bool is_unknown = strcmp(given->vocabulary[i], UNKNOWN_WORD) == 0;
        bool whole = pieces->has_unknown || is_unknown || (size && pieces->length(at, at + size) == size);
        if (size == 0 || !whole || !utf8_is_valid(given->vocabulary[i]))
            return fail(
                UNROLL_DATA,
                "token %d, '%.32s', is not one %s: the model does not read text; fix: use another copy of the model", i,
                given->vocabulary[i], pieces->name);
    }
    if (pieces->has_unknown && vocabulary_find(draft->vocabulary, UNKNOWN_WORD, strlen(UNKNOWN_WORD)) < 0)
        return fail(UNROLL_DATA, "the model's vocabulary has no '" UNKNOWN_WORD
                                 "' for unknown words; fix: use another copy of the model");
    return UNROLL_OK;
}

/* True if the vocabulary needs an unknown token. A text that is a whole file has none: each character is a token; later
 * cells may contain others. */
static bool wants_unknown(const struct builder *b, const struct draft *draft)
{
    return pieces_of_kind[draft->column.kind].has_unknown || draft->cell == CELL_TEXT || b->options->vocab > 0;
}

/* Begins the vocabulary of a column: a copy of the schema's, or an empty one that grows. */
unroll_status draft_begin_vocabulary(struct builder *b, struct draft *draft)
{
    const struct schema_column *given = draft->given;
    bool tokens = draft->column.type == COLUMN_TOKENS;
    int32_t index;
    vocabulary_free(draft->vocabulary);
    draft->vocabulary = NULL;
    draft->unknown = VOCABULARY_NONE;
    const bool open = given && draft->column.type == COLUMN_CATEGORY && !given->target && given->vocabulary_size == 0;
    draft->grows = given == NULL || open || strcmp(b->schema->group, draft->column.name) == 0;
    if (!draft->grows)
        TRY(vocabulary_of(given->vocabulary, given->vocabulary_size,
                          tokens ? pieces_of_kind[given->kind].name : "category", &draft->vocabulary));
    else
        TRY(vocabulary_new(&draft->vocabulary));
    if (tokens && given)
        TRY(check_tokens(draft));
    else if (tokens && wants_unknown(b, draft))
        TRY(vocabulary_add(draft->vocabulary, UNKNOWN_WORD, strlen(UNKNOWN_WORD), &index));
    if (tokens)
        draft->unknown = vocabulary_find(draft->vocabulary, UNKNOWN_WORD, strlen(UNKNOWN_WORD));
    return UNROLL_OK;
}

/* Ends a vocabulary: sorts it, except for groups, which keep their order of appearance. */
static unroll_status end_vocabulary(struct builder *b, struct draft *draft)
{
    struct column *column = &draft->column;
    bool tokens = column->type == COLUMN_TOKENS, unknown = tokens && draft->unknown != VOCABULARY_NONE;
    bool limited = tokens && (pieces_of_kind[column->kind].has_unknown || b->options->vocab > 0);
    int32_t max = limited ? b->options->vocab > 0 ? (int32_t)b->options->vocab : WORDS_MAX : CATEGORIES_MAX;
    draft->grows = false;
    if (draft->given == NULL && draft - b->draft != b->group)
        TRY(draft_sort_vocabulary(draft, limited ? BY_FREQUENCY : tokens ? BY_BYTES : BY_VALUE, unknown, max));
    int32_t size = vocabulary_size(draft->vocabulary);
    column->id_bytes = size < UINT8_MAX ? 1 : size < UINT16_MAX ? 2 : 4;
    if (column->type == COLUMN_SET)
        column->width = size;
    return vocabulary_write(draft->vocabulary, column);
}

/* ---- after the first run ---- */

static void list_columns(const struct builder *b, char *text, size_t size)
{
    size_t at = 0;
    *text = 0;
    for (int i = 0; i < b->drafts && at + 1 < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s", i ? ", " : "", b->draft[i].column.name);
}

static int find_draft(const struct builder *b, const char *name)
{
    return vocabulary_find(b->names, name, strlen(name)); /* -1: there is none */
}

static unroll_status find_option(struct builder *b, const char *name, const char *option, int *draft)
{
    char columns[300];
    *draft = *name ? find_draft(b, name) : -1;
    if (*name == 0 || *draft >= 0)
        return UNROLL_OK;
    list_columns(b, columns, sizeof columns);
    return fail(b->schema ? UNROLL_DATA : UNROLL_USAGE,
                "'%.*s' has no column '%s', which `%s` names; fix: its columns are %s", NAME_SHOWN, b->name, name,
                option, columns);
}

static unroll_status check_wishes(struct builder *b)
{
    char name[COLUMN_NAME];
    int draft;
    for (const char *at = b->options->columns; *at; at += strcspn(at, ";"), at += *at == ';') {
        size_t length = strcspn(at, "=;");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        TRY(find_option(b, name, "columns", &draft));
    }
    for (const char *at = b->schema ? "" : b->options->unaligned; *at; at += strcspn(at, ";"), at += *at == ';') {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ";"), at);
        TRY(find_option(b, name, "unaligned", &draft));
    }
    TRY(find_option(b, b->options->key, "key", &draft));
    TRY(find_option(b, b->schema ? b->schema->group : b->group_name, "group", &b->group));
    return find_option(b, b->schema ? b->schema->time : b->options->time, "time", &b->time);
}

/* Checks that the schema's columns exist; targets may be missing in data for prediction. */
static unroll_status check_schema(struct builder *b)
{
    char columns[300];
    for (int i = 0; b->schema && i < b->schema->columns; i++) {
        const struct schema_column *wanted = &b->schema->column[i];
        bool found = find_draft(b, wanted->name) >= 0 || (wanted->target && b->schema->targets_optional);
        if (found)
            continue;
        list_columns(b, columns, sizeof columns);
        return fail(
            UNROLL_DATA,
            "'%.*s' has no column '%s', which the model was trained with; fix: give data with it; these have %s",
            NAME_SHOWN, b->name, wanted->name, columns);
    }
    return UNROLL_OK;
}

/* Concludes the type of a column of cells; *again: its vocabulary needs another run. */
static unroll_status conclude(struct builder *b, struct draft *draft, bool *again)
{
    TRY(columns_conclude(b, draft));
    bool of_cells = draft->column.type == COLUMN_CATEGORY && !draft->survey.many;
    if (draft->ignored || of_cells)
        return UNROLL_OK;
    if (has_vocabulary(draft)) {
        *again = true;
        return draft_begin_vocabulary(b, draft);
    }
    if (draft->is_binary)
        return UNROLL_OK; /* it may become a label */
    vocabulary_free(draft->vocabulary);
    draft->vocabulary = NULL;
    return UNROLL_OK;
}

/* Chooses the meaning of rows for a table without texts and arrays; rows with a label and no order may be examples. */
static unroll_status choose_rows(struct builder *b)
{
    const struct schema *schema = b->schema;
    const char *label = NULL;
    bool ordered = *b->group_name;
    for (int i = 0; i < b->drafts; i++) {
        const struct draft *draft = &b->draft[i];
        ordered = ordered || (!draft->ignored && draft->column.type == COLUMN_TIME);
        if (!draft->ignored && draft->column.type == COLUMN_CATEGORY && is_label_name(draft->column.name))
            label = draft->column.name;
    }
    const bool examples =
        b->options->layout == LAYOUT_EXAMPLES || (b->options->layout == LAYOUT_FOUND && b->of_examples);
    b->single_steps = schema ? !schema->rows_are_steps : examples;
    if (schema || b->options->layout || b->single_steps || ordered || label == NULL)
        return UNROLL_OK;
    return builder_note(
        b,
        "the rows are read as the steps of one series; `layout` examples reads each row as an example, with '%s' as "
        "its label",
        label);
}

static unroll_status choose_layout(struct builder *b)
{
    bool examples = false;
    for (int i = 0; i < b->drafts; i++) {
        const struct draft *draft = &b->draft[i];
        bool steps = draft->cell != CELL_TEXT && !draft->column.of_sequence && !draft->derived;
        examples = examples || (!draft->ignored && (steps || draft->column.type == COLUMN_TOKENS));
    }
    b->open = false;
    if (!examples)
        TRY(choose_rows(b));
    b->layout = examples || b->single_steps ? ROWS_ARE_EXAMPLES : ROWS_ARE_STEPS;
    if (b->layout == ROWS_ARE_STEPS)
        b->sequences = 0;
    if (!examples)
        b->steps = b->rows;
    return UNROLL_OK;
}

/* Gives cells of any type one entry per row, except for texts. */
static void place_entries(struct builder *b)
{
    for (int i = 0; i < b->drafts; i++) {
        struct draft *draft = &b->draft[i];
        const bool of_step = b->single_steps && draft->column.type == COLUMN_NUMBERS;
        if (draft->cell == CELL_TEXT || b->layout == ROWS_ARE_STEPS)
            draft->column.of_sequence = b->layout != ROWS_ARE_STEPS && draft->column.type != COLUMN_TOKENS && !of_step;
    }
}

/* Checks that each unaligned column has a list of entries in each row. */
static unroll_status check_unaligned(const struct builder *b)
{
    for (int i = 0; i < b->drafts; i++) {
        const struct draft *draft = &b->draft[i];
        if (!draft->unaligned || draft->ignored)
            continue;
        if (b->layout == ROWS_ARE_STEPS)
            return fail(UNROLL_DATA,
                        "`unaligned`: the rows of '%.*s' are steps, and '%s' has one entry in each; fix: leave it out",
                        NAME_SHOWN, b->name, draft->column.name);
        if (draft->column.of_sequence)
            return fail(UNROLL_DATA,
                        "`unaligned`: '%s' has one value in each row of '%.*s'; fix: give it a list or a text in each "
                        "row (`columns` %s=text), or leave it out",
                        draft->column.name, NAME_SHOWN, b->name, draft->column.name);
    }
    return UNROLL_OK;
}

/* Ends the first run: concludes the types of all columns and the layout. */
static unroll_status end_finding(struct builder *b, bool *again)
{
    *again = false;
    if (b->rows == 0)
        return fail(UNROLL_DATA, "'%.*s' has no rows; fix: give data with at least one", NAME_SHOWN, b->name);
    TRY(builder_add_derived(b));
    TRY(check_wishes(b));
    TRY(check_schema(b));
    for (int i = 0; i < b->drafts; i++) b->draft[i].grows = false;
    TRY(columns_choose_decimal(b));
    for (int i = 0; i < b->drafts; i++)
        if (b->draft[i].cell == CELL_TEXT && b->draft[i].given == NULL && !b->draft[i].ignored)
            TRY(conclude(b, &b->draft[i], again));
    TRY(columns_note_constant(b));
    TRY(columns_choose_text(b));
    if (b->open)
        TRY(choose_layout(b));
    TRY(columns_choose_label(b));
    place_entries(b);
    TRY(check_unaligned(b));
    TRY(columns_note_left_out(b));
    return b->layout == ROWS_ARE_STEPS ? columns_note_series(b) : UNROLL_OK;
}

/* ---- before the last run ---- */

/* All arrays, their owners and sizes; the first is `begin`. */
struct flat_arrays {
    struct draft **draft; /* [count], NULL for `begin` */
    bool *begins;         /* [count] it is the `begin` of an unaligned column */
    size_t *bytes, all, strings;
    void **array;
    int count;
};

static void release_arrays(struct flat_arrays *a)
{
    release(a->draft);
    release(a->begins);
    release(a->bytes);
    release(a->array);
}

static void list_array(struct flat_arrays *a, struct draft *draft, size_t entries, size_t each)
{
    a->draft[a->count] = draft;
    a->bytes[a->count++] = entries * each;
    a->all += entries * each;
}

static void list_arrays(struct builder *b, struct flat_arrays *a)
{
    size_t sequences = b->sequences;
    if (b->layout == ROWS_ARE_STEPS && !b->sequences_ended)
        sequences = b->group >= 0 ? (size_t)vocabulary_size(b->draft[b->group].vocabulary) : 1;
    list_array(a, NULL, sequences + 1, sizeof *b->begin);
    for (int i = 0; i < b->drafts; i++) {
        struct draft *draft = &b->draft[i];
        if (draft->ignored)
            continue;
        list_array(a, draft, draft->entries, entry_bytes(draft));
        if (draft->unaligned) {
            a->begins[a->count] = true;
            list_array(a, draft, sequences + 1, sizeof *draft->begin);
        }
        for (int v = 0; v < draft->column.vocabulary_size; v++)
            a->strings += 6 * strlen(draft->column.vocabulary[v]) + 8; /* as JSON in JSON */
    }
}

/* Allocates the arrays in memory, or in the cache if they are large. */
static unroll_status allocate_arrays(struct builder *b, struct flat_arrays *a)
{
    b->cached = cache_wants(b->cache, a->all);
    if (b->cached) {
        TRY(cache_begin(b->cache, a->bytes, a->count, 2 * a->strings, a->array));
        TRY(builder_note(
            b,
            "the data are large: they are stored, parsed, in '%.300s' (%zu MB) to save memory; UNROLL_CACHE in the "
            "environment sets another folder",
            cache_path(b->cache), a->all >> 20));
    }
    for (int i = 0; i < a->count; i++) {
        struct draft *draft = a->draft[i];
        const bool kept = b->filled && draft && draft->keeps && !a->begins[i];
        if (!b->cached && kept && draft->kept_as != KEPT_IDS)
            a->array[i] = draft->kept, draft->kept = NULL;
        else if (!b->cached && (a->array[i] = allocate_zeroed(a->bytes[i], 1)) == NULL)
            return fail(UNROLL_RESOURCE, "no memory for the %zu bytes of '%.*s'", a->all, NAME_SHOWN, b->name);
        if (a->begins[i])
            draft->begin = a->array[i];
        else if (draft) {
            draft->array = a->array[i];
            draft->room = draft->entries;
            draft->filled = kept && draft->kept_as != KEPT_IDS ? draft->entries : 0;
            for (const int32_t *id = draft->kept; kept && draft->filled < draft->entries;)
                draft_put_id(draft, id[draft->filled]);
            if (kept && draft->kept && draft->kept_as != KEPT_IDS)
                memcpy(draft->array, draft->kept, a->bytes[i]);
        } else {
            b->begin = a->array[i];
            b->sequences_room = a->bytes[i] / sizeof *b->begin - 1;
        }
    }
    return UNROLL_OK;
}

/* Ends the vocabularies and allocates the arrays for the last run. */
static unroll_status begin_filling(struct builder *b)
{
    struct flat_arrays a = {0};
    int columns = 0;
    TRY(builder_size_derived(b));
    for (int i = 0; i < b->drafts; i++) {
        columns += !b->draft[i].ignored;
        if (!b->draft[i].ignored && has_vocabulary(&b->draft[i]))
            TRY(end_vocabulary(b, &b->draft[i]));
    }
    if (columns == 0)
        return fail(UNROLL_DATA, "'%.*s' has no column that can be used; fix: see `columns`", NAME_SHOWN, b->name);
    const size_t most = 2 * (size_t)columns + 1;
    a.draft = allocate_zeroed(most, sizeof *a.draft);
    a.begins = allocate_zeroed(most, sizeof *a.begins);
    a.bytes = allocate_zeroed(most, sizeof *a.bytes);
    a.array = allocate_zeroed(most, sizeof *a.array);
    unroll_status status = UNROLL_OK;
    if (!a.draft || !a.begins || !a.bytes || !a.array)
        status = fail(UNROLL_RESOURCE, "no memory for %d columns", columns);
    if (status == UNROLL_OK) {
        list_arrays(b, &a);
        status = allocate_arrays(b, &a);
    }
    release_arrays(&a);
    return status;
}

static unroll_status note_strangers(struct builder *b)
{
    for (int i = 0; i < b->drafts; i++) {
        const struct draft *draft = &b->draft[i];
        if (draft->strangers)
            TRY(builder_note(b,
                             "%zu values of '%s' are unknown to the model and count as missing: the first is '%s' in "
                             "row %zu",
                             draft->strangers, draft->column.name, draft->stranger.text, draft->stranger.row));
    }
    return UNROLL_OK;
}

static unroll_status check_filled(struct builder *b)
{
    for (int i = 0; i < b->drafts; i++)
        if (!b->draft[i].ignored && b->draft[i].filled != b->draft[i].room && !b->draft[i].derived)
            return fail(UNROLL_DATA, "'%.*s' became shorter while it was read; fix: read it again", NAME_SHOWN,
                        b->name);
    return UNROLL_OK;
}

static unroll_status end_filling(struct builder *b)
{
    TRY(builder_fill_joined(b));
    TRY(check_filled(b));
    TRY(note_strangers(b));
    if (b->schema == NULL)
        TRY(builder_check_content(b));
    if (b->layout != ROWS_ARE_STEPS || b->sequences_ended)
        return UNROLL_OK;
    TRY(builder_put_in_order(b));
    return builder_fill_countdown(b);
}

/* Ends a run; *again: the reader must run again. */
unroll_status builder_end_run(struct builder *b, bool *again)
{
    bool count = false;
    *again = b->run != RUN_FILL;
    if (b->run == RUN_FILL)
        return end_filling(b);
    if (b->run == RUN_FIND) {
        TRY(end_finding(b, &count));
        builder_choose_kept(b);
    }
    b->run = count ? RUN_COUNT : RUN_FILL;
    if (count)
        return UNROLL_OK;
    TRY(begin_filling(b));
    *again = !b->filled;
    return b->filled ? end_filling(b) : UNROLL_OK;
}

/* ---- the data set ---- */

static void give_array(struct draft *draft)
{
    struct column *column = &draft->column;
    if (column->type == COLUMN_TIME)
        column->times = draft->array;
    else if (has_ids(draft))
        column->ids = draft->array;
    else
        column->numbers = draft->array;
    column->begin = draft->begin;
    draft->array = NULL, draft->begin = NULL;
}

/* Moves the columns to the data set, in the order of the schema or the file. turn[i]: the draft of the schema's column
 * i, from 1 on; 0: none. */
static void give_columns(struct builder *b, int turn[], unroll_dataset *made)
{
    const int turns = b->schema ? b->schema->columns : b->drafts;
    for (int i = 0; b->schema && i < b->drafts; i++)
        if (b->draft[i].given)
            turn[b->draft[i].given - b->schema->column] = i + 1;
    for (int t = 0; t < turns; t++) {
        const int i = b->schema ? turn[t] - 1 : t;
        if (i < 0 || b->draft[i].ignored)
            continue;
        give_array(&b->draft[i]);
        made->group = i == b->group ? made->columns : made->group;
        made->time = i == b->time ? made->columns : made->time;
        made->column[made->columns++] = b->draft[i].column;
        b->draft[i].column = (struct column){0};
    }
    for (int i = 0; i < b->drafts; i++) {
        if (!b->draft[i].column.kept || b->draft[i].given || b->draft[i].ignored)
            continue;
        give_array(&b->draft[i]);
        made->column[made->columns++] = b->draft[i].column;
        b->draft[i].column = (struct column){0};
    }
}

/* Checks that the data have the columns to keep, and that these are not texts. */
static unroll_status check_kept(const struct builder *b)
{
    const struct builder_options *o = b->options;
    for (const char *list = o->keep, *at = list; list; list = list == o->keep ? o->label : NULL, at = list)
        for (size_t length; at && *at; at += length, at += *at == ';') {
            bool found = false;
            length = strcspn(at, ";");
            for (int i = 0; i < b->drafts; i++) {
                const struct column *column = &b->draft[i].column;
                const bool is_it = strlen(column->name) == length && !memcmp(column->name, at, length);
                if (is_it && column->type == COLUMN_TOKENS)
                    return fail(
                        UNROLL_DATA,
                        "column '%s' of '%.*s' is a text that was cut into tokens; fix: name a column of ids with `keep`",
                        column->name, NAME_SHOWN, b->name);
                found |= is_it;
            }
            if (!found)
                return fail(UNROLL_DATA, "'%.*s' has no column '%.*s'; fix: name one of its columns (`%s`)", NAME_SHOWN,
                            b->name, (int)length, at, list == o->keep ? "keep" : "label");
        }
    return UNROLL_OK;
}

/* Creates the data set and moves everything from the builder to it. */
unroll_status builder_take(struct builder *b, unroll_dataset **dataset)
{
    TRY(check_kept(b));
    unroll_dataset *made;
    int *turn = NULL;
    TRY(ALLOCATE(made, 1, "for a data set"));
    unroll_status status = ALLOCATE(turn, (size_t)(b->schema ? b->schema->columns : 1), "for a data set");
    if (status == UNROLL_OK)
        status = ALLOCATE(made->column, (size_t)b->drafts, "for a data set");
    if (status == UNROLL_OK && b->notes == NULL)
        status = ALLOCATE(b->notes, 1, "for a data set");
    if (status != UNROLL_OK) {
        release(turn);
        release(made->column);
        release(made);
        return status;
    }
    snprintf(made->name, sizeof made->name, "%s", b->name);
    memcpy(made->read_as, b->read_as, sizeof made->read_as);
    made->group = made->time = -1;
    give_columns(b, turn, made);
    release(turn);
    made->begin = b->begin, b->begin = NULL;
    made->notes = b->notes, b->notes = NULL;
    made->sequences = b->sequences;
    made->steps = b->steps;
    made->rows_are_steps = b->layout == ROWS_ARE_STEPS && !b->sequences_ended;
    if (b->cached)
        cache_give(b->cache, made);
    *dataset = made;
    return UNROLL_OK;
}

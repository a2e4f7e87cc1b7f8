/* Between two runs of a reader: what the first has found becomes types and vocabularies, then there are arrays to fill,
 * and in the end a data set. */
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "data/column_names.h"
#include "data/draft.h"

enum { NAME_SHOWN = 120, CATEGORIES_MAX = 1 << 24, WORDS_MAX = 10000 };

/* ---- vocabularies ---- */

/* Each of a schema's tokens must be one, and the unknown one be there if their kind needs it. */
static unroll_status check_tokens(const struct draft *draft)
{
    const struct schema_column *given = draft->given;
    const struct pieces *pieces = &pieces_of_kind[given->kind];
    for (int i = 0; i < given->vocabulary_size; i++) {
        const unsigned char *at = (const unsigned char *)given->vocabulary[i];
        size_t size = strlen(given->vocabulary[i]);
        bool is_unknown = strcmp(given->vocabulary[i], UNKNOWN_WORD) == 0;
        bool whole = pieces->has_unknown || is_unknown || (size && pieces->length(at, at + size) == size);
        if (size == 0 || !whole || !utf8_is_valid(given->vocabulary[i]))
            return fail(
                UNROLL_DATA,
                "token %d, '%.32s', is not one %s: the model does not read text; fix: take another copy of the model",
                i, given->vocabulary[i], pieces->name);
    }
    if (pieces->has_unknown && vocabulary_find(draft->vocabulary, UNKNOWN_WORD, strlen(UNKNOWN_WORD)) < 0)
        return fail(UNROLL_DATA, "the model's words have no '" UNKNOWN_WORD
                                 "' for those it does not know; fix: take another copy of the model");
    return UNROLL_OK;
}

/* Of a text that is all of a file each character is a token, of cells those that are met later may be others. */
static bool wants_unknown(const struct builder *b, const struct draft *draft)
{
    return pieces_of_kind[draft->column.kind].has_unknown || draft->cell == CELL_TEXT || b->options->vocab > 0;
}

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

/* Groups stay in the order in which they come. */
static unroll_status end_vocabulary(struct builder *b, struct draft *draft)
{
    struct column *column = &draft->column;
    bool tokens = column->type == COLUMN_TOKENS, unknown = tokens && draft->unknown != VOCABULARY_NONE;
    bool limited = tokens && (pieces_of_kind[column->kind].has_unknown || b->options->vocab > 0);
    int32_t max = limited ? b->options->vocab > 0 ? (int32_t)b->options->vocab : WORDS_MAX : CATEGORIES_MAX;
    draft->grows = false;
    if (draft->given == NULL && draft - b->draft != b->group)
        vocabulary_sort(draft->vocabulary, limited ? BY_FREQUENCY : tokens ? BY_BYTES : BY_VALUE, unknown, max);
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
    TRY(find_option(b, b->schema ? b->schema->group : b->group_name, "group", &b->group));
    return find_option(b, b->schema ? b->schema->time : b->options->time, "time", &b->time);
}

/* A target may be missing from what is predicted. */
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

/* Of one column of cells; *again: its vocabulary takes another run. */
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

/* Of a table without texts and arrays. Rows that have a label and no order may be examples. */
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
    b->single_steps = schema ? !schema->rows_are_steps : b->options->layout == LAYOUT_EXAMPLES;
    if (schema || b->options->layout || ordered || label == NULL)
        return UNROLL_OK;
    return builder_note(
        b,
        "the rows are read as the steps of one series; `layout` examples reads each as an example of its "
        "own, to be told by its '%s'",
        label);
}

static unroll_status choose_layout(struct builder *b)
{
    bool examples = false;
    for (int i = 0; i < b->drafts; i++) {
        const struct draft *draft = &b->draft[i];
        bool steps = draft->cell != CELL_TEXT && !draft->column.of_sequence;
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

/* Cells of anything are one for each row, but for texts. */
static void place_entries(struct builder *b)
{
    for (int i = 0; i < b->drafts; i++) {
        struct draft *draft = &b->draft[i];
        const bool of_step = b->single_steps && draft->column.type == COLUMN_NUMBERS;
        if (draft->cell == CELL_TEXT || b->layout == ROWS_ARE_STEPS)
            draft->column.of_sequence = b->layout != ROWS_ARE_STEPS && draft->column.type != COLUMN_TOKENS && !of_step;
    }
}

static unroll_status end_finding(struct builder *b, bool *again)
{
    *again = false;
    if (b->rows == 0)
        return fail(UNROLL_DATA, "'%.*s' has no rows; fix: give data with at least one", NAME_SHOWN, b->name);
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
    TRY(columns_note_left_out(b));
    return b->layout == ROWS_ARE_STEPS ? columns_note_series(b) : UNROLL_OK;
}

/* ---- before the last run ---- */

static size_t entry_bytes(const struct draft *draft)
{
    return draft->column.type == COLUMN_TIME ? sizeof(double)
           : has_ids(draft)                  ? (size_t)draft->column.id_bytes
                                             : (size_t)draft->column.width * sizeof(float);
}

/* All arrays, where each belongs, and how many bytes it has; the first is `begin`. */
struct arrays {
    struct draft **draft; /* [count], of `begin` NULL */
    size_t *bytes, all, strings;
    void **array;
    int count;
};

static void release_arrays(struct arrays *a)
{
    release(a->draft);
    release(a->bytes);
    release(a->array);
}

static void list_array(struct arrays *a, struct draft *draft, size_t entries, size_t each)
{
    a->draft[a->count] = draft;
    a->bytes[a->count++] = entries * each;
    a->all += entries * each;
}

static void list_arrays(struct builder *b, struct arrays *a)
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
        for (int v = 0; v < draft->column.vocabulary_size; v++)
            a->strings += 6 * strlen(draft->column.vocabulary[v]) + 8; /* as JSON in JSON */
    }
}

static unroll_status allocate_arrays(struct builder *b, struct arrays *a)
{
    b->cached = cache_wants(b->cache, a->all);
    if (b->cached) {
        TRY(cache_begin(b->cache, a->bytes, a->count, 2 * a->strings, a->array));
        TRY(builder_note(b,
                         "the data are large: parsed once, they are kept in '%.300s' (%zu MB), so that they need no "
                         "memory; UNROLL_CACHE in the environment names another folder",
                         cache_path(b->cache), a->all >> 20));
    }
    for (int i = 0; i < a->count; i++) {
        if (!b->cached && (a->array[i] = allocate_zeroed(a->bytes[i], 1)) == NULL)
            return fail(UNROLL_RESOURCE, "no memory for the %zu bytes of '%.*s'", a->all, NAME_SHOWN, b->name);
        if (a->draft[i]) {
            a->draft[i]->array = a->array[i];
            a->draft[i]->room = a->draft[i]->entries;
        } else {
            b->begin = a->array[i];
            b->sequences_room = a->bytes[i] / sizeof *b->begin - 1;
        }
    }
    return UNROLL_OK;
}

static unroll_status begin_filling(struct builder *b)
{
    struct arrays a = {0};
    int columns = 0;
    for (int i = 0; i < b->drafts; i++) {
        columns += !b->draft[i].ignored;
        if (!b->draft[i].ignored && has_vocabulary(&b->draft[i]))
            TRY(end_vocabulary(b, &b->draft[i]));
    }
    if (columns == 0)
        return fail(UNROLL_DATA, "'%.*s' has no column that can be used; fix: see `columns`", NAME_SHOWN, b->name);
    a.draft = allocate_zeroed((size_t)columns + 1, sizeof *a.draft);
    a.bytes = allocate_zeroed((size_t)columns + 1, sizeof *a.bytes);
    a.array = allocate_zeroed((size_t)columns + 1, sizeof *a.array);
    unroll_status status = UNROLL_OK;
    if (!a.draft || !a.bytes || !a.array)
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
        if (!b->draft[i].ignored && b->draft[i].filled != b->draft[i].room)
            return fail(UNROLL_DATA,
                        "'%.*s' has become shorter while it was read; fix: read it when it does not change", NAME_SHOWN,
                        b->name);
    return UNROLL_OK;
}

unroll_status builder_end_run(struct builder *b, bool *again)
{
    bool count = false;
    *again = b->run != RUN_FILL;
    if (b->run == RUN_FILL) {
        TRY(check_filled(b));
        TRY(note_strangers(b));
        if (b->schema == NULL)
            TRY(builder_check_content(b));
        return b->layout == ROWS_ARE_STEPS && !b->sequences_ended ? builder_put_in_order(b) : UNROLL_OK;
    }
    if (b->run == RUN_FIND)
        TRY(end_finding(b, &count));
    b->run = count ? RUN_COUNT : RUN_FILL;
    return count ? UNROLL_OK : begin_filling(b);
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
    draft->array = NULL;
}

/* In the order of the schema, or of the file. turn[i]: the draft of the schema's column i, from 1 on; 0: none. */
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
}

unroll_status builder_take(struct builder *b, unroll_dataset **dataset)
{
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

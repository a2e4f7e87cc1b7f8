/* The runs of a builder: columns are declared, cells are counted, then arrays of just that size are filled. Texts are
 * cut in tokenize.c. */
#include "data/builder.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "data/draft.h"

enum { PIECE_SHOWN = 40, NAME_SHOWN = 120, VOCABULARY_MAX = 1 << 20 };

/* ---- messages ---- */

static bool is_one_text(const struct builder *b)
{
    return b->drafts == 1 && b->draft->cell == CELL_TOKENS && b->rows == 0;
}

const char *builder_place(struct builder *b)
{
    if (is_one_text(b))
        snprintf(b->place, sizeof b->place, "'%.*s'", NAME_SHOWN, b->name);
    else
        snprintf(b->place, sizeof b->place, "'%.*s', row %zu", NAME_SHOWN, b->name, b->rows + 1);
    return b->place;
}

const char *draft_place(struct builder *b, const struct draft *draft)
{
    builder_place(b);
    if (!is_one_text(b)) {
        size_t length = strlen(b->place);
        snprintf(b->place + length, sizeof b->place - length, ", column '%s'", draft->column.name);
    }
    return b->place;
}

unroll_status builder_note(struct builder *b, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    size_t had = b->notes ? strlen(b->notes) : 0, more = strlen(line);
    if (b->notes && strstr(b->notes, line))
        return UNROLL_OK;
    if (!enlarge(&b->notes, had, had + more + 2))
        return fail(UNROLL_RESOURCE, "no memory for notes about '%.*s'", NAME_SHOWN, b->name);
    memcpy(b->notes + had, line, more);
    memcpy(b->notes + had + more, "\n", 2);
    return UNROLL_OK;
}

bool builder_reads_again(const struct builder *b) { return b->schema != NULL; }

/* ---- columns ---- */

unroll_status builder_columns(struct builder *b, enum layout layout)
{
    b->layout = layout;
    b->next_column = 0;
    b->rows = b->sequences = b->steps = 0;
    b->sequences_ended = false;
    return UNROLL_OK;
}

static const struct schema_column *find_given(const struct builder *b, const char *name, int place)
{
    for (int i = 0; b->schema && i < b->schema->columns; i++) {
        const struct schema_column *column = &b->schema->column[i];
        if (name ? strcmp(column->name, name) == 0 : column->place == place)
            return column;
    }
    return NULL;
}

static enum column_type type_of_cell(enum cell cell)
{
    static const enum column_type types[] = {[CELL_TEXT] = COLUMN_NUMBERS,   [CELL_TOKENS] = COLUMN_TOKENS,
                                             [CELL_LABEL] = COLUMN_CATEGORY, [CELL_WORD] = COLUMN_CATEGORY,
                                             [CELL_SET] = COLUMN_SET,        [CELL_NUMBERS] = COLUMN_NUMBERS};
    return types[cell];
}

static bool has_vocabulary(const struct draft *draft)
{
    return draft->column.type == COLUMN_TOKENS || draft->column.type == COLUMN_CATEGORY ||
           draft->column.type == COLUMN_SET;
}

/* What the schema says of a text's tokens must each be one, and has the unknown one if its kind needs that. */
static unroll_status check_tokens(const struct builder *b, const struct draft *draft)
{
    const struct schema_column *given = draft->given;
    const struct pieces *pieces = &pieces_of_kind[given->kind];
    (void)b;
    for (int i = 0; i < given->vocabulary_size; i++) {
        const unsigned char *at = (const unsigned char *)given->vocabulary[i];
        size_t size = strlen(given->vocabulary[i]);
        bool is_unknown = strcmp(given->vocabulary[i], UNKNOWN_WORD) == 0;
        bool whole = pieces->has_unknown || is_unknown || (size && pieces->length(at, at + size) == size);
        if (size == 0 || !whole || !utf8_is_valid(given->vocabulary[i]))
            return fail(UNROLL_DATA, "token %d, '%.32s', is not one %s: the model does not read text", i,
                        given->vocabulary[i], pieces->name);
    }
    if (pieces->has_unknown && vocabulary_find(draft->vocabulary, UNKNOWN_WORD, strlen(UNKNOWN_WORD)) < 0)
        return fail(UNROLL_DATA, "the model's words have no '" UNKNOWN_WORD "' for those it does not know");
    return UNROLL_OK;
}

static unroll_status begin_vocabulary(struct builder *b, struct draft *draft)
{
    const struct schema_column *given = draft->given;
    bool tokens = draft->column.type == COLUMN_TOKENS;
    int32_t index;
    draft->unknown = VOCABULARY_NONE;
    if (given)
        TRY(vocabulary_of(given->vocabulary, given->vocabulary_size,
                          tokens ? pieces_of_kind[given->kind].name : "category", &draft->vocabulary));
    else
        TRY(vocabulary_new(&draft->vocabulary));
    if (tokens && given)
        TRY(check_tokens(b, draft));
    else if (tokens && pieces_of_kind[draft->column.kind].has_unknown)
        TRY(vocabulary_add(draft->vocabulary, UNKNOWN_WORD, strlen(UNKNOWN_WORD), &index));
    if (tokens)
        draft->unknown = vocabulary_find(draft->vocabulary, UNKNOWN_WORD, strlen(UNKNOWN_WORD));
    return UNROLL_OK;
}

static unroll_status add_draft(struct builder *b, const char *name, enum cell cell, bool of_sequence, int width)
{
    if (b->drafts == b->drafts_room) {
        int room = 2 * b->drafts_room + 8;
        if (!enlarge(&b->draft, (size_t)b->drafts * sizeof *b->draft, (size_t)room * sizeof *b->draft))
            return fail(UNROLL_RESOURCE, "no memory for the columns of '%.*s'", NAME_SHOWN, b->name);
        b->drafts_room = room;
    }
    struct draft *draft = &b->draft[b->drafts++];
    const struct schema_column *given = find_given(b, name, b->drafts - 1);
    *draft = (struct draft){.cell = cell, .given = given};
    struct column *column = &draft->column;
    if (name)
        snprintf(column->name, sizeof column->name, "%s", name);
    else
        snprintf(column->name, sizeof column->name, "c%d", b->drafts);
    column->place = b->drafts - 1;
    column->of_sequence = of_sequence;
    column->width = width;
    column->type = type_of_cell(cell);
    column->kind = given ? given->kind : (unroll_token_kind)b->options->tokens;
    draft->ignored = b->schema && given == NULL;
    return draft->ignored || !has_vocabulary(draft) ? UNROLL_OK : begin_vocabulary(b, draft);
}

unroll_status builder_column(struct builder *b, const char *name, enum cell cell, bool of_sequence, int width,
                             int *column)
{
    if (cell == CELL_TEXT)
        return fail(UNROLL_UNSUPPORTED, "columns of cells of any type are not read");
    if (b->next_column == b->drafts)
        TRY(add_draft(b, name, cell, of_sequence, width));
    struct draft *draft = &b->draft[b->next_column];
    draft->entries = draft->row_entries = 0;
    *column = b->next_column++;
    return UNROLL_OK;
}

/* ---- cells ---- */

void draft_put_id(struct draft *draft, int32_t id)
{
    size_t entry = draft->filled++;
    if (draft->column.id_bytes == 1)
        ((uint8_t *)draft->array)[entry] = (uint8_t)id;
    else if (draft->column.id_bytes == 2)
        ((uint16_t *)draft->array)[entry] = (uint16_t)id;
    else
        ((int32_t *)draft->array)[entry] = id;
}

/* What is kept of the data is kept as strings in UTF-8. */
static unroll_status check_category(struct builder *b, const struct draft *draft, const char *bytes, size_t length)
{
    const unsigned char *at = (const unsigned char *)bytes, *end = at + length;
    int32_t code = 1;
    for (int size; at < end && code; at += size)
        if ((size = utf8_read(at, end, &code)) == 0)
            break;
    if (at == end && code)
        return UNROLL_OK;
    return fail(UNROLL_DATA, "%s is not UTF-8; fix: convert it, for example with 'iconv -f LATIN1 -t UTF-8'",
                draft_place(b, draft));
}

static unroll_status take_category(struct builder *b, struct draft *draft, const char *bytes, size_t length)
{
    int32_t id = VOCABULARY_NONE;
    draft->entries++;
    draft->row_entries++;
    if (b->run != RUN_FILL && (draft->given || length == 0))
        return UNROLL_OK;
    if (b->run != RUN_FILL) {
        TRY(vocabulary_add(draft->vocabulary, bytes, length, &id));
        return id + 1 < vocabulary_size(draft->vocabulary) ? UNROLL_OK : check_category(b, draft, bytes, length);
    }
    id = length ? vocabulary_find(draft->vocabulary, bytes, length) : VOCABULARY_NONE;
    if (id == VOCABULARY_NONE && length && draft->given->target)
        return fail(UNROLL_DATA, "%s: the model knows no '%.*s'; fix: correct it, or train with data that have it",
                    draft_place(b, draft), (int)(length < PIECE_SHOWN ? length : PIECE_SHOWN), bytes);
    draft->unknowns += id == VOCABULARY_NONE && length;
    draft_put_id(draft, id);
    return UNROLL_OK;
}

unroll_status builder_text(struct builder *b, int which, const char *bytes, size_t length)
{
    struct draft *draft = &b->draft[which];
    if (draft->ignored)
        return UNROLL_OK;
    if (draft->column.type == COLUMN_TOKENS)
        return cut_text(b, draft, bytes, length, false);
    return take_category(b, draft, bytes, length);
}

unroll_status builder_numbers(struct builder *b, int which, const float *numbers, size_t entries)
{
    struct draft *draft = &b->draft[which];
    size_t width = (size_t)draft->column.width;
    if (draft->ignored)
        return UNROLL_OK;
    if (b->run == RUN_FILL) {
        memcpy((float *)draft->array + draft->filled * width, numbers, entries * width * sizeof(float));
        draft->filled += entries;
    }
    draft->entries += entries;
    draft->row_entries += entries;
    return UNROLL_OK;
}

/* ---- rows ---- */

static void put_missing(struct builder *b, struct draft *draft)
{
    draft->entries++;
    draft->row_entries++;
    if (b->run != RUN_FILL)
        return;
    if (has_vocabulary(draft) && draft->column.type != COLUMN_SET) {
        draft_put_id(draft, VOCABULARY_NONE);
        return;
    }
    float *to = (float *)draft->array + draft->filled++ * (size_t)draft->column.width;
    for (int i = 0; i < draft->column.width; i++) to[i] = NAN;
}

/* How many steps the row has, by the columns that have some. */
static unroll_status count_steps(struct builder *b, size_t *steps)
{
    const struct draft *first = NULL;
    *steps = b->layout == ROWS_ARE_STEPS;
    for (int i = 0; i < b->drafts && b->layout != ROWS_ARE_STEPS; i++) {
        const struct draft *draft = &b->draft[i];
        if (draft->ignored || draft->column.of_sequence || draft->row_entries == 0)
            continue;
        if (first && draft->row_entries != *steps)
            return fail(UNROLL_DATA, "%s has %zu steps in '%s' and %zu in '%s'; fix: give as many of each",
                        builder_place(b), *steps, first->column.name, draft->row_entries, draft->column.name);
        first = draft;
        *steps = draft->row_entries;
    }
    return UNROLL_OK;
}

static unroll_status end_cells(struct builder *b)
{
    size_t steps;
    for (int i = 0; i < b->drafts; i++)
        if (!b->draft[i].ignored && b->draft[i].column.type == COLUMN_TOKENS)
            TRY(cut_text(b, &b->draft[i], NULL, 0, true));
    TRY(count_steps(b, &steps));
    for (int i = 0; i < b->drafts; i++) {
        struct draft *draft = &b->draft[i];
        size_t wanted = b->layout != ROWS_ARE_STEPS && draft->column.of_sequence ? 1 : steps;
        if (draft->ignored)
            continue;
        while (draft->row_entries < wanted) put_missing(b, draft);
        if (draft->row_entries > wanted)
            return fail(UNROLL_DATA, "%s has %zu entries where %zu should be", draft_place(b, draft),
                        draft->row_entries, wanted);
        draft->row_entries = 0;
    }
    b->steps += steps;
    return UNROLL_OK;
}

static unroll_status end_sequence(struct builder *b)
{
    b->sequences++;
    if (b->run == RUN_FILL)
        b->begin[b->sequences] = b->steps;
    return UNROLL_OK;
}

unroll_status builder_end_row(struct builder *b)
{
    TRY(end_cells(b));
    b->rows++;
    return b->layout == ROWS_ARE_STEPS ? UNROLL_OK : end_sequence(b);
}

unroll_status builder_end_sequence(struct builder *b)
{
    b->sequences_ended = true;
    return end_sequence(b);
}

/* ---- runs ---- */

static unroll_status end_vocabulary(struct builder *b, struct draft *draft)
{
    struct column *column = &draft->column;
    const struct pieces *pieces = &pieces_of_kind[column->kind];
    bool tokens = column->type == COLUMN_TOKENS, limited = tokens && pieces->has_unknown;
    int32_t max = limited && b->options->vocab > 0 ? (int32_t)b->options->vocab : limited ? 10000 : VOCABULARY_MAX;
    if (draft->given == NULL)
        vocabulary_sort(draft->vocabulary,
                        limited  ? BY_FREQUENCY
                        : tokens ? BY_BYTES
                                 : BY_VALUE,
                        limited, draft->given ? INT32_MAX : max);
    int32_t size = vocabulary_size(draft->vocabulary);
    column->id_bytes = size < UINT8_MAX ? 1 : size < UINT16_MAX ? 2 : 4;
    return vocabulary_write(draft->vocabulary, column);
}

static size_t entry_bytes(const struct draft *draft)
{
    return draft->column.type == COLUMN_TIME                           ? sizeof(double)
           : has_vocabulary(draft) && draft->column.type != COLUMN_SET ? (size_t)draft->column.id_bytes
                                                                       : (size_t)draft->column.width * sizeof(float);
}

static unroll_status begin_filling(struct builder *b)
{
    size_t sequences = b->sequences + (b->layout == ROWS_ARE_STEPS && !b->sequences_ended);
    for (int i = 0; i < b->drafts; i++) {
        struct draft *draft = &b->draft[i];
        if (draft->ignored)
            continue;
        if (has_vocabulary(draft))
            TRY(end_vocabulary(b, draft));
        draft->array = allocate_zeroed(draft->entries, entry_bytes(draft));
        if (draft->array == NULL)
            return fail(UNROLL_RESOURCE, "no memory for %zu entries of '%s'", draft->entries, draft->column.name);
    }
    return ALLOCATE(b->begin, sequences + 1, "for %zu sequences", sequences);
}

unroll_status builder_end_run(struct builder *b, bool *again)
{
    *again = b->run != RUN_FILL;
    if (b->run == RUN_FILL && b->layout == ROWS_ARE_STEPS && !b->sequences_ended)
        return end_sequence(b);
    if (b->run == RUN_FILL)
        return UNROLL_OK;
    b->run = RUN_FILL;
    return begin_filling(b);
}

static void give_array(struct draft *draft)
{
    struct column *column = &draft->column;
    if (column->type == COLUMN_TIME)
        column->times = draft->array;
    else if (has_vocabulary(draft) && column->type != COLUMN_SET)
        column->ids = draft->array;
    else
        column->numbers = draft->array;
    draft->array = NULL;
}

unroll_status builder_take(struct builder *b, unroll_dataset **dataset)
{
    unroll_dataset *made;
    TRY(ALLOCATE(made, 1, "for a data set"));
    unroll_status status = ALLOCATE(made->column, (size_t)b->drafts, "for a data set");
    if (status == UNROLL_OK && b->notes == NULL)
        status = ALLOCATE(b->notes, 1, "for a data set");
    if (status != UNROLL_OK) {
        release(made->column);
        release(made);
        return status;
    }
    snprintf(made->name, sizeof made->name, "%s", b->name);
    for (int i = 0; i < b->drafts; i++)
        if (!b->draft[i].ignored) {
            give_array(&b->draft[i]);
            made->column[made->columns++] = b->draft[i].column;
            b->draft[i].column = (struct column){0};
        }
    made->begin = b->begin, b->begin = NULL;
    made->notes = b->notes, b->notes = NULL;
    made->sequences = b->sequences;
    made->steps = b->steps;
    made->rows_are_steps = b->layout == ROWS_ARE_STEPS && !b->sequences_ended;
    made->group = made->time = -1;
    *dataset = made;
    return UNROLL_OK;
}

unroll_status builder_new(const char *name, const struct builder_options *options, const struct schema *schema,
                          struct builder **builder)
{
    struct builder *made;
    TRY(ALLOCATE(made, 1, "to read '%.*s'", NAME_SHOWN, name));
    made->name = name;
    made->options = options;
    made->schema = schema;
    *builder = made;
    return UNROLL_OK;
}

void builder_free(struct builder *b)
{
    if (b == NULL)
        return;
    for (int i = 0; i < b->drafts; i++) {
        struct draft *draft = &b->draft[i];
        vocabulary_free(draft->vocabulary);
        release(draft->array);
        release(draft->pending);
        release(draft->column.vocabulary);
        release(draft->column.strings);
    }
    release(b->draft);
    release(b->begin);
    release(b->notes);
    release(b);
}

/* Implements the functions that a reader calls. Columns are declared; cells are counted in the first runs and written
 * into arrays of exactly that size in the last one. builder_runs.c does the work between two runs, tokenize.c cuts
 * texts. */
#include "data/builder/builder.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "data/builder/table_cell.h"
#include "data/builder/draft.h"

enum { COLUMNS_MAX = 100000, PIECE_SHOWN = 40, NAME_SHOWN = 120, VOCABULARY_MAX = 1 << 20 };

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

bool builder_is_wide(const struct builder *b, bool found)
{
    return b->options->layout == LAYOUT_WIDE || (b->options->layout == LAYOUT_FOUND && b->schema == NULL && found);
}

void builder_group(struct builder *b, const char *name)
{
    static const char wide[] = ",layout=wide";
    snprintf(b->group_name, sizeof b->group_name, "%s", name);
    if (b->options->layout == LAYOUT_FOUND && strstr(b->decisions, wide) == NULL)
        strcat(b->decisions, wide);
}

void builder_read_as(struct builder *b, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(b->read_as, sizeof b->read_as, format, arguments);
    va_end(arguments);
}

void builder_decide(struct builder *b, const char *format, ...)
{
    const size_t had = strlen(b->decisions);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(b->decisions + had, sizeof b->decisions - had, format, arguments);
    va_end(arguments);
}

bool builder_fills(const struct builder *b) { return b->run == RUN_FILL; }

void builder_category(struct builder *b, int column)
{
    if (b->draft[column].wish == WISH_NONE)
        b->draft[column].wish = WISH_CATEGORY;
}

void builder_rows_are_examples(struct builder *b) { b->of_examples = true; }

void builder_join(struct builder *b, const unroll_dataset *table) { b->joined = table; }

void builder_delimiter(struct builder *b, char delimiter) { b->delimiter = delimiter; }

bool builder_reads_again(const struct builder *b) { return b->schema != NULL; }

bool builder_wants_column(const struct builder *b, const char *name, size_t length)
{
    return b->given_names && vocabulary_find(b->given_names, name, length) != VOCABULARY_NONE;
}

bool builder_wants_steps(const struct builder *b, const char *name)
{
    const int32_t found = b->given_names ? vocabulary_find(b->given_names, name, strlen(name)) : VOCABULARY_NONE;
    return found != VOCABULARY_NONE && !b->schema->column[found].of_sequence;
}

/* ---- columns ---- */

const char *builder_line_column(const struct builder *b, enum cell *cell)
{
    const struct schema *schema = b->schema;
    bool of_others = schema && *schema->reader && strcmp(schema->reader, "text") != 0;
    for (int i = 0; of_others && i < schema->columns; i++) {
        const struct schema_column *column = &schema->column[i];
        bool words = column->type == COLUMN_CATEGORY && !column->of_sequence && !schema->rows_are_steps;
        if (column->target || (column->type != COLUMN_TOKENS && !words))
            continue;
        *cell = words ? CELL_WORD : CELL_TOKENS;
        return column->name;
    }
    return NULL;
}

bool builder_wants_sets(const struct builder *b)
{
    bool of_schema = b->schema && b->schema->columns == 1 && b->schema->column->type == COLUMN_SET;
    return b->schema ? of_schema : b->options->tokens == TOKENS_ARE_SETS;
}

bool builder_takes_any_tokens(const struct builder *b) { return b->schema == NULL && b->options->tokens == TOKENS_ANY; }

unroll_status builder_columns(struct builder *b, enum row_layout layout)
{
    b->open = b->run == RUN_FIND && layout == ROWS_OPEN;
    b->layout = layout != ROWS_OPEN ? layout : b->open ? ROWS_ARE_EXAMPLES : b->layout;
    b->next_column = 0;
    b->rows = b->sequences = b->steps = 0;
    b->sequences_ended = false;
    return UNROLL_OK;
}

static const struct schema_column *find_given(const struct builder *b, const char *name, int place)
{
    if (b->schema && name) {
        const int32_t found = vocabulary_find(b->given_names, name, strlen(name));
        return found == VOCABULARY_NONE ? NULL : &b->schema->column[found];
    }
    for (int i = 0; b->schema && i < b->schema->columns; i++)
        if (b->schema->column[i].place == place)
            return &b->schema->column[i];
    return NULL;
}

static enum column_type type_of_cell(enum cell cell)
{
    static const enum column_type types[] = {[CELL_TEXT] = COLUMN_CATEGORY,  [CELL_TOKENS] = COLUMN_TOKENS,
                                             [CELL_LABEL] = COLUMN_CATEGORY, [CELL_WORD] = COLUMN_CATEGORY,
                                             [CELL_SET] = COLUMN_SET,        [CELL_NUMBERS] = COLUMN_NUMBERS};
    return types[cell];
}

/* Checks that a given column has the type of the model. */
static unroll_status check_given(struct builder *b, const struct draft *draft, enum column_type type)
{
    const struct schema_column *given = draft->given;
    if (draft->cell == CELL_TEXT || given->type == type)
        return UNROLL_OK;
    return fail(UNROLL_DATA, "'%.*s': the column '%s' has %s here and %s in the model; fix: give that type", NAME_SHOWN,
                b->name, draft->column.name, column_type_names[type], column_type_names[given->type]);
}

bool builder_lists(const char *list, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = list; *at; at += strcspn(at, ";"), at += *at == ';')
        if (strcspn(at, ";") == length && memcmp(at, name, length) == 0)
            return true;
    return false;
}

static enum column_kept kept_as(const struct builder_options *options, const char *name)
{
    if (strcmp(options->label, name) == 0)
        return KEPT_LABEL;
    return builder_lists(options->keep, name) ? KEPT_COLUMN : NOT_KEPT;
}

/* Sets the type, width and wish of a column from its cells, the options and the schema. */
static unroll_status describe_draft(struct builder *b, struct draft *draft, bool of_sequence, int width)
{
    struct column *column = &draft->column;
    const struct schema_column *given = draft->given;
    column->of_sequence = of_sequence;
    column->width = width;
    draft->unaligned = b->schema == NULL &&
                       (builder_lists(b->options->unaligned, column->name) || strcmp(b->unaligned, column->name) == 0);
    if (draft->unaligned && draft->cell == CELL_TEXT && draft->wish == WISH_NONE)
        draft->wish = WISH_TEXT;
    column->type = type_of_cell(draft->cell);
    const int tokens = b->options->tokens;
    column->kind = builder_wants_sets(b)  ? CUT_WORDS
                   : tokens == TOKENS_ANY ? CUT_CHARACTERS
                                          : (enum token_kind)(tokens - TOKENS_ARE);
    if (draft->wish == WISH_SET && draft->cell == CELL_WORD)
        draft->cell = CELL_SET, column->type = COLUMN_SET, column->of_sequence = true;
    if (given) {
        TRY(check_given(b, draft, column->type));
        column->type = given->type;
        column->kind = given->kind;
        column->of_sequence = given->of_sequence;
        column->style = given->style;
        draft->unaligned = given->unaligned;
        if (given->type == COLUMN_NUMBERS && draft->cell == CELL_NUMBERS && given->width != width)
            return fail(UNROLL_DATA, "'%.*s': '%s' has %d numbers here and %d in the model; fix: give that type",
                        NAME_SHOWN, b->name, column->name, width, given->width);
    }
    if (draft->cell == CELL_TEXT && column->width == 0)
        column->width = 1;
    column->kept = b->schema ? kept_as(b->options, column->name) : NOT_KEPT;
    if (column->kept && given == NULL)
        draft->wish = WISH_CATEGORY;
    draft->ignored = (b->schema && given == NULL && !column->kept) || draft->wish == WISH_IGNORE;
    return draft->ignored || !has_vocabulary(draft) ? UNROLL_OK : draft_begin_vocabulary(b, draft);
}

/* Adds a column by its name; joins it with the schema's column of that name. */
unroll_status builder_add_draft(struct builder *b, const char *name, enum cell cell, bool of_sequence, int width)
{
    if (b->drafts == COLUMNS_MAX)
        return fail(UNROLL_DATA, "'%.*s' has more than %d columns; fix: keep those that are needed", NAME_SHOWN,
                    b->name, COLUMNS_MAX);
    if (b->drafts == b->drafts_room) {
        int room = 2 * b->drafts_room + 8;
        if (!enlarge(&b->draft, (size_t)b->drafts * sizeof *b->draft, (size_t)room * sizeof *b->draft))
            return fail(UNROLL_RESOURCE, "no memory for the columns of '%.*s'", NAME_SHOWN, b->name);
        b->drafts_room = room;
    }
    struct draft *draft = &b->draft[b->drafts++];
    *draft = (struct draft){
        .cell = cell, .told = cell, .given = find_given(b, name, b->drafts - 1), .least = INFINITY, .most = -INFINITY};
    draft->keeps = cell == CELL_TEXT && draft->given == NULL && b->run == RUN_FIND && b->rows == 0;
    draft->column.place = b->drafts - 1;
    if (draft->given)
        memcpy(draft->column.name, draft->given->name, sizeof draft->column.name);
    else if (name)
        snprintf(draft->column.name, sizeof draft->column.name, "%s", name);
    else
        snprintf(draft->column.name, sizeof draft->column.name, "c%d", b->drafts);
    if (!utf8_is_valid(draft->column.name))
        return fail(UNROLL_DATA,
                    "'%.*s': the name of column %d is not UTF-8; fix: convert the file, for example with "
                    "'iconv -f LATIN1 -t UTF-8'",
                    NAME_SHOWN, b->name, b->drafts);
    int32_t index;
    TRY(vocabulary_add(b->names, draft->column.name, strlen(draft->column.name), &index));
    if (index + 1 != b->drafts)
        return fail(UNROLL_DATA, "'%.*s' has two columns '%s'; fix: rename one of them", NAME_SHOWN, b->name,
                    draft->column.name);
    TRY(columns_wish(b, draft->column.name, &draft->wish));
    return describe_draft(b, draft, of_sequence, width);
}

static unroll_status put_missing(struct builder *b, struct draft *draft);

/* True while it is unknown whether its cells belong to steps or to rows: before the end of the first run. */
static bool is_undecided(const struct builder *b, const struct draft *draft)
{
    bool of_tokens = draft->given && draft->column.type == COLUMN_TOKENS;
    return b->open && draft->cell == CELL_TEXT && !of_tokens;
}

/* Declares the next column of a run; a column that appears late is missing in the rows before. */
void builder_unaligned(struct builder *b, const char *name) { snprintf(b->unaligned, sizeof b->unaligned, "%s", name); }

unroll_status builder_column(struct builder *b, const char *name, enum cell cell, bool of_sequence, int width,
                             int *column)
{
    if (b->next_column == b->drafts)
        TRY(builder_add_draft(b, name, cell, of_sequence, width));
    struct draft *draft = &b->draft[b->next_column];
    draft->entries = 0;
    const bool has_steps = draft->column.type != COLUMN_TOKENS && !draft->unaligned;
    if (!draft->ignored && (draft->cell == CELL_TEXT || has_steps))
        for (size_t i = 0, n = draft->column.of_sequence || is_undecided(b, draft) ? b->rows : b->steps; i < n; i++)
            TRY(put_missing(b, draft));
    draft->row_entries = 0;
    *column = b->next_column++;
    return UNROLL_OK;
}

/* ---- cells ---- */

unroll_status draft_check_room(struct builder *b, const struct draft *draft, size_t entries)
{
    if (b->run != RUN_FILL || entries <= draft->room - draft->filled)
        return UNROLL_OK;
    return fail(UNROLL_DATA, "%s: the data changed while they were read; fix: read them again", builder_place(b));
}

void draft_put_id(struct draft *draft, int32_t id)
{
    size_t entry = draft->filled++;
    draft->column.missing += id == VOCABULARY_NONE;
    if (draft->column.id_bytes == 1)
        ((uint8_t *)draft->array)[entry] = (uint8_t)id;
    else if (draft->column.id_bytes == 2)
        ((uint16_t *)draft->array)[entry] = (uint16_t)id;
    else
        ((int32_t *)draft->array)[entry] = id;
}

/* Adds a string to the vocabulary; strings must be valid UTF-8. */
unroll_status draft_add_string(struct builder *b, struct draft *draft, const char *bytes, size_t length, int32_t *id)
{
    const unsigned char *at = (const unsigned char *)bytes, *end = at + length;
    int32_t code = 1;
    TRY(vocabulary_add(draft->vocabulary, bytes, length, id));
    if (vocabulary_times(draft->vocabulary, *id) > 1)
        return UNROLL_OK;
    for (int size; at < end && code; at += size)
        if ((size = utf8_read(at, end, &code)) == 0)
            break;
    if (at == end && code)
        return UNROLL_OK;
    return fail(UNROLL_DATA, "%s is not UTF-8; fix: convert it, for example with 'iconv -f LATIN1 -t UTF-8'",
                draft_place(b, draft));
}

/* Handles a string that the schema's vocabulary does not contain: an error in a target, missing in an input. */
static unroll_status meet_stranger(struct builder *b, struct draft *draft, const char *bytes, size_t length)
{
    int shown = (int)(length < PIECE_SHOWN ? length : PIECE_SHOWN);
    if (draft->given && draft->given->target)
        return fail(UNROLL_DATA,
                    "%s: '%.*s' is not in the model's vocabulary; fix: correct it, or train with data that have it",
                    draft_place(b, draft), shown, bytes);
    if (draft->strangers++ == 0) {
        draft->stranger.row = b->rows + 1;
        snprintf(draft->stranger.text, sizeof draft->stranger.text, "%.*s", shown, bytes);
    }
    return UNROLL_OK;
}

bool builder_is_missing(const struct builder *b, const char *bytes, size_t length)
{
    const char *words = b->options->missing;
    if (*words == 0 || cell_is_empty(bytes, length))
        return cell_is_missing(bytes, length);
    for (size_t size; *words; words += size + (words[size] == ';')) {
        size = strcspn(words, ";");
        if (size == length && memcmp(words, bytes, size) == 0)
            return true;
    }
    return false;
}

/* True for a missing value; in a column of strings, a word such as NA is a value unless the user named it. */
static bool is_missing_value(const struct builder *b, const struct draft *draft, const char *bytes, size_t length)
{
    const bool words = *b->options->missing || !(draft->all_values || draft->given);
    return words ? builder_is_missing(b, bytes, length) : cell_is_empty(bytes, length);
}

static unroll_status take_category(struct builder *b, struct draft *draft, const char *bytes, size_t length)
{
    int32_t id = VOCABULARY_NONE;
    TRY(draft_check_room(b, draft, 1));
    bool missing = draft->cell == CELL_TEXT ? is_missing_value(b, draft, bytes, length) : length == 0;
    draft->entries++;
    draft->row_entries++;
    if (b->run != RUN_FILL)
        return missing || !draft->grows ? UNROLL_OK : draft_add_string(b, draft, bytes, length, &id);
    id = missing ? VOCABULARY_NONE : vocabulary_find(draft->vocabulary, bytes, length);
    if (id == VOCABULARY_NONE && !missing && !builder_is_missing(b, bytes, length))
        TRY(meet_stranger(b, draft, bytes, length));
    draft_put_id(draft, id);
    return UNROLL_OK;
}

static unroll_status refuse_infinite(struct builder *b, const struct draft *draft, double value)
{
    return fail(UNROLL_DATA, "%s: %g is too large for a float; fix: correct it, scale it, or leave it out as missing",
                draft_place(b, draft), value);
}

void draft_put_number(struct draft *draft, float value)
{
    draft_look_at(draft, value);
    ((float *)draft->array)[draft->filled++] = value;
}

static bool read_number(const struct builder *b, const struct draft *draft, const char *bytes, size_t length,
                        double *value)
{
    struct written w;
    const bool plain = !draft->written && (draft->given == NULL || b->decimal == '.');
    if (plain && cell_number(bytes, length, value))
        return true;
    if (!(draft->written || draft->given) || !cell_written(bytes, length, b->decimal, &w))
        return false;
    *value = w.value;
    return true;
}

static bool read_time(struct draft *draft, const char *bytes, size_t length, double *time)
{
    struct time_style *style = &draft->column.style;
    struct time_read r;
    double number;
    if (style->form < TIME_SECONDS) {
        const bool found = cell_time(bytes, length, style->form, &r);
        *time = r.seconds;
        return found;
    }
    if (!cell_number(bytes, length, &number) || !number_time(number, style->form, time))
        return false;
    if (style->form > TIME_SECONDS && style->form <= TIME_NANOSECONDS && floor(*time) != *time)
        style->digits = 3 * (int)(style->form - TIME_SECONDS);
    return true;
}

/* Takes a number or a time; in the last run it is parsed and stored. */
static unroll_status take_number(struct builder *b, struct draft *draft, const char *bytes, size_t length)
{
    bool time = draft->column.type == COLUMN_TIME;
    double value = NAN;
    TRY(draft_check_room(b, draft, 1));
    draft->entries++;
    draft->row_entries++;
    if (b->run != RUN_FILL)
        return UNROLL_OK;
    if (draft->keeps) {
        draft_put_number(draft, ((const float *)draft->kept)[draft->filled]);
        return UNROLL_OK;
    }
    bool found = builder_is_missing(b, bytes, length) ||
                 (time ? read_time(draft, bytes, length, &value) : read_number(b, draft, bytes, length, &value));
    if (!found)
        return fail(UNROLL_DATA, "%s: '%.*s' is not a %s; fix: correct it, or leave it empty where it is missing",
                    draft_place(b, draft), (int)(length < PIECE_SHOWN ? length : PIECE_SHOWN), bytes,
                    time ? "time of the column's form" : "number");
    if (!time && isinf((float)value))
        return refuse_infinite(b, draft, value);
    if (time) {
        draft->column.missing += isnan(value);
        ((double *)draft->array)[draft->filled++] = value;
    } else
        draft_put_number(draft, (float)value);
    return UNROLL_OK;
}

/* Takes one part of a row; the first part is the row's entry. */
static unroll_status take_part(struct builder *b, struct draft *draft, const char *bytes, size_t length)
{
    size_t width = (size_t)draft->column.width;
    int32_t id;
    if (length && b->run != RUN_FILL)
        return draft->grows ? draft_add_string(b, draft, bytes, length, &id) : UNROLL_OK;
    if (length == 0 || b->run != RUN_FILL)
        return UNROLL_OK;
    if ((id = vocabulary_find(draft->vocabulary, bytes, length)) == VOCABULARY_NONE)
        return meet_stranger(b, draft, bytes, length);
    ((float *)draft->array)[(draft->filled - 1) * width + (size_t)id] = 1;
    return UNROLL_OK;
}

static unroll_status take_set(struct builder *b, struct draft *draft, const char *bytes, size_t length)
{
    const char *end = bytes + length;
    if (draft->cell == CELL_TEXT && is_missing_value(b, draft, bytes, length))
        return UNROLL_OK;
    if (draft->row_entries == 0) {
        TRY(draft_check_room(b, draft, 1));
        draft->entries++;
        draft->row_entries++;
        draft->filled += b->run == RUN_FILL;
    }
    for (const char *bar; bytes <= end; bytes = bar + 1) {
        bar = bytes < end ? memchr(bytes, '|', (size_t)(end - bytes)) : NULL;
        bar = bar ? bar : end;
        TRY(take_part(b, draft, bytes, (size_t)(bar - bytes)));
    }
    return UNROLL_OK;
}

/* Takes the bytes of a cell by the type of its column. */
unroll_status builder_text(struct builder *b, int which, const char *bytes, size_t length)
{
    struct draft *draft = &b->draft[which];
    if (draft->ignored)
        return UNROLL_OK;
    if (draft->cell == CELL_TEXT && draft->given == NULL && b->run == RUN_FIND) {
        draft->entries++;
        draft->row_entries++;
        return columns_survey(b, draft, bytes, length);
    }
    switch (draft->column.type) {
    case COLUMN_TOKENS: return cut_text(b, draft, bytes, length, false);
    case COLUMN_CATEGORY: return take_category(b, draft, bytes, length);
    case COLUMN_SET: return take_set(b, draft, bytes, length);
    case COLUMN_NUMBERS:
    case COLUMN_TIME: return take_number(b, draft, bytes, length);
    }
    return UNROLL_OK;
}

/* Takes entries x width numbers; in the last run they are checked and stored. */
unroll_status builder_numbers(struct builder *b, int which, const float *numbers, size_t entries)
{
    struct draft *draft = &b->draft[which];
    size_t width = (size_t)draft->column.width;
    if (draft->ignored)
        return UNROLL_OK;
    TRY(draft_check_room(b, draft, entries));
    if (b->run == RUN_FILL) {
        for (size_t i = 0; i < entries * width; i++) {
            if (isinf(numbers[i]))
                return refuse_infinite(b, draft, (double)numbers[i]);
            draft_look_at(draft, numbers[i]);
        }
        memcpy((float *)draft->array + draft->filled * width, numbers, entries * width * sizeof(float));
        draft->filled += entries;
    }
    draft->entries += entries;
    draft->row_entries += entries;
    return UNROLL_OK;
}

/* ---- rows ---- */

/* Stores a missing value in the entry of a column. */
static unroll_status put_missing(struct builder *b, struct draft *draft)
{
    TRY(draft_check_room(b, draft, 1));
    draft->entries++;
    draft->row_entries++;
    if (b->run == RUN_FIND)
        draft_keep(b, draft, NAN);
    if (b->run != RUN_FILL)
        return UNROLL_OK;
    if (has_ids(draft)) {
        draft_put_id(draft, VOCABULARY_NONE);
        return UNROLL_OK;
    }
    draft->column.missing += draft->column.type == COLUMN_NUMBERS ? (size_t)draft->column.width : 1;
    if (draft->column.type == COLUMN_TIME) {
        ((double *)draft->array)[draft->filled++] = NAN;
        return UNROLL_OK;
    }
    float *to = (float *)draft->array + draft->filled++ * (size_t)draft->column.width;
    for (int i = 0; i < draft->column.width; i++) to[i] = NAN;
    return UNROLL_OK;
}

/* Finds how many steps the row has, from the columns with steps. */
static unroll_status count_steps(struct builder *b, size_t *steps)
{
    const struct draft *first = NULL;
    *steps = b->layout == ROWS_ARE_STEPS || b->single_steps;
    for (int i = 0; i < b->next_column && b->layout != ROWS_ARE_STEPS; i++) {
        const struct draft *draft = &b->draft[i];
        bool undecided = is_undecided(b, draft);
        if (draft->ignored || draft->column.of_sequence || draft->unaligned || undecided || draft->row_entries == 0)
            continue;
        if (first && draft->row_entries != *steps)
            return fail(UNROLL_DATA, "%s has %zu steps in '%s' and %zu in '%s'; fix: give the same number of each",
                        builder_place(b), *steps, first->column.name, draft->row_entries, draft->column.name);
        first = draft;
        *steps = draft->row_entries;
    }
    return UNROLL_OK;
}

static bool is_cut(const struct builder *b, const struct draft *draft)
{
    bool surveyed = b->run == RUN_FIND && draft->cell == CELL_TEXT && draft->given == NULL;
    return !draft->ignored && draft->column.type == COLUMN_TOKENS && !surveyed;
}

/* Has each column one cell, of which it is not known yet what it is? */
static bool end_unknown_cells(struct builder *b)
{
    bool single = b->run == RUN_FIND && b->open && b->schema == NULL;
    for (int i = 0; i < b->next_column && single; i++)
        single = b->draft[i].cell == CELL_TEXT && (b->draft[i].row_entries == 1 || b->draft[i].ignored);
    for (int i = 0; i < b->next_column && single; i++) b->draft[i].row_entries = 0;
    return single;
}

static void end_unaligned(const struct builder *b, struct draft *draft)
{
    draft->row_entries = 0;
    if (b->run == RUN_FILL && b->sequences < b->sequences_room)
        draft->begin[b->sequences + 1] = draft->entries;
}

/* Ends the cells of a row: ends its texts, checks its steps and fills missing entries. */
static unroll_status end_cells(struct builder *b)
{
    size_t steps;
    if (end_unknown_cells(b))
        return UNROLL_OK;
    for (int i = 0; i < b->next_column; i++)
        if (is_cut(b, &b->draft[i]))
            TRY(cut_text(b, &b->draft[i], NULL, 0, true));
    TRY(count_steps(b, &steps));
    for (int i = 0; i < b->next_column; i++) {
        struct draft *draft = &b->draft[i];
        bool undecided = is_undecided(b, draft);
        size_t wanted = b->layout != ROWS_ARE_STEPS && (draft->column.of_sequence || undecided) ? 1 : steps;
        bool text = draft->column.type == COLUMN_TOKENS && !undecided;
        if (draft->ignored)
            continue;
        if (draft->unaligned && !undecided) {
            end_unaligned(b, draft);
            continue;
        }
        while (draft->row_entries < wanted && !text) TRY(put_missing(b, draft));
        if (draft->row_entries != wanted)
            return fail(UNROLL_DATA, "%s has %zu entries instead of %zu; fix: give one entry for each row",
                        draft_place(b, draft), draft->row_entries, wanted);
        draft->row_entries = 0;
    }
    b->steps += steps;
    return UNROLL_OK;
}

static unroll_status end_sequence(struct builder *b)
{
    if (b->run == RUN_FILL && b->sequences == b->sequences_room)
        return fail(UNROLL_DATA, "%s: the data changed while they were read; fix: read them again", builder_place(b));
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

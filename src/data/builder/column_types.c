/* Concludes the types of a table's columns from their cells and names, using the survey of the first run. Possible
 * mistakes are reported as an error or a note. */
#include <string.h>
#include <strings.h>

#include "data/builder/column_names.h"
#include "data/builder/draft.h"

enum { NOTED = 20 };

static const char *const types[] = {"number", "category", "time", "set", "text", "ignore", NULL};
static const enum wish wishes[] = {WISH_NUMBER, WISH_CATEGORY, WISH_TIME, WISH_SET, WISH_TEXT, WISH_IGNORE};

/* ---- the user's choices ---- */

/* Finds the type that the option `columns` gives to a column. */
unroll_status columns_wish(const struct builder *b, const char *name, enum wish *wish)
{
    size_t length = strlen(name);
    *wish = WISH_NONE;
    for (const char *at = b->options->columns; *at; at += strcspn(at, ";"), at += *at == ';') {
        const char *type = strchr(at, '='), *end = at + strcspn(at, ";");
        if (type == NULL || type > end)
            return fail(
                UNROLL_USAGE,
                "'%.*s' has no type; fix: use `columns` NAME=TYPE with number, category, time, set, text or ignore",
                (int)(end - at), at);
        if ((size_t)(type - at) != length || memcmp(at, name, length))
            continue;
        for (int i = 0; types[i]; i++)
            if (strlen(types[i]) == (size_t)(end - type - 1) && memcmp(types[i], type + 1, strlen(types[i])) == 0)
                *wish = wishes[i];
        if (*wish == WISH_NONE)
            return fail(UNROLL_USAGE,
                        "the column '%s' can't be '%.*s'; fix: use number, category, time, set, text or ignore", name,
                        (int)(end - type - 1), type + 1);
    }
    if (strcmp(b->group_name, name) == 0 || strcmp(b->options->key, name) == 0)
        *wish = WISH_CATEGORY;
    if (strcmp(b->options->time, name) == 0)
        *wish = WISH_TIME;
    return UNROLL_OK;
}

/* ---- conclusions ---- */

static unroll_status refuse_cell(struct builder *b, const struct draft *draft, const struct sample *sample,
                                 const char *type, size_t others)
{
    if (draft->wish == WISH_NONE)
        return fail(
            UNROLL_DATA,
            "'%.120s', row %zu, column '%s': '%s' is not a %s, unlike %zu other cells of it; fix: correct it, leave "
            "it empty where it is missing, or `columns` %s=category",
            b->name, sample->row, draft->column.name, sample->text, type, others, draft->column.name);
    return fail(
        UNROLL_DATA,
        "'%.120s', row %zu, column '%s': '%s' is not a %s; fix: correct it, or leave it empty where it is missing",
        b->name, sample->row, draft->column.name, sample->text, type);
}

static bool are_all_distinct(const struct survey *s, const struct vocabulary *v)
{
    return s->many || (size_t)vocabulary_size(v) == s->cells;
}

static unroll_status leave_out(struct builder *b, struct draft *draft, const char *why)
{
    draft->ignored = true;
    if (b->left_out++ >= NOTED)
        return UNROLL_OK;
    return builder_note(b, "the column '%s' is left out: %s; `columns` %s=text or another type keeps it",
                        draft->column.name, why, draft->column.name);
}

/* Concludes the meaning of a column of numbers: time, counter, row name, category or number. */
static unroll_status conclude_numbers(struct builder *b, struct draft *draft)
{
    const struct survey *s = &draft->survey;
    const char *name = draft->column.name;
    bool few = !s->many && vocabulary_size(draft->vocabulary) <= 1000, time;
    TRY(columns_find_number_times(b, draft, &time));
    if (time)
        return UNROLL_OK;
    if (is_row_name(name) && s->whole == s->cells && s->cells > 1 && s->max - s->min + 1 >= (double)s->cells &&
        are_all_distinct(s, draft->vocabulary))
        return leave_out(b, draft, "its numbers only identify the rows");
    if (columns_counts_rows(b, draft))
        return leave_out(b, draft, "it only counts the rows");
    if (is_row_name(name) && s->whole == s->cells && !are_all_distinct(s, draft->vocabulary)) {
        draft->column.type = COLUMN_CATEGORY;
        return builder_note(
            b,
            "the numbers of '%s' look like codes: they are read as categories; `columns` %s=number makes them numbers",
            name, name);
    }
    draft->column.type = is_label_name(name) && s->whole == s->cells && few ? COLUMN_CATEGORY : COLUMN_NUMBERS;
    draft->is_binary =
        draft->column.type == COLUMN_NUMBERS && s->distinct == 2 && s->min == 0 && s->max == 1 && s->whole == s->cells;
    return UNROLL_OK;
}

/* True for answers such as yes and no, which may be categories even in few rows. */
static bool are_answers(const struct vocabulary *v)
{
    static const char *const answers[] = {"true", "false", "yes", "no", NULL};
    char text[8];
    size_t size;
    for (int32_t i = 0; i < vocabulary_size(v); i++) {
        const char *at = vocabulary_at(v, i, &size);
        snprintf(text, sizeof text, "%.*s", (int)(size < 7 ? size : 7), at);
        if (!is_among(text, answers))
            return false;
    }
    return true;
}

/* Names and codes are read letter by letter; longer texts are read as words, which have more meaning and are fewer. */
enum { WORDS_OF_A_TEXT = 8 };

/* Concludes the meaning of a column of strings: time, number with units, label, category, set or text. */
static unroll_status conclude_strings(struct builder *b, struct draft *draft)
{
    const struct survey *s = &draft->survey;
    const char *name = draft->column.name;
    size_t strings = s->cells - s->numbers, distinct = (size_t)vocabulary_size(draft->vocabulary);
    bool label = is_label_name(name), text = is_text_name(name), time;
    TRY(columns_find_times(b, draft, &time));
    if (time)
        return UNROLL_OK;
    if (draft->written) {
        draft->column.type = COLUMN_NUMBERS;
        return columns_note_written(b, draft);
    }
    TRY(columns_check_units(b, draft));
    if (!label && !text && s->numbers >= strings)
        return refuse_cell(b, draft, &s->no_number, "number", s->numbers);
    if (!label && !text && s->timed >= 2 * (s->cells - s->timed))
        return refuse_cell(b, draft, &s->no_time, "time", s->timed);
    if (is_row_name(name) && s->cells > 1 && are_all_distinct(s, draft->vocabulary))
        return leave_out(b, draft, "each row has a different one");
    if (is_time_name(name)) {
        char why[100];
        snprintf(why, sizeof why, "'%s' is not a supported time, such as 2020-01-31",
                 s->no_time.row ? s->no_time.text : s->no_number.text);
        return leave_out(b, draft, why);
    }
    bool many_words = s->words >= 3 * strings;
    bool mostly_distinct = s->many || (4 * distinct > 3 * s->cells && !are_answers(draft->vocabulary));
    bool sets = (label && s->sets > 0) || (4 * s->sets >= s->cells && !many_words);
    if (b->options->tokens == TOKENS_ANY && s->words >= WORDS_OF_A_TEXT * strings)
        draft->column.kind = CUT_WORDS;
    draft->column.type = text                            ? COLUMN_TOKENS
                         : sets                          ? COLUMN_SET
                         : label                         ? COLUMN_CATEGORY
                         : many_words || mostly_distinct ? COLUMN_TOKENS
                                                         : COLUMN_CATEGORY;
    return UNROLL_OK;
}

static unroll_status obey_time(struct builder *b, struct draft *draft)
{
    const struct survey *s = &draft->survey;
    bool found;
    draft->column.type = COLUMN_TIME;
    if (s->numbers == s->cells)
        return columns_find_number_times(b, draft, &found);
    TRY(columns_find_times(b, draft, &found));
    if (found)
        return UNROLL_OK;
    return s->no_time.row ? refuse_cell(b, draft, &s->no_time, "time", s->timed)
                          : refuse_cell(b, draft, &s->no_number, "number", s->numbers);
}

static unroll_status obey(struct builder *b, struct draft *draft)
{
    static const enum column_type types_of[] = {[WISH_NUMBER] = COLUMN_NUMBERS, [WISH_CATEGORY] = COLUMN_CATEGORY,
                                                [WISH_TIME] = COLUMN_TIME,      [WISH_SET] = COLUMN_SET,
                                                [WISH_TEXT] = COLUMN_TOKENS,    [WISH_IGNORE] = COLUMN_NUMBERS};
    const struct survey *s = &draft->survey;
    if (draft->wish == WISH_NUMBER && s->numbers < s->cells && !draft->written)
        return refuse_cell(b, draft, &s->no_number, "number", s->numbers);
    if (draft->wish == WISH_TIME)
        return obey_time(b, draft);
    draft->column.type = types_of[draft->wish];
    return draft->wish == WISH_NUMBER ? columns_note_written(b, draft) : UNROLL_OK;
}

static bool is_constant(const struct builder *b, const struct draft *draft)
{
    const struct survey *s = &draft->survey;
    bool numbers = draft->column.type == COLUMN_NUMBERS && s->numbers == s->cells && s->min == s->max;
    bool category = draft->column.type == COLUMN_CATEGORY && vocabulary_size(draft->vocabulary) == 1;
    return b->rows > 1 && s->cells == b->rows && (numbers || category);
}

/* Adds notes about constant columns; if there are many, one note names the first. */
unroll_status columns_note_constant(struct builder *b)
{
    const char *first = NULL;
    int count = 0;
    for (int i = 0; i < b->drafts; i++) {
        if (!b->draft[i].constant || b->draft[i].ignored)
            continue;
        if (++count <= NOTED)
            TRY(builder_note(b, "the column '%s' is the same in all rows", b->draft[i].column.name));
        first = count == NOTED + 1 ? b->draft[i].column.name : first;
    }
    return first == NULL
               ? UNROLL_OK
               : builder_note(b, "'%s' and %d other columns are the same in all rows, too", first, count - NOTED - 1);
}

/* Makes NA and similar words values of a column of strings, unless the user decided otherwise. */
static unroll_status take_missing_words(struct builder *b, struct draft *draft)
{
    const enum column_type type = draft->column.type;
    int32_t index;
    draft->all_values = type == COLUMN_CATEGORY || type == COLUMN_SET || type == COLUMN_TOKENS;
    if (!draft->all_values || draft->ignored || draft->survey.missing_words == 0)
        return UNROLL_OK;
    for (int32_t i = 0; i < vocabulary_size(draft->missing); i++) {
        size_t size;
        const char *word = vocabulary_at(draft->missing, i, &size);
        const unsigned long long times = (unsigned long long)vocabulary_times(draft->missing, i);

        TRY(vocabulary_add(draft->vocabulary, word, size, &index));
        TRY(builder_note(
            b, "'%.*s' is read as an ordinary value of '%s', in %llu rows; `missing` '%.*s' reads it as missing",
            (int)size, word, draft->column.name, times, (int)size, word));
    }
    draft->survey.cells += draft->survey.missing_words;
    return UNROLL_OK;
}

unroll_status columns_conclude(struct builder *b, struct draft *draft)
{
    struct survey *s = &draft->survey;
    s->distinct = (size_t)vocabulary_size(draft->vocabulary);
    if (s->cells == 0 && draft->wish == WISH_NONE)
        return leave_out(b, draft, "it is empty");
    TRY(draft->wish != WISH_NONE ? obey(b, draft)
        : s->numbers == s->cells ? conclude_numbers(b, draft)
                                 : conclude_strings(b, draft));
    TRY(take_missing_words(b, draft));
    draft->constant = !draft->ignored && is_constant(b, draft);
    return UNROLL_OK;
}

/* ---- series of a table ---- */

/* True for whole numbers or strings that recur, in a column whose name suggests series. */
static bool names_series(const struct builder *b, const struct draft *draft)
{
    const struct survey *s = &draft->survey;
    const size_t strings = s->cells - s->numbers;
    if (draft->ignored || draft->cell != CELL_TEXT || draft->given || draft->wish != WISH_NONE ||
        (strings && draft->column.type != COLUMN_CATEGORY) || (!strings && s->whole < s->cells))
        return false;
    if (!is_series_name(draft->column.name) && !is_row_name(draft->column.name))
        return false;
    const double most = strings || !s->many ? (double)s->distinct : s->max - s->min + 1;
    return s->cells == b->rows && most > 1 && 2 * most <= (double)s->cells;
}

const char *columns_series(const struct builder *b)
{
    for (int i = 0; i < b->drafts; i++)
        if (names_series(b, &b->draft[i]))
            return b->draft[i].column.name;
    return NULL;
}

/* True for a year and a month in separate columns. */
static bool has_parts_of_times(const struct builder *b)
{
    bool year = false, month = false;
    for (int i = 0; i < b->drafts; i++) {
        const struct draft *draft = &b->draft[i];
        if (!draft->ignored && draft->column.type == COLUMN_TIME)
            return false;
        year |= !draft->ignored && strcasecmp(draft->column.name, "year") == 0;
        month |= !draft->ignored && strcasecmp(draft->column.name, "month") == 0;
    }
    return year && month;
}

unroll_status columns_note_series(struct builder *b)
{
    const char *name = *b->group_name ? NULL : columns_series(b);
    if (b->schema)
        return UNROLL_OK;
    if (has_parts_of_times(b))
        TRY(builder_note(
            b, "year and month are read as ordinary numbers: the times of a series must be in one column, such as "
               "2020-01-31 or 2020-01-31 13:00"));
    return name ? builder_note(b, "the values of '%s' repeat: if they identify series, `group` %s reads each as one",
                               name, name)
                : UNROLL_OK;
}

/* Makes a column of 0 and 1 next to a text the label of the text. */
unroll_status columns_choose_label(struct builder *b)
{
    struct draft *binary = NULL;
    int count = 0, labels = 0;
    for (int i = 0; i < b->drafts; i++) {
        struct draft *draft = &b->draft[i];
        labels += !draft->ignored && draft->given == NULL &&
                  (draft->column.type == COLUMN_CATEGORY || draft->column.type == COLUMN_SET);
        if (draft->is_binary && !draft->ignored)
            binary = draft, count++;
    }
    if (count != 1 || labels || b->layout != ROWS_ARE_EXAMPLES)
        return UNROLL_OK;
    binary->column.type = COLUMN_CATEGORY;
    return builder_note(b, "'%s' is 0 or 1 for each text: it is read as a label; `columns` %s=number makes it a number",
                        binary->column.name, binary->column.name);
}

unroll_status columns_note_left_out(struct builder *b)
{
    return b->left_out <= NOTED
               ? UNROLL_OK
               : builder_note(b,
                              "%d other columns are left out for the same reasons; `columns` NAME=TYPE "
                              "keeps one",
                              b->left_out - NOTED);
}

/* ---- one text per table ---- */

static bool is_better_text(const struct draft *one, const struct draft *other)
{
    bool named = is_text_name(one->column.name), other_named = is_text_name(other->column.name);
    bool wished = one->wish == WISH_TEXT, other_wished = other->wish == WISH_TEXT;
    if (wished != other_wished)
        return wished;
    return named != other_named ? named : one->survey.bytes > other->survey.bytes;
}

static bool is_found_text(const struct draft *draft)
{
    return !draft->ignored && draft->cell == CELL_TEXT && draft->given == NULL && draft->column.type == COLUMN_TOKENS;
}

/* Keeps the best text column of a row and leaves out the others, with a note. */
unroll_status columns_choose_text(struct builder *b)
{
    const struct draft *text = NULL, *steps = NULL;
    char why[200];
    for (int i = 0; i < b->drafts; i++) {
        const struct draft *draft = &b->draft[i];
        if (is_found_text(draft) && !draft->unaligned && (text == NULL || is_better_text(draft, text)))
            text = draft;
        if (!draft->ignored && draft->cell != CELL_TEXT && !draft->derived && !draft->column.of_sequence &&
            !draft->unaligned && b->layout != ROWS_ARE_STEPS)
            steps = draft;
    }
    const struct draft *kept = steps ? steps : text;
    for (int i = 0; i < b->drafts; i++) {
        struct draft *draft = &b->draft[i];
        if (!is_found_text(draft) || draft->unaligned || draft == kept)
            continue;
        snprintf(why, sizeof why, "each row is one sequence, read from '%s'", kept->column.name);
        TRY(leave_out(b, draft, why));
    }
    return UNROLL_OK;
}

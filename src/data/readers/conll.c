/* Sentences of words and tags: one word per line, an empty line after each sentence. In CoNLL-U
 * (universaldependencies.org/format.html), comments, words of several tokens (1-2) and empty nodes (1.1) are skipped.
 * In lines with other columns, the first column is the word and the last one the tag. Dependencies are ignored: a
 * sentence is a sequence, not a tree. */
#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "data/builder/builder.h"
#include "data/readers/reader_table.h"

enum { MAX_FIELDS = 64, UNIVERSAL_FIELDS = 10, FORM = 2, UPOS = 4, SHOWN = 40 };

/* Numbers of columns from 1 on, or names of CoNLL-U columns; 0: first and last, or FORM and UPOS. */
#define CHOICES "auto 1 2 3 4 5 6 7 8 9 10 ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC"

struct conll_options {
    int word, tag;
};

static const struct key keys[] = {
    {.name = "word",
     .choices = CHOICES,
     .offset = offsetof(struct conll_options, word),
     .about = "the field with the words"},
    {.name = "tag",
     .choices = CHOICES,
     .offset = offsetof(struct conll_options, tag),
     .about = "the field with the tags"},
    {0},
};

struct conll_fields {
    const char *at[MAX_FIELDS];
    size_t length[MAX_FIELDS];
    int count; /* if more than MAX_FIELDS, the rest is dropped */
};

/* Splits a line at tabs; without tabs, at runs of spaces. */
static void split(const char *line, size_t length, struct conll_fields *f)
{
    const char *end = line + length, *separators = memchr(line, '\t', length) ? "\t" : " ";
    f->count = 0;
    for (const char *at = line; at <= end; f->count++) {
        const char *begin = at;
        while (at < end && *at != *separators) at++;
        if (f->count < MAX_FIELDS)
            f->at[f->count] = begin, f->length[f->count] = (size_t)(at - begin);
        at++;
        while (*separators == ' ' && at < end && *at == ' ') at++;
        if (*separators == ' ' && at == end)
            at++;
    }
}

/* True for "# text = .."; a word may be '#', too. */
static bool is_comment(const char *line, size_t length)
{
    return length > 0 && *line == '#' && !memchr(line, '\t', length) && (length == 1 || line[1] == ' ');
}

static bool is_universal(const struct conll_fields *f)
{
    return f->count == UNIVERSAL_FIELDS && f->length[0] > 0 && isdigit((unsigned char)f->at[0][0]);
}

/* True for a line to skip. columns: of a file that is not CoNLL-U; a line with this many columns is always a word. */
static bool is_left_out(const char *line, size_t length, const struct conll_fields *f, int columns)
{
    static const char between[] = "-DOCSTART-"; /* separates the documents of CoNLL-2003 */
    const bool has_as_many = columns && f->count == columns;
    return (is_comment(line, length) && !has_as_many) ||
           (length >= strlen(between) && memcmp(line, between, strlen(between)) == 0);
}

/* ---- recognition ---- */

static bool has_suffix(const char *path)
{
    static const char *const suffixes[] = {".conllu", ".conll", ".conllx", ".iob", ".bio"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (path_ends_with(path, suffixes[i]))
            return true;
    return false;
}

/* True for O, or for a tag at the beginning, inside or end of an entity: B-LOC. */
static bool is_entity_tag(const struct conll_fields *f)
{
    const int last = f->count - 1;
    if (f->count < 2 || f->count > UNIVERSAL_FIELDS || f->length[last] == 0)
        return false;
    const char *tag = f->at[last];
    return f->length[last] == 1 ? *tag == 'O' : f->length[last] > 2 && strchr("BIESLU", *tag) && tag[1] == '-';
}

/* Recognizes lines with a constant number of columns, separated by tabs, or by spaces with tags of entities; then an
 * empty line and more such lines. */
static bool is_conll(const char *path, const char *head, size_t bytes)
{
    int columns = 0;
    bool ended = false;
    if (has_suffix(path))
        return true;
    for (const char *at = head, *end = head + bytes, *next; at < end; at = next + 1) {
        struct conll_fields f;
        next = memchr(at, '\n', (size_t)(end - at));
        if (next == NULL && bytes == READER_HEAD)
            return false;
        next = next ? next : end;
        size_t length = (size_t)(next - at) - (next > at && next[-1] == '\r');
        if (is_comment(at, length))
            continue;
        if (line_is_blank(at, length)) {
            ended = columns > 0;
            continue;
        }
        split(at, length, &f);
        const bool tabs = memchr(at, '\t', length) != NULL;
        if ((!tabs && !is_entity_tag(&f)) || (columns && f.count != columns && (!ended || !tabs)))
            return false;
        if (ended || is_universal(&f))
            return true;
        columns = f.count;
    }
    return false;
}

/* ---- reading ---- */

struct conll {
    struct input *in;
    struct builder *builder;
    int fields;    /* of each line; 0: no line yet */
    int word, tag; /* fields from 0 on; tag -1: none */
    bool universal;
    int word_column, tag_column;
    size_t words; /* in this sentence */
    int columns;  /* of the first line that is not a comment; 0: CoNLL-U, or no such line */
};

static unroll_status refuse_column(const struct conll *c, const char *what, int column, int there)
{
    return fail(
        UNROLL_DATA,
        "'%s', line %lld: %s %d, the line has %d columns; fix: name the columns of the word and the tag, or correct "
        "the line",
        input_name(c->in), (long long)input_lines(c->in), what, column, there);
}

/* Chooses the columns from the first line. */
static unroll_status choose_columns(struct conll *c, const struct conll_fields *f, const struct conll_options *o)
{
    c->fields = f->count;
    c->universal = is_universal(f);
    c->word = (o->word > UNIVERSAL_FIELDS ? o->word - UNIVERSAL_FIELDS : o->word) - 1;
    c->tag = (o->tag > UNIVERSAL_FIELDS ? o->tag - UNIVERSAL_FIELDS : o->tag) - 1;
    if (o->word == 0)
        c->word = c->universal ? FORM - 1 : 0;
    if (o->tag == 0)
        c->tag = c->universal ? UPOS - 1 : f->count > 1 ? f->count - 1 : -1;
    if (c->word >= f->count || c->tag >= f->count)
        return refuse_column(c, c->word >= f->count ? "the word is column" : "the tag is column",
                             (c->word >= f->count ? c->word : c->tag) + 1, f->count);
    TRY(builder_columns(c->builder, ROWS_ARE_EXAMPLES));
    TRY(builder_column(c->builder, "word", CELL_WORD, false, 1, &c->word_column));
    return c->tag < 0 ? UNROLL_OK : builder_column(c->builder, "tag", CELL_WORD, false, 1, &c->tag_column);
}

static unroll_status take_word(struct conll *c, const struct conll_fields *f)
{
    if (c->universal && (memchr(f->at[0], '-', f->length[0]) || memchr(f->at[0], '.', f->length[0])))
        return UNROLL_OK;
    if (f->length[c->word] == 0)
        return fail(UNROLL_DATA, "'%s', line %lld: the word is empty; fix: correct the line", input_name(c->in),
                    (long long)input_lines(c->in));
    TRY(builder_text(c->builder, c->word_column, f->at[c->word], f->length[c->word]));
    if (c->tag >= 0) { /* "_" marks missing values in CoNLL-U */
        bool missing = c->universal && f->length[c->tag] == 1 && *f->at[c->tag] == '_';
        TRY(builder_text(c->builder, c->tag_column, f->at[c->tag], missing ? 0 : f->length[c->tag]));
    }
    c->words++;
    return UNROLL_OK;
}

static unroll_status end_sentence(struct conll *c)
{
    if (c->words == 0)
        return UNROLL_OK;
    c->words = 0;
    return builder_end_row(c->builder);
}

static unroll_status take_line(struct conll *c, const char *line, size_t length, const struct conll_options *options)
{
    struct conll_fields f;
    if (line_is_blank(line, length))
        return end_sentence(c);
    split(line, length, &f);
    if (is_left_out(line, length, &f, c->columns))
        return UNROLL_OK;
    if (c->fields == 0)
        TRY(choose_columns(c, &f, options));
    if (f.count != c->fields)
        return refuse_column(c, "the columns of the lines before are", c->fields, f.count);
    return take_word(c, &f);
}

/* Finds the number of columns before all lines are read; it distinguishes words from comments. */
static unroll_status find_columns(struct conll *c)
{
    const char *line;
    size_t length;
    struct conll_fields f;
    for (bool more = true, found = false; more && !found;) {
        TRY(input_next_line(c->in, &line, &length, &more));
        if (!more || line_is_blank(line, length))
            continue;
        split(line, length, &f);
        found = !is_left_out(line, length, &f, 0);
        c->columns = found && !is_universal(&f) ? f.count : 0;
    }
    return input_rewind(c->in);
}

/* Reads the sentences of all members. */
static unroll_status read_conll(struct input *in, const void *options, struct builder *b)
{
    struct conll c = {.in = in, .builder = b};
    const char *member, *line;
    size_t length;
    bool more;
    TRY(find_columns(&c));
    for (;;) {
        TRY(input_next(in, &member));
        if (member == NULL)
            break;
        for (;;) {
            TRY(input_line(in, &line, &length, &more));
            if (!more)
                break;
            TRY(take_line(&c, line, length, options));
        }
        TRY(end_sentence(&c));
    }
    return c.fields
               ? UNROLL_OK
               : fail(
                     UNROLL_DATA,
                     "'%s' holds no sentence; fix: write a line for each word, WORD, tab, TAG, and an empty line after each "
                     "sentence",
                     input_path(in));
}

const struct reader reader_conll = {.name = "conll",
                                    .about = "words and tags (CoNLL-U)",
                                    .recognizes = is_conll,
                                    .keys = keys,
                                    .options_bytes = sizeof(struct conll_options),
                                    .read = read_conll};

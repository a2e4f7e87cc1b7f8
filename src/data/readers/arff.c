/* Weka files: @attribute lines, then rows of cells separated by commas. Rows are examples, unless an attribute is a
 * date. Sparse rows and weights of rows are refused. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "data/builder/builder.h"
#include "data/readers/reader_table.h"

struct arff_cursor {
    const char *at, *end;
};

/* A word or quoted string, without quotes and backslashes. */
struct word {
    char *text;
    size_t length, room;
    bool quoted;
};

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

static void skip_blanks(struct arff_cursor *c)
{
    while (c->at < c->end && is_blank(*c->at)) c->at++;
}

static bool skip_keyword(struct arff_cursor *c, const char *keyword)
{
    const size_t length = strlen(keyword);
    if ((size_t)(c->end - c->at) < length || strncasecmp(c->at, keyword, length) != 0)
        return false;
    if (c->at + length < c->end && !is_blank(c->at[length]))
        return false;
    c->at += length;
    skip_blanks(c);
    return true;
}

static bool is_arff(const char *path, const char *head, size_t bytes)
{
    struct arff_cursor c = {head, head + bytes};
    while (c.at < c.end && (is_blank(*c.at) || *c.at == '\r' || *c.at == '\n' || *c.at == '%'))
        if (*c.at++ == '%')
            while (c.at < c.end && *c.at != '\n') c.at++;
    return path_ends_with(path, ".arff") || skip_keyword(&c, "@relation");
}

static unroll_status refuse_arff(struct input *in, const char *why, const char *fix)
{
    return fail(UNROLL_DATA, "'%s', line %lld: %s; fix: %s", input_name(in), (long long)input_lines(in), why, fix);
}

/* Reads a word or quoted string; stop: characters that end a word without quotes. */
static unroll_status read_word(struct input *in, struct arff_cursor *c, const char *stop, struct word *w)
{
    const size_t left = (size_t)(c->end - c->at) + 1;
    if (left > w->room && !enlarge(&w->text, 0, w->room = 2 * left))
        return w->room = 0, fail(UNROLL_RESOURCE, "no memory for a cell of '%s'", input_name(in));
    const char quote = c->at < c->end && (*c->at == '\'' || *c->at == '"') ? *c->at : 0;
    w->quoted = quote != 0;
    w->length = 0;
    for (c->at += w->quoted; c->at < c->end; c->at++) {
        if (quote ? *c->at == quote : *c->at && strchr(stop, *c->at))
            break;
        c->at += *c->at == '\\' && c->at + 1 < c->end;
        w->text[w->length++] = *c->at;
    }
    if (quote && c->at == c->end)
        return refuse_arff(in, "a quote is not closed", "close it, or write a backslash before it");
    c->at += w->quoted;
    while (!quote && w->length && is_blank(w->text[w->length - 1])) w->length--;
    skip_blanks(c);
    return UNROLL_OK;
}

/* ---- the header ---- */

struct header {
    struct word word;
    int columns, members; /* that were read */
    bool dated;
};

/* Reads an @attribute line and declares its column. */
static unroll_status read_attribute(struct header *h, struct input *in, struct builder *b, struct arff_cursor c,
                                    int index)
{
    char name[COLUMN_NAME];
    int column;
    TRY(read_word(in, &c, " \t", &h->word));
    if (h->word.length == 0 || h->word.length >= sizeof name)
        return refuse_arff(in, "the name of an attribute has 1 to 63 bytes", "give it another name");
    snprintf(name, sizeof name, "%.*s", (int)h->word.length, h->word.text);
    const bool nominal = c.at < c.end && *c.at == '{', date = skip_keyword(&c, "date");
    const bool known = nominal || date || skip_keyword(&c, "numeric") || skip_keyword(&c, "real") ||
                       skip_keyword(&c, "integer") || skip_keyword(&c, "string");
    if (!known)
        return refuse_arff(in, "an attribute is neither numeric, string, date nor a list in braces",
                           "convert it, or leave the attribute out");
    if (h->members && index >= h->columns)
        return refuse_arff(in, "this file has more attributes than those before", "give files of the same attributes");
    h->dated = h->dated || date;
    if (h->members)
        return UNROLL_OK;
    h->columns++;
    TRY(builder_column(b, name, CELL_TEXT, true, 1, &column));
    if (nominal)
        builder_category(b, column);
    return UNROLL_OK;
}

/* Reads the header up to @data. */
static unroll_status read_header(struct header *h, struct input *in, struct builder *b)
{
    struct arff_cursor c;
    size_t length;
    bool more;
    for (int attributes = 0;;) {
        TRY(input_line(in, &c.at, &length, &more));
        if (!more)
            return fail(UNROLL_DATA, "'%s' has no line @data; fix: put it before the rows", input_name(in));
        c.end = c.at + length;
        skip_blanks(&c);
        if (c.at == c.end || *c.at == '%' || skip_keyword(&c, "@relation"))
            continue;
        if (skip_keyword(&c, "@data"))
            return attributes ? UNROLL_OK
                              : refuse_arff(in, "there is no @attribute before @data", "declare the columns");
        if (!skip_keyword(&c, "@attribute"))
            return refuse_arff(in, "the line is neither @relation, @attribute nor @data",
                               "correct it, or begin it with %");
        TRY(read_attribute(h, in, b, c, attributes++));
    }
}

/* ---- rows ---- */

static unroll_status read_row(struct header *h, struct input *in, struct builder *b, struct arff_cursor c)
{
    if (*c.at == '{')
        return refuse_arff(in, "sparse rows are not supported",
                           "convert the file with Weka's filter SparseToNonSparse");
    for (int column = 0;; c.at++, column++) {
        skip_blanks(&c);
        if (c.at < c.end && *c.at == '{')
            return refuse_arff(in, "weights of rows are not supported", "remove them");
        TRY(read_word(in, &c, ",", &h->word));
        if (column == h->columns || (c.at < c.end ? *c.at != ',' : column + 1 < h->columns))
            return fail(UNROLL_DATA,
                        "'%s', line %lld does not have %d cells between commas; fix: give one for each attribute",
                        input_name(in), (long long)input_lines(in), h->columns);
        const bool missing = !h->word.quoted && h->word.length == 1 && *h->word.text == '?';
        TRY(builder_text(b, column, h->word.text, missing ? 0 : h->word.length));
        if (c.at == c.end)
            return builder_end_row(b);
    }
}

static unroll_status read_rows(struct header *h, struct input *in, struct builder *b)
{
    struct arff_cursor c;
    size_t length;
    bool more;
    for (;;) {
        TRY(input_line(in, &c.at, &length, &more));
        if (!more)
            return UNROLL_OK;
        c.end = c.at + length;
        skip_blanks(&c);
        if (c.at < c.end && *c.at != '%')
            TRY(read_row(h, in, b, c));
    }
}

static unroll_status read_members(struct header *h, struct input *in, struct builder *b)
{
    const char *member;
    TRY(builder_columns(b, ROWS_OPEN));
    for (;; h->members++) {
        TRY(input_next(in, &member));
        if (member == NULL)
            return UNROLL_OK;
        TRY(read_header(h, in, b));
        if (!h->dated)
            builder_rows_are_examples(b);
        TRY(read_rows(h, in, b));
    }
}

static unroll_status read_arff(struct input *in, const void *options, struct builder *b)
{
    struct header header = {0};
    (void)options;
    const unroll_status status = read_members(&header, in, b);
    release(header.word.text);
    return status;
}

const struct reader reader_arff = {.name = "arff", .about = "tables of Weka", .recognizes = is_arff, .read = read_arff};

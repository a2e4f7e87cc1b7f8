/* fastText files: each line contains labels, marked by "__label__", then a text. With one label per line it is a class,
 * otherwise a set. */
#include <string.h>

#include "data/builder/builder.h"
#include "data/readers/reader_table.h"

static const char mark[] = "__label__";
enum { MARK = sizeof mark - 1 };

static bool begins_label(const char *at, const char *end) { return end - at > MARK && memcmp(at, mark, MARK) == 0; }

static bool is_fasttext(const char *path, const char *head, size_t bytes)
{
    (void)path;
    return begins_label(head, head + bytes);
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t')) at++;
    return at;
}

static const char *end_of_word(const char *at, const char *end)
{
    while (at < end && *at != ' ' && *at != '\t') at++;
    return at;
}

static int count_labels(const char *line, size_t length)
{
    const char *end = line + length, *at = skip_blanks(line, end);
    int labels = 0;
    for (; begins_label(at, end); labels++) at = skip_blanks(end_of_word(at, end), end);
    return labels;
}

/* True if each line has exactly one label. */
static unroll_status look(struct input *input, bool *single)
{
    const char *line;
    size_t length;
    bool more = true;
    *single = true;
    for (;;) {
        TRY(input_next_line(input, &line, &length, &more));
        if (!more)
            return input_rewind(input);
        *single = *single && (line_is_blank(line, length) || count_labels(line, length) == 1);
    }
}

static unroll_status take_line(struct builder *b, int text, int label, bool single, const char *line, size_t length)
{
    const char *end = line + length, *at = skip_blanks(line, end);
    if (!single)
        TRY(builder_text(b, label, "", 0));
    while (begins_label(at, end)) {
        const char *last = end_of_word(at, end);
        TRY(builder_text(b, label, at + MARK, (size_t)(last - at) - MARK));
        at = skip_blanks(last, end);
    }
    TRY(builder_text(b, text, at, (size_t)(end - at)));
    return builder_end_row(b);
}

/* Reads the lines of all members. */
static unroll_status read_fasttext(struct input *input, const void *options, struct builder *b)
{
    const char *line;
    size_t length;
    bool more, single;
    int text, label;
    (void)options;
    TRY(look(input, &single));
    TRY(builder_columns(b, ROWS_ARE_EXAMPLES));
    TRY(builder_column(b, "text", CELL_TOKENS, false, 0, &text));
    TRY(builder_column(b, single ? "label" : "labels", single ? CELL_LABEL : CELL_SET, true, 1, &label));
    for (;;) {
        TRY(input_next_line(input, &line, &length, &more));
        if (!more)
            return UNROLL_OK;
        if (!line_is_blank(line, length))
            TRY(take_line(b, text, label, single, line, length));
    }
}

const struct reader reader_fasttext = {
    .name = "fasttext", .about = "texts after __label__", .recognizes = is_fasttext, .read = read_fasttext};

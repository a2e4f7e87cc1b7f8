/* The reader text: all of a file is one sequence of tokens; or a line is a step, a set of what stands between its
 * blanks, "-" an empty one, and an empty line ends a sequence. */
#include <limits.h>
#include <string.h>

#include "base/memory.h"
#include "data/reader_table.h"
#include "data/words.h"

enum { CHUNK = 1 << 16 };

static unroll_status read_chunks(struct input *input, struct builder *builder, char *chunk)
{
    const char *member;
    size_t got, all = 0;
    int text;
    TRY(builder_columns(builder, ROWS_ARE_EXAMPLES));
    TRY(builder_column(builder, "text", CELL_TOKENS, false, 0, &text));
    for (;;) {
        TRY(input_next(input, &member));
        if (member == NULL)
            break;
        do {
            TRY(input_read(input, chunk, CHUNK, &got));
            TRY(builder_text(builder, text, chunk, got));
            all += got;
        } while (got);
    }
    if (all == 0)
        return fail(UNROLL_DATA, "%s is empty; fix: give data, or a text with at least one character",
                    builder_place(builder));
    return builder_end_row(builder);
}

static size_t blanks_of(const char *text, size_t length)
{
    size_t blanks = 0;
    while (blanks < length && (text[blanks] == ' ' || text[blanks] == '\t' || text[blanks] == '\r')) blanks++;
    return blanks;
}

/* A sentence as words, without the blanks between them. */
static unroll_status take_words(struct builder *builder, int column, const char *line, size_t length)
{
    size_t size;
    for (const char *end = line + length; line < end; line += size) {
        size = word_length((const unsigned char *)line, (const unsigned char *)end);
        size_t blanks = blanks_of(line, size);
        if (size > blanks)
            TRY(builder_text(builder, column, line + blanks, size - blanks));
    }
    return UNROLL_OK;
}

/* Examples for a model: a line each, without its end. */
static unroll_status read_lines(struct input *input, struct builder *builder, const char *name, enum cell cell)
{
    const char *line;
    size_t length;
    bool more;
    int text;
    TRY(builder_columns(builder, ROWS_ARE_EXAMPLES));
    TRY(builder_column(builder, name, cell, false, 0, &text));
    for (;;) {
        TRY(input_next_line(input, &line, &length, &more));
        if (!more)
            return UNROLL_OK;
        TRY((cell == CELL_WORD ? take_words : builder_text)(builder, text, line, length));
        TRY(builder_end_row(builder));
    }
}

static unroll_status take_set(struct builder *builder, int sets, const char *line, size_t length)
{
    const char *end = line + length;
    TRY(builder_text(builder, sets, "", 0));
    for (const char *part; line < end; line = part) {
        while (line < end && (*line == ' ' || *line == '\t')) line++;
        for (part = line; part < end && *part != ' ' && *part != '\t';) part++;
        if (part > line && !(part == line + 1 && *line == '-'))
            TRY(builder_text(builder, sets, line, (size_t)(part - line)));
    }
    return builder_end_row(builder);
}

static unroll_status read_sets(struct input *input, struct builder *builder)
{
    const char *member, *line;
    size_t length, steps;
    bool more;
    int sets;
    TRY(builder_columns(builder, ROWS_ARE_STEPS));
    TRY(builder_column(builder, "sets", CELL_SET, false, 0, &sets));
    for (;;) {
        TRY(input_next(input, &member));
        if (member == NULL)
            return UNROLL_OK;
        for (steps = 0;;) {
            TRY(input_line(input, &line, &length, &more));
            bool ends = !more || length == 0;
            if (!ends)
                TRY(take_set(builder, sets, line, length));
            else if (steps)
                TRY(builder_end_sequence(builder));
            steps = ends ? 0 : steps + 1;
            if (!more)
                break;
        }
    }
}

/* Whole numbers that rise, or "-"; how many. -1: the line is something else. */
static int rising_numbers(const char *line, const char *end)
{
    enum { DIGITS = 6 };
    long last = -1;
    int count = 0;
    if (end == line + 1 && *line == '-')
        return 0;
    while (line < end) {
        const char *first = line;
        long number = 0;
        for (; line < end && *line >= '0' && *line <= '9' && line - first < DIGITS; line++)
            number = 10 * number + *line - '0';
        if (line == first || number <= last || (line < end && *line++ != ' '))
            return -1;
        last = number;
        count++;
    }
    return count;
}

/* Lines of rising whole numbers, not as many in each: notes of a chord, items of a basket. */
static bool look_like_sets(const char *head, size_t bytes)
{
    enum { LINES = 8 };
    int lines = 0, least = INT_MAX, most = 0;
    const char *end = head + bytes, *next;
    for (const char *line = head; line < end && (next = memchr(line, '\n', (size_t)(end - line))); line = next + 1) {
        const char *last = next > line && next[-1] == '\r' ? next - 1 : next;
        if (last == line)
            continue;
        int count = rising_numbers(line, last);
        if (count < 0)
            return false;
        least = count < least ? count : least;
        most = count > most ? count : most;
        lines++;
    }
    return lines >= LINES && most > 1 && least < most;
}

static unroll_status are_sets(struct input *input, struct builder *builder, bool *sets)
{
    char head[READER_HEAD];
    size_t bytes;
    *sets = builder_wants_sets(builder);
    if (!builder_takes_any_tokens(builder))
        return UNROLL_OK;
    TRY(input_head(input, head, sizeof head, &bytes));
    if (!(*sets = look_like_sets(head, bytes)))
        return UNROLL_OK;
    return builder_note(builder, "lines of rising numbers are read as sets, an empty line ends a sequence; `tokens` "
                                 "blanks reads them as a text");
}

static unroll_status read_text(struct input *input, const void *options, struct builder *builder)
{
    const char *column;
    enum cell cell;
    bool sets;
    char *chunk;
    (void)options;
    if (input_is_folder(input))
        return fail(UNROLL_DATA, "cannot read '%s': Is a directory; fix: give a file in it", input_path(input));
    TRY(are_sets(input, builder, &sets));
    if (sets)
        return read_sets(input, builder);
    if ((column = builder_line_column(builder, &cell)))
        return read_lines(input, builder, column, cell);
    TRY(ALLOCATE(chunk, CHUNK, "to read '%s'", input_name(input)));
    unroll_status status = read_chunks(input, builder, chunk);
    release(chunk);
    return status;
}

const struct reader reader_text = {.name = "text", .about = "text in UTF-8", .read = read_text};

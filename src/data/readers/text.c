/* The reader text: a file is one sequence of tokens. Or each line is a step, a set of the words in it ("-": an empty
 * set), and an empty line ends a sequence. */
#include <limits.h>
#include <string.h>

#include "base/memory.h"
#include "data/readers/reader_table.h"
#include "data/words.h"

enum { CHUNK = 1 << 16 };

struct text_options {
    int mask;
};

enum { MASK_NOTHING, MASK_NUMBERS };

static const struct key keys[] = {
    {.name = "mask",
     .choices = "no numbers",
     .offset = offsetof(struct text_options, mask),
     .about = "replace numbers by 0, as in logs: 10.0.0.7 becomes 0.0.0.0, key=2aef becomes key=0"},
    {0},
};

/* Replaces the variable part of a log's lines in place: digits, and hexadecimal digits after them, become one 0.
 * Returns the new size. *inside: the previous bytes ended in such a number. */
static size_t mask_numbers(char *bytes, size_t size, bool *inside)
{
    size_t used = 0;
    for (size_t i = 0; i < size; i++) {
        const bool digit = bytes[i] >= '0' && bytes[i] <= '9', hex = bytes[i] >= 'a' && bytes[i] <= 'f';
        if (!(*inside && (digit || hex)))
            bytes[used++] = digit ? '0' : bytes[i];
        *inside = digit || (*inside && hex);
    }
    return used;
}

/* Reads all bytes as one text, in chunks. */
static unroll_status read_chunks(struct input *input, struct builder *builder, char *chunk, bool masked)
{
    bool inside = false;
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
            all += got;
            TRY(builder_text(builder, text, chunk, masked ? mask_numbers(chunk, got, &inside) : got));
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

/* Takes a sentence as words, without the spaces between them. */
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

/* Reads examples for a model: one per line, without its end. */
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

/* Reads lines of sets; an empty line ends a sequence. */
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

/* Counts the rising integers in a line; "-": 0. -1: another content. */
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

/* Recognizes lines of rising integers with different counts, such as the notes of a chord or the items of a basket. */
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

/* Reads a text as tokens, as examples of a model, or as sets. */
static unroll_status read_text(struct input *input, const void *options, struct builder *builder)
{
    const char *column;
    enum cell cell;
    bool sets;
    char *chunk;
    const bool masked = ((const struct text_options *)options)->mask == MASK_NUMBERS;
    if (input_is_folder(input))
        return fail(UNROLL_DATA, "cannot read '%s': Is a directory; fix: give a file in it", input_path(input));
    TRY(are_sets(input, builder, &sets));
    if (sets)
        return read_sets(input, builder);
    if ((column = builder_line_column(builder, &cell)))
        return read_lines(input, builder, column, cell);
    if (masked)
        builder_read_as(builder, "numbers as 0 (`mask`)");
    TRY(ALLOCATE(chunk, CHUNK, "to read '%s'", input_name(input)));
    unroll_status status = read_chunks(input, builder, chunk, masked);
    release(chunk);
    return status;
}

const struct reader reader_text = {.name = "text",
                                   .about = "text in UTF-8",
                                   .keys = keys,
                                   .options_bytes = sizeof(struct text_options),
                                   .read = read_text};

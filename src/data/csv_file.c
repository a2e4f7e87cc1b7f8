/* libcsv calls back for each cell and row; here they are collected, and a row is asked for. It is fed line by line, so
 * that a row's line is known. */
#include "data/csv_file.h"

#include <string.h>

#include "base/library.h"
#include "base/memory.h"

/* Of csv.h of libcsv 3: its struct has some 100 bytes, functions set it up. */
enum { PARSER_BYTES = 512, CELLS_MAX = 1 << 20, ROW_MAX = 64 << 20 };
typedef void on_cell(void *bytes, size_t length, void *rows);
typedef void on_row(int end, void *rows);
struct csv_parser;

static struct {
    int (*init)(struct csv_parser *, unsigned char options);
    void (*free)(struct csv_parser *);
    size_t (*parse)(struct csv_parser *, const void *bytes, size_t length, on_cell *, on_row *, void *rows);
    void (*set_delim)(struct csv_parser *, unsigned char);
    void (*set_quote)(struct csv_parser *, unsigned char);
    void (*set_space_func)(struct csv_parser *, int (*)(unsigned char));
} csv;

static const struct symbol symbols[] = {
    {"csv_init", &csv.init, false},           {"csv_free", &csv.free, false},
    {"csv_parse", &csv.parse, false},         {"csv_set_delim", &csv.set_delim, false},
    {"csv_set_quote", &csv.set_quote, false}, {"csv_set_space_func", &csv.set_space_func, false},
};

struct csv_rows {
    struct input *input;
    union {
        char bytes[PARSER_BYTES];
        max_align_t align;
    } parser;
    char delimiter;
    bool quotes, begun;
    bool open, whole, failed; /* a row has begun, has ended; there was no memory for it */
    int64_t line;             /* where the row began */
    char *text;
    size_t *end; /* [cells] in text */
    size_t text_room, used;
    int cells, cells_room;
};

static struct csv_parser *parser_of(struct csv_rows *rows) { return (struct csv_parser *)rows->parser.bytes; }

static int is_blank(unsigned char byte) { return byte == ' '; }

static void begin_parser(struct csv_rows *rows)
{
    csv.init(parser_of(rows), 0);
    csv.set_delim(parser_of(rows), (unsigned char)rows->delimiter);
    csv.set_space_func(parser_of(rows), is_blank);
    if (!rows->quotes)
        csv.set_quote(parser_of(rows), 0);
}

unroll_status csv_rows_new(struct input *input, char delimiter, bool quotes, struct csv_rows **rows)
{
    TRY(library_open(LIBRARY_CSV, symbols, sizeof symbols / sizeof *symbols, NULL));
    TRY(ALLOCATE(*rows, 1, "to read '%s'", input_name(input)));
    (*rows)->input = input;
    (*rows)->delimiter = delimiter;
    (*rows)->quotes = quotes;
    return UNROLL_OK;
}

void csv_rows_begin_member(struct csv_rows *rows)
{
    if (rows->begun)
        csv.free(parser_of(rows));
    begin_parser(rows);
    rows->begun = true;
    rows->open = false;
}

void csv_rows_free(struct csv_rows *rows)
{
    if (rows == NULL)
        return;
    if (rows->begun)
        csv.free(parser_of(rows));
    release(rows->text);
    release(rows->end);
    release(rows);
}

static bool has_room(struct csv_rows *rows, size_t length)
{
    size_t bytes = rows->used + length;
    if (bytes > rows->text_room) {
        if (bytes > ROW_MAX || !enlarge(&rows->text, rows->used, 2 * bytes + 256))
            return false;
        rows->text_room = 2 * bytes + 256;
    }
    if (rows->cells == rows->cells_room) {
        int room = 2 * rows->cells_room + 16;
        if (room > CELLS_MAX ||
            !enlarge(&rows->end, (size_t)rows->cells * sizeof *rows->end, (size_t)room * sizeof *rows->end))
            return false;
        rows->cells_room = room;
    }
    return true;
}

static void take_cell(void *bytes, size_t length, void *arg)
{
    struct csv_rows *rows = arg;
    rows->failed = rows->failed || !has_room(rows, length);
    if (rows->failed)
        return;
    if (length)
        memcpy(rows->text + rows->used, bytes, length);
    rows->used += length;
    rows->end[rows->cells++] = rows->used;
}

static void take_row(int end, void *arg)
{
    (void)end;
    struct csv_rows *rows = arg;
    rows->whole = true;
    rows->open = false;
}

static unroll_status refuse(const struct csv_rows *rows, const char *what)
{
    return fail(UNROLL_DATA, "'%s', the row that begins in line %lld %s", input_name(rows->input),
                (long long)rows->line, what);
}

unroll_status csv_rows_next(struct csv_rows *rows, bool *more)
{
    const char *line;
    size_t length;
    rows->used = 0, rows->cells = 0, rows->whole = false, rows->failed = false;
    rows->line = input_lines(rows->input) + 1;
    for (*more = true; !rows->whole;) {
        TRY(input_line(rows->input, &line, &length, more));
        if (!*more && rows->open)
            return refuse(rows, "has a quote that never closes; fix: close it, or quotes=no");
        if (!*more)
            break;
        bool mark = input_lines(rows->input) == 1 && length >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0;
        line += mark ? 3 : 0; /* a byte order mark */
        length -= mark ? 3 : 0;
        rows->open = rows->open || length > 0;
        if (csv.parse(parser_of(rows), line, length, take_cell, take_row, rows) != length ||
            csv.parse(parser_of(rows), "\n", 1, take_cell, take_row, rows) != 1)
            return refuse(rows, "cannot be read: no memory for it");
        if (!rows->open && !rows->whole)
            rows->line = input_lines(rows->input) + 1;
    }
    return rows->failed ? refuse(rows, "is too large: more than a million cells or 64 MiB; fix: is a quote left open?")
                        : UNROLL_OK;
}

int csv_rows_cells(const struct csv_rows *rows) { return rows->cells; }

const char *csv_rows_cell(const struct csv_rows *rows, int index, size_t *length)
{
    size_t from = index ? rows->end[index - 1] : 0;
    *length = rows->end[index] - from;
    return rows->text + from;
}

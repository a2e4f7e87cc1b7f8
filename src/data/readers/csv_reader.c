/* The reader csv: tables of rows and columns, separated by comma, semicolon, tab, bar or spaces, with or without a
 * header. Options that are not given are derived from the first bytes (csv_glance.c). */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "data/readers/csv_glance.h"
#include "data/readers/encoding.h"
#include "data/readers/reader_table.h"

enum { HEAD = 1 << 16, HEAD_MAX = 32 << 20, ROWS_SEEN = 16 };

static const struct key keys[] = {
    {.name = "header",
     .choices = "auto yes no",
     .offset = offsetof(struct csv_options, header),
     .about = "whether the first row names the columns"},
    {.name = "delimiter",
     .choices = "auto comma semicolon tab bar blanks",
     .offset = offsetof(struct csv_options, delimiter),
     .about = "separator of cells"},
    {.name = "quotes",
     .choices = "auto yes no",
     .offset = offsetof(struct csv_options, quotes),
     .about = "whether quotes enclose cells"},
    {.name = "encoding",
     .choices = "auto utf-8 windows-1252",
     .offset = offsetof(struct csv_options, encoding),
     .about = "encoding of the text"},
    {0},
};

/* Recognizes a table by its name or content. Two rows with equally many cells are enough if half of them are numbers
 * and times, or if they are separated by tabs. Cells separated by spaces must all be numbers, one of them with a point.
 * Standard input has no name: five rows below a header are a table, too. */
static bool is_csv(const char *path, const char *head, size_t bytes)
{
    static const struct csv_options by_content;
    struct csv_look look;
    char copy[READER_HEAD];
    if (path_ends_with(path, ".csv") || path_ends_with(path, ".tsv") || path_ends_with(path, ".tab"))
        return true;
    if (bytes == 0 || memchr(head, 0, bytes))
        return false;
    memcpy(copy, head, bytes);
    if (csv_look(copy, bytes, bytes < READER_HEAD, &by_content, NULL, &look) != UNROLL_OK)
        return false;
    const bool text = look.delimiter == CSV_BLANKS && !look.fractions; /* lines of integers are a text */
    const bool rows = look.same && look.columns > 1 && look.rows > 1 && !text;
    const bool nameless = strcmp(path, INPUT_STANDARD) == 0 && look.rows >= 5 && look.header;
    return rows && (nameless || 2 * look.values >= look.cells || look.delimiter == '\t');
}

static bool is_wanted(const void *builder, const char *name, size_t length)
{
    return builder_wants_column(builder, name, length);
}

/* Examines the first bytes, and reports the decisions to the builder. */
static unroll_status look(struct input *input, const struct csv_options *options, struct builder *builder,
                          struct csv_look *found)
{
    const struct csv_names names = {is_wanted, builder};
    size_t bytes, room = HEAD;
    char *head = NULL;
    unroll_status status;
    do { /* wide tables need more bytes for a few rows */
        release(head);
        TRY(ALLOCATE(head, room, "to look at '%s'", input_name(input)));
        status = input_head(input, head, room, &bytes);
        if (status == UNROLL_OK)
            status = csv_look(head, bytes, bytes < room, options, builder_reads_again(builder) ? &names : NULL, found);
    } while (status == UNROLL_OK && found->rows < ROWS_SEEN && bytes == room && (room *= 8) <= HEAD_MAX);
    if (status == UNROLL_OK && found->mark)
        status = fail(UNROLL_DATA, "'%s' is in %s; fix: convert it, for example with 'iconv -f %s -t UTF-8'",
                      input_name(input), found->mark, found->mark);
    if (status == UNROLL_OK && *found->doubt && !builder_reads_again(builder))
        status = builder_note(builder, "%s", found->doubt);
    release(head);
    return status;
}

/* ---- rows ---- */

static unroll_status name_columns(struct csv_rows *rows, struct builder *builder, bool header, int columns)
{
    char name[COLUMN_NAME];
    size_t length;
    int column;
    for (int i = 0; i < columns; i++) {
        const char *cell = csv_rows_cell(rows, i, &length);
        if (header && length >= sizeof name)
            return fail(UNROLL_DATA,
                        "%s: the name of column %d has more than %zu bytes; fix: use `header` no, or a shorter name",
                        builder_place(builder), i + 1, sizeof name - 1);
        snprintf(name, sizeof name, "%.*s", header ? (int)length : 0, cell);
        if (header && i == 0 && length == 0)
            strcpy(name, "index");
        TRY(builder_column(builder, header && *name ? name : NULL, CELL_TEXT, true, 1, &column));
    }
    return UNROLL_OK;
}

static unroll_status take_row(struct csv_rows *rows, struct builder *builder, int columns)
{
    size_t length;
    if (csv_rows_cells(rows) != columns)
        return fail(UNROLL_DATA,
                    "%s has %d cells where the table has %d; fix: give it the same number, or another delimiter",
                    builder_place(builder), csv_rows_cells(rows), columns);
    for (int i = 0; i < columns; i++) {
        const char *cell = csv_rows_cell(rows, i, &length);
        TRY(builder_text(builder, i, cell, length));
    }
    return builder_end_row(builder);
}

/* Takes a row that is a series: a name, then one number per step, and nothing after the last. */
static unroll_status take_series(struct csv_rows *rows, struct builder *builder)
{
    size_t length;
    int last = csv_rows_cells(rows) - 1;
    for (const char *cell; last > 0; last--) {
        cell = csv_rows_cell(rows, last, &length);
        if (!builder_is_missing(builder, cell, length))
            break;
    }
    for (int i = 1; i <= last; i++) {
        const char *name = csv_rows_cell(rows, 0, &length);
        TRY(builder_text(builder, 0, name, length));
        const char *cell = csv_rows_cell(rows, i, &length);
        TRY(builder_text(builder, 1, cell, length));
        TRY(builder_end_row(builder));
    }
    return UNROLL_OK;
}

static unroll_status name_series(struct csv_rows *rows, struct builder *builder, bool header)
{
    char name[COLUMN_NAME] = "series";
    size_t length;
    int column;
    const char *cell = csv_rows_cell(rows, 0, &length);
    if (header && length > 0 && length < sizeof name)
        snprintf(name, sizeof name, "%.*s", (int)length, cell);
    builder_group(builder, name);
    if (!builder_reads_again(builder))
        TRY(builder_note(
            builder,
            "each row is read as a series, with its name in '%s' and the model's name 'value'; `layout` steps or "
            "examples reads rows otherwise",
            name));
    TRY(builder_column(builder, name, CELL_TEXT, true, 1, &column));
    return builder_column(builder, "value", CELL_TEXT, true, 1, &column);
}

static unroll_status read_wide(struct csv_rows *rows, struct builder *builder, const struct csv_look *found,
                               bool *named)
{
    bool first = true, more;
    csv_rows_begin_member(rows, found->comments, found->header_is_mark);
    for (;; first = false) {
        TRY(csv_rows_next(rows, &more));
        if (!more)
            return UNROLL_OK;
        if (!*named)
            TRY(name_series(rows, builder, found->header));
        *named = true;
        if (!first || !found->header)
            TRY(take_series(rows, builder));
    }
}

static unroll_status read_member(struct csv_rows *rows, struct input *input, struct builder *builder,
                                 const struct csv_look *found, int *columns)
{
    bool first = true, more;
    csv_rows_begin_member(rows, found->comments, found->header_is_mark);
    for (;; first = false) {
        TRY(csv_rows_next(rows, &more));
        if (!more)
            return UNROLL_OK;
        if (first && *columns == 0)
            TRY(name_columns(rows, builder, found->header, *columns = csv_rows_cells(rows)));
        if (first && found->header && csv_rows_cells(rows) != *columns)
            return fail(UNROLL_DATA, "'%s' has %d columns and those before %d; fix: leave it out", input_name(input),
                        csv_rows_cells(rows), *columns);
        if (!first || !found->header)
            TRY(take_row(rows, builder, *columns));
    }
}

static void describe_look(struct builder *builder, const struct csv_look *found, bool windows)
{
    static const char *const names[] = {"", "commas", "semicolons", "tabs", "bars", "blanks"};
    const char *at = strchr(csv_delimiters + 1, found->delimiter);
    builder_read_as(builder, "%s (`header`), %s between cells (`delimiter`)%s%s, %s (`encoding`)",
                    found->header ? "a header" : "no header", at ? names[at - csv_delimiters] : "one byte",
                    found->quotes ? "" : ", quotes are ordinary (`quotes`)",
                    found->comments ? ", lines above it are skipped" : "",
                    windows ? "Windows code page 1252" : "UTF-8");
}

static unroll_status find_encoding(struct input *input, const struct csv_options *options, struct builder *builder,
                                   bool *windows)
{
    *windows = options->encoding == CSV_NO;
    if (options->encoding)
        return UNROLL_OK;
    TRY(encoding_is_windows(input, windows));
    return *windows ? builder_note(
                          builder,
                          "'%.120s' is not UTF-8: it is read as Windows code page 1252, of which ISO 8859-1 is a part",
                          input_path(input))
                    : UNROLL_OK;
}

/* Reads the rows of all members. */
static unroll_status read_csv(struct input *input, const void *options, struct builder *builder)
{
    struct csv_look found;
    struct csv_rows *rows;
    const char *member;
    int columns = 0;
    bool named = false, windows;
    TRY(look(input, options, builder, &found));
    builder_delimiter(builder, found.delimiter);
    TRY(find_encoding(input, options, builder, &windows));
    describe_look(builder, &found, windows);
    TRY(csv_rows_new(input, found.delimiter, found.quotes, windows, &rows));
    unroll_status status = builder_columns(builder, ROWS_OPEN);
    while (status == UNROLL_OK && (status = input_next(input, &member)) == UNROLL_OK && member)
        status = builder_is_wide(builder, found.wide) ? read_wide(rows, builder, &found, &named)
                                                      : read_member(rows, input, builder, &found, &columns);
    csv_rows_free(rows);
    return status;
}

const struct reader reader_csv = {.name = "csv",
                                  .about = "tables: csv, tsv",
                                  .recognizes = is_csv,
                                  .is_tables = true,
                                  .keys = keys,
                                  .options_bytes = sizeof(struct csv_options),
                                  .read = read_csv};

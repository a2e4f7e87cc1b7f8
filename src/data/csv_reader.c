/* The reader csv: tables of rows and columns, comma, semicolon, tab or bar between the cells, with a header or not.
 * What stands between the cells and whether there is a header is found in the first bytes, or said. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "data/table_cell.h"
#include "data/csv_file.h"
#include "data/reader_table.h"

enum { HEAD = 1 << 16, LINES = 64, CELLS = 256 };
enum answer { BY_CONTENT, YES, NO };
static const char delimiters[] = {0, ',', ';', '\t', '|'};

struct csv_options {
    int header, delimiter, quotes;
};

static const struct key keys[] = {
    {.name = "header",
     .choices = "auto yes no",
     .offset = offsetof(struct csv_options, header),
     .about = "does the first row name the columns?"},
    {.name = "delimiter",
     .choices = "auto comma semicolon tab bar",
     .offset = offsetof(struct csv_options, delimiter),
     .about = "what is between two cells"},
    {.name = "quotes",
     .choices = "auto yes no",
     .offset = offsetof(struct csv_options, quotes),
     .about = "are cells in quotes one?"},
    {0},
};

/* ---- a look at the first rows ---- */

struct glance {
    int rows, cells[LINES];
    const char *cell[LINES][CELLS];
    int length[LINES][CELLS];
};

/* A cell up to the delimiter or the line's end; quotes are taken off, doubled ones inside stay. */
static const char *glance_cell(const char *at, const char *end, char delimiter, const char **cell, int *length)
{
    bool quoted = at < end && *at == '"' && delimiter != '\t';
    *cell = at + quoted;
    if (quoted)
        for (at++; at < end && (*at != '"' || (at + 1 < end && at[1] == '"')); at++) at += *at == '"';
    const char *close = at;
    while (at < end && *at != delimiter && *at != '\n') at++;
    const char *last = quoted ? close : at;
    while (last > *cell && (last[-1] == '\r' || last[-1] == ' ')) last--;
    *length = (int)(last - *cell);
    return at;
}

/* The last row may be cut short, and counts only if all of the data are there. */
static void glance_at(const char *head, size_t bytes, char delimiter, bool all, struct glance *g)
{
    const char *at = head, *end = head + bytes;
    if (bytes >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0)
        at += 3;
    g->rows = 0;
    while (at < end && g->rows < LINES) {
        int row = g->rows, cells = 0;
        for (bool more = true; more; at += more) {
            int i = cells < CELLS ? cells : CELLS - 1;
            at = glance_cell(at, end, delimiter, &g->cell[row][i], &g->length[row][i]);
            cells++;
            more = at < end && *at == delimiter;
        }
        bool blank = cells == 1 && g->length[row][0] == 0, whole = at < end || all;
        at += at < end;
        g->cells[row] = cells;
        g->rows += !blank && whole;
    }
}

/* As many cells in each row as there are in the first, two or more; 0: they are not. */
static int same_cells(const struct glance *g)
{
    for (int row = 1; row < g->rows; row++)
        if (g->cells[row] != g->cells[0])
            return 0;
    return g->rows && g->cells[0] > 1 ? g->cells[0] : 0;
}

static bool is_value(const char *cell, int length)
{
    double value;
    return cell_number(cell, (size_t)length, &value) || cell_time(cell, (size_t)length, &value);
}

/* The delimiter with which rows have the most cells, all as many; of none the one that the first row has most. */
static int find_delimiter(const char *head, size_t bytes, bool all, struct glance *g, int *cells)
{
    int best = 0, found = 1, most = 0;
    for (int d = 1; d < (int)sizeof delimiters; d++) {
        glance_at(head, bytes, delimiters[d], all, g);
        int same = same_cells(g);
        if (same > best)
            best = same, found = d;
        if (best == 0 && g->rows && g->cells[0] > most)
            most = g->cells[0], found = d;
    }
    *cells = best;
    glance_at(head, bytes, delimiters[found], all, g);
    return found;
}

static bool has_header(const struct glance *g);

/* By its name; or by two rows and more of as many cells, half of them numbers and times, or with tabs between. What
 * comes without a name, on standard input, is a table, too, if five rows and more have as many cells below a header. */
static bool is_csv(const char *path, const char *head, size_t bytes)
{
    int cells, values = 0, all = 0;
    if (path_ends_with(path, ".csv") || path_ends_with(path, ".tsv") || path_ends_with(path, ".tab"))
        return true;
    if (bytes == 0 || memchr(head, 0, bytes))
        return false;
    struct glance *g = allocate_zeroed(1, sizeof *g);
    if (g == NULL)
        return false;
    int delimiter = find_delimiter(head, bytes, bytes < READER_HEAD, g, &cells);
    for (int row = 1; row < g->rows; row++)
        for (int i = 0; i < cells && i < CELLS; i++, all++) values += is_value(g->cell[row][i], g->length[row][i]);
    bool nameless = strcmp(path, INPUT_STANDARD) == 0 && g->rows >= 5 && has_header(g);
    bool rows = cells > 1 && g->rows > 1;
    release(g);
    return rows && (nameless || 2 * values >= all || delimiters[delimiter] == '\t');
}

/* ---- header ---- */

static bool is_name(const char *cell, int length)
{
    return length > 0 && length < COLUMN_NAME && !is_value(cell, length);
}

static bool recurs(const struct glance *g, int column)
{
    for (int row = 1; row < g->rows; row++)
        if (g->cells[row] > column && g->length[row][column] == g->length[0][column] &&
            memcmp(g->cell[row][column], g->cell[0][column], (size_t)g->length[0][column]) == 0)
            return true;
    return false;
}

static bool are_values_below(const struct glance *g, int column)
{
    for (int row = 1; row < g->rows; row++)
        if (g->cells[row] <= column || !is_value(g->cell[row][column], g->length[row][column]))
            return false;
    return g->rows > 1;
}

/* Names, none of them a value, none that comes again as a cell below. Two alike are a header (which is refused later)
 * only if values stand below them. The first may be empty: so are the rows' numbers in tables of pandas. */
static bool has_header(const struct glance *g)
{
    int cells = g->rows ? g->cells[0] : 0;
    for (int i = 0; i < cells && i < CELLS; i++) {
        if (i == 0 && cells > 1 && g->length[0][0] == 0)
            continue;
        if (!is_name(g->cell[0][i], g->length[0][i]) || recurs(g, i))
            return false;
        for (int k = 0; k < i; k++)
            if (g->length[0][k] == g->length[0][i] &&
                memcmp(g->cell[0][k], g->cell[0][i], (size_t)g->length[0][i]) == 0 && !are_values_below(g, i))
                return false;
    }
    return cells > 0;
}

struct found {
    char delimiter;
    bool quotes, header;
};

static unroll_status look(struct input *input, const struct csv_options *options, struct found *found)
{
    struct glance *g;
    int cells, delimiter = options->delimiter;
    size_t bytes;
    char *head;
    TRY(ALLOCATE(g, 1, "to look at '%s'", input_name(input)));
    unroll_status status = ALLOCATE(head, HEAD, "to look at '%s'", input_name(input));
    if (status == UNROLL_OK)
        status = input_head(input, head, HEAD, &bytes);
    if (status == UNROLL_OK && bytes > 1 && (memcmp(head, "\xff\xfe", 2) == 0 || memcmp(head, "\xfe\xff", 2) == 0))
        status = fail(UNROLL_DATA, "'%s' is in UTF-16; fix: convert it, for example with 'iconv -f UTF-16 -t UTF-8'",
                      input_name(input));
    if (status == UNROLL_OK) {
        if (delimiter == BY_CONTENT)
            delimiter = find_delimiter(head, bytes, bytes < HEAD, g, &cells);
        else
            glance_at(head, bytes, delimiters[delimiter], bytes < HEAD, g);
        found->delimiter = delimiters[delimiter];
        found->quotes = options->quotes == BY_CONTENT ? found->delimiter != '\t' : options->quotes == YES;
        found->header = options->header == BY_CONTENT ? has_header(g) : options->header == YES;
    }
    release(head);
    release(g);
    return status;
}

/* ---- rows ---- */

static unroll_status name_columns(const struct csv_rows *rows, struct builder *builder, bool header, int columns)
{
    char name[COLUMN_NAME];
    size_t length;
    int column;
    for (int i = 0; i < columns; i++) {
        const char *cell = csv_rows_cell(rows, i, &length);
        if (header && length >= sizeof name)
            return fail(UNROLL_DATA,
                        "%s: the name of column %d has more than %zu bytes; fix: header=no, or a shorter one",
                        builder_place(builder), i + 1, sizeof name - 1);
        snprintf(name, sizeof name, "%.*s", (int)length, cell);
        if (i == 0 && length == 0)
            strcpy(name, "index");
        TRY(builder_column(builder, header && *name ? name : NULL, CELL_TEXT, true, 1, &column));
    }
    return UNROLL_OK;
}

static unroll_status take_row(const struct csv_rows *rows, struct builder *builder, int columns)
{
    size_t length;
    if (csv_rows_cells(rows) != columns)
        return fail(UNROLL_DATA, "%s has %d cells where the table has %d; fix: give it as many, or another delimiter",
                    builder_place(builder), csv_rows_cells(rows), columns);
    for (int i = 0; i < columns; i++) {
        const char *cell = csv_rows_cell(rows, i, &length);
        TRY(builder_text(builder, i, cell, length));
    }
    return builder_end_row(builder);
}

static unroll_status read_member(struct csv_rows *rows, struct input *input, struct builder *builder,
                                 const struct found *found, int *columns)
{
    bool first = true, more;
    csv_rows_begin_member(rows);
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

static unroll_status read_csv(struct input *input, const void *options, struct builder *builder)
{
    struct found found;
    struct csv_rows *rows;
    const char *member;
    int columns = 0;
    TRY(look(input, options, &found));
    TRY(csv_rows_new(input, found.delimiter, found.quotes, &rows));
    unroll_status status = builder_columns(builder, ROWS_OPEN);
    while (status == UNROLL_OK && (status = input_next(input, &member)) == UNROLL_OK && member)
        status = read_member(rows, input, builder, &found, &columns);
    csv_rows_free(rows);
    return status;
}

const struct reader reader_csv = {.name = "csv",
                                  .about = "tables: csv, tsv",
                                  .recognises = is_csv,
                                  .keys = keys,
                                  .options_bytes = sizeof(struct csv_options),
                                  .read = read_csv};

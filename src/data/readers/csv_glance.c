/* Examines the first rows of a table. Several delimiters are tried; the right one gives all rows the same number of
 * cells. To find a header, each column votes: its first cell is compared with the cells below it. */
#include "data/readers/csv_glance.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "data/builder/column_names.h"
#include "data/dataset.h"
#include "data/builder/table_cell.h"

enum { ROWS = 256, TEXT_WORDS = 3, PATTERN = 48, WIDE = 12 };

const char csv_delimiters[] = {0, ',', ';', '\t', '|', CSV_BLANKS, 0};

struct glance {
    int rows, cells[ROWS];
    struct csv_cell cell[ROWS][CSV_COLUMNS];
};

static void glance_at(char *head, size_t bytes, bool ended, char delimiter, bool quotes, struct glance *g)
{
    size_t used = 1;
    g->rows = 0;
    for (size_t at = 0; at < bytes && used && g->rows < ROWS; at += used) {
        struct csv_row row = {.cell = g->cell[g->rows], .room = CSV_COLUMNS};
        used = csv_cut(head + at, bytes - at, ended, delimiter, quotes ? '"' : 0, &row);
        g->cells[g->rows] = row.cells;
        g->rows += used && row.cells > 0;
    }
}

/* Returns the number of cells of each row if it is equal in all and at least two; otherwise 0. */
static int same_cells(const struct glance *g)
{
    for (int row = 1; row < g->rows; row++)
        if (g->cells[row] != g->cells[0])
            return 0;
    return g->rows && g->cells[0] > 1 ? g->cells[0] : 0;
}

static bool is_missing(const struct csv_cell *cell) { return cell_is_missing(cell->at, cell->length); }

static bool is_letter(char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }

static bool is_value(const struct csv_cell *cell)
{
    struct written w;
    struct time_read time;
    double value;
    if (cell_number(cell->at, cell->length, &value))
        return true;
    for (int form = TIME_TEXT_FREE; form <= TIME_QUARTER; form++)
        if (cell_time(cell->at, cell->length, (enum time_form)form, &time))
            return true;
    return cell_written(cell->at, cell->length, 0, &w) && (w.unit == NULL || w.spaced || !is_letter(*w.unit));
}

static int columns_of(const struct glance *g)
{
    const int cells = g->rows ? g->cells[0] : 0;
    return cells < CSV_COLUMNS ? cells : CSV_COLUMNS;
}

static void count_values(const struct glance *g, struct csv_look *look)
{
    double value;
    look->values = look->cells = 0;
    look->fractions = false;
    for (int row = 1; row < g->rows; row++)
        for (int i = 0; i < columns_of(g) && i < g->cells[row]; i++, look->cells++) {
            look->values += is_value(&g->cell[row][i]) || is_missing(&g->cell[row][i]);
            look->fractions = look->fractions || (cell_number(g->cell[row][i].at, g->cell[row][i].length, &value) &&
                                                  memchr(g->cell[row][i].at, '.', g->cell[row][i].length));
        }
    look->all_values = look->cells > 0 && look->values == look->cells;
}

/* ---- quotes ---- */

/* Finds whether quotes are special. Between tabs they are ordinary, unless every quote at the beginning of a cell has
 * one at the end. */
static bool are_quoted(char *head, size_t bytes, bool ended, struct glance *g)
{
    int quoted = 0;
    glance_at(head, bytes, ended, '\t', true, g);
    if (g->rows == 0)
        return false;
    for (int row = 0; row < g->rows; row++)
        for (int i = 0; i < g->cells[row] && i < CSV_COLUMNS; i++) {
            const struct csv_cell *cell = &g->cell[row][i];
            const char *at = cell->quoted ? memchr(cell->at, '"', cell->length) : NULL;

            for (; at; at = memchr(at, '"', (size_t)(cell->at + cell->length - at))) {
                if (at + 1 == cell->at + cell->length || at[1] != '"')
                    return false;
                at += 2;
            }
            quoted += cell->quoted;
        }
    return quoted > 0;
}

/* ---- delimiter ---- */

/* Finds the better delimiter: all rows have equally many cells, and more of them are numbers and times, or there are
 * more cells. Spaces also separate words, so they are delimiters only if all cells are numbers. */
static char find_delimiter(char *head, size_t bytes, bool ended, struct glance *g, struct csv_look *look)
{
    int best = 0, most = 0;
    double share = -1;
    char found = ',';
    for (int d = 1; csv_delimiters[d]; d++) {
        const char delimiter = csv_delimiters[d];
        const bool quotes = delimiter != '\t' || are_quoted(head, bytes, ended, g);
        glance_at(head, bytes, ended, delimiter, quotes, g);
        count_values(g, look);
        const int same = delimiter == CSV_BLANKS && !look->all_values ? 0 : same_cells(g);
        const double values = look->cells ? (double)look->values / look->cells : 0;
        const bool better = values > share || (values == share && same > best);
        if (same && (delimiter == CSV_BLANKS ? best == 0 : better))
            best = same, share = values, found = delimiter;
        if (best == 0 && delimiter != CSV_BLANKS && g->rows && g->cells[0] > most)
            most = g->cells[0], found = delimiter;
    }
    return found;
}

/* ---- header ---- */

static int count_words(const struct csv_cell *cell)
{
    int words = 0;
    for (uint32_t i = 0; i < cell->length; i++) words += cell->at[i] != ' ' && (i == 0 || cell->at[i - 1] == ' ');
    return words;
}

/* Replaces each number in the cell by one '0': "intent_12" and "intent_7" are alike, "a" and "b" are not. */
static bool is_numbered(const struct csv_cell *cell, char pattern[PATTERN])
{
    size_t size = 0;
    bool number = false;
    for (uint32_t i = 0; i < cell->length && size + 1 < PATTERN; i++) {
        const bool digit = cell->at[i] >= '0' && cell->at[i] <= '9';
        if (digit && size && pattern[size - 1] == '0')
            continue;
        pattern[size++] = digit ? '0' : cell->at[i];
        number = number || digit;
    }
    pattern[size] = 0;
    return number;
}

struct witness {
    int cells, values, missing, words, same, alike; /* below the first cell */
};

static bool are_same(const struct csv_cell *a, const struct csv_cell *b)
{
    return a->length == b->length && memcmp(a->at, b->at, a->length) == 0;
}

static void question(const struct glance *g, int column, struct witness *w)
{
    const struct csv_cell *first = &g->cell[0][column];
    char pattern[PATTERN], other[PATTERN];
    const bool numbered = is_numbered(first, pattern);
    *w = (struct witness){0};
    for (int row = 1; row < g->rows; row++) {
        const struct csv_cell *cell = &g->cell[row][column];
        if (g->cells[row] <= column)
            continue;
        w->cells++;
        w->missing += is_missing(cell);
        w->values += is_value(cell);
        w->words += count_words(cell);
        w->same += are_same(cell, first);
        w->alike += numbered && is_numbered(cell, other) && strcmp(other, pattern) == 0;
    }
}

/* Returns the vote of a column: positive for a header, negative against it. Values have more weight than texts. */
static int evidence(const struct glance *g, int column)
{
    const struct csv_cell *first = &g->cell[0][column];
    struct witness w;
    char name[COLUMN_NAME];
    question(g, column, &w);
    const int present = w.cells - w.missing;
    if (present == 0 || first->length == 0)
        return 0;
    if (2 * w.values >= present)
        return is_value(first) ? -3 : is_missing(first) ? 0 : 3;
    if (is_value(first) || first->length >= COLUMN_NAME)
        return -2;
    if (w.words >= TEXT_WORDS * present)
        return count_words(first) < TEXT_WORDS ? 2 : -2;
    snprintf(name, sizeof name, "%.*s", (int)first->length, first->at);
    if (is_telling_name(name))
        return 2;
    return 2 * w.alike >= present || w.same > 0 ? -1 : 0;
}

static bool is_whole(const struct csv_cell *cell, double *value)
{
    return cell_number(cell->at, cell->length, value) && floor(*value) == *value;
}

/* True if the integers rise by one from `column` on. */
static bool counts_up(const struct glance *g, int row, int column)
{
    double before, value;
    if (g->cells[row] <= column || !is_whole(&g->cell[row][column], &before))
        return false;
    for (int i = column + 1; i < columns_of(g) && i < g->cells[row]; i++, before = value)
        if (!is_whole(&g->cell[row][i], &value) || value != before + 1)
            return false;
    return true;
}

/* True for numbers used as names: 0, 1, 2, .. or years, above other numbers. They may follow a name or the empty name
 * of an index. */
static bool numbers_are_names(const struct glance *g)
{
    const int columns = columns_of(g);
    int from = 0, fractions = 0;
    double first, value;
    while (from < columns && !is_value(&g->cell[0][from])) from++;
    if (columns - from < 2 || g->rows < 2 || !counts_up(g, 0, from) || !is_whole(&g->cell[0][from], &first))
        return false;
    if (!(first == 0 || first == 1 || (first >= 1000 && first <= 3000)))
        return false;
    for (int row = 1; row < g->rows; row++) {
        if (counts_up(g, row, from))
            return false;
        for (int i = from; i < columns && i < g->cells[row]; i++)
            fractions += !is_whole(&g->cell[row][i], &value) && !is_missing(&g->cell[row][i]);
    }
    return from > 0 || fractions > 0;
}

static bool has_two_alike(const struct glance *g)
{
    for (int i = 0; i < columns_of(g); i++)
        for (int k = 0; k < i && g->cell[0][i].length; k++)
            if (are_same(&g->cell[0][i], &g->cell[0][k]))
                return true;
    return false;
}

static void describe_doubt(const struct glance *g, bool header, struct csv_look *look)
{
    const struct csv_cell *a = &g->cell[0][0], *b = &g->cell[0][columns_of(g) > 1];
    snprintf(look->doubt, sizeof look->doubt,
             "the first row ('%.*s'%s%.*s%s) is read as %s; `header` %s reads it as %s",
             (int)(a->length < 24 ? a->length : 24), a->at, columns_of(g) > 1 ? ", '" : "",
             columns_of(g) > 1 ? (int)(b->length < 24 ? b->length : 24) : 0, b->at, columns_of(g) > 1 ? "', .." : "",
             header ? "the names of the columns" : "data", header ? "no" : "yes", header ? "data" : "names");
}

/* Decides by the votes of all columns whether the first row is a header. */
static bool has_header(const struct glance *g, struct csv_look *look)
{
    const int columns = columns_of(g);
    int sum = 0, strongest = 0;
    bool values = false;
    if (numbers_are_names(g))
        return true;
    for (int i = 0; i < columns; i++) {
        const int one = evidence(g, i);
        sum += one;
        strongest = one > strongest ? one : strongest;
        values = values || is_value(&g->cell[0][i]);
    }
    if (has_two_alike(g))
        sum -= strongest < 3 ? 100 : 0;
    const bool header = sum > 0 || (sum == 0 && columns > 0 && !values);
    if (g->rows > 1 && strongest < 2 && (sum > 0 ? sum : -sum) < 3 && !values)
        describe_doubt(g, header, look);
    return header;
}

static bool has_names(const struct glance *g, const struct csv_names *names)
{
    int named = 0;
    for (int i = 0; i < columns_of(g); i++) named += names->is_name(names->arg, g->cell[0][i].at, g->cell[0][i].length);
    return columns_of(g) > 0 && 2 * named >= columns_of(g);
}

/* ---- wide tables ---- */

static bool is_named_row(const struct glance *g, int row)
{
    const struct csv_cell *name = &g->cell[row][0];
    return g->cells[row] > 1 && !is_missing(name) && !is_value(name);
}

/* Returns the number of leading cells with numbers if only empty cells follow, otherwise -1. */
static int count_series(const struct glance *g, int row)
{
    int numbers = 0;
    double value;
    for (int i = 1; i < g->cells[row] && i < CSV_COLUMNS; i++) {
        const struct csv_cell *cell = &g->cell[row][i];
        if (cell_number(cell->at, cell->length, &value))
            numbers = i;
        else if (!is_missing(cell))
            return -1;
    }
    return numbers;
}

/* True for V2, V3, .. or d_1, d_2, .. */
static bool has_numbered_names(const struct glance *g)
{
    char first[PATTERN], other[PATTERN];
    for (int i = 1; i < columns_of(g); i++)
        if (!is_numbered(&g->cell[0][i], i == 1 ? first : other) || (i > 1 && strcmp(first, other) != 0))
            return false;
    return true;
}

static bool is_wide(const struct glance *g, bool header)
{
    int least = CSV_COLUMNS, most = 0;
    for (int row = header; row < g->rows; row++) {
        const int numbers = is_named_row(g, row) ? count_series(g, row) : -1;
        if (numbers < 1)
            return false;
        for (int before = header; before < row; before++)
            if (are_same(&g->cell[before][0], &g->cell[row][0]))
                return false;
        least = numbers < least ? numbers : least;
        most = numbers > most ? numbers : most;
    }
    return g->rows - header > 1 && most >= WIDE && (least < most || (header && has_numbered_names(g)));
}

/* ---- lines before the table ---- */

/* Returns the length of a line "#..." or "sep=;" (read by Excel), otherwise 0. */
static size_t skip_comments(const char *head, size_t bytes, struct csv_look *look, size_t *last, char *separator)
{
    size_t at = 0;
    *separator = 0;
    while (at < bytes) {
        const char *end = memchr(head + at, '\n', bytes - at);
        const bool excel = at == 0 && bytes > 5 && strncasecmp(head, "sep=", 4) == 0;
        if (end == NULL || !(excel || head[at] == '#'))
            break;
        *separator = excel ? head[4] : *separator;
        look->comments++;
        *last = at;
        at = (size_t)(end - head) + 1;
    }
    return at;
}

/* Returns where the table begins: at the last line that begins with '#' if it has as many cells as the rows, because it
 * is then their header. */
static size_t find_marked_header(char *head, size_t last, size_t at, const struct glance *g, struct csv_look *look)
{
    struct csv_cell cell[CSV_COLUMNS];
    struct csv_row row = {.cell = cell, .room = CSV_COLUMNS};
    size_t from = last;
    if (look->comments == 0 || head[last] != '#' || columns_of(g) < 2)
        return at;
    while (head[from] == '#' || head[from] == ' ') from++;
    csv_cut(head + from, at - from, true, look->delimiter, look->quotes ? '"' : 0, &row);
    if (row.cells != g->cells[0])
        return at;
    look->comments--;
    look->header_is_mark = cell[0].length > 0;
    return look->header_is_mark ? from : last;
}

/* Finds the delimiter, quotes, header and layout from the first rows. */
static unroll_status glance(struct glance *g, char *head, size_t bytes, bool ended, const struct csv_options *options,
                            const struct csv_names *names, struct csv_look *look)
{
    size_t last = 0;
    char separator;
    const size_t begin = skip_comments(head, bytes, look, &last, &separator);
    look->delimiter = options->delimiter ? csv_delimiters[options->delimiter]
                      : separator        ? separator
                                         : find_delimiter(head + begin, bytes - begin, ended, g, look);
    look->quotes = options->quotes ? options->quotes == CSV_YES
                                   : look->delimiter != '\t' || are_quoted(head + begin, bytes - begin, ended, g);
    glance_at(head + begin, bytes - begin, ended, look->delimiter, look->quotes, g);
    const size_t at = find_marked_header(head, last, begin, g, look);
    if (at != begin)
        glance_at(head + at, bytes - at, ended, look->delimiter, look->quotes, g);
    count_values(g, look);
    look->rows = g->rows, look->columns = g->rows ? g->cells[0] : 0, look->same = same_cells(g) > 0;
    const bool known = names && has_names(g, names);
    look->header = options->header ? options->header == CSV_YES : known || look->header_is_mark || has_header(g, look);
    look->wide = is_wide(g, look->header);
    return UNROLL_OK;
}

unroll_status csv_look(char *head, size_t bytes, bool ended, const struct csv_options *options,
                       const struct csv_names *names, struct csv_look *look)
{
    struct glance *g;
    *look = (struct csv_look){0};
    if (bytes > 1 && (memcmp(head, "\xff\xfe", 2) == 0 || memcmp(head, "\xfe\xff", 2) == 0)) {
        look->mark = "UTF-16";
        return UNROLL_OK;
    }
    TRY(ALLOCATE(g, 1, "to look at a table"));
    const unroll_status status = glance(g, head, bytes, ended, options, names, look);
    release(g);
    return status;
}

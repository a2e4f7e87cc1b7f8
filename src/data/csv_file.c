/* Rows are cut where they lie in a buffer. Most cells of a table are short and have no quotes: their ends are found 16
 * bytes at a time where the processor can. */
#include "data/csv_file.h"

#include <string.h>
#include <strings.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/memory.h"

enum { BUFFER = 1 << 18, CELLS_MAX = 1 << 20, ROW_MAX = 64 << 20 };

/* ---- one row ---- */

/* The first delimiter or end of a line. */
static char *find_end(char *at, const char *end, char delimiter)
{
#ifdef __SSE2__
    const __m128i between = _mm_set1_epi8(delimiter), lf = _mm_set1_epi8('\n'), cr = _mm_set1_epi8('\r');
    for (; end - at >= 16; at += 16) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)at);
        const __m128i ends = _mm_or_si128(_mm_cmpeq_epi8(bytes, lf), _mm_cmpeq_epi8(bytes, cr));
        const int found = _mm_movemask_epi8(_mm_or_si128(ends, _mm_cmpeq_epi8(bytes, between)));

        if (found)
            return at + __builtin_ctz((unsigned)found);
    }
#endif
    while (at < end && *at != delimiter && *at != '\n' && *at != '\r') at++;
    return at;
}

static char *skip_blanks(char *at, const char *end)
{
    while (at < end && *at == ' ') at++;
    return at;
}

static char *cut_plain(char *at, const char *end, char delimiter, struct csv_cell *cell)
{
    char *after = find_end(at, end, delimiter), *last = after;
    while (last > at && last[-1] == ' ') last--;
    *cell = (struct csv_cell){.at = at, .length = (uint32_t)(last - at)};
    return after;
}

/* at: behind the opening quote. NULL: it is not closed. What stands behind the closing quote belongs to the cell. */
static char *cut_quoted(char *at, const char *end, bool ended, char delimiter, char quote, struct csv_cell *cell)
{
    char *close = at;
    bool raw = false;
    for (;; close += 2, raw = true) {
        close = memchr(close, quote, (size_t)(end - close));
        if (close == NULL || (close + 1 == end && !ended))
            return NULL;
        if (close + 1 == end || close[1] != quote)
            break;
    }
    char *after = skip_blanks(close + 1, end);
    const bool odd = after < end && *after != delimiter && *after != '\n' && *after != '\r';
    if (odd)
        after = find_end(after, end, delimiter);
    const char *last = odd ? after : close;
    *cell = (struct csv_cell){.at = at, .length = (uint32_t)(last - at), .quoted = true, .raw = raw || odd};
    return after;
}

static void store(struct csv_row *row, const struct csv_cell *cell)
{
    if (row->cells < row->room)
        row->cell[row->cells] = *cell;
    row->cells++;
    for (uint32_t i = 0; cell->quoted && i < cell->length; i++) row->lines += cell->at[i] == '\n';
}

size_t csv_cut(char *bytes, size_t size, bool ended, char delimiter, char quote, struct csv_row *row)
{
    char *at = bytes, *end = bytes + size;
    struct csv_cell cell;
    row->cells = 0, row->lines = 1;
    for (bool more = true; more; at += more) {
        at = skip_blanks(at, end);
        const bool quoted = quote && at < end && *at == quote;
        at = quoted ? cut_quoted(at + 1, end, ended, delimiter, quote, &cell) : cut_plain(at, end, delimiter, &cell);
        if (at == NULL || (at == end && !ended))
            return 0;
        more = at < end && *at == delimiter;
        const bool nothing = !quoted && cell.length == 0 && (row->cells == 0 || delimiter == CSV_BLANKS);
        if (more || !nothing)
            store(row, &cell);
    }
    if (at + 1 >= end && at < end && *at == '\r' && !ended)
        return 0; /* LF may follow */
    at += at + 1 < end && *at == '\r' && at[1] == '\n' ? 2 : at < end;
    return (size_t)(at - bytes);
}

void csv_clean(struct csv_cell *cell)
{
    const char *from = cell->at, *end = from + cell->length;
    char *to = cell->at;
    bool inside = true;
    for (; from < end; from++) {
        if (inside && *from == '"') {
            inside = from + 1 < end && from[1] == '"';
            from += inside;
            if (!inside)
                continue;
        }
        *to++ = *from;
    }
    cell->length = (uint32_t)(to - cell->at);
    cell->raw = false;
}

/* ---- rows of an input ---- */

struct csv_rows {
    struct input *input;
    char delimiter, quote;
    bool ended; /* no bytes of the member follow the buffer */
    char *buffer;
    size_t room, begin, end; /* of the buffer; from begin to end it is not cut yet */
    struct csv_row row;
    int64_t line; /* lines before begin */
    int comments; /* lines to skip */
    bool marked;  /* the line behind them begins with '#', which is no part of it */
};

unroll_status csv_rows_new(struct input *input, char delimiter, bool quotes, struct csv_rows **rows)
{
    TRY(ALLOCATE(*rows, 1, "to read '%s'", input_name(input)));
    (*rows)->input = input;
    (*rows)->delimiter = delimiter;
    (*rows)->quote = quotes ? '"' : 0;
    return UNROLL_OK;
}

void csv_rows_begin_member(struct csv_rows *rows, int comments, bool marked)
{
    rows->comments = comments;
    rows->marked = marked;
    rows->begin = rows->end = 0;
    rows->line = 0;
    rows->ended = false;
}

void csv_rows_free(struct csv_rows *rows)
{
    if (rows) {
        release(rows->buffer);
        release(rows->row.cell);
        release(rows);
    }
}

static unroll_status refuse(const struct csv_rows *rows, const char *what)
{
    return fail(UNROLL_DATA, "'%s', the row that begins in line %lld %s", input_name(rows->input),
                (long long)rows->line + 1, what);
}

static unroll_status add_cells(struct csv_rows *rows)
{
    const size_t room = (size_t)rows->row.cells;
    if (rows->row.cells > CELLS_MAX)
        return refuse(rows, "has more than a million cells; fix: divide the table, or name another delimiter");
    if (!enlarge(&rows->row.cell, 0, room * sizeof *rows->row.cell))
        return fail(UNROLL_RESOURCE, "no memory for %d cells of '%s'", rows->row.cells, input_name(rows->input));
    rows->row.room = (int)room;
    return UNROLL_OK;
}

static unroll_status read_more(struct csv_rows *rows)
{
    const size_t kept = rows->end - rows->begin, room = kept >= rows->room / 2 ? 2 * kept + BUFFER : rows->room;
    size_t got;
    if (kept > ROW_MAX)
        return refuse(rows, "is larger than 64 MiB; fix: close a quote that was left open, or use quotes=no");
    if (kept)
        memmove(rows->buffer, rows->buffer + rows->begin, kept);
    rows->begin = 0, rows->end = kept;
    if (room > rows->room && !enlarge(&rows->buffer, kept, room))
        return fail(UNROLL_RESOURCE, "no memory for a row of '%s'", input_name(rows->input));
    rows->room = room;
    TRY(input_read(rows->input, rows->buffer + kept, rows->room - kept, &got));
    rows->end += got;
    rows->ended = got == 0;
    return UNROLL_OK;
}

/* Lines before the table, and the mark before its header. Another file of a folder may begin without them. */
static void skip_comments(struct csv_rows *rows)
{
    for (; rows->comments > 0; rows->comments--, rows->line++) {
        const char *at = rows->buffer + rows->begin, *end = memchr(at, '\n', rows->end - rows->begin);

        if (end == NULL || (*at != '#' && strncasecmp(at, "sep=", 4) != 0))
            break;
        rows->begin += (size_t)(end - at) + 1;
    }
    rows->comments = 0;
    for (const char *at = rows->buffer; rows->marked && rows->begin < rows->end; rows->begin++)
        if (at[rows->begin] != '#' && at[rows->begin] != ' ')
            break;
    rows->marked = false;
}

unroll_status csv_rows_next(struct csv_rows *rows, bool *more)
{
    struct csv_row *row = &rows->row;
    for (*more = false; !*more;) {
        if (rows->begin < rows->end && (rows->comments || rows->marked))
            skip_comments(rows);
        const size_t left = rows->end - rows->begin;
        const size_t used =
            left ? csv_cut(rows->buffer + rows->begin, left, rows->ended, rows->delimiter, rows->quote, row) : 0;

        if (used && row->cells > row->room) {
            TRY(add_cells(rows));
            continue;
        }
        rows->begin += used;
        rows->line += used ? row->lines : 0;
        *more = used && row->cells > 0;
        if (used == 0 && rows->ended && left)
            return refuse(rows, "has a quote that never closes; fix: close it, or use quotes=no");
        if (used == 0 && rows->ended)
            return UNROLL_OK;
        if (used == 0)
            TRY(read_more(rows));
    }
    for (int i = 0; i < row->cells; i++)
        if (row->cell[i].raw)
            csv_clean(&row->cell[i]);
    return UNROLL_OK;
}

int csv_rows_cells(const struct csv_rows *rows) { return rows->row.cells; }

const char *csv_rows_cell(const struct csv_rows *rows, int index, size_t *length)
{
    *length = rows->row.cell[index].length;
    return rows->row.cell[index].at;
}

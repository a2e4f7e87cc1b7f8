/* Rows of an input, cut by csv_cut.c in a buffer. */
#include "data/readers/csv_file.h"

#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "data/readers/encoding.h"

enum { BUFFER = 1 << 18, CELLS_MAX = 1 << 20, ROW_MAX = 64 << 20 };

struct csv_rows {
    struct input *input;
    char delimiter, quote;
    bool windows;
    char *text; /* [text_room] of one cell */
    size_t text_room;
    bool ended; /* no bytes of the member follow the buffer */
    char *buffer;
    size_t room, begin, end; /* of the buffer; bytes from begin to end are not cut yet */
    struct csv_row row;
    int64_t line; /* lines before begin */
    int comments; /* lines to skip */
    bool marked;  /* the next line begins with a '#' that is not part of it */
};

unroll_status csv_rows_new(struct input *input, char delimiter, bool quotes, bool windows, struct csv_rows **rows)
{
    TRY(ALLOCATE(*rows, 1, "to read '%s'", input_name(input)));
    (*rows)->input = input;
    (*rows)->delimiter = delimiter;
    (*rows)->windows = windows;
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
        release(rows->text);
        release(rows->row.cell);
        release(rows);
    }
}

static unroll_status refuse_row(const struct csv_rows *rows, const char *what)
{
    return fail(UNROLL_DATA, "'%s', the row that begins in line %lld %s", input_name(rows->input),
                (long long)rows->line + 1, what);
}

static unroll_status add_cells(struct csv_rows *rows)
{
    const size_t room = (size_t)rows->row.cells;
    if (rows->row.cells > CELLS_MAX)
        return refuse_row(rows, "has more than a million cells; fix: divide the table, or name another delimiter");
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
        return refuse_row(rows, "is larger than 64 MiB; fix: close a quote that is still open, or use quotes=no");
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

/* Skips the lines before the table and the mark before its header. Other files of a folder may lack them. */
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

/* Advances to the next row; reads more bytes if the buffer has no complete row. */
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
            return refuse_row(rows, "has a quote that is not closed; fix: close it, or use quotes=no");
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

const char *csv_rows_cell(struct csv_rows *rows, int index, size_t *length)
{
    const struct csv_cell *cell = &rows->row.cell[index];
    *length = cell->length;
    if (!rows->windows)
        return cell->at;
    const size_t wanted = (size_t)cell->length * WINDOWS_BYTES + 1;
    if (wanted > rows->text_room && !enlarge(&rows->text, 0, rows->text_room = wanted))
        return rows->text_room = 0, *length = 0, "";
    *length = windows_to_utf8(cell->at, cell->length, rows->text);
    return rows->text;
}

/* Rows of delimited text as in RFC 4180: quoted cells, doubled quotes, line ends inside quotes. A line ends in LF, CRLF
 * or CR. csv_reader.c interprets the cells and the header. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/input.h"

struct csv_cell {
    char *at; /* in the caller's bytes, not terminated by zero; without surrounding spaces and quotes */
    uint32_t length;
    bool quoted, raw; /* raw: contains quotes that csv_clean removes */
};

struct csv_row {
    struct csv_cell *cell; /* [room] */
    int cells, room;
    int64_t lines; /* in the row, with its end */
};

enum { CSV_BLANKS = ' ' }; /* a delimiter: any number of spaces */

/* Cuts the first row of `bytes` into cells, which point into them. quote: '"', or 0 if quotes are ordinary bytes.
 * ended: no bytes follow these. Returns the length of the row with its end, or 0 if the row does not end here. An empty
 * line is a row without cells. Cells beyond `room` are only counted. */
size_t csv_cut(char *bytes, size_t size, bool ended, char delimiter, char quote, struct csv_row *row);
void csv_clean(struct csv_cell *cell); /* in place */

struct csv_rows;

/* windows: the bytes are in code page 1252. */
unroll_status csv_rows_new(struct input *input, char delimiter, bool quotes, bool windows, struct csv_rows **rows);
unroll_status csv_rows_next(struct csv_rows *rows, bool *more); /* of this member; empty lines are not rows */
int csv_rows_cells(const struct csv_rows *rows);
/* Returns UTF-8 if the table is UTF-8; valid until the next call of any function. */
const char *csv_rows_cell(struct csv_rows *rows, int index, size_t *length);
/* comments: the maximum number of lines to skip that begin with '#' or "sep=". marked: a '#' at the beginning of the
 * next row is skipped. */
void csv_rows_begin_member(struct csv_rows *rows, int comments, bool marked);
void csv_rows_free(struct csv_rows *rows); /* NULL is allowed */

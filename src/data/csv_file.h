/* Rows of delimited text as RFC 4180 has them: quoted cells, doubled quotes, line ends inside quotes. A line ends in
 * LF, CRLF or CR. What cells mean, and whether there is a header, is for csv_reader.c. */
#ifndef DATA_CSV_FILE_H
#define DATA_CSV_FILE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/input.h"

struct csv_cell {
    char *at; /* in the caller's bytes, not ended by zero; blanks around it and its quotes are left out */
    uint32_t length;
    bool quoted, raw; /* raw: quotes inside, which csv_clean removes */
};

struct csv_row {
    struct csv_cell *cell; /* [room] */
    int cells, room;
    int64_t lines; /* that it has, with its end */
};

enum { CSV_BLANKS = ' ' }; /* a delimiter: any number of blanks */

/* Cuts the first row of `bytes` into cells, which point into them. quote: '"', or 0 if quotes are ordinary bytes.
 * ended: no bytes follow these. Returns the length of the row with its end, or 0 if the row does not end here. An empty
 * line is a row without cells. Cells beyond `room` are counted only. */
size_t csv_cut(char *bytes, size_t size, bool ended, char delimiter, char quote, struct csv_row *row);
void csv_clean(struct csv_cell *cell); /* in place */

struct csv_rows;

/* windows: the bytes are of code page 1252. */
unroll_status csv_rows_new(struct input *input, char delimiter, bool quotes, bool windows, struct csv_rows **rows);
unroll_status csv_rows_next(struct csv_rows *rows, bool *more); /* of this member; empty lines are no rows */
int csv_rows_cells(const struct csv_rows *rows);
/* In UTF-8 if the table is; valid until the next call of any function. */
const char *csv_rows_cell(struct csv_rows *rows, int index, size_t *length);
/* comments: the most lines to skip that begin with '#' or "sep=". marked: the next row may begin with '#', which is
 * left out. */
void csv_rows_begin_member(struct csv_rows *rows, int comments, bool marked);
void csv_rows_free(struct csv_rows *rows); /* NULL is allowed */

#endif

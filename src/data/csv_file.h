/* Rows of comma-separated values, through libcsv: quotes, line ends in cells, doubled quotes. What cells mean, and
 * whether there is a header, is for csv_reader.c. */
#ifndef DATA_CSV_FILE_H
#define DATA_CSV_FILE_H
#include <stdbool.h>
#include <stddef.h>

#include "data/input.h"

struct csv_rows;

/* delimiter: one byte; quotes: a cell may stand in "". */
unroll_status csv_rows_new(struct input *input, char delimiter, bool quotes, struct csv_rows **rows);
unroll_status csv_rows_next(struct csv_rows *rows, bool *more); /* of this member; empty lines are no rows */
int csv_rows_cells(const struct csv_rows *rows);
const char *csv_rows_cell(const struct csv_rows *rows, int index, size_t *length);
void csv_rows_begin_member(struct csv_rows *rows);
void csv_rows_free(struct csv_rows *rows); /* NULL is allowed */

#endif

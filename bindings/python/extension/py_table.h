/* A table in memory on its way into a data set: what Python's lists and arrays (py_table.c) and Arrow's streams
 * (py_arrow.c) become. */
#ifndef PY_TABLE_H
#define PY_TABLE_H
#include "py_core.h"

/* An entry for each row, or, if `ends` says so, several. A text of no bytes is a missing one. */
struct table_column {
    char *name;
    unroll_cell cell;
    int of_example, width;
    int64_t *ends;      /* [rows] entries up to the end of each row; NULL: one a row */
    float *numbers;     /* [entries, width], or .. */
    char *text;         /* .. all texts, one behind the other, and .. */
    int64_t *text_ends; /* [entries] .. where each ends */
    int64_t entries, bytes;
    size_t ends_room, entries_room, text_room; /* bytes of ends, of numbers or text_ends, of text */
};

struct table {
    struct table_column *column;
    int columns;
    int64_t rows;
};

/* All are false with a Python exception where memory is not to be had. They need the GIL. */
struct table_column *column_add(struct table *table, const char *name, unroll_cell cell, int of_example, int width);
bool column_text(struct table_column *column, const char *bytes, size_t length); /* one more entry */
float *column_numbers(struct table_column *column, int64_t entries); /* room for so many more, to be filled */
bool column_end_row(struct table_column *column, int64_t row);       /* of a column with several entries a row */
void table_free(struct table *table);

/* Adds the columns of a frame, an object with __arrow_c_stream__. */
bool table_take_frame(struct table *table, PyObject *frame);

#endif

/* A table in memory from which a data set is made: built from Python's lists and arrays (py_table.c) and Arrow streams
 * (py_arrow.c). */
#ifndef PY_TABLE_H
#define PY_TABLE_H
#include "py_core.h"

/* A column with one entry for each row or, with `ends`, several. An empty text is a missing value. */
struct table_column {
    char *name;
    unroll_column_kind cell;
    int of_example, width;
    int64_t *ends;      /* [rows] entries up to the end of each row; NULL: one per row */
    float *numbers;     /* [entries, width], or: */
    char *text;         /* all texts concatenated, and */
    int64_t *text_ends; /* [entries] where each ends */
    int64_t entries, bytes;
    size_t ends_room, entries_room, text_room; /* allocated bytes of ends, of numbers or text_ends, and of text */
};

struct table {
    struct table_column *column;
    int columns;
    int64_t rows;
};

/* All return false or NULL with a Python exception if out of memory. They require the GIL. */
struct table_column *column_add(struct table *table, const char *name, unroll_column_kind cell, int of_example,
                                int width);
bool column_text(struct table_column *column, const char *bytes, size_t length); /* appends an entry */
float *column_numbers(struct table_column *column, int64_t entries); /* appends entries, to be filled by the caller */
bool column_end_row(struct table_column *column, int64_t row);       /* for columns with several entries per row */
void table_free(struct table *table);

/* Adds the columns of a frame, an object with __arrow_c_stream__. */
bool table_take_frame(struct table *table, PyObject *frame);

#endif

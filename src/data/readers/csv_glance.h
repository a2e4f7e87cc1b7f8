/* Examines the first rows of a table: the delimiter, quotes around cells, and a header with the names of the
 * columns. */
#pragma once
#include "data/readers/csv_file.h"

enum { CSV_BY_CONTENT, CSV_YES, CSV_NO, CSV_COLUMNS = 256 };

/* Delimiters of the option `delimiter`, from 1 on: comma semicolon tab bar blanks; terminated by 0. */
extern const char csv_delimiters[];

struct csv_options {
    int header, delimiter, quotes, encoding; /* 0: by content; encoding: CSV_YES: UTF-8 */
};

struct csv_look {
    char delimiter;
    bool quotes, header;
    int columns;         /* of the first row; 0: no row */
    int comments;        /* lines before the first row that begin with '#' or "sep=;" */
    bool header_is_mark; /* the last line that begins with '#' is the header */
    int rows;            /* that were examined; */
    bool same;           /* equally many cells in all rows, two or more */
    bool all_values;     /* all cells below the first row are numbers and times */
    int values, cells;   /* below the first row: the number of numbers and times, and of all cells */
    bool wide;           /* rows seem to be series: a name, then numbers of different lengths or below numbered names */
    bool fractions;      /* one of the cells is a number with a decimal point */
    char doubt[160];     /* about the header or quotes: a note for the user; "" */
    const char *mark;    /* the name of a byte order mark of UTF-16; NULL: none */
};

/* names: of the wanted columns, if known: a first row with half of them is a header. */
struct csv_names {
    bool (*is_name)(const void *arg, const char *name, size_t length);
    const void *arg;
};

/* Examines the first rows. ended: these are all bytes of the table. Cutting cells may change head. */
unroll_status csv_look(char *head, size_t bytes, bool ended, const struct csv_options *options,
                       const struct csv_names *names, struct csv_look *look);

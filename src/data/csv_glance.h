/* A look at the first rows of a table: what is between the cells, whether cells are quoted, whether the first row has
 * the names of the columns. */
#ifndef DATA_CSV_GLANCE_H
#define DATA_CSV_GLANCE_H
#include "data/csv_file.h"

enum { CSV_BY_CONTENT, CSV_YES, CSV_NO, CSV_COLUMNS = 256 };

/* Of the option `delimiter`, from 1 on: comma semicolon tab bar blanks; 0 ends them. */
extern const char csv_delimiters[];

struct csv_options {
    int header, delimiter, quotes; /* 0: by content */
};

struct csv_look {
    char delimiter;
    bool quotes, header;
    int columns;         /* of the first row; 0: there is none */
    int comments;        /* lines before the first row that begin with '#', or "sep=;" */
    bool header_is_mark; /* the last line that begins with '#' is the header */
    int rows;            /* of those that were looked at; */
    bool same;           /* all have as many cells, two or more */
    bool all_values;     /* below the first there are only numbers and times */
    int values, cells;   /* below the first row: how many cells are numbers or times, of how many */
    bool wide;           /* rows seem to be series: a name, then numbers, not as many in each or below numbered names */
    bool fractions;      /* one of them is a number with a point */
    char doubt[160];     /* about the header or quotes: a note for the user; "" */
    const char *mark;    /* a byte order mark of UTF-16: what it is called; NULL: there is none */
};

/* names: of the columns that are wanted, if they are known: the first row is a header if it has half of them. */
struct csv_names {
    bool (*is_name)(const void *arg, const char *name, size_t length);
    const void *arg;
};

/* ended: these are all bytes of the table. head may be changed where cells are cut. */
unroll_status csv_look(char *head, size_t bytes, bool ended, const struct csv_options *options,
                       const struct csv_names *names, struct csv_look *look);

#endif

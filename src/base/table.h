/* Tables of what can be added: rows that begin with a name and a few words about it, those of the library and a few
 * more that tests add at run time. What else a row has is for the room of the table. */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H
#include "base/status.h"

enum { TABLE_ADDED_MAX = 4 };

struct table {
    const char *what;       /* "task", for messages */
    const void *const *row; /* [built_in]; each begins with `const char *name, *about`; about only for .. */
    int built_in, added;
    const void *more[TABLE_ADDED_MAX];
};

#define TABLE(what, rows) {what, rows, sizeof rows / sizeof *rows, 0, {0}}

const void *table_at(const struct table *table, int index); /* NULL after the last */
/* .. public functions of this kind: the name of a row, NULL after the last; *about is set if it is not NULL. */
const char *table_name(const struct table *table, int index, const char **about);
int table_find(const struct table *table, const char *name);             /* -1: there is none */
unroll_status table_refuse(const struct table *table, const char *name); /* which has not been found */
unroll_status table_add(struct table *table, const void *row);

#endif

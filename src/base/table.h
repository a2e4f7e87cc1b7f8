/* Tables that can be extended: the rows of the core, those of extensions (extension.h), and a few that tests add at run
 * time. A row starts with a name and a few words about it; its other fields belong to the table's module. */
#pragma once
#include "base/status.h"

enum { TABLE_ADDED_MAX = 4 };

struct table {
    const char *what;       /* "task", for messages */
    const void *const *row; /* [built_in]; each starts with `const char *name, *about`; about is needed only by .. */
    int built_in, added;
    const void *more[TABLE_ADDED_MAX];
};

#define TABLE(what, rows) {what, rows, sizeof rows / sizeof *rows, 0, {0}}

const void *table_at(const struct table *table, int index); /* NULL after the last */
/* .. public functions of this kind, which return the name of a row or NULL, and set *about if it is not NULL. */
const char *table_name(const struct table *table, int index, const char **about);
int table_find(const struct table *table, const char *name);             /* -1: not found */
unroll_status table_refuse(const struct table *table, const char *name); /* fails with a list of the known names */
unroll_status table_add(struct table *table, const void *row);

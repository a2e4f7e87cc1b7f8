/* Rows that extensions add to the tables of the core. Which extensions a build has is in the file that
 * tools/extensions.sh writes; the core names none. */
#pragma once
#include "base/status.h"

/* An extension defines an array of these that ends with NULL: `row` is of the type that the table of that name has. */
struct extension_row {
    const char *table;
    const void *row;
};
/* A row that this build leaves out with its extension; the name "any" stands for all. */
struct missing_row {
    const char *table, *name, *extension;
};
extern const struct extension_row *const extension_rows[]; /* of the processor and each extension; NULL ends */
extern const struct missing_row missing_rows[];            /* a table of NULL ends */

/* The row of a table with that index among those of all extensions; NULL after the last. */
const void *extension_row(const char *table, int index);
/* Fails with the name of the extension that has the row, if this build leaves it out; otherwise returns UNROLL_OK. A
 * name of "" stands for the only row of a table. */
unroll_status extension_refuse(const char *table, const char *name);

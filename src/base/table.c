/* The common start of all rows; the other fields belong to the table's module. */
#include "base/table.h"
#include "base/extension.h"

#include <stdio.h>
#include <string.h>

struct row {
    const char *name, *about;
};

const void *table_at(const struct table *table, int index)
{
    if (index < 0)
        return NULL;
    if (index < table->built_in)
        return table->row[index];
    index -= table->built_in;
    for (int i = 0; extension_row(table->what, i); i++)
        if (index-- == 0)
            return extension_row(table->what, i);
    return index < table->added ? table->more[index] : NULL;
}

const char *table_name(const struct table *table, int index, const char **about)
{
    const struct row *row = table_at(table, index);
    if (row && about)
        *about = row->about;
    return row ? row->name : NULL;
}

int table_find(const struct table *table, const char *name)
{
    const struct row *row;
    for (int i = 0; (row = table_at(table, i)) != NULL; i++)
        if (row->name && strcmp(row->name, name) == 0)
            return i;
    return -1;
}

unroll_status table_refuse(const struct table *table, const char *name)
{
    char known[256] = "";
    const char *other;
    size_t used = 0;
    TRY(extension_refuse(table->what, name));
    for (int i = 0; (other = table_name(table, i, NULL)) != NULL && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", other);
    return fail(UNROLL_USAGE, "there is no %s '%.40s'; fix: choose one of %s", table->what, name, known);
}

unroll_status table_add(struct table *table, const void *row)
{
    if (table->added == TABLE_ADDED_MAX)
        return fail(UNROLL_RESOURCE, "at most %d rows fit in the table of each %s; fix: add fewer",
                    table->built_in + table->added, table->what);
    table->more[table->added++] = row;
    return UNROLL_OK;
}

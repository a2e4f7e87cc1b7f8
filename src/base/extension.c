/* Finds rows of extensions by the name of their table. */
#include "base/extension.h"
#include <string.h>

const void *extension_row(const char *table, int index)
{
    for (int i = 0; extension_rows[i]; i++)
        for (const struct extension_row *row = extension_rows[i]; row->table; row++)
            if (strcmp(row->table, table) == 0 && index-- == 0)
                return row->row;
    return NULL;
}

unroll_status extension_refuse(const char *table, const char *name)
{
    for (const struct missing_row *row = missing_rows; row->table; row++)
        if (strcmp(row->table, table) == 0 && (strcmp(row->name, "any") == 0 || strcmp(row->name, name) == 0))
            return fail(UNROLL_UNSUPPORTED,
                        "%s%s%.60s%s: built without the extension '%s'; fix: build with make EXTENSIONS=%s", table,
                        *name ? " '" : "", name, *name ? "'" : "", row->extension, row->extension);
    return UNROLL_OK;
}

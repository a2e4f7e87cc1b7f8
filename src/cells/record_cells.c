/* Records all cells by running them with V = a node. */
#include "cells/record.h"
#include "cells/v/v_record.h"
#define CELLS_WITHOUT_CHOICE
#define CELL_USER "cells/cell_record.h"
#include "cells/cell_table.h"
#include <string.h>

#define RECORDER(name) { #name, name##_record },
const struct cell_recorder cell_recorders[] = {ALL_CELLS(RECORDER){NULL, NULL}};

bool cell_record_named(const struct cell_recorder *table, const char *name, struct cell_record *cell)
{
    for (; table->name; table++)
        if (!strcmp(table->name, name)) {
            table->record(cell);
            return true;
        }
    return false;
}

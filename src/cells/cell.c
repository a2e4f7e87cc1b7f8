/* Questions to a cell table and to a declaration. It knows no table of its own. */
#include "cells/cell.h"
#include <string.h>

const struct cell_kernels *cell_find(const struct cell_kernels *const *table, const char *name)
{
    for (; *table; table++)
        if (!strcmp((*table)->declaration->name, name))
            return *table;
    return NULL;
}

int cell_inputs_from(const struct cell_declaration *cell, unsigned sources)
{
    int count = 0;
    for (int k = 0; k < cell->inputs; k++) count += (cell->input[k].from & sources) != 0;
    return count;
}

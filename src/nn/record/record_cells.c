/* Records all cells by running them with V = a node. */
#include "nn/record/record.h"
#include "nn/vector/v_record.h"
#define CELL_USER "nn/record/cell_record.h"
#include "nn/cells/cell_table.h"
#include <string.h>

#define RECORDER(name) { #name, name##_record },
const struct cell_recorder cell_recorders[] = {CELLS_OF_THEIR_OWN_FUNCTIONS(RECORDER){NULL, NULL}};
static const struct cell_recorder of_choice[] = {CELLS_OF_CHOICE(RECORDER){NULL, NULL}};

bool cell_record_named(const struct cell_recorder *table, const char *name, struct cell_record *cell)
{
    for (; table->name; table++)
        if (!strcmp(table->name, name)) {
            table->record(cell);
            return true;
        }
    return false;
}

bool cell_record_key(const char *key, struct cell_record *cell)
{
    struct cell_options options;
    const struct cell_recorder *chosen = of_choice;
    if (cell_record_named(cell_recorders, key, cell))
        return true;
    while (chosen->name && !cell_key_read(key, chosen->name, &options)) chosen++;
    if (!chosen->name)
        return false;
    recorded_choice = &options;
    chosen->record(cell);
    recorded_choice = NULL;
    return true;
}

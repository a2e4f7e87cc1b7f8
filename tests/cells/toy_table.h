/* The table of test cells, used like nn/cells/cell_table.h. */
#include "toy.h"
#include "toy_operations.h"
#include "toy_activations.h"

#define ALL_TOYS(NAMED) NAMED(toy) NAMED(toy_operations) NAMED(toy_activations)

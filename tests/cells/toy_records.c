/* The records of the tests' cells, and of one that is wrong on purpose. */
#include "toys.h"
#include "cells/v/v_record.h"
#define CELL_USER "cells/cell_record.h"
#include "toy_table.h"
#include "toy_wrong.h"

#define RECORDER(name) { #name, name##_record },
const struct cell_recorder toy_recorders[] = {ALL_TOYS(RECORDER) RECORDER(toy_wrong){NULL, NULL}};

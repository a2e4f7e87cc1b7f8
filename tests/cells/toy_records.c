/* The records of the test cells, and of an intentionally wrong one. */
#include "toys.h"
#include "nn/vector/v_record.h"
#define CELL_USER "nn/record/cell_record.h"
#include "toy_table.h"
#include "toy_wrong.h"

#define RECORDER(name) { #name, name##_record },
const struct cell_recorder toy_recorders[] = {ALL_TOYS(RECORDER) RECORDER(toy_wrong){NULL, NULL}};

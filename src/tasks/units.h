/* Parts of unroll_model_in_units (units.c): what tasks with inputs of their own do in its place. Not the answers that a
 * task gives in units (task.h). */
#ifndef TASKS_UNITS_H
#define TASKS_UNITS_H
#include <jansson.h>

#include "base/status.h"
#include "unroll_train.h"

/* The model of a recipe (recipe.h), its schema's `task`, becomes a network that reads and answers one of its series,
 * NULL: the only one, in units; it has no schema any more. */
unroll_status series_in_units(unroll_model *model, const json_t *task, const char *series);

#endif

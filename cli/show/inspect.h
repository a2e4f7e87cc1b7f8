/* unroll inspect for data files. */
#pragma once
#include "cli/options/options.h"
#include "unroll.h"

/* Returns whether the path is a model, a checkpoint or a run. */
bool inspect_is_model(const char *path);
/* Prints the columns of the data, missing values, a suitable task and why, and the command that would train on them. */
unroll_status inspect_data(const struct settings *settings);

/* Prints what a model was trained for: task, columns, labels, scores of the run, and what to type next. */
void inspect_task(const struct settings *settings, const unroll_model *model);

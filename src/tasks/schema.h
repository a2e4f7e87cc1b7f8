/* Where a model and a data set meet: data are read as a model does, or a model takes what it must know of the data. */
#ifndef TASKS_SCHEMA_H
#define TASKS_SCHEMA_H
#include "data/reader_table.h"
#include "tasks/task.h"

/* With the model's vocabulary, which it must have. */
struct tokenizer tokenizer_of(const unroll_model *model);

/* Refuses a text with another vocabulary than the model's. */
unroll_status check_vocabulary(const unroll_model *model, const struct column *text);

#endif

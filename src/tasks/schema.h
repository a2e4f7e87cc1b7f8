/* Connects models and data sets: data are read as a model requires, and a model stores what it must know of the
 * data. */
#pragma once
#include "data/readers/reader_table.h"
#include "tasks/task.h"

/* Returns the schema, in the caller's *column, for a model that reads a text. The model must have a vocabulary. */
struct schema schema_of_model(const unroll_model *model, struct schema_column *column);

/* Stores the task in the model, and what the model must know of the data to read them again and to answer: what the
 * task finds in the training part, and a vocabulary. */
unroll_status schema_fit(unroll_model *model, const struct task *task, const struct task_request *request);
/* Stores what the task learns from a validation, too. */
unroll_status schema_learn(unroll_model *model, const struct task *task, const struct part *validation);
/* True if the task has found what it needs in a training part; false after unroll_model_set_schema. */
bool schema_is_fit(const unroll_model *model, const struct task *task);
/* Returns what the task found as a new object; NULL: the model stores nothing for a task. */
unroll_status schema_task(const unroll_model *model, json_t **task);

/* Rejects a text with another vocabulary than the model's. */
unroll_status check_vocabulary(const unroll_model *model, const struct column *text);

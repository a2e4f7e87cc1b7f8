/* Where a model and a data set meet: data are read as a model does, or a model takes what it must know of the data. */
#ifndef TASKS_SCHEMA_H
#define TASKS_SCHEMA_H
#include "data/reader_table.h"
#include "tasks/task.h"

/* Of a model that reads a text, by its vocabulary, which it must have; in the caller's *column. */
struct schema schema_of_model(const unroll_model *model, struct schema_column *column);

/* The model keeps the task, and what it must know of the data to read such again and to answer: what the task finds in
 * the part that is trained on, a vocabulary. */
unroll_status schema_fit(unroll_model *model, const struct task *task, const struct task_request *request);
/* The model keeps what a validation has taught the task, too. */
unroll_status schema_learn(unroll_model *model, const struct task *task, const struct part *validation);
/* Has the task found what it must know, of a part that is trained on? After unroll_model_set_schema it has not. */
bool schema_is_fit(const unroll_model *model, const struct task *task);
/* What the task found, a new object; NULL: the model keeps nothing of a task. */
unroll_status schema_task(const unroll_model *model, json_t **task);

/* Refuses a text with another vocabulary than the model's. */
unroll_status check_vocabulary(const unroll_model *model, const struct column *text);

#endif

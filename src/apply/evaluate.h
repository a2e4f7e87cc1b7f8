/* Evaluates a part of a data set, batch by batch: its mean loss and the task's metrics, or the task's predictions. Used
 * for validation, test, unroll_model_evaluate and unroll_model_predict. Neither weights nor gradients change. */
#pragma once
#include "tasks/task.h"

/* Takes ownership of the part, even on failure. Allocates all memory that the runs need. answers: required for
 * evaluator_answer. */
struct evaluator;
unroll_status evaluator_new(unroll_model *model, const struct task *task, struct part *part,
                            const unroll_machine *machine, bool answers, struct evaluator **evaluator);
void evaluator_free(struct evaluator *evaluator); /* NULL is a no-op */
/* Runs the whole part, or stops early, with a loss of NaN, when goes_on(data) returns 0. goes_on may be NULL. */
unroll_status evaluator_run(struct evaluator *evaluator, int (*goes_on)(void *), void *data, unroll_evaluation *found);
/* Passes the prediction for each example to `take`, in order, until it returns a status other than UNROLL_OK. */
unroll_status evaluator_answer(struct evaluator *evaluator, answer_taker *take, void *arg);
/* Stores in the model what the task learns from observing a whole part (`learn` in struct task). */
unroll_status evaluator_learn(const struct evaluator *evaluator, unroll_model *model);
/* Returns the details of an observed part as one JSON object, to be freed with free(); NULL: the task has none. */
unroll_status evaluator_details(const struct evaluator *evaluator, char **details);
void evaluator_describe(const struct evaluator *evaluator, double loss, unroll_evaluation *described);
const struct part *evaluator_part(const struct evaluator *evaluator);
uint64_t evaluator_memory_estimate(const struct evaluator *evaluator); /* bytes */

/* A part of a data set, batch by batch: its mean loss and what else the task measures, or the task's answers.
 * Used for validation, test, unroll_evaluate and unroll_predict; it changes neither weights nor gradients. */
#ifndef TRAIN_EVALUATE_H
#define TRAIN_EVALUATE_H
#include "tasks/task.h"

/* Takes the part over, also where it fails. Takes all memory that the runs need. answers: for evaluator_answer. */
struct evaluator;
unroll_status evaluator_new(unroll_model *model, const struct task *task, struct part *part,
                            const unroll_machine *machine, bool answers, struct evaluator **evaluator);
void evaluator_free(struct evaluator *evaluator); /* NULL is allowed */
/* Ends early, with a loss that is NaN, where goes_on(data) is 0; NULL: goes on to the end. */
unroll_status evaluator_run(struct evaluator *evaluator, int (*goes_on)(void *), void *data, unroll_evaluation *found);
/* Gives take the answer to each example, in their order, until it returns another status than UNROLL_OK. */
unroll_status evaluator_answer(struct evaluator *evaluator, answer_taker *take, void *arg);
/* The model learns what the task makes of what was observed of a whole part (struct task, learn). */
unroll_status evaluator_learn(const struct evaluator *evaluator, unroll_model *model);
/* Of what was observed of a whole part: one JSON object, free() it; NULL: the task has nothing to tell. */
unroll_status evaluator_details(const struct evaluator *evaluator, char **details);
void evaluator_describe(const struct evaluator *evaluator, double loss, unroll_evaluation *described);
uint64_t evaluator_memory_estimate(const struct evaluator *evaluator); /* bytes */

#endif

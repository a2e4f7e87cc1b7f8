/* A part of a data set in one session: its mean loss, and what else the task measures.
 * Used for validation and for unroll_evaluate; it changes neither weights nor gradients. */
#ifndef TRAIN_EVALUATE_H
#define TRAIN_EVALUATE_H
#include "tasks/task.h"

/* Takes the part over, also where it fails. Takes all memory that the runs need. */
struct evaluator;
unroll_status evaluator_new(unroll_model *model, const struct task *task, struct part *part,
                            const unroll_machine *machine, struct evaluator **evaluator);
void evaluator_free(struct evaluator *evaluator); /* NULL is allowed */
/* Ends early, with a loss that is NaN, where goes_on(data) is 0; NULL: goes on to the end. */
unroll_status evaluator_run(struct evaluator *evaluator, int (*goes_on)(void *), void *data, unroll_evaluation *found);
void evaluator_describe(const struct evaluator *evaluator, double loss, unroll_evaluation *described);
uint64_t evaluator_memory_estimate(const struct evaluator *evaluator); /* bytes */

#endif

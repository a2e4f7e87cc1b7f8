/* The mean loss of a model over a range of symbols, each read with what came before it.
 * Used for validation and for unroll_evaluate; it changes neither weights nor gradients. */
#ifndef TRAIN_EVALUATE_H
#define TRAIN_EVALUATE_H
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "unroll_train.h"

/* tokens [count], borrowed, count >= 2: all but the first are predicted. Takes all memory that the runs need. */
struct evaluator;
unroll_status evaluator_new(unroll_model *model, const int32_t *tokens, size_t count,
                            const unroll_machine *machine, struct evaluator **evaluator);
void evaluator_free(struct evaluator *evaluator);       /* NULL is allowed */
/* Ends early, with NaN, where goes_on(data) is 0; NULL: goes on to the end. */
unroll_status evaluator_run(struct evaluator *evaluator, int (*goes_on)(void *), void *data, double *nats);
uint64_t evaluator_forecast(const struct evaluator *evaluator);     /* bytes */

#endif

/* Where a model and a text meet: a text is read as a model does, or a model takes the symbols of a text.
 * Neither model/ nor data/ knows the other. */
#ifndef TRAIN_READING_H
#define TRAIN_READING_H
#include "base/status.h"
#include "data/text.h"

/* With the model's symbols, which it must have. */
struct text_reading reading_of(const unroll_model *model);

/* Refuses a model that does not predict symbols, and a text with other symbols than the model's. */
unroll_status check_model_reads_text(const unroll_model *model, const unroll_text *text);

#endif

/* What was measured, as JSON and as a line of text. */
#ifndef CLI_EVALUATION_H
#define CLI_EVALUATION_H
#include <jansson.h>

#include "unroll_train.h"

/* An object of the loss, the floor, how many examples there were and the task's metrics; NULL: no memory. */
json_t *evaluation_to_json(const unroll_evaluation *found);
/* "1.3604 nats (unigrams 3.1052), 1.963 bits per character, .." */
void evaluation_to_text(const unroll_evaluation *found, char *text, size_t size);

#endif

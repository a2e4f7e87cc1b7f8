/* Evaluations as JSON and as a line of text. */
#pragma once
#include <jansson.h>

#include "unroll_train.h"

/* Returns an object with the loss, the floor, the number of examples and the task's metrics; NULL: no memory. */
json_t *evaluation_to_json(const unroll_evaluation *found);
/* Writes "1.3604 nats (unigrams 3.1052), 1.963 bits per character, ..". */
void evaluation_to_text(const unroll_evaluation *found, char *text, size_t size);

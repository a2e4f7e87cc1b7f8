/* Formatting of predicted numbers. */
#pragma once
#include <jansson.h>
#include <stdio.h>

#include "data/dataset.h"

/* Prints six significant digits, and two after the point of larger numbers: 12.3457, 333424012.46. */
void print_number(double value, FILE *file);

/* Returns the significant digits for the reals in the JSON of a prediction: at least eight, and two after the decimal
 * point of the largest. */
int answer_digits(const json_t *answer);

/* Sets "kept" of an answer to the requested columns: those of a sequence, and those of its step. */
void answer_keep(json_t *answer, const unroll_dataset *data, size_t sequence, size_t step);
enum { ALL_STEPS = -1 };
/* Sets "kept" to lists of the values of `count` steps from a step of the sequence on; null after its end. */
void answer_keep_range(json_t *answer, const unroll_dataset *data, size_t sequence, size_t from, size_t count);

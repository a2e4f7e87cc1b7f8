/* How numbers of predictions are printed. */
#ifndef TASKS_ANSWER_TEXT_H
#define TASKS_ANSWER_TEXT_H
#include <jansson.h>
#include <stdio.h>

/* Six significant digits, of numbers from 10,000 on eight, and always all digits before the point: 12.3457, 333424012.
 */
void print_number(double value, FILE *file);

/* How many significant digits JSON needs for the reals of an answer: eight, and two after the decimal point of the
 * largest. */
int answer_digits(const json_t *answer);

#endif

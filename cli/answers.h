/* What people look at of a trained model beside curves: forecasts against the truth, which classes are taken for which,
 * tags over sentences, answers against truths. All of it lies in the run's details.json, which the task wrote: what is
 * in there is drawn, whatever the task was. */
#ifndef CLI_ANSWERS_H
#define CLI_ANSWERS_H
#include <jansson.h>
#include <stdio.h>

enum { FORECASTS_MAX = 8, LABELS_MAX = 24, SENTENCES_MAX = 8, ERRORS_SHOWN = 8 };

void answers_svg(json_t *details, const char *title, FILE *out);
void answers_terminal(json_t *details);

/* The classes of a confusion matrix that are drawn, the most frequent ones, in the order of the labels: their numbers
 * in chosen[LABELS_MAX]; how many they are. */
int answers_labels(const json_t *details, int chosen[LABELS_MAX]);
/* An entry of a list of strings; "?" if it is none. */
const char *answers_text(const json_t *list, size_t index);
/* How often answers of a class were given to another. */
json_int_t answers_cell(const json_t *details, int truth, int answer);

#endif

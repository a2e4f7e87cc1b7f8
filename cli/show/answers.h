/* Answers of a trained model, shown besides curves: forecasts against the truth, confusions of classes, tags over
 * sentences, items recommended in sessions, answers against truths. All of them are in the run's details.json, which
 * the task wrote. What it contains is drawn, whatever the task. */
#pragma once
#include <jansson.h>
#include <stdio.h>

enum { FORECASTS_MAX = 8, LABELS_MAX = 24, SENTENCES_MAX = 8, ITEMS_MAX = 5, ERRORS_SHOWN = 8 };

void answers_svg(json_t *details, const char *title, FILE *out);
void answers_terminal(json_t *details);

/* Writes the classes of a confusion matrix that are drawn, the most frequent ones in the order of the labels, to
 * chosen[LABELS_MAX]; returns how many they are. */
int answers_labels(const json_t *details, int chosen[LABELS_MAX]);
/* Returns an entry of a list of strings; "?" if it is not a string. */
const char *answers_text(const json_t *list, size_t index);
/* Returns how often a class was answered for examples of another class. */
json_int_t answers_cell(const json_t *details, int truth, int answer);

/* Counts of answers against the truth (classes, spans of tags, numbers) and scores of them. Definitions are those of
 * scikit-learn and conlleval, so numbers are comparable. The loss is not computed here. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* ---- classes ---- */

enum { CONFUSION_CLASSES = 512 }; /* no matrix for more classes */

struct confusion {
    int classes;
    int64_t *support, *answered, *right; /* [classes] of the truth, of the answers, of both */
    int64_t *cell;                       /* [classes of the truth, classes of the answer]; NULL: too many */
    int64_t count;
};

unroll_status confusion_new(int classes, struct confusion *confusion);
void confusion_end(struct confusion *confusion);
void confusion_clear(struct confusion *confusion);
void confusion_add(struct confusion *confusion, int truth, int answer);
double confusion_accuracy(const struct confusion *confusion);
/* Averages over the classes in the truth or the answers; a class without a correct answer counts 0. */
double confusion_macro_f1(const struct confusion *confusion);
/* Computes the score over all decisions, for several labels per example. */
double confusion_micro_f1(const struct confusion *confusion);
/* Writes "labels", "confusion" (rows are the truth) and "classes": precision, recall, f1, support of each. */
json_t *confusion_to_json(const struct confusion *confusion, const char *const *labels);

double f1_of(int64_t right, int64_t answered, int64_t support); /* 0 if there is nothing to find */

/* Returns the index of the largest number, the first of equal ones. */
int largest_of(const float *numbers, int count);
/* Computes exp(x) / sum. */
void softmax_of(const float *logits, int count, double *probabilities);

/* ---- one class against none ---- */

/* Probabilities of the class in bins, which are finer than a float prints. */
enum { RANKING_BINS = 1 << 14 };

struct ranking {
    int64_t *negative, *positive; /* [RANKING_BINS] */
};

unroll_status ranking_new(struct ranking *ranking);
void ranking_end(struct ranking *ranking);
void ranking_clear(struct ranking *ranking);
void ranking_add(struct ranking *ranking, bool truth, double probability);
/* Computes the area under the ROC curve: how often a step of the class is more probable than one of none; equal ones
 * count half. NaN if there are no steps of one kind. */
double ranking_auc(const struct ranking *ranking);

/* ---- spans: "B-PER I-PER O", or with E- and S- ---- */

struct spans {
    int64_t right, answered, support;
};

/* True for tags of spans: each is O, or B, I, E or S with a dash and a type, and one begins with B-. */
int tags_are_spans(const char *const *tags, int count);
/* Returns whether spans end with E or S (IOBES), not only before the next tag (BIO). */
int spans_close(const char *const *tags, int count);
/* Returns whether the scheme allows a tag after another: I and E continue a span of their type, and with tags E or S a
 * span must end with one. -1: before the first tag, after the last one. */
int spans_allow(const char *const *tags, int count, int before, int after);
/* Adds the tags of a sequence, given by their numbers. */
void spans_add(struct spans *spans, const char *const *tags, const int32_t *truth, const int32_t *answer, int length);

/* ---- numbers ---- */

struct errors {
    int64_t count;
    double absolute, squares; /* of answer - truth */
    double mean, spread;      /* of the truth: its mean, the sum of squared distances from it */
};

void errors_add(struct errors *errors, double truth, double answer);
double errors_r2(const struct errors *errors); /* as scikit-learn's; 1 or 0 for a constant truth */

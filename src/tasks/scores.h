/* What is counted of answers against the truth: classes, spans of tags, numbers; and scores of them. Definitions are
 * those of scikit-learn and of conlleval, so numbers may be compared. Not the loss. */
#ifndef TASKS_SCORES_H
#define TASKS_SCORES_H
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* ---- classes ---- */

enum { CONFUSION_CLASSES = 512 }; /* of more there is no matrix */

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
/* The mean over the classes that the truth or the answers have; 0 for one that is never right. */
double confusion_macro_f1(const struct confusion *confusion);
/* Over all decisions: of several labels an example. */
double confusion_micro_f1(const struct confusion *confusion);
/* "labels", "confusion": rows are the truth, "classes": precision, recall, f1, support of each. */
json_t *confusion_to_json(const struct confusion *confusion, const char *const *labels);

double f1_of(int64_t right, int64_t answered, int64_t support); /* 0 if nothing is there to be found */

/* The index of the largest; of equals the first. */
int largest_of(const float *numbers, int count);
/* numbers become exp(x) / sum. */
void softmax_of(const float *logits, int count, double *probabilities);

/* ---- spans: "B-PER I-PER O", or with E- and S- ---- */

struct spans {
    int64_t right, answered, support;
};

/* Are tags such? Each is O, or B, I, E or S with a dash and a type, and one begins with B-. */
int tags_are_spans(const char *const *tags, int count);
/* The tags of a sequence, by their numbers. */
void spans_add(struct spans *spans, const char *const *tags, const int32_t *truth, const int32_t *answer, int length);

/* ---- numbers ---- */

struct errors {
    int64_t count;
    double absolute, squares; /* of answer - truth */
    double mean, spread;      /* of the truth: its mean, the sum of squared distances from it */
};

void errors_add(struct errors *errors, double truth, double answer);
double errors_r2(const struct errors *errors); /* scikit-learn's; of a truth that does not vary 1 or 0 */

#endif

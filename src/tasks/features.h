/* The columns that a network reads, as its inputs: categories and tokens as numbers of an embedding's rows, numbers
 * with the scales of the training part. What is missing is 0, beside a mask that is 1, of those numbers that are
 * missing anywhere in the data; a category that is missing or unknown is one more row. Entries of a sequence are
 * repeated at its steps. Not which columns are targets: that is the task's. */
#ifndef TASKS_FEATURES_H
#define TASKS_FEATURES_H
#include "tasks/examples.h"
#include "tasks/spelling.h"

struct feature {
    char name[COLUMN_NAME];
    const struct column *column; /* of the data at hand */
    int ids;                     /* of categories and tokens: how many, the last is `missing`; 0: numbers */
    int width;                   /* of numbers */
    int masks;                   /* .. how many of them may be missing */
    float *shift, *scale;        /* [width] x = (number - shift) * scale */
    uint8_t *masked;             /* [width] 1: it may be missing */
    struct spelled spelled;      /* of a feature that is made of the column's strings; how NULL: it is not */
};

struct features {
    struct feature *feature; /* [count] */
    int count;
    int tokens, numbers; /* of a step: ids, and numbers with masks */
};

/* All columns but targets [count], those that divide and order rows, and times. Scales are 1. spelled: the
 * category of which features are made as spelling.h has them; NULL: none. */
unroll_status features_find(const unroll_dataset *data, const struct column *const *targets, int count,
                            const struct column *spelled, struct features *features);
/* Of strings those of the members are known. Each number's mean over the members is 0, its variance 1; of those that
 * hardly vary beside the others of their column it is less. */
unroll_status features_fit(struct features *features, const struct members *members);
void features_end(struct features *features);

/* What the model's schema keeps, and such features again, in another data set. */
json_t *features_to_json(const struct features *features);
unroll_status features_from_json(const json_t *json, const unroll_dataset *data, struct features *features);

/* Sets tokens, input and embed of a spec, or its inputs, which are good until this thread's next call. */
unroll_status features_network(const struct features *features, unroll_spec *spec);
/* Does the model read so many? */
unroll_status features_check(const struct features *features, const unroll_model *model);

/* The steps first .. first + length - 1 of a sequence become those of a row of a batch. */
void features_fill(const struct features *features, const unroll_dataset *data, size_t sequence, size_t first,
                   int length, int row, int rows, struct task_batch *batch);
/* In training, some strings of the row become unknown: a function of seed, epoch and step, which is one of the data. */
void features_forget(const struct features *features, uint64_t seed, int64_t epoch, size_t step, int length, int row,
                     int rows, struct task_batch *batch);
/* A step of which all is missing, for sequences that have none. */
void features_fill_missing(const struct features *features, int row, int rows, struct task_batch *batch);

#endif

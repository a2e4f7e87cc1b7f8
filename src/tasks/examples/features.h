/* The columns that a network reads as its inputs: categories and tokens as rows of an embedding, numbers with the
 * scales of the training part. A missing number is 0; numbers that are missing anywhere in the data have a mask, which
 * is then 1. A missing or unknown category has a row of its own. Entries of a sequence are repeated at its steps.
 * Targets are chosen by the task. */
#pragma once
#include "tasks/examples/examples.h"
#include "tasks/spelling.h"

struct feature {
    char name[COLUMN_NAME];
    const struct column *column; /* of the current data */
    int ids;                     /* number of categories or tokens, the last is `missing`; 0: numbers */
    int width;                   /* number of numbers */
    int masks;                   /* how many of them may be missing */
    float *shift, *scale;        /* [width] x = (number - shift) * scale */
    uint8_t *masked;             /* [width] 1: may be missing */
    struct spelled spelled;      /* for a feature made from the column's strings; how NULL: it is not */
};

struct features {
    struct feature *feature; /* [count] */
    int count;
    int tokens, numbers; /* of a step: ids; numbers with masks */
};

/* Selects all columns except the targets [count], those that divide and order rows, and times. Scales are 1. spelled: a
 * category from whose strings features are made (spelling.h); NULL: none. */
unroll_status features_find(const unroll_dataset *data, const struct column *const *targets, int count,
                            const struct column *spelled, struct features *features);
/* Collects the known strings, and computes scales from the members: each number gets mean 0 and variance 1, or less if
 * it hardly varies compared with the others of its column. */
unroll_status features_fit(struct features *features, const struct members *members);
void features_end(struct features *features);

/* Write the features to the model's schema, and read them back for another data set. */
json_t *features_to_json(const struct features *features);
unroll_status features_from_json(const json_t *json, const unroll_dataset *data, struct features *features);

/* Sets tokens, input and embed of a spec, or its inputs, which are valid until this thread's next call. */
unroll_status features_network(const struct features *features, unroll_model_config *spec);
/* Checks that the model has this number of inputs. */
unroll_status features_check(const struct features *features, const unroll_model *model);

/* Fills a row of a batch with the steps first .. first + length - 1 of a sequence. */
void features_fill(const struct features *features, const unroll_dataset *data, size_t sequence, size_t first,
                   int length, int row, int rows, struct task_batch *batch);
/* In training, makes some strings of the row unknown: a function of seed, epoch and step, the position in the data. */
void features_forget(const struct features *features, uint64_t seed, int64_t epoch, size_t step, int length, int row,
                     int rows, struct task_batch *batch);
/* Fills in one step with all values missing, for sequences without steps. */
void features_fill_missing(const struct features *features, int row, int rows, struct task_batch *batch);

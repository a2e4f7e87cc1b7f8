/* What can be trained on data sets: a row each. A task says which part of the data is trained on and which validated
 * on, how a part becomes batches, what network it wants, what is measured and what naive answer that is compared with.
 * Trainers, evaluation, checkpoints and the command know tasks by this alone. Not the losses (losses/), not the
 * optimizing (train/). */
#ifndef TASKS_TASK_H
#define TASKS_TASK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "data/dataset.h"
#include "unroll_train.h"

/* One batch, time-major, in the caller's arrays: those that the network and the part use, as in unroll_batch. A fill
 * sets all entries of steps that count; targets of steps that do not are -1, or lie behind the lengths. */
struct task_batch {
    int32_t *tokens;  /* [T, B] */
    float *inputs;    /* [T, B, input] */
    int32_t *classes; /* [T, B] */
    float *values;    /* [T, B, output] */
    int32_t *lengths; /* [B] */
    uint8_t *reset;   /* [T, B] */
    bool begins;      /* its rows do not go on where those of the batch before ended */
    int64_t items;    /* how much is read: characters, words, steps */
};

/* A part of a data set as batches of one shape. A task puts what it needs behind it. */
struct part {
    int steps, rows;      /* T, B */
    int64_t batches;      /* of an epoch, >= 1 */
    size_t items;         /* that it has, some of which an epoch may leave out */
    bool lengths, resets; /* the arrays that its batches have */
    void (*fill)(const struct part *, int64_t epoch, int64_t batch, struct task_batch *);
};

struct task_request {
    const unroll_dataset *data, *validation; /* validation NULL: a part of the data */
    double share;                            /* of the data that is validated on, 0 .. 0.5 */
    int rows, steps;                         /* of a batch that is trained on; steps 0: as many as a row has */
    uint64_t seed;
    int ranks; /* rows of what is evaluated are a multiple of it */
};

enum part_of { PART_TRAINING, PART_VALIDATION, PART_ALL }; /* all: what is evaluated */

struct task {
    const char *name, *about;                    /* "lm", "predict the next token" */
    const char *(*item)(const unroll_dataset *); /* what items are, in short, for speeds: "char" */
    bool (*suits)(const unroll_dataset *);       /* is it what one would do with such data? */
    /* Sets what the data and the task decide of a network: input, output, loss; embed where it is UNROLL_AUTO. */
    unroll_status (*network)(const unroll_dataset *, unroll_spec *);
    unroll_status (*check)(const unroll_model *,
                           const unroll_dataset *); /* refuses models that can't have learned it */
    /* release(*part) is all its end. Validation: *part stays NULL if there is none. */
    unroll_status (*open)(const struct task_request *, enum part_of, struct part **part);
    /* What is measured of the results [T, B, output], batch by batch from 0 on. NULL: the loss says all. */
    void (*observe)(struct part *, int64_t batch, const struct task_batch *, const float *results);
    /* Of the mean loss of a whole part; observed: of what observe saw, too, otherwise such metrics are NAN. */
    void (*score)(const struct part *, double loss, bool observed, unroll_evaluation *);
};

/* By name; NULL: the model's, if it has one, else the first that suits the data. */
unroll_status task_find(const char *name, const unroll_model *model, const unroll_dataset *data,
                        const struct task **task);

unroll_status task_add(const struct task *task); /* one more row, for tests */

#endif

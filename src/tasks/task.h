/* What can be learned from data sets: a row each. A task says which data suit it, what network it wants, which part of
 * the data is trained on and which is held out, how a part becomes batches, what is measured and what naive answer that
 * is compared with, and what an answer is in the user's words and units. Trainers, evaluation, checkpoints and the
 * command know tasks by this alone. Not the losses (losses/), not the optimizing (train/). */
#ifndef TASKS_TASK_H
#define TASKS_TASK_H
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/key_value.h"
#include "base/status.h"
#include "data/dataset.h"
#include "tasks/accepts.h"
#include "unroll_train.h"

/* One batch, time-major, in the caller's arrays: those that the network and the part use, as in unroll_batch. A fill
 * sets all entries of steps that count; targets of steps that do not are -1, or lie behind the lengths. */
struct task_batch {
    int32_t *tokens;  /* [T, B], of columns [T, B, token columns] */
    float *inputs;    /* [T, B, input], of columns the numbers */
    int32_t *classes; /* [T, B]; of a part that is pooled [1, B] */
    float *values;    /* [T, B, output], or [1, B, output]; NaN: not counted */
    int32_t *lengths; /* [B] */
    uint8_t *reset;   /* [T, B] */
    bool begins;      /* its rows do not go on where those of the batch before ended */
    int64_t items;    /* how much is read: characters, words, steps */
};

/* A part of a data set as batches, each of one of a few shapes. A task puts what it needs behind it. */
enum { PART_SHAPES_MAX = 4 };
struct shape {
    int steps, rows; /* T, B */
};
struct part {
    struct shape shape[PART_SHAPES_MAX]; /* [shapes] */
    int shapes;
    int64_t batches;      /* of an epoch, >= 1 */
    size_t items;         /* that it has, some of which an epoch may leave out */
    size_t examples;      /* what is counted: sequences, or steps that have a target */
    bool lengths, resets; /* the arrays that its batches have */
    bool pooled;          /* a target for each sequence */
    double loss_unit;     /* what people read is the mean loss of a target times this; 0: itself */
    /* Which shape a batch has; NULL: all have the first. */
    int (*shape_of)(const struct part *, int64_t epoch, int64_t batch);
    /* A function of its arguments alone, that any thread may call. */
    void (*fill)(const struct part *, int64_t epoch, int64_t batch, struct task_batch *);
    void (*end)(struct part *); /* releases what it has beside itself; NULL: nothing */
};

struct task_request {
    const unroll_dataset *data;
    unroll_held_out validation, test;
    int rows, steps; /* of a batch that is trained on; steps: at most, 0: as many as a row has */
    int64_t tokens;  /* of a batch that is trained on, at most, in the place of rows; 0: rows */
    uint64_t seed;
    const char *divide_by; /* how ranks share what is trained on: NULL and "even", "length", "stratified", a column */
    int shares;            /* among how many */
    int ranks;             /* rows of what is evaluated are a multiple of it */
    const char *options;   /* of the task, for fit; NULL: none */
    const char *augment;   /* what training examples are changed by (augment.h); NULL: nothing */
    const unroll_model *model; /* for open: its schema says what fit found */
};

/* All: all of request.data, in the order of the file, to be evaluated. Predicted: what is to be answered, of most tasks
 * all of it, of a forecast the end of each series. */
enum part_of { PART_TRAINING, PART_VALIDATION, PART_TEST, PART_ALL, PART_PREDICTED };
static inline bool part_is_all(enum part_of which) { return which == PART_ALL || which == PART_PREDICTED; }

enum { TASK_WHY = 256 };

/* How well data suit a task: whatever has the columns it needs; what it is the usual thing to do with; what it was made
 * for, such as a target that is named. */
enum { SUITS_ANY = 1, SUITS_USUALLY = 2, SUITS_SURELY = 3 };

/* Is given each answer, which it borrows; a status that is not UNROLL_OK ends them. */
typedef unroll_status answer_taker(void *arg, json_t *answer);

struct task {
    const char *name, *about;             /* "lm", "predict the next token" */
    const struct key *keys;               /* its options; NULL: none */
    const struct accepts *accepts;        /* the networks that it trains, a row for each kind of target */
    const struct accepts_column *columns; /* the columns that its options may name; NULL: none */
    /* The row of accepts for these data, or for the data that the schema describes (NULL: there is none). NULL: 0. */
    int (*row)(const unroll_dataset *, const json_t *schema);
    bool row_is_in_schema;                       /* row needs a schema */
    bool augments;                               /* its training parts do as request.augment says */
    bool divides;                                /* and as request.divide_by does */
    const char *(*item)(const unroll_dataset *); /* what items are, in short, for speeds: "char" */
    /* Is it what one would do with such data? 0: no; of several tasks the highest is chosen. *why: the reason,
     * "labels in column 'label', text in 'text'". */
    int (*suits)(const unroll_dataset *, char why[TASK_WHY]);
    /* Sets what the data and the task decide of a network: tokens, input, output, loss, pool, columns; and what is left
     * to it (unroll_task_network). */
    unroll_status (*network)(const unroll_dataset *, const char *options, unroll_spec *, unroll_task_defaults *);
    /* What must be known beside the data's schema to read such data and to answer, of the training part alone: targets,
     * scales, labels. The model's schema keeps it as "task"; *schema NULL: it needs none. fit NULL: nothing. */
    unroll_status (*fit)(const struct task_request *, json_t **schema);
    /* Refuses models that can't have learned it, beyond what `accepts` says. NULL: none. */
    unroll_status (*check)(const unroll_model *, const unroll_dataset *);
    /* part_free(*part) is its end. *part stays NULL if there is none. */
    unroll_status (*open)(const struct task_request *, enum part_of, struct part **part);
    /* What is measured of the results [T, B, output], batch by batch from 0 on. NULL: the loss says all. */
    void (*observe)(struct part *, int64_t batch, const struct task_batch *, const float *results);
    /* Of the mean loss of a whole part; observed: of what observe saw, too, otherwise such metrics are NAN. */
    void (*score)(const struct part *, double loss, bool observed, unroll_evaluation *);
    /* What observe saw of a whole validation may teach what answers need, such as a threshold: it is set in *schema,
     * what fit found. NULL: nothing. */
    unroll_status (*learn)(const struct part *, json_t *schema);
    /* Of what observe saw of a whole part, for people and plots: a confusion matrix, scores of each class; the
     * caller's. NULL: there is nothing. */
    json_t *(*details)(const struct part *);
    /* Of PART_PREDICTED, batch by batch from 0 on: calls take with the answer to each example, in the order of the
     * file, the user's labels and units in a JSON object. NULL: the task has no answers. */
    unroll_status (*answer)(struct part *, int64_t batch, const struct task_batch *, const float *results,
                            answer_taker *take, void *arg);
    /* The same answer as text, with its line end. */
    void (*line)(const json_t *answer, FILE *);
};

/* By name; NULL and "auto": the model's, if it has one, else what suits the data best. */
unroll_status task_find(const char *name, const unroll_model *model, const unroll_dataset *data,
                        const struct task **task);

/* Refuses a model that the task cannot train or run with these data. *unused, if wanted: fields of unroll_train_config
 * without effect on it. */
unroll_status task_check(const struct task *task, const unroll_model *model, const unroll_dataset *data,
                         const char **unused);

const char *part_words(enum part_of which); /* " of the training part", "" */

void part_free(struct part *); /* NULL is allowed */

static inline bool is_held_out(const unroll_held_out *part) { return part->data || part->count > 0 || part->share > 0; }
/* The data of its own that a part is read from, all of them; NULL: it is some of request.data. */
const unroll_dataset *part_data(const struct task_request *request, enum part_of which);

/* Calls take with an answer, which it releases; NULL: there was no memory for it. */
unroll_status answer_give(json_t *answer, answer_taker *take, void *arg);

/* What is left to the task in a spec (unroll_spec_auto) becomes that of the task's network. */
void spec_settle(unroll_spec *spec, const unroll_spec *network);

unroll_status task_add(const struct task *task); /* one more row, for tests */

#endif

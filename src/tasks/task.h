/* A task is something that can be learned from data sets; each is a row of a table. It defines which data suit it,
 * which network it needs, which part of the data is for training and which is held out. It also defines how a part
 * becomes batches, which metrics and which baseline are computed, and how an answer looks in the user's words and
 * units. Trainers, evaluation, checkpoints and the command use tasks only through this interface. Losses are in
 * losses/, optimization is in train/. */
#pragma once
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
 * sets all entries of steps that count. Targets of other steps are -1, or are beyond the lengths. */
struct task_batch {
    int32_t *tokens;  /* [T, B], of columns [T, B, token columns] */
    float *inputs;    /* [T, B, input], of columns the numbers */
    int32_t *classes; /* [T, B]; of a pooled part [1, B] */
    float *values;    /* [T, B, output], or [1, B, output]; NaN: not counted */
    int32_t *lengths; /* [B] */
    uint8_t *reset;   /* [T, B] */
    bool begins;      /* its rows do not continue those of the batch before */
    int64_t items;    /* how much is read: characters, words, steps */
};

/* A part of a data set as batches, each with one of a few shapes. A task appends its own fields. */
enum { PART_SHAPES_MAX = 4, PART_HELD = 160 };
struct shape {
    int steps, rows; /* T, B */
};
struct part {
    struct shape shape[PART_SHAPES_MAX]; /* [shapes] */
    int shapes;
    int64_t batches;      /* of an epoch, >= 1 */
    size_t items;         /* of the part; an epoch may skip some */
    size_t examples;      /* what is counted: sequences, or steps that have a target */
    bool lengths, resets; /* the arrays that its batches have */
    bool pooled;          /* one target per sequence */
    char held[PART_HELD]; /* describes which data are held out, for people; "": not described */
    double loss_unit;     /* people read the mean loss of a target times this; 0: the loss itself */
    /* Returns the shape of a batch; NULL: all have the first. */
    int (*shape_of)(const struct part *, int64_t epoch, int64_t batch);
    /* Fills a batch; depends only on its arguments, so any thread may call it. */
    void (*fill)(const struct part *, int64_t epoch, int64_t batch, struct task_batch *);
    void (*end)(struct part *); /* Releases the task's own fields; NULL: nothing. */
};

struct task_request {
    const unroll_dataset *data;
    unroll_held_out validation, test;
    int rows, steps; /* of a training batch; steps: at most, 0: all of a row */
    int64_t tokens;  /* of a training batch, at most, instead of rows; 0: rows */
    uint64_t seed;
    const char *divide_by; /* how ranks share the training part: NULL and "even", "length", "stratified", a column */
    int shares;            /* the number of shares */
    int ranks;             /* rows of an evaluation are a multiple of it */
    const char *options;   /* of the task, for fit; NULL: none */
    const char *augment;   /* how training examples are augmented (augment.h); NULL: not at all */
    const unroll_model *model; /* for open: its schema contains what fit found */
};

/* PART_ALL: all of request.data, in the order of the file, for evaluation. PART_PREDICTED: the part to be answered; for
 * most tasks everything, for a forecast the end of each series. */
enum part_of { PART_TRAINING, PART_VALIDATION, PART_TEST, PART_ALL, PART_PREDICTED };
static inline bool part_is_all(enum part_of which) { return which == PART_ALL || which == PART_PREDICTED; }

enum { TASK_WHY = 256 };

/* How well data suit a task. Any: they have the columns it needs; usually: it is the usual task for them; surely: they
 * were made for it, for example with a named target. */
enum { SUITS_ANY = 1, SUITS_USUALLY = 2, SUITS_SURELY = 3 };

/* Receives each answer as a borrowed reference; a status other than UNROLL_OK ends them. */
typedef unroll_status answer_taker(void *arg, json_t *answer);

struct task {
    const char *name, *about;             /* "lm", "predict the next token" */
    const struct key *keys;               /* its options; NULL: none */
    const struct accepts *accepts;        /* networks that it trains, a row per kind of target */
    const struct accepts_column *columns; /* the columns that its options may name; NULL: none */
    /* Returns the row of accepts for these data, or for the data that the schema describes (NULL: there is none). NULL:
     * row 0. */
    int (*row)(const unroll_dataset *, const json_t *schema);
    bool row_is_in_schema;                       /* row needs a schema */
    bool augments;                               /* its training parts respect request.augment */
    bool keeps;                                  /* answers may contain other columns of their rows */
    bool divides;                                /* its training parts respect request.divide_by */
    const char *(*item)(const unroll_dataset *); /* what items are, in short, for speeds: "char" */
    /* Tells how usual this task is for such data: 0: not at all; the highest of several tasks is chosen. *why: the
     * reason, "labels in column 'label', text in 'text'". */
    int (*suits)(const unroll_dataset *, char why[TASK_WHY]);
    /* Sets what data and task decide in a network: tokens, input, output, loss, pool, columns; and the defaults for the
     * rest (unroll_task_configure). */
    unroll_status (*network)(const unroll_dataset *, const char *options, unroll_model_config *,
                             unroll_task_defaults *);
    /* Finds what is needed besides the data's schema to read such data and to answer, from the training part alone:
     * targets, scales, labels. The model's schema stores it as "task"; *schema NULL: it needs none. fit NULL:
     * nothing. */
    unroll_status (*fit)(const struct task_request *, json_t **schema);
    /* Sets initial weights of a new model that depend on the training part, after fit. NULL: none. */
    unroll_status (*start)(unroll_model *, const struct task_request *);
    /* Rejects models that cannot have learned the task, beyond what `accepts` checks. NULL: none. */
    unroll_status (*check)(const unroll_model *, const unroll_dataset *);
    /* Opens a part; part_free(*part) releases it. *part stays NULL if there is none. */
    unroll_status (*open)(const struct task_request *, enum part_of, struct part **part);
    /* Reads weights that answers need besides the results, before the first batch of an evaluation. NULL: none. */
    unroll_status (*read)(struct part *, unroll_session *);
    /* Adds the results [T, B, output] to the metrics, batch by batch from 0 on. NULL: the loss is the only metric. */
    void (*observe)(struct part *, int64_t batch, const struct task_batch *, const float *results);
    /* Computes the metrics from the mean loss of a whole part. observed: also from what observe saw; otherwise these
     * metrics are NAN. */
    void (*score)(const struct part *, double loss, bool observed, unroll_evaluation *);
    /* Learns what answers need, such as a threshold, from what observe saw of a whole validation; sets it in *schema,
     * the object from fit. NULL: nothing. */
    unroll_status (*learn)(const struct part *, json_t *schema);
    /* Returns details of what observe saw of a whole part, for people and plots: a confusion matrix, scores of each
     * class. The caller releases them. NULL: none. */
    json_t *(*details)(const struct part *);
    /* Answers PART_PREDICTED, batch by batch from 0 on: calls take with the answer to each example, in the order of the
     * file. An answer is a JSON object with the user's labels and units. NULL: the task has no answers. */
    unroll_status (*answer)(struct part *, int64_t batch, const struct task_batch *, const float *results,
                            answer_taker *take, void *arg);
    /* Prints the same answer as text, with its line end. */
    void (*line)(const json_t *answer, FILE *);
};

/* Finds a task by name; NULL and "auto": the model's task if it has one, otherwise the task that suits the data
 * best. */
unroll_status task_find(const char *name, const unroll_model *model, const unroll_dataset *data,
                        const struct task **task);

/* Rejects a model that the task cannot train or run with these data. *unused, if not NULL: fields of
 * unroll_trainer_config without effect on it. */
unroll_status task_check(const struct task *task, const unroll_model *model, const unroll_dataset *data,
                         const char **unused);

const char *part_words(enum part_of which); /* " of the training part", "" */

void part_free(struct part *); /* NULL is allowed */

static inline bool is_held_out(const unroll_held_out *part) { return part->data || part->count > 0 || part->share > 0; }
/* Returns the separate data from which a part is read completely; NULL: it is some of request.data. */
const unroll_dataset *part_data(const struct task_request *request, enum part_of which);

/* Calls take with an answer and releases it; NULL: out of memory. */
unroll_status answer_give(json_t *answer, answer_taker *take, void *arg);

/* Replaces unset values in a spec (unroll_model_config_auto) by those of the task's network. */
void spec_settle(unroll_model_config *spec, const unroll_model_config *network);

const struct task *task_at(int index); /* NULL after the last */
/* Returns the option with that index of the task of that name; NULL: none. */
const struct key *task_option(const char *name, int index);
unroll_status task_add(const struct task *task); /* one more row, for tests */

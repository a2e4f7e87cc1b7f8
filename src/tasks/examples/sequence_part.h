/* A part of sequences with a target, shared by classify, tag and regress. The target's column, its labels and scale are
 * in the model's schema. Items are whole sequences, or windows of them. The tasks interpret the target. */
#pragma once
#include "tasks/examples/augment.h"
#include "tasks/examples/features.h"

/* ---- the target column ---- */

/* True if the column may be the target. */
typedef bool is_target(const unroll_dataset *, const struct column *);

extern const struct key window_keys[]; /* options of tasks whose items are windows of series */

/* Finds the target: the one named in the options, which must be suitable; otherwise the only one, one with a usual name
 * ("label", "target", ..), or the last. `what` is for messages: "a label for each sequence". */
unroll_status target_find(const unroll_dataset *data, const char *task, const struct key *keys, const char *what,
                          const char *options, is_target *fits, const struct column **target);
/* The same without a message; NULL: none. */
const struct column *target_of(const unroll_dataset *data, is_target *fits);
bool is_usual_name(const char *name); /* usual for a target: "label", "y", .. */

/* True for a category of each step that is constant in each of several sequences. */
bool is_constant(const unroll_dataset *data, const struct column *column);

/* Returns {"targets": [name], "labels": [..], "inputs": [..]}, learned from the training part. spelled: the column from
 * whose strings features are made, or NULL. */
unroll_status sequence_schema(const struct members *members, const struct column *target, const struct column *spelled,
                              json_t **schema);

/* Sets the network's inputs, and the defaults in `standard` for other fields; spelled: as above. */
unroll_status sequence_network(const unroll_dataset *data, const struct column *target, const struct column *spelled,
                               const unroll_model_config *standard, unroll_model_config *spec);

/* Returns "characters" or "words" for texts, otherwise "steps". */
const char *sequence_item(const unroll_dataset *data);

/* True for sounds with features of this kind, "log-mel" or "mfcc". */
bool sequence_is_heard(const unroll_dataset *data, const char *kind);

/* Sets the defaults of a training by the size of the data: sequences, or windows of `window` steps of series; 0:
 * sequences. */
void sequence_defaults(const unroll_dataset *data, int window, unroll_task_defaults *defaults);

/* Steps of an item of a series, and the steps before it that set the states and are not counted. */
struct windows {
    int window, context; /* 0: whole sequences */
};

/* Reads the options; standard: the defaults. */
unroll_status windows_read(const char *options, const char *task, struct windows standard, struct windows *windows);
json_t *windows_to_json(const struct windows *windows);
/* Reads a task's schema; standard: if it contains none. */
struct windows windows_from_json(const json_t *schema, struct windows standard);

/* ---- a part ---- */

struct sequence_part {
    struct part part;
    struct members members;
    struct batches batches;
    struct features features;
    struct augment augment;      /* for a training part */
    json_t *schema;              /* of the task */
    char name[COLUMN_NAME];      /* of the target */
    const struct column *target; /* NULL: data to predict without a target */
    const char **label;          /* [classes], in schema; for categories and sets */
    int classes;
    int blanks;       /* outputs in addition to the classes: 1 of a transcript */
    bool clock;       /* the times of steps have hours, not only days */
    int lead;         /* most steps of the end of another sequence that precede each row; 0: none */
    int32_t not_lead; /* a class whose sequences do not lead */
    uint32_t *leader; /* [leaders] the sequences that do */
    size_t leaders;
    struct windows windows;
    size_t *piece; /* [members + 1] first item of each member */
};

/* A row of a batch. */
struct sequence_row {
    size_t sequence, first; /* first: first step of the row within the sequence */
    int length, context;    /* in steps; context: those not counted */
    int lead;               /* steps in the batch before the row, the last ones of the sequence `leader` */
    size_t leader;
};

/* Implements a task's `open` for a struct of `bytes` bytes that begins with a sequence_part. `open` sets it up with
 * sequence_part_open, `end` releases it. */
unroll_status sequence_open(const struct task_request *request, enum part_of which, size_t bytes,
                            unroll_status (*open)(const struct task_request *, enum part_of, struct part *),
                            void (*end)(struct part *), struct part **part);

/* Sets up a part with the schema of request.model, which sequence_open has read. kinds: accepted kinds of the target;
 * labels of sequences are drawn in equal proportions for each part. windows: for long series, whose last steps are held
 * out. members.count is 0 if the part is empty. The caller must call sequence_part_end, even after a failure. */
unroll_status sequence_part_open(const struct task_request *request, enum part_of which, unsigned kinds,
                                 struct windows windows, struct sequence_part *p);
void sequence_part_end(struct sequence_part *p);

struct batch_place sequence_place(const struct sequence_part *p, int64_t epoch, int64_t number);
/* Returns false if the row is empty. */
bool sequence_row(const struct sequence_part *p, const struct batch_place *place, int row, struct sequence_row *found);
enum { NO_STEP = -1 };
/* Passes on the prediction for a row of a batch, or for one of its steps (not NO_STEP), with its keys: "group_name" and
 * "group" if a column divides the rows, "time_name" and "time" of the step if the data have times. */
unroll_status sequence_give(const struct sequence_part *p, const struct sequence_row *at, int64_t step, json_t *answer,
                            answer_taker *take, void *arg);
/* Adds "time_name" and "time", the times of a row's counted steps in the format of the data, if they have times. */
void sequence_put_times(const struct sequence_part *p, const struct sequence_row *at, json_t *answer);
/* Prints "GROUP<TAB>TIME<TAB>" of a prediction, without missing ones; the time of step i if there are several. */
void sequence_line_keys(const json_t *answer, size_t i, FILE *file);
/* Fills a batch except its targets. */
void sequence_fill(const struct sequence_part *p, int64_t epoch, int64_t number, struct task_batch *batch);

/* A part of sequences with a target: what classify, tag and regress have in common. The target's column, its labels and
 * scale are in the model's schema; items are whole sequences, or windows of them. What is done with the target is the
 * task's. */
#ifndef TASKS_SEQUENCE_PART_H
#define TASKS_SEQUENCE_PART_H
#include "tasks/augment.h"
#include "tasks/features.h"

/* ---- the column that is learned ---- */

/* Could it be the target? */
typedef bool is_target(const unroll_dataset *, const struct column *);

extern const struct key target_keys[]; /* the options of such tasks */

/* That of the options, which must be one; else the only one, one that is named as targets are ("label", "target", ..),
 * or the last. `what` is for messages: "a label for each sequence". */
unroll_status target_find(const unroll_dataset *data, const char *task, const char *what, const char *options,
                          is_target *fits, const struct column **target);
/* The same without a sentence; NULL: there is none. */
const struct column *target_of(const unroll_dataset *data, is_target *fits);
bool is_usual_name(const char *name); /* of a target: "label", "y", .. */

/* A category of each step that is the same at all steps of each of several sequences. */
bool is_constant(const unroll_dataset *data, const struct column *column);

/* {"targets": [name], "labels": [..], "inputs": [..]}: what the part to train on says of target and inputs; "spelled":
 * the column of whose strings features are made, if not NULL. */
unroll_status sequence_schema(const struct members *members, const struct column *target, const struct column *spelled,
                              json_t **schema);

/* What the network reads, and what is left to the task of it as `standard` has it; `spelled` as above. */
unroll_status sequence_network(const unroll_dataset *data, const struct column *target, const struct column *spelled,
                               const unroll_spec *standard, unroll_spec *spec);

/* Characters or words of a text, else steps. */
const char *sequence_item(const unroll_dataset *data);

/* How long, by how much there is to learn from: sequences, or windows of so many steps of series; 0: sequences. */
void sequence_defaults(const unroll_dataset *data, int window, unroll_task_defaults *defaults);

/* ---- a part ---- */

struct sequence_part {
    struct part part;
    struct members members;
    struct batches batches;
    struct features features;
    struct augment augment;      /* of a part that is trained on */
    json_t *schema;              /* the task's */
    char name[COLUMN_NAME];      /* of the target */
    const struct column *target; /* NULL: data to predict that have none */
    const char **label;          /* [classes], in schema; of categories and sets */
    int classes;
    bool clock; /* times of steps have hours, not days alone */
    /* Of items that are windows: steps of each, and those before it that set the states. 0: whole sequences. */
    int window, context;
    size_t *piece; /* [members + 1] the first item of each member */
};

/* What a row of a batch has. */
struct sequence_row {
    size_t sequence, first; /* step of the sequence that the row begins with */
    int length, context;    /* steps; how many of them are not counted */
};

/* A task's `open`, of a struct of so many bytes that begins with a sequence_part: `open` sets it up by
 * sequence_part_open, `end` releases it. */
unroll_status sequence_open(const struct task_request *request, enum part_of which, size_t bytes,
                            unroll_status (*open)(const struct task_request *, enum part_of, struct part *),
                            void (*end)(struct part *), struct part **part);

/* With the schema of request.model, which sequence_open has read. kinds: what the target must be; labels of sequences
 * are drawn in the same proportions for each part. window, context: of long series, whose last steps are held out; 0:
 * whole sequences. members.count is 0 where there is nothing. Also after a failure sequence_part_end. */
unroll_status sequence_part_open(const struct task_request *request, enum part_of which, unsigned kinds, int window,
                                 int context, struct sequence_part *p);
void sequence_part_end(struct sequence_part *p);

struct batch_place sequence_place(const struct sequence_part *p, int64_t epoch, int64_t number);
/* False: the row is empty. */
bool sequence_row(const struct sequence_part *p, const struct batch_place *place, int row, struct sequence_row *found);
enum { NO_STEP = -1 };
/* answer_give of an answer to a row of a batch, or to its step, not NO_STEP, with its keys: "group_name" and "group" of
 * data whose rows are divided by a column, "time" of a step of data that have times. */
unroll_status sequence_give(const struct sequence_part *p, const struct sequence_row *at, int64_t step, json_t *answer,
                            answer_taker *take, void *arg);
/* The times of a row's steps that count, as the data have them; NULL: they have none. */
json_t *sequence_times(const struct sequence_part *p, const struct sequence_row *at);
/* "GROUP<TAB>TIME<TAB>" of such an answer, as far as it has them; the time of step i if it has one for each. */
void sequence_line_keys(const json_t *answer, size_t i, FILE *file);
/* All of a batch but its targets. */
void sequence_fill(const struct sequence_part *p, int64_t epoch, int64_t number, struct task_batch *batch);

#endif

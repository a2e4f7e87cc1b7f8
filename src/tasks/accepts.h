/* What each task accepts, as tables: which losses, whether a pool, which directions, and which kinds of columns its
 * options may name. The command, C and Python come through the same checks here: of a network that is to be made, of a
 * model that is to be trained or used, of the columns that options name. */
#ifndef TASKS_ACCEPTS_H
#define TASKS_ACCEPTS_H
#include <jansson.h>

#include "data/dataset.h"
#include "unroll_train.h"

struct task;

/* A network for one kind of target; a task has a row for each. A list of rows ends with a row without losses. */
struct accepts {
    const char *losses; /* names, each followed by a blank */
    const char *loss;   /* the default, with its levels; NULL: the first of losses */
    const char *pool;   /* the default of a task with one prediction for each sequence; NULL: one for each step */
    bool backward;      /* layers may read the steps backward in time */
    const char *unused; /* fields of unroll_train_config without effect, each followed by a blank; NULL: none */
};

/* Kinds of columns, to be combined. */
enum column_kind {
    STEP_NUMBERS = 1,
    STEP_CATEGORY = 2,
    STEP_SET = 4,
    STEP_TOKENS = 8,
    STEP_TIME = 16,
    STEP_KINDS = 31,
    OF_SEQUENCE = 5, /* the shift to the kinds of columns with one entry for each sequence */
    SEQUENCE_NUMBERS = STEP_NUMBERS << OF_SEQUENCE,
    SEQUENCE_CATEGORY = STEP_CATEGORY << OF_SEQUENCE,
    SEQUENCE_SET = STEP_SET << OF_SEQUENCE
};

/* An option of a task that names columns. A list ends with an option NULL. */
struct accepts_column {
    const char *option;
    unsigned kinds;
    const char *what, *type; /* "numbers at each step", "number" */
    bool list;               /* several names with ';' between */
    bool all;                /* or the word "all" */
};

unsigned column_kind(const struct column *column);

/* Fills in the loss and the pool that the spec leaves open, then refuses what the row does not accept. */
unroll_status accepts_spec(const struct task *task, const struct accepts *row, unroll_spec *spec);
/* Refuses a model that the task cannot train or run with these data. *unused: that of its row, or "". */
unroll_status accepts_model(const struct task *task, const unroll_model *model, const unroll_dataset *data,
                            const char **unused);
/* The same of a spec that was accepted. */
const char *accepts_unused(const struct task *task, const unroll_spec *spec, const unroll_dataset *data);
bool accepts_lists(const char *names, const char *name); /* "a b " */
/* Refuses options of the task that name a column of a kind that it does not accept. */
unroll_status accepts_columns(const struct task *task, const char *options, const unroll_dataset *data);

/* Rows that several tasks have. */
#define ACCEPTS_TARGET                                                                                                \
    {.option = "target",                                                                                              \
     .kinds = STEP_NUMBERS,                                                                                           \
     .what = "numbers at each step",                                                                                  \
     .type = "number",                                                                                                \
     .list = true,                                                                                                    \
     .all = true}
#define ACCEPTS_KNOWN                                                                                                 \
    {.option = "known",                                                                                               \
     .kinds = STEP_NUMBERS | STEP_CATEGORY | STEP_SET,                                                                \
     .what = "numbers, a category or a set at each step",                                                             \
     .type = "number",                                                                                                \
     .list = true}

#endif

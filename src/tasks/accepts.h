/* Tables of what each task accepts: which losses, whether a pool, which directions, and which kinds of columns its
 * options may name. The command, C and Python use the same checks. They apply to networks that are created, to models
 * that are trained or used, and to columns named by options. */
#pragma once
#include <jansson.h>

#include "data/dataset.h"
#include "unroll_train.h"

struct task;

/* A network for one kind of target; a task has a row for each. A list ends with a row without losses. */
struct accepts {
    const char *losses; /* names, each followed by a blank */
    const char *loss;   /* the default, with its levels; NULL: the first of losses */
    const char *pool;   /* the default of a task with one prediction for each sequence; NULL: one for each step */
    bool backward;      /* layers may run backward in time */
    const char *unused; /* fields of unroll_trainer_config without effect, each followed by a blank; NULL: none */
};

/* Kinds of columns; may be combined. */
enum column_kind {
    STEP_NUMBERS = 1,
    STEP_CATEGORY = 2,
    STEP_SET = 4,
    STEP_TOKENS = 8,
    STEP_TIME = 16,
    STEP_KINDS = 31,
    OF_SEQUENCE = 5, /* shift to the kinds of columns with one entry for each sequence */
    UNALIGNED = 10,  /* shift to the kinds of unaligned columns */
    SEQUENCE_NUMBERS = STEP_NUMBERS << OF_SEQUENCE,
    SEQUENCE_CATEGORY = STEP_CATEGORY << OF_SEQUENCE,
    SEQUENCE_SET = STEP_SET << OF_SEQUENCE
};

/* An option of a task that names columns. A list ends with a NULL option. */
struct accepts_column {
    const char *option;
    unsigned kinds;
    const char *what, *type; /* "numbers at each step", "number" */
    bool list;               /* several names separated by ';' */
    bool all;                /* or the word "all" */
};

unsigned column_kind(const struct column *column);

/* Fills in the loss and pool of the spec, if missing, and refuses what the row does not accept. */
unroll_status accepts_spec(const struct task *task, const struct accepts *row, unroll_model_config *spec);
/* Refuses a model that the task cannot train or run with these data. *unused: that of its row, or "". */
unroll_status accepts_model(const struct task *task, const unroll_model *model, const unroll_dataset *data,
                            const char **unused);
/* Returns `unused` for an accepted spec. */
const char *accepts_unused(const struct task *task, const unroll_model_config *spec, const unroll_dataset *data);
bool accepts_lists(const char *names, const char *name); /* names: "a b " */
/* Refuses options of the task that name a column of the wrong kind. */
unroll_status accepts_columns(const struct task *task, const char *options, const unroll_dataset *data);

/* Rows shared by several tasks. */
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

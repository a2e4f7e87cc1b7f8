/* Assigns sequences of a data set to parts, and items to batches: shapes by length, and an order of each epoch that is
 * computed, not stored. For tasks with random batches, not for continuous texts (lm.c). The contents of batches are
 * defined in features.h and by the task. */
#pragma once
#include "data/set_division.h"
#include "tasks/task.h"

/* ---- parts ---- */

struct members {
    const unroll_dataset *data;
    size_t first, count;
    uint32_t *sequence;      /* [count]; NULL: first, first + 1, .. */
    bool is_cut;             /* the part has only some steps of each sequence: */
    enum part_of which;      /* those of this part, where */
    unroll_held_out held[2]; /* the last steps are held out: for validation, and after these for the test */
};

struct step_range {
    size_t from, to; /* range of steps in the data */
};

static inline size_t member_at(const struct members *members, size_t i)
{
    return members->sequence ? members->sequence[i] : members->first + i;
}

/* Finds the sequences of a part (see unroll_held_out). classes: drawn in equal proportions, except that the only
 * sequence of a class is in the training part; it has an entry for each sequence, or the same at all its steps. NULL,
 * or a column other than categories: no classes. count 0: the part is empty. */
unroll_status members_find(const struct task_request *request, enum part_of which, const struct column *classes,
                           struct members *members);
/* Computes how many of the last steps of a series are held out for validation, and after these for the test: a count,
 * or a fraction of what is left, rounded up, at least `least`. Data from a separate file hold out none. */
void held_steps(const unroll_held_out *validation, const unroll_held_out *test, size_t length, size_t least,
                size_t held[2]);
/* Finds a part of series: the last steps of each sequence, or whole groups with `groups`. */
unroll_status members_of_series(const struct task_request *request, enum part_of which, struct members *members);
void members_end(struct members *members);
/* Formats "20 of 100 series: 3, 7, ..", "the last 24 steps of each of 4 series", or "" for all of a data set. */
void members_describe(const struct members *members, char text[PART_HELD]);
/* Returns the steps of a member that belong to the part. */
struct step_range member_steps(const struct members *members, size_t i);

static inline size_t steps_of(const unroll_dataset *data, size_t sequence)
{
    return data->begin[sequence + 1] - data->begin[sequence];
}

/* Returns the category of a sequence, or that of its first step; -1: missing. */
static inline int32_t category_of(const unroll_dataset *data, const struct column *column, size_t sequence)
{
    if (column->of_sequence)
        return column_id(column, sequence);
    return steps_of(data, sequence) ? column_id(column, data->begin[sequence]) : -1;
}

/* Returns the last i with begin[i] <= at; begin [count + 1] is increasing. */
size_t span_of(const size_t *begin, size_t count, size_t at);

/* ---- batches ---- */

bool is_divided(const char *how); /* in another way than evenly */

/* Items 0 .. count-1 by shape. In training each epoch has its own order of items within a shape and of batches; other
 * parts keep the order of the items. */
struct batches {
    size_t count;
    uint32_t *item; /* [count] starting with the first shape; NULL: 0, 1, .. */
    struct {
        size_t first, count; /* in item */
        int64_t batch;       /* its first batch, before shuffling */
    } of[PART_SHAPES_MAX];
    size_t far; /* items of the last shape that are so much longer than others that each is a batch (on each rank) */
    uint64_t seed;
    bool shuffled;
    struct sampler_division *division[PART_SHAPES_MAX]; /* among ranks, for each shape; NULL: evenly, in order */
};

/* Sets shape, shapes, batches, lengths and shape_of of the part. lengths [count], at least 1; NULL: all have `steps`.
 * Longer ones are cut at request.steps. */
unroll_status batches_plan(const struct task_request *request, enum part_of which, const int32_t *lengths, int steps,
                           size_t count, struct batches *batches, struct part *part);
/* Divides the rows of planned batches among the ranks, by length, or by classes [count], according to
 * request.divide_by. Sets batches and lengths of the part. Only for training; no effect if the division is even. Called
 * after batches_plan. */
unroll_status batches_divide(const struct task_request *request, const int32_t *lengths, const int32_t *classes,
                             struct batches *batches, struct part *part);
void batches_end(struct batches *batches);

/* The position of a batch in an epoch, shared by all of its rows. */
struct batch_place {
    int shape, steps, rows; /* shape: index into the part's shapes */
    int64_t epoch, batch;   /* index among the batches of that shape */
};
struct batch_place batches_place(const struct batches *batches, const struct part *part, int64_t epoch, int64_t number);
/* Returns the item of a row; -1: the row is empty. */
int64_t batches_item(const struct batches *batches, const struct batch_place *place, int row);

/* Which sequences of a data set a part has, and how items become batches: shapes by length, an order of each epoch that
 * nobody keeps. For tasks whose batches are drawn at random; not for texts that are read on and on (lm.c). What is in a
 * batch is features.h's and the task's. */
#ifndef TASKS_EXAMPLES_H
#define TASKS_EXAMPLES_H
#include "data/set_division.h"
#include "tasks/task.h"

/* ---- which sequences ---- */

struct members {
    const unroll_dataset *data;
    size_t first, count;
    uint32_t *sequence;      /* [count]; NULL: first, first + 1, .. */
    bool is_cut;             /* of each sequence the part has some steps only .. */
    enum part_of which;      /* .. those of this part, where .. */
    unroll_held_out held[2]; /* .. the last ones are held out like this, to validate, and behind them to test */
};

struct range {
    size_t from, to; /* steps of the data */
};

static inline size_t member_at(const struct members *members, size_t i)
{
    return members->sequence ? members->sequence[i] : members->first + i;
}

/* As unroll_held_out says. classes: what is drawn in the same proportions, a class of a single sequence for the
 * training part; an entry for each sequence or the same at all its steps; NULL, or no categories: nothing. count 0:
 * nothing is held out as `which`. */
unroll_status members_find(const struct task_request *request, enum part_of which, const struct column *classes,
                           struct members *members);
/* How many of the last steps of a series are held out, to validate, and behind them to test: a count, else a share of
 * what is left, rounded up, and at least `least`; data of a file hold out none. */
void held_steps(const unroll_held_out *validation, const unroll_held_out *test, size_t length, size_t least,
                size_t held[2]);
/* Of series: the last steps of each sequence are held out, instead of whole sequences. */
unroll_status members_of_series(const struct task_request *request, enum part_of which, struct members *members);
void members_end(struct members *members);
/* The steps of a member that are of the part. */
struct range member_steps(const struct members *members, size_t i);

static inline size_t steps_of(const unroll_dataset *data, size_t sequence)
{
    return data->begin[sequence + 1] - data->begin[sequence];
}

/* The category of a sequence: its own, or that of its first step; -1: missing. */
static inline int32_t category_of(const unroll_dataset *data, const struct column *column, size_t sequence)
{
    if (column->of_sequence)
        return column_id(column, sequence);
    return steps_of(data, sequence) ? column_id(column, data->begin[sequence]) : -1;
}

/* begin [count + 1], rising: the last i of begin[i] <= at. */
size_t span_of(const size_t *begin, size_t count, size_t at);

/* ---- in which batch ---- */

bool is_divided(const char *how); /* other than evenly */

/* Items 0 .. count-1, whatever they are, by shape. In training each epoch has an order of its own, of items in a shape
 * and of batches; other parts have that of the items. */
struct batches {
    size_t count;
    uint32_t *item; /* [count] those of the first shape first; NULL: 0, 1, .. */
    struct {
        size_t first, count; /* in item */
        int64_t batch;       /* its first one, before they are shuffled */
    } of[PART_SHAPES_MAX];
    size_t far; /* of the last shape: items so much longer than the others that each is a batch (of each rank) */
    uint64_t seed;
    bool shuffled;
    struct division *division[PART_SHAPES_MAX]; /* among ranks, of each shape; NULL: evenly, as they come */
};

/* Sets shape, shapes, batches, lengths, shape_of of the part. lengths [count], at least 1; NULL: all have `steps`.
 * request.steps cuts those that are longer. */
unroll_status batches_plan(const struct task_request *request, enum part_of which, const int32_t *lengths, int steps,
                           size_t count, struct batches *batches, struct part *part);
/* The rows of planned batches become each rank's share, by length, or by classes [count] as request.divide_by says.
 * Sets batches, lengths of the part. Of what is trained on; even: nothing. Between plan and end. */
unroll_status batches_divide(const struct task_request *request, const int32_t *lengths, const int32_t *classes,
                             struct batches *batches, struct part *part);
void batches_end(struct batches *batches);

/* Which batch a number is in an epoch, found once for all of its rows. */
struct batch_place {
    int shape, steps, rows; /* shape: of the part's */
    int64_t epoch, batch;   /* the batch of that shape */
};
struct batch_place batches_place(const struct batches *batches, const struct part *part, int64_t epoch, int64_t number);
/* -1: the row is empty. */
int64_t batches_item(const struct batches *batches, const struct batch_place *place, int row);

#endif

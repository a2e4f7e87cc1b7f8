/* The arrays of a part's batches: as its network and its task want them, filled by the task. */
#ifndef TRAIN_FEED_H
#define TRAIN_FEED_H
#include "tasks/task.h"

struct feed {
    const struct part *part;
    struct task_batch arrays;
    unroll_batch batch; /* the same, as sessions take them */
};

unroll_status feed_new(const unroll_model *model, const struct part *part, struct feed *feed);
void feed_end(struct feed *feed); /* also after a failure; zeros are allowed */
/* Batch number `number` of an epoch. */
void feed_fill(struct feed *feed, int64_t epoch, int64_t number);

#endif

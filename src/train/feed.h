/* The batches of a part in their order: as its network and its task want them, filled by the task. A thread fills some
 * ahead where that takes a noticeable part of the time. What is in a batch depends on its place alone, so no bit shows
 * whether there is a thread, and a position is two integers. */
#ifndef TRAIN_FEED_H
#define TRAIN_FEED_H
#include "tasks/task.h"

enum { FEED_AHEAD = 4 }; /* batches that a thread has filled, at most */

/* A batch. */
struct filled {
    struct task_batch arrays;
    unroll_batch batch; /* the same, as sessions take them */
    int shape;          /* of the part's */
    int64_t epoch, number;
    double seconds; /* that filling it took */
};

struct feed {
    const struct part *part;
    bool repeats;               /* behind the last batch comes the first of the same epoch */
    int ahead;                  /* batches, FEED_AHEAD; 0: never; UNROLL_AUTO: see above */
    struct filled *slot;        /* [slots] */
    int slots, first;           /* first: what was taken last, or -1 */
    double began;               /* when the first batch was taken */
    int64_t taken;              /* batches */
    double waited;              /* seconds of filling that the caller waited for: not for a processor */
    struct feed_thread *thread; /* NULL: never one */
};

unroll_status feed_new(const unroll_model *model, const struct part *part, bool repeats, int ahead, struct feed *feed);
double feed_seconds(void);        /* of the clock that waiting is measured with */
void feed_end(struct feed *feed); /* also after a failure; zeros are allowed */
/* Batch number `number` of an epoch, good until the next one is taken. */
const struct filled *feed_take(struct feed *feed, int64_t epoch, int64_t number);

#endif

/* The batches of a part in order, filled by the task in the layout of the network. If filling takes a noticeable part
 * of the time, a thread fills some in advance. The contents of a batch depend only on its position, so the thread does
 * not affect results, and a position consists of two integers. */
#pragma once
#include "tasks/task.h"

enum { FEED_AHEAD = 4 }; /* the most batches that a thread fills in advance */

/* A filled batch. */
struct filled {
    struct task_batch arrays;
    unroll_batch batch; /* the same in the form for sessions */
    int shape;          /* index into the part's shapes */
    int64_t epoch, number;
    double seconds; /* time to fill it */
};

struct feed {
    const struct part *part;
    bool repeats;               /* the epoch repeats after its last batch */
    int ahead;                  /* batches to fill in advance, FEED_AHEAD; 0: never; UNROLL_AUTO: see above */
    struct filled *slot;        /* [slots] */
    int slots, first;           /* first: the slot taken last, or -1 */
    double began;               /* time at which the first batch was taken */
    int64_t taken;              /* batches */
    double waited;              /* seconds of filling that the caller waited for, without waits for a processor */
    struct feed_thread *thread; /* NULL: no thread */
};

unroll_status feed_new(const unroll_model *model, const struct part *part, bool repeats, int ahead, struct feed *feed);
double feed_seconds(void);        /* the clock that measures waits */
void feed_end(struct feed *feed); /* also after a failure; a zeroed feed is allowed */
/* Returns batch `number` of an epoch, valid until the next one is taken. */
const struct filled *feed_take(struct feed *feed, int64_t epoch, int64_t number);

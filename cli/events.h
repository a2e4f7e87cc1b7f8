/* TensorBoard events: the numbers of the reports as scalars that `tensorboard --logdir runs` shows.
 * A file holds what one process wrote. Not a reader, and no other kind of event than scalars. */
#ifndef CLI_EVENTS_H
#define CLI_EVENTS_H
#include <limits.h>
#include <stdint.h>
#include <stdio.h>

#include "unroll.h"

#define EVENTS_PREFIX "events.out.tfevents."

struct events {
    FILE *file; /* NULL: not open */
    char path[PATH_MAX];
};

struct event_value {
    const char *tag;
    double value; /* one that is not finite is left out */
};

/* Begins a file in the directory. after: the step that the run goes on from, -1 for a new run; what older
 * files of the directory say about later steps is no longer valid. */
unroll_status events_open(struct events *events, const char *directory, int64_t after);
/* One event, which is in the file when the call returns. */
unroll_status events_write(struct events *events, int64_t step, const struct event_value *values, int count);
void events_close(struct events *events);

#endif

/* TensorBoard events: writes the numbers of the reports as scalars, which `tensorboard --logdir runs` shows. A file
 * holds the events of one process. It only writes, and only scalars. */
#pragma once
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
    double value; /* skipped if not finite */
};

/* Begins a file in the directory. after: the step from which the run resumes, -1 for a new run. Later steps in older
 * files of the directory become invalid. */
unroll_status events_open(struct events *events, const char *directory, int64_t after);
/* Writes one event, which is in the file when the call returns. */
unroll_status events_write(struct events *events, int64_t step, const struct event_value *values, int count);
void events_close(struct events *events);

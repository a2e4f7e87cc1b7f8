/* A log of the messages that a worker sent and received, in order. It reproduces a run that depends on timing. */
#ifndef PARALLEL_ARRIVALS_H
#define PARALLEL_ARRIVALS_H
#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum arrival_kind { ARRIVAL_SENT, ARRIVAL_CAME, ARRIVAL_JUMP, ARRIVAL_ANSWER, ARRIVAL_KINDS };

/* step: of this worker, or another counter of its policy, never decreasing. other: the sender or receiver. theirs:
 * its step. JUMP: to step `theirs`. */
struct arrival {
    int64_t step, theirs;
    int kind, other;
};

struct arrivals {
    FILE *file; /* NULL: nothing is recorded or replayed */
    bool replays;
    struct arrival next; /* in a replay */
    bool has_next;
};

/* Opens PATH.RANK for writing, or for reading with `replays`. path NULL: no log. */
unroll_status arrivals_open(struct arrivals *, const char *path, int rank, bool replays);
/* Parses a line, including its end; returns false if it is invalid. */
bool arrival_read(const char *line, struct arrival *);
void arrivals_close(struct arrivals *);
unroll_status arrivals_note(struct arrivals *, const struct arrival *);
/* Replay: returns the next arrival up to this step, or false if there is none. arrivals_look does not consume it. */
bool arrivals_look(struct arrivals *, int64_t step, struct arrival *, unroll_status *);
bool arrivals_take(struct arrivals *, int64_t step, struct arrival *, unroll_status *);

#endif

/* What came to a worker, and what it sent, in its order: a file that makes a run which depends on the clock again. */
#ifndef PARALLEL_ARRIVALS_H
#define PARALLEL_ARRIVALS_H
#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum arrival_kind { ARRIVAL_SENT, ARRIVAL_CAME, ARRIVAL_JUMP, ARRIVAL_ANSWER, ARRIVAL_KINDS };

/* At the step of this worker, or at whatever its policy counts, which never falls; `other` sent or gets it; theirs: its
 * step. JUMP: to step `theirs`. */
struct arrival {
    int64_t step, theirs;
    int kind, other;
};

struct arrivals {
    FILE *file; /* NULL: nothing is kept or replayed */
    bool replays;
    struct arrival next; /* of a replay */
    bool has_next;
};

/* PATH.RANK: written, or with `replays` read. path NULL: none. */
unroll_status arrivals_open(struct arrivals *, const char *path, int rank, bool replays);
/* A line, with its end; false: it is none. */
bool arrival_read(const char *line, struct arrival *);
void arrivals_close(struct arrivals *);
unroll_status arrivals_note(struct arrivals *, const struct arrival *);
/* Of a replay the next up to this step; false: there is none left. A look leaves it there. */
bool arrivals_look(struct arrivals *, int64_t step, struct arrival *, unroll_status *);
bool arrivals_take(struct arrivals *, int64_t step, struct arrival *, unroll_status *);

#endif

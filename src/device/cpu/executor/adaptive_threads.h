/* Decides by measurement whether a phase of a plan runs on one thread or on all. The costs of waking and waiting depend
 * on the machine and its load. The choice does not change the bits. Starts no threads and is independent of
 * operations. */
#pragma once
#include "plan/ir/plan.h"

/* Index 0 is alone, 1 together. Times are nanoseconds per counted flop and byte, so that ragged batches are comparable.
 * While `runs` < 2 ADAPTIVE_RUNS a trial runs: first the favorite, then the other way. Afterwards the faster way runs
 * until `credit` is used up. */
enum { ADAPTIVE_RUNS = 3 };

struct adaptive {
    bool small;       /* always the caller alone, never timed */
    bool together;    /* the favorite */
    int runs;         /* of the current trial */
    double min[2];    /* of a trial's times */
    double median[2]; /* the second smallest of three; infinite: not tried */
    double spent[2];  /* nanoseconds of a trial */
    double credit;    /* nanoseconds until the next trial */
    double trust;     /* credit per nanosecond that the last trial lost */
};

/* Parses UNROLL_ADAPTIVE: chosen, or together, for tests and measurements. NULL: chosen. */
unroll_status adaptive_parse(const char *name, bool *chooses);

void adaptive_init(struct adaptive *adaptive, const struct plan *plan, enum phase phase);
bool adaptive_together(const struct adaptive *adaptive); /* how the next run should be done */
void adaptive_ran(struct adaptive *adaptive, double nanoseconds, double work);

/* Whether a part of a plan deserves more threads than the caller's: measured, because waking and waiting
 * depend on the machine and on who else uses it. Nothing of it shows in the bits. It starts no thread and
 * knows no operation. */
#ifndef DEVICE_CPU_ADAPTIVE_THREADS_H
#define DEVICE_CPU_ADAPTIVE_THREADS_H
#include "plan/plan.h"

/* [0] is alone, [1] together. Times are nanoseconds for each flop and byte that the kernels counted, so that
 * ragged batches compare. While `runs` < 2 ADAPTIVE_RUNS both ways are looked at: the
 * favourite first, then the other; afterwards the better one runs until `credit` is used up. */
enum { ADAPTIVE_RUNS = 3 };

struct adaptive {
    bool small;       /* the caller alone, never timed */
    bool together;    /* the favourite */
    int runs;         /* of the present look */
    double min[2];    /* of a look's times */
    double median[2]; /* the second least of three, or infinite: not looked at */
    double spent[2];  /* nanoseconds of a look */
    double credit;    /* nanoseconds until the next look */
    double trust;     /* of them for each nanosecond that the last look lost */
};

/* What UNROLL_ADAPTIVE in the environment says: chosen, or together, for tests and measurements. NULL: chosen. */
unroll_status adaptive_parse(const char *name, bool *chooses);

void adaptive_init(struct adaptive *adaptive, const struct plan *plan, enum phase phase);
bool adaptive_together(const struct adaptive *adaptive); /* how the next run is to be done */
void adaptive_ran(struct adaptive *adaptive, double nanoseconds, double work);

#endif

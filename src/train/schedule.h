/* Learning-rate schedules: by what a step's rate is multiplied. A linear warm-up comes before all of them.
 * A new schedule is one function and one line of the table in schedule.c. */
#ifndef TRAIN_SCHEDULE_H
#define TRAIN_SCHEDULE_H
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* What the plateau schedule has seen; the others leave it alone. A checkpoint keeps it. */
struct plateau {
    double best;    /* lowest validation loss so far; infinite before the first */
    double factor;  /* 1, then halved */
    int64_t waited; /* validations since the best, or since the last halving */
};

struct schedule_moment {
    int64_t step;          /* updates done before this one */
    int64_t warmup, total; /* steps; total counts the warm-up */
    const struct plateau *plateau;
};

struct schedule {
    const char *name, *about;
    double (*factor)(const struct schedule_moment *moment); /* after the warm-up */
    bool needs_total;                                       /* it counts on the length of the run */
    bool needs_validation;
};

unroll_status schedule_find(const char *name, const struct schedule **schedule);
unroll_status schedule_add(const struct schedule *); /* for tests */
double schedule_factor(const struct schedule *schedule, const struct schedule_moment *moment);

struct plateau plateau_new(void);
void plateau_report(struct plateau *plateau, double validation_loss);

#endif

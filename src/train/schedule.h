/* Learning-rate schedules: the factor of a step's rate, after a linear warm-up. A new schedule needs a function and a
 * line of the table in schedule.c. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* State of the plateau schedule, stored in checkpoints; other schedules do not use it. */
struct plateau {
    double best;    /* lowest validation loss so far; infinite before the first */
    double factor;  /* 1, then halved */
    int64_t waited; /* validations since the best one, or since the last halving */
};

struct schedule_moment {
    int64_t step;          /* updates before this one */
    int64_t warmup, total; /* in steps; total includes the warm-up */
    const struct plateau *plateau;
};

struct schedule {
    const char *name, *about;
    double (*factor)(const struct schedule_moment *moment); /* after the warm-up */
    bool needs_total;                                       /* depends on the length of the run */
    bool needs_validation;
};

const struct schedule *schedule_at(int index); /* NULL after the last */
unroll_status schedule_find(const char *name, const struct schedule **schedule);
unroll_status schedule_add(const struct schedule *); /* for tests */
double schedule_factor(const struct schedule *schedule, const struct schedule_moment *moment);

struct plateau plateau_new(void);
void plateau_report(struct plateau *plateau, double validation_loss);

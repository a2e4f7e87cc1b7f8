/* The curves of a run, read from its metrics.jsonl, and what is computed from them: extremes, smooth lines,
 * ranges and ticks. Not how they look: that is plot_svg.c and plot_terminal.c. */
#ifndef CLI_CURVES_H
#define CLI_CURVES_H
#include <stdbool.h>
#include <stddef.h>

#include "run.h"

/* In the order of the choices of --metric. */
enum metric { METRIC_LOSS, METRIC_VALIDATION, METRIC_NORM, METRIC_RATE, METRIC_SPEED, METRICS };

struct metric_entry {
    const char *key; /* in metrics.jsonl and of --metric */
    size_t number;   /* where it lies in a report */
    const char *title, *unit;
    bool from_zero; /* the axis begins there */
    bool is_noisy;  /* a smooth line says more than the reports */
};
extern const struct metric_entry metrics[METRICS];

/* In the order of the choices of --axis. */
enum axis { AXIS_STEP, AXIS_EPOCH, AXIS_SECONDS, AXIS_SENT };

/* One metric of one run, without what was not measured. */
struct point {
    double x, y, average;
    int64_t step;
}; /* average: that of whoever draws it */
struct series {
    struct point *point; /* by rising step */
    size_t count;        /* may be 0 */
};

struct curves {
    char *name;            /* of the run as it was given; printable UTF-8 */
    struct report *report; /* by rising step; at least one; what was not measured is NAN */
    size_t count;
    struct series of[METRICS];
};

double report_at(const struct report *report, enum axis axis);

/* The x of points are by the axis. Prints what is wrong. A last line without end, as a killed run leaves it, is only
 * left out with a note. */
unroll_status curves_read(const char *run, enum axis axis, struct curves *curves);
void curves_free(struct curves *curves);

/* The indices of the lowest and the highest y; of an empty series 0. */
size_t series_lowest(const struct series *series);
size_t series_highest(const struct series *series);

/* The weighted linear fit at x, which must be that of a point: weights fall as a Gaussian and reach as far as
 * given. *from is where the series was looked at for a smaller x, 0 at the beginning. */
double series_smooth(const struct series *series, double x, double reach, size_t *from);

struct range {
    double low, high;
};

struct range range_empty(void);
void range_add(struct range *range, double value);
/* Values from left on the x axis; what is below must not stretch the axis. */
void range_add_series(struct range *range, const struct series *series, double left);
/* Never of no width. */
struct range range_widened(struct range range, double part);

/* 1, 2 or 5 times a power of ten, so that a range has at most so many steps. */
double tick_distance(struct range range, int steps);

#endif

/* The curves of a run, read from its metrics.jsonl, and values computed from them: extremes, smooth lines, ranges
 * and ticks. plot_svg.c and plot_terminal.c draw them. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "cli/run/run.h"

/* In the order of --metric's choices. */
enum metric { METRIC_LOSS, METRIC_VALIDATION, METRIC_NORM, METRIC_RATE, METRIC_SPEED, METRICS };

struct metric_entry {
    const char *key; /* in metrics.jsonl and for --metric */
    size_t number;   /* offset in a report */
    const char *title, *unit;
    bool from_zero; /* the axis begins at zero */
    bool is_noisy;  /* a smooth line is more informative than the reports */
};
extern const struct metric_entry metrics[METRICS];

/* In the order of --axis's choices. */
enum plot_axis { AXIS_STEP, AXIS_EPOCH, AXIS_SECONDS, AXIS_SENT };

/* One metric of one run, without missing values. */
struct curve_point {
    double x, y, average;
    int64_t step;
}; /* average: set by the drawing code */
struct series {
    struct curve_point *point; /* by increasing step */
    size_t count;              /* may be 0 */
};

struct curves {
    char *name;            /* of the run as given; printable UTF-8 */
    struct report *report; /* by increasing step; at least one; missing values are NAN */
    size_t count;
    struct series of[METRICS];
    char metric[32]; /* the metric of validations that decides which is best; "": the loss */
    int64_t best;    /* step of the best validation; -1: not in the file */
};

double report_at(const struct report *report, enum plot_axis axis);

/* Reads the curves, with x by the axis. Prints errors. A last line without an end, from a killed run, is skipped
 * with a note. */
unroll_status curves_read(const char *run, enum plot_axis axis, struct curves *curves);
void curves_free(struct curves *curves);

/* Returns the index of the best validation, whose weights the run has saved; in older files, of the lowest loss. */
size_t curves_best(const struct curves *curves);
/* Returns the value of the metric that decided it. */
double curves_best_value(const struct curves *curves);

/* Return the index of the lowest or the highest y; 0 for an empty series. */
size_t series_lowest(const struct series *series);
size_t series_highest(const struct series *series);

/* Returns a locally weighted linear fit at x, which must be that of a point. The weights are Gaussian and end at the
 * given reach. *from: 0 at first; keeps the position between calls with increasing x. */
double series_smooth(const struct series *series, double x, double reach, size_t *from);

struct axis_range {
    double low, high;
};

struct axis_range range_empty(void);
void range_add(struct axis_range *range, double value);
/* Adds the values at x >= left; earlier values must not stretch the axis. */
void range_add_series(struct axis_range *range, const struct series *series, double left);
/* Returns a range that is never empty. */
struct axis_range range_widened(struct axis_range range, double part);

/* Returns 1, 2 or 5 times a power of ten, so that a range has at most this number of steps. */
double tick_distance(struct axis_range range, int steps);

/* Rates of a mesh's ranks, and the resulting division of work: ranks get rows of the batch and layers in proportion to
 * their rates. Also decides from the seconds of ranks when to divide again. Rates are measured by the caller
 * (device/measure.h, or the seconds of a run); devices and clocks are not used here. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct plan_config;

/* Returns the work per second of the slowest rank at place `at` along a mesh axis (enum mesh); 1 without rates. */
double rate_along(const struct plan_config *, int axis, int at);

/* Returns part `at` of n of `size` items, [first, first + count), so that the slowest part finishes as early as
 * possible. Counts are in proportion to rate[n]; none is 0 if there are enough items. With equal rates the result is
 * that of shard_range. */
void rates_divide(uint32_t size, int n, int at, const double *rate, uint32_t *first, uint32_t *count);

/* Returns the maximum of seconds[n] divided by their mean, minus 1: the relative time lost by imbalance. */
double imbalance(const double *seconds, int n);

/* ---- during a run ---------------------------------------------------------------------- */

/* Windows of updates with the seconds that each rank computed. After three consecutive windows with differences above
 * 15%, the rates are outdated. */
enum { PACE_UPDATES = 50, PACE_WINDOWS = 3, PACE_RANKS = 1024 };
struct pace {
    int updates, windows;       /* of this window; consecutive unbalanced windows */
    double seconds[PACE_RANKS]; /* of this window */
};

/* Adds the seconds and work of each rank in an update. Returns true at the end of the third unbalanced window; rate[n]
 * then contains new rates for a new division. */
bool pace_update(struct pace *, int n, const double *seconds, const double *work, double *rate);
/* Does the same for a whole window of PACE_UPDATES updates, with their total seconds. */
bool pace_window(struct pace *, int n, const double *seconds, const double *work, double *rate);

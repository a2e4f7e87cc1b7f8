/* How fast the ranks of a mesh are, and what that makes of the division of their work: rows of the batch and layers go
 * to ranks in proportion to their rates. Also tells from seconds that ranks took whether to divide anew. Knows no
 * device and no clock: rates come from whoever measured them (device/measure.h, or the seconds of a run). */
#ifndef PLAN_RATES_H
#define PLAN_RATES_H
#include <stdbool.h>
#include <stdint.h>

struct plan_config;

/* Work a second of the slowest rank at place `at` along an axis of the mesh (enum mesh): 1 where the configuration has
 * no rates. */
double rate_along(const struct plan_config *, int axis, int at);

/* [first, first + count) of `size` things for share number `at` of n, so that the slowest share ends as early as can
 * be: counts are in proportion to rate[n], and none is 0 while there are things. All rates alike: as shard_range
 * divides. */
void rates_divide(uint32_t size, int n, int at, const double *rate, uint32_t *first, uint32_t *count);

/* The longest of seconds[n], over their mean, less 1: how much longer a step takes than if all were done at once. */
double imbalance(const double *seconds, int n);

/* ---- while a run goes on ---------------------------------------------------------------- */

/* Windows of updates, in each of which every rank computed so many seconds. After three in a row in which they differed
 * by more than 15% the ranks have other rates than was thought. */
enum { PACE_UPDATES = 50, PACE_WINDOWS = 3, PACE_RANKS = 1024 };
struct pace {
    int updates, windows;       /* of this window; windows out of balance, one after the other */
    double seconds[PACE_RANKS]; /* of this window */
};

/* Adds what ranks computed in an update, of so much work each. True at the end of the third window out of balance: then
 * rate[n] holds new rates, by which to divide anew. */
bool pace_update(struct pace *, int n, const double *seconds, const double *work, double *rate);
/* The same of a whole window of PACE_UPDATES updates: what ranks computed in all of them. */
bool pace_window(struct pace *, int n, const double *seconds, const double *work, double *rate);

#endif

/* Shared by the checks of cells: repeatable random values, and the largest of many errors as a single check. */
#ifndef TESTS_CELLS_WORST_H
#define TESTS_CELLS_WORST_H
#include "../check.h"
#include <math.h>
#include <stdint.h>

/* Returns random values in [-1, 1), the same in every run (splitmix64, Steele, Lea and Flood 2014). */
static inline double random_number(uint64_t *seed)
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-52 - 1;
}

/* Returns the larger value, or NaN if either is NaN (fmax would drop it). */
static inline double worse(double a, double b) { return b <= a || isnan(a) ? a : b; }

/* Checks that the worst error is allowed; NaN never is. */
static inline void check_worst(const char *what, const char *subject, double worst, double allowed)
{
    if (CHECK(worst <= allowed, "%s, %s: worst %.2e, allowed %.2e", what, subject, worst, allowed))
        printf("%-12s %-26s worst %.2e, allowed %.2e\n", what, subject, worst, allowed);
}

#endif

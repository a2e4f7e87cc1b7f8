/* The error to signal ratio of a sound z and its target y, in double, as amplifiers are learned (Wright, Damskagg and
 * Valimaki 2019): with y'[t] = y[t] - 0.85 y[t-1] and e = 1e-5, the loss is
 *      0.75 mean((y' - z')^2) / (mean(y'^2) + e)  +  0.25 (mean(y) - mean(z))^2 / (mean(y^2) + e)
 * The mean of y' is over samples whose predecessor counts, too. NaN targets do not count. */
#pragma once
#include <stddef.h>

/* Returns the number of doubles of a kernel: z, y and slopes. */
static inline size_t signal_row_doubles(size_t steps) { return 3 * steps; }

/* Returns the loss; slope [steps] <- its gradient by z. *counted: how many samples count; 0: the loss is 0. */
double signal_slopes(const double *z, const double *y, size_t steps, double *slope, size_t *counted);

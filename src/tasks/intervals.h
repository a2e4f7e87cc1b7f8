/* Calibrates intervals by their coverage of the validation part: split conformal prediction of quantile regression
 * (Romano, Patterson, Candes, 2019, "Conformalized Quantile Regression"). Each pair of quantiles q, 1 - q is moved
 * apart or together by one number for each step ahead, such that it covers its share of the validation part at that
 * step. Numbers are in the scale of the target. The code does not depend on forecasts. */
#pragma once
#include <jansson.h>
#include <stddef.h>

#include "base/status.h"

struct calibration {
    int pairs;     /* 0: the levels are not symmetric, nothing is moved */
    int horizon;   /* steps ahead */
    double *shift; /* [horizon, pairs] outward; the widest pair first */
    double *score; /* [rows, horizon, pairs] how far the truth was outside, NAN: not observed; NULL: not measured */
    size_t rows, every; /* windows that are kept: one of `every` */
};

/* Finds the pairs of rising levels; takes shifts from the schema of a task, if it has them. Release it with
 * calibration_end, also after a failure. */
unroll_status calibration_begin(struct calibration *c, const double *level, int levels, int horizon,
                                const json_t *schema);
/* Allocates scores for a number of windows; if there are many, a subset at equal distances is kept. */
unroll_status calibration_measure(struct calibration *c, size_t windows);
void calibration_clear(struct calibration *c); /* forgets the observations */
void calibration_end(struct calibration *c);

/* Adds an observation of a window at a step ahead. quantile [levels]: rising, before calibration_apply. */
void calibration_observe(struct calibration *c, size_t window, int step, const double *quantile, int levels,
                         double truth);
/* Moves the quantiles of a step ahead; they stay rising. */
void calibration_apply(const struct calibration *c, int step, double *quantile, int levels);
/* Sets "calibration" of the schema to the shifts computed from the observations. */
unroll_status calibration_learn(const struct calibration *c, const double *level, json_t *schema);

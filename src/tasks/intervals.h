/* Calibrates intervals by their coverage of the validation part: split conformal prediction of quantile regression
 * (Romano, Patterson, Candes, 2019, "Conformalized Quantile Regression"). Each pair of quantiles q, 1 - q is moved
 * apart or together by one number, such that it covers its share of the validation part. Numbers are in the scale of
 * the target. The code does not depend on forecasts. */
#ifndef TASKS_INTERVALS_H
#define TASKS_INTERVALS_H
#include <jansson.h>
#include <stddef.h>

#include "base/status.h"
#include "nn/losses/loss.h"

enum { CALIBRATE_PAIRS = LOSS_LEVELS_MAX / 2 };

struct calibration {
    int pairs;                     /* 0: the levels are not symmetric, nothing is moved */
    double shift[CALIBRATE_PAIRS]; /* of each pair, outward; the widest pair first */
    double *score;                 /* [room, pairs] how far the truth was outside; NULL: not measured */
    size_t room, count, every, seen, truths;
};

/* Finds the pairs of rising levels; takes shifts from the schema of a task, if it has them. */
void calibration_begin(struct calibration *c, const double *level, int levels, const json_t *schema);
/* Allocates scores for `forecasts` forecasts of `truths` different numbers; it keeps a subset at equal distances. */
unroll_status calibration_measure(struct calibration *c, size_t forecasts, size_t truths);
void calibration_clear(struct calibration *c); /* forgets the observations */
void calibration_end(struct calibration *c);

/* Adds an observation. quantile [levels]: rising, before calibration_apply. */
void calibration_observe(struct calibration *c, const double *quantile, int levels, double truth);
/* Moves the quantiles; they stay rising. */
void calibration_apply(const struct calibration *c, double *quantile, int levels);
/* Sets "calibration" of the schema to the shifts computed from the observations. */
unroll_status calibration_learn(const struct calibration *c, const double *level, json_t *schema);

#endif

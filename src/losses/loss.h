/* The losses as data. Those of single numbers are written once, in V operations, in the files beside this one, and
 * compiled for each instruction set and for GPUs, and recorded for XLA; one of whole rows has a kernel on each device.
 */
#ifndef LOSSES_LOSS_H
#define LOSSES_LOSS_H
#include <stdbool.h>
#include <stddef.h>
#include "base/status.h"

struct record;
struct loss_choice;

enum { LOSS_NONE = -1, LOSS_RESULTS_MAX = 3, LOSS_LEVELS_MAX = 32, LOSS_TEXT_MAX = 400 };

struct loss {
    const char *name, *about; /* "xent", "cross-entropy" */
    bool of_classes;          /* targets are [T, B] class numbers, -1: not counted; else [T, B, targets] numbers */
    bool wants_linear;        /* it has a softmax, sigmoid or exp of its own: the last layer gives what they take */
    float targets[2];         /* of single numbers: the smallest and the largest target; both 0: any number */
    int results;              /* of single numbers: results of a point; 0 of rows that are added at run time: 1 */
    const char *levels; /* a target has a point for each: the levels that nobody chose; NULL: one point, no level */
    /* Of single numbers: `sum` and the losses of n points, added one after the other: of results z [n, results],
     * targets y [n] and levels [n]. The loss of a target is the mean of its points, that of a row the mean of its
     * targets that count. NULL: a loss of whole rows. */
    double (*add)(double sum, const double *z, const double *y, const double *level, size_t n);
    /* What the results of one target say of it: loss_quantile and loss_estimate. NULL: nothing; the result itself. */
    double (*quantile)(const struct loss_choice *, const float *z, double q);
    double (*estimate)(const struct loss_choice *, const float *z);
    /* Of rows that are added at run time, which no device has compiled and which have one result and no levels: z <-
     * scale x the slope by z; and its record, of "z" and "y" with the results "loss" and "slope". */
    void (*slopes_f32)(float *z, const float *y, size_t n, float scale);
    void (*slopes_f64)(double *z, const double *y, size_t n, double scale);
    void (*record)(struct record *);
};

/* A loss as a model has it. */
struct loss_choice {
    int index;   /* in the table, or LOSS_NONE */
    int results; /* of the model for each target, side by side: a point's, for each level; 1 of none */
    int levels;  /* 0: it has none */
    float level[LOSS_LEVELS_MAX];
    char text[LOSS_TEXT_MAX]; /* as users write it: "none", "mse", "quantile:0.1,0.5,0.9" */
};

const struct loss *loss_at(int index); /* NULL after the last; of LOSS_NONE, too */
/* NULL and "none": LOSS_NONE. */
unroll_status loss_find(const char *name, int *index);
/* The same, with levels: "quantile" and "quantile:0.05,0.5,0.95", rising between 0 and 1. */
unroll_status loss_choose(const char *text, struct loss_choice *);
bool loss_is_compiled(int index);            /* a row of loss_table.h */
unroll_status loss_add(const struct loss *); /* one more row, for tests */

/* Of a loss of single numbers: of its results, the target "y" and the "level", the "loss" and the slopes. */
void record_loss(int loss, struct record *);
extern const char *const loss_result_names[LOSS_RESULTS_MAX], *const loss_slope_names[LOSS_RESULTS_MAX]; /* "z", "z1" */

/* Of what a model gave for one target, `results` numbers, the quantile at q, 0 < q < 1; NAN: this loss learns none.
 * Between the levels of "quantile" it is interpolated, beyond them it is the outermost result; levels that have crossed
 * are taken in order. Distributions: to 1e-6 of their scale. */
double loss_quantile(const struct loss_choice *, const float *results, double q);
/* And the one number that is the answer: the mean of a distribution, the median of "quantile", the probability of
 * "bce", the rate of "poisson", else the result. */
double loss_estimate(const struct loss_choice *, const float *results);

#endif

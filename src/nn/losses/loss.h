/* The losses as data. Pointwise losses are written once, in V operations, in the files of this folder. They are
 * compiled for each instruction set and for GPUs, and recorded for XLA. A loss of whole rows has a kernel on each
 * device. Losses of whole sequences are in chain.h, lattice.h and signal_error.h. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "base/status.h"

struct record;
struct loss_choice;

enum { LOSS_NONE = -1, LOSS_RESULTS_MAX = 3, LOSS_LEVELS_MAX = 32, LOSS_TEXT_MAX = 400 };

struct loss {
    const char *name, *about; /* "xent", "cross-entropy" */
    bool of_classes;          /* targets are [T, B] class numbers, -1: ignored; else [T, B, targets] values */
    bool of_sequences;        /* of all steps of a row together; operation sequence_loss */
    bool wants_linear;        /* applies its own softmax, sigmoid or exp: the last layer must be linear */
    float targets[2];         /* pointwise: the smallest and the largest target; both 0: unlimited */
    int results;              /* pointwise: results per point; 0 in rows added at run time: 1 */
    const char *levels;       /* default levels, one point each per target; NULL: one point without a level */
    /* Pointwise losses: returns `sum` plus the losses of n points, added in order. Results z [n, results], targets y
     * [n], levels [n]. The loss of a target is the mean of its points; that of a row is the mean of its counted
     * targets. NULL: a loss of whole rows. */
    double (*add)(double sum, const double *z, const double *y, const double *level, size_t n);
    /* Implement loss_quantile and loss_estimate for one target. NULL: no quantiles; the result itself. */
    double (*quantile)(const struct loss_choice *, const float *z, double q);
    double (*estimate)(const struct loss_choice *, const float *z);
    /* Only for rows added at run time, which have one result and no levels: z <- scale * (slope at z), and the record
     * with inputs "z" and "y" and results "loss" and "slope". */
    void (*slopes_f32)(float *z, const float *y, size_t n, float scale);
    void (*slopes_f64)(double *z, const double *y, size_t n, double scale);
    void (*record)(struct record *);
};

/* The loss of a model. */
struct loss_choice {
    int index;   /* in the table, or LOSS_NONE */
    int results; /* model outputs per target: results of a point times levels; 1 for LOSS_NONE */
    int levels;  /* 0: none */
    float level[LOSS_LEVELS_MAX];
    char text[LOSS_TEXT_MAX]; /* the text of the option: "none", "mse", "quantile:0.1,0.5,0.9" */
};

const struct loss *loss_at(int index); /* NULL after the last and for LOSS_NONE */
/* NULL and "none" give LOSS_NONE. */
unroll_status loss_find(const char *name, int *index);
/* Parses a loss with optional levels: "quantile" or "quantile:0.05,0.5,0.95", rising between 0 and 1. */
unroll_status loss_choose(const char *text, struct loss_choice *);
bool loss_is_compiled(int index);            /* returns whether it is a row of loss_table.h */
unroll_status loss_add(const struct loss *); /* adds a row, for tests */

/* Records a pointwise loss: inputs are its results, the target "y" and the "level"; results are "loss" and the
 * slopes. */
void record_loss(int loss, struct record *);
extern const char *const loss_result_names[LOSS_RESULTS_MAX], *const loss_slope_names[LOSS_RESULTS_MAX]; /* "z", "z1" */

/* Returns the quantile at q, 0 < q < 1, from a model's `results` outputs for one target; NAN if the loss has no
 * quantiles. "quantile" interpolates between its levels and returns the outermost result beyond them. Crossed levels
 * are sorted. Distributions are accurate to 1e-6 of their scale. */
double loss_quantile(const struct loss_choice *, const float *results, double q);
/* Returns the point estimate: the mean of a distribution, the median of "quantile", the probability of "bce", the rate
 * of "poisson", otherwise the result. */
double loss_estimate(const struct loss_choice *, const float *results);

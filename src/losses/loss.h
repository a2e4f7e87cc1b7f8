/* The losses as data. Those of single numbers are written once, in V operations, in the files beside this one, and
 * compiled for each instruction set and for GPUs, and recorded for XLA; one of whole rows has a kernel on each device.
 */
#ifndef LOSSES_LOSS_H
#define LOSSES_LOSS_H
#include <stdbool.h>
#include <stddef.h>
#include "base/status.h"

struct record;

struct loss {
    const char *name, *about; /* "xent", "cross-entropy" */
    bool of_classes;          /* targets are [T, B] class numbers, -1: not counted; else [T, B, outputs] numbers */
    bool wants_linear;        /* it has a softmax, sigmoid or exp of its own: the last layer gives what they take */
    float targets[2];         /* of single numbers: the smallest and the largest target; both 0: any number */
    /* Of single numbers: `sum` and the losses of n results z with the targets y, added one after the other. The loss of
     * a row is their mean. NULL: a loss of whole rows. */
    double (*add)(double sum, const double *z, const double *y, size_t n);
    /* Of rows that are added at run time, which no device has compiled: z <- scale x the slope by z; and its record, of
     * "z" and "y" with the results "loss" and "slope". */
    void (*slopes_f32)(float *z, const float *y, size_t n, float scale);
    void (*slopes_f64)(double *z, const double *y, size_t n, double scale);
    void (*record)(struct record *);
};

enum { LOSS_NONE = -1 };

const struct loss *loss_at(int index); /* NULL after the last; of LOSS_NONE, too */
const char *loss_name(int index);      /* "none" of LOSS_NONE */
/* NULL and "none": LOSS_NONE. */
unroll_status loss_find(const char *name, int *index);
bool loss_is_compiled(int index);            /* a row of loss_table.h */
unroll_status loss_add(const struct loss *); /* one more row, for tests */

#endif

/* The optimizers as data: names, hyperparameters, how many states they keep for each weight. Their formulas are the
 * files beside this one, compiled for each instruction set by the devices. */
#ifndef OPTIM_OPTIM_H
#define OPTIM_OPTIM_H
#include <stdbool.h>
#include <stddef.h>

#include "unroll_train.h"

enum { OPTIMIZER_STATES_MAX = 8, OPTIMIZER_NUMBERS_MAX = 11 };

/* What changes an update from step to step, an array of double: "rates" of a plan. */
enum {
    RATE_CLIP, /* largest norm of the whole gradient; <= 0: none */
    RATE_STEP, /* number of this update, from 1 */
    /* What a device keeps, where products are of fp16. */
    RATE_SCALE,    /* the loss is multiplied with it; it and its inverse are powers of two */
    RATE_GOOD,     /* updates since it changed */
    RATE_OVERFLOW, /* 1: a gradient of this update is not finite: it is left out, and the scale halved */
    RATE_NUMBERS,  /* what the optimizer makes of its hyperparameters, in the order of its list */
    RATES = RATE_NUMBERS + OPTIMIZER_NUMBERS_MAX
};

struct record;

struct optimizer {
    const char *name;
    int states;                                  /* arrays of the weights' shape, zero at first */
    double learning_rate;                        /* the default */
    const unroll_hyperparameter *hyperparameter; /* a name NULL ends */
    const char *const *number;                   /* names of its numbers, NULL ends */
    void (*make_numbers)(double learning_rate, double update, const double *hyperparameter, double *number);
    /* Of one that was added: the step over a row of weights, which leaves the gradient g, to be multiplied with
     * `scale`, zero; and as the record that was begun, of "w", "g", "s0".. and the numbers. */
    void (*row_f32)(const double *number, float scale, float *w, float *g, float *const *state, size_t n);
    void (*row_f64)(const double *number, double scale, double *w, double *g, double *const *state, size_t n);
    void (*record)(struct record *);
};

const struct optimizer *optimizer_at(int index); /* NULL after the last */
unroll_status optimizer_find(const char *name, int *index);
bool optimizer_is_compiled(int index);                 /* not added */
unroll_status optimizer_add(const struct optimizer *); /* for tests: one more, before there are sessions */

/* What a sum of gradients, whose squares are summed by parameter, is multiplied with: 1 / weight, less if the norm of
 * all is above the clip. 0: there is nothing to learn from, because nothing was counted or a gradient is not finite. */
double optimizer_scale(const double *squares, size_t parameters, double weight, double clip);

/* A step of numbers that lie outside of a plan: w and the states from the gradients g, multiplied with `scale`, which
 * are left zero. All [count], of the element type of the plan. */
struct outside_update {
    int optimizer;
    const double *number; /* what make_numbers made */
    double scale;
    void *w, *g, *const *state;
    size_t count;
};

/* The step, of "w", "g", the states and the numbers by name. */
void record_optimizer(int optimizer, struct record *);
extern const char *const optimizer_state_names[OPTIMIZER_STATES_MAX]; /* "s0", .. */

#endif

/* The optimizers as data: names, hyperparameters, and the number of states per weight. Their formulas are in the files
 * of this folder, compiled for each instruction set by the devices. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "unroll_train.h"

enum { OPTIMIZER_STATES_MAX = 8, OPTIMIZER_NUMBERS_MAX = 11 };

/* Values that change from update to update, an array of double: "rates" of a plan. */
enum {
    RATE_CLIP, /* largest norm of the whole gradient; <= 0: none */
    RATE_STEP, /* number of this update, from 1 */
    /* Loss scaling, kept by the device for fp16 products. */
    RATE_SCALE,    /* factor of the loss; it and its inverse are powers of two */
    RATE_GOOD,     /* updates since the scale changed */
    RATE_OVERFLOW, /* 1: a gradient of this update is not finite; the update is skipped and the scale halved */
    RATE_NUMBERS,  /* computed from the hyperparameters by make_numbers, in the order of its list */
    RATES = RATE_NUMBERS + OPTIMIZER_NUMBERS_MAX
};

struct record;

struct hyperparameter {
    const char *name, *about;
    double standard, min, max; /* the default, and the inclusive limits */
};

struct optimizer {
    const char *name;
    int states;                                  /* arrays with the weights' shape, initially zero */
    double learning_rate;                        /* the default */
    const struct hyperparameter *hyperparameter; /* terminated by a NULL name */
    const char *const *number;                   /* names of its numbers, terminated by NULL */
    void (*make_numbers)(double learning_rate, double update, const double *hyperparameter, double *number);
    /* Only for rows added at run time: updates a row of weights with the gradient g times `scale` and sets g to zero.
     * record writes the same step with inputs "w", "g", "s0".. and the numbers. */
    void (*row_f32)(const double *number, float scale, float *w, float *g, float *const *state, size_t n);
    void (*row_f64)(const double *number, double scale, double *w, double *g, double *const *state, size_t n);
    void (*record)(struct record *);
};

const struct optimizer *optimizer_at(int index); /* NULL after the last */
/* Returns the hyperparameter with that index of the optimizer of that name; NULL: none. */
const struct hyperparameter *optimizer_hyperparameter(const char *optimizer, int index);
unroll_status optimizer_find(const char *name, int *index);
bool optimizer_is_compiled(int index);                 /* returns whether it is built in, not added */
unroll_status optimizer_add(const struct optimizer *); /* adds a row, for tests; call it before sessions exist */

/* Returns the factor of a summed gradient, given the sum of squares of each parameter: 1 / weight, reduced if the total
 * norm exceeds `clip`. Returns 0 if nothing was counted or a gradient is not finite; the update is then skipped. */
double optimizer_scale(const double *squares, size_t parameters, double weight, double clip);

/* An update of weights outside of a plan: w and the states change by the gradients g times `scale`, and g becomes zero.
 * All are [count], of the plan's element type. */
struct outside_update {
    int optimizer;
    const double *number; /* from make_numbers */
    double scale;
    void *w, *g, *const *state;
    size_t count;
};

/* Records the step with inputs "w", "g", the states and the numbers. */
void record_optimizer(int optimizer, struct record *);
extern const char *const optimizer_state_names[OPTIMIZER_STATES_MAX]; /* "s0", .. */

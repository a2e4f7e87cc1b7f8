/* The optimizers as data: names, how many states they keep for each weight, default rates. Their formulas
 * are the files beside this one, compiled for each instruction set by the devices. */
#ifndef OPTIM_OPTIM_H
#define OPTIM_OPTIM_H

/* What changes an update from step to step: an array of double. Each optimizer reads what it needs. */
enum {
    RATE_LR,            /* the learning rate */
    RATE_MOMENTUM,
    RATE_BETA1,         /* decay of the mean of gradients */
    RATE_BETA2,         /* decay of the mean of their squares */
    RATE_EPS,
    RATE_DECAY,         /* of weights */
    RATE_CLIP,          /* largest norm of the whole gradient; <= 0: none */
    RATE_STEP,          /* number of this update, from 1 */
    RATE_N,
    /* What a device keeps beside them, where products are of fp16. */
    RATE_SCALE = RATE_N,    /* the loss is multiplied with it; it and its inverse are powers of two */
    RATE_GOOD,              /* updates since it changed */
    RATE_OVERFLOW           /* 1: a gradient of this update is not finite: it is left out, and the scale halved */
};

struct optimizer {
    const char *name;
    int         states;             /* arrays of the weights' shape, zero at first: 0 .. 2 */
    double      rate[RATE_N];       /* defaults */
};

const struct optimizer *optimizer_at(int index);        /* NULL after the last */
int optimizer_find(const char *name);                   /* index, or -1 */

#endif

/* What an optimizer's file works on, for one V.
 *
 * An optimizer's file defines
 *     OPTIMIZER           its name
 *     OPTIMIZER_STATES    how many states it keeps for each weight, 0 .. 2
 *     OPTIMIZER_RATES     the initializer of its default rates, PyTorch's where PyTorch has some
 * writes OPTIMIZER_STEP(p, r), which changes p->w and the states by the gradient p->g, and includes
 * OPTIMIZER_USER. The gradient arrives divided by the weight of the batch and clipped. */
#include <math.h>

#define OPTIMIZER_PASTE2(a, b) a##_##b
#define OPTIMIZER_PASTE(a, b)  OPTIMIZER_PASTE2(a, b)
#define OPTIMIZER_(name)       OPTIMIZER_PASTE(OPTIMIZER, name)     /* OPTIMIZER_(step) is adam_step */
#define OPTIMIZER_STEP(p, r)   CELL_CODE void OPTIMIZER_(step)(struct weights *p, const struct rates *r)

struct weights { V w, g, s0, s1; };

/* The rates, and what all weights of one update share; made in double. */
struct rates {
    V lr, momentum, eps, decay;
    V beta2, rest1, rest2;          /* rest: 1 - beta */
    V step;                         /* lr / (1 - beta1^step): the mean of gradients began at zero */
    V root;                         /* sqrt(1 - beta2^step), likewise */
    V keep;                         /* 1 - lr decay */
};

CELL_CODE struct rates rates_of(const double *rate)
{
    double correction1 = 1 - pow(rate[RATE_BETA1], rate[RATE_STEP]);
    double correction2 = 1 - pow(rate[RATE_BETA2], rate[RATE_STEP]);
#define RATE(number) v_const((v_element)(number))
    return (struct rates){
        .lr = RATE(rate[RATE_LR]), .momentum = RATE(rate[RATE_MOMENTUM]), .eps = RATE(rate[RATE_EPS]),
        .decay = RATE(rate[RATE_DECAY]), .beta2 = RATE(rate[RATE_BETA2]),
        .rest1 = RATE(1 - rate[RATE_BETA1]), .rest2 = RATE(1 - rate[RATE_BETA2]),
        .step = RATE(rate[RATE_LR] / correction1), .root = RATE(sqrt(correction2)),
        .keep = RATE(1 - rate[RATE_LR] * rate[RATE_DECAY]),
    };
#undef RATE
}

/* How every optimizer ends: w - rate * direction. */
CELL_CODE V v_step_down(V w, V rate, V direction)
{
    return v_sub(w, v_mul(rate, direction));
}

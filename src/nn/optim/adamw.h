/* AdamW (Loshchilov, Hutter, "Decoupled Weight Decay Regularization", ICLR 2019), as torch.optim.AdamW:
 *     w <- (1 - lr decay) w, then Adam's step (adam.h) with the plain gradient */
#define OPTIMIZER               adamw
#define OPTIMIZER_STATES        2
#define OPTIMIZER_LEARNING_RATE 1e-3
#define OPTIMIZER_HYPERPARAMETERS(H) \
    H(beta1, 0.9, 0, BELOW_1, "decay of the running mean of gradients") \
    H(beta2, 0.999, 0, BELOW_1, "decay of the running mean of squared gradients") \
    HYPER_EPSILON(H) HYPER_DECAY(H, 1e-2)
#define OPTIMIZER_NUMBERS(N) ADAM_NUMBERS(N) N(keep, 1 - lr * decay)

OPTIMIZER_STEP(p, r)
{
    p->w = v_mul(p->w, r->keep);
    ADAM_MOVE(p, p->g, r);
}

#include OPTIMIZER_USER
#include "nn/optim/optim_end.h"

/* AdamW (Loshchilov, Hutter, "Decoupled Weight Decay Regularization", ICLR 2019), as torch.optim.AdamW:
 *     w <- (1 - lr decay) w, then Adam's step (adam.h) with the plain gradient */
#define OPTIMIZER        adamw
#define OPTIMIZER_STATES 2
#define OPTIMIZER_RATES  \
    { [RATE_LR] = 1e-3, [RATE_BETA1] = 0.9, [RATE_BETA2] = 0.999, [RATE_EPS] = 1e-8, [RATE_DECAY] = 1e-2 }

OPTIMIZER_STEP(p, r)
{
    p->w = v_mul(p->w, r->keep);
    adam_move(p, p->g, r);
}

#include OPTIMIZER_USER
#include "optim/optim_end.h"

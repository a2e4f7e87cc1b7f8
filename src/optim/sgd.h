/* Stochastic gradient descent (Robbins, Monro, "A Stochastic Approximation Method", 1951), as
 * torch.optim.SGD without momentum:
 *     w <- w - lr (g + decay w) */
#define OPTIMIZER        sgd
#define OPTIMIZER_STATES 0
#define OPTIMIZER_RATES  { [RATE_LR] = 1e-2 }

OPTIMIZER_STEP(p, r)
{
    V g = v_fma(r->decay, p->w, p->g);
    p->w = v_step_down(p->w, r->lr, g);
}

#include OPTIMIZER_USER
#include "optim/optim_end.h"

/* RMSprop (Tieleman, Hinton, "Neural Networks for Machine Learning", lecture 6.5, 2012), as
 * torch.optim.RMSprop without momentum, not centered; its alpha is beta2 here:
 *     g <- g + decay w
 *     s <- beta2 s + (1 - beta2) g^2
 *     w <- w - lr g / (sqrt(s) + eps) */
#define OPTIMIZER        rmsprop
#define OPTIMIZER_STATES 1
#define OPTIMIZER_RATES  { [RATE_LR] = 1e-2, [RATE_BETA2] = 0.99, [RATE_EPS] = 1e-8 }

OPTIMIZER_STEP(p, r)
{
    V g = v_fma(r->decay, p->w, p->g);
    p->s0 = v_fma(r->beta2, p->s0, v_mul(r->rest2, v_mul(g, g)));
    p->w = v_step_down(p->w, r->lr, v_div(g, v_add(v_sqrt(p->s0), r->eps)));
}

#include OPTIMIZER_USER
#include "optim/optim_end.h"

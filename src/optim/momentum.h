/* Gradient descent with momentum (Polyak, "Some methods of speeding up the convergence of iteration
 * methods", 1964), as torch.optim.SGD with momentum, dampening 0, without Nesterov's step:
 *     s <- momentum s + g + decay w
 *     w <- w - lr s */
#define OPTIMIZER        momentum
#define OPTIMIZER_STATES 1
#define OPTIMIZER_RATES  { [RATE_LR] = 1e-2, [RATE_MOMENTUM] = 0.9 }

OPTIMIZER_STEP(p, r)
{
    V g = v_fma(r->decay, p->w, p->g);
    p->s0 = v_fma(r->momentum, p->s0, g);
    p->w = v_step_down(p->w, r->lr, p->s0);
}

#include OPTIMIZER_USER
#include "optim/optim_end.h"

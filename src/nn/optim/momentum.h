/* Gradient descent with momentum (Polyak, "Some methods of speeding up the convergence of iteration
 * methods", 1964), as torch.optim.SGD with momentum, dampening 0, without Nesterov's step:
 *     s <- momentum s + g + decay w
 *     w <- w - lr s */
#define OPTIMIZER               momentum
#define OPTIMIZER_STATES        1
#define OPTIMIZER_LEARNING_RATE 1e-2
#define OPTIMIZER_HYPERPARAMETERS(H) H(momentum, 0.9, 0, BELOW_1, "momentum factor") HYPER_DECAY(H, 0)
#define OPTIMIZER_NUMBERS(N)         N(lr, lr) N(momentum, momentum) N(decay, decay)

OPTIMIZER_STEP(p, r)
{
    V g = v_fma(r->decay, p->w, p->g);
    p->s[0] = v_fma(r->momentum, p->s[0], g);
    p->w = v_step_down(p->w, r->lr, p->s[0]);
}

#include OPTIMIZER_USER
#include "nn/optim/optim_end.h"

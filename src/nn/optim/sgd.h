/* Stochastic gradient descent (Robbins, Monro, "A Stochastic Approximation Method", 1951), as
 * torch.optim.SGD without momentum:
 *     w <- w - lr (g + decay w) */
#define OPTIMIZER                    sgd
#define OPTIMIZER_STATES             0
#define OPTIMIZER_LEARNING_RATE      1e-2
#define OPTIMIZER_HYPERPARAMETERS(H) HYPER_DECAY(H, 0)
#define OPTIMIZER_NUMBERS(N)         N(lr, lr) N(decay, decay)

OPTIMIZER_STEP(p, r)
{
    V g = v_fma(r->decay, p->w, p->g);
    p->w = v_step_down(p->w, r->lr, g);
}

#include OPTIMIZER_USER
#include "nn/optim/optim_end.h"

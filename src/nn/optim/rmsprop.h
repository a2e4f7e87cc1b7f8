/* RMSprop (Tieleman, Hinton, "Neural Networks for Machine Learning", lecture 6.5, 2012), as
 * torch.optim.RMSprop without momentum, not centered; its alpha is called beta2:
 *     g <- g + decay w
 *     s <- beta2 s + (1 - beta2) g^2
 *     w <- w - lr g / (sqrt(s) + epsilon) */
#define OPTIMIZER               rmsprop
#define OPTIMIZER_STATES        1
#define OPTIMIZER_LEARNING_RATE 1e-2
#define OPTIMIZER_HYPERPARAMETERS(H) \
    H(beta2, 0.99, 0, BELOW_1, "decay of the running mean of squared gradients") \
    HYPER_EPSILON(H) HYPER_DECAY(H, 0)
#define OPTIMIZER_NUMBERS(N) N(lr, lr) N(beta2, beta2) N(rest2, 1 - beta2) N(epsilon, epsilon) N(decay, decay)

OPTIMIZER_STEP(p, r)
{
    V g = v_fma(r->decay, p->w, p->g);
    p->s[0] = v_fma(r->beta2, p->s[0], v_mul(r->rest2, v_mul(g, g)));
    p->w = v_step_down(p->w, r->lr, v_div(g, v_add(v_sqrt(p->s[0]), r->epsilon)));
}

#include OPTIMIZER_USER
#include "nn/optim/optim_end.h"

/* Adam (Kingma, Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015), as torch.optim.Adam:
 *     g  <- g + decay w
 *     s0 <- beta1 s0 + (1 - beta1) g
 *     s1 <- beta2 s1 + (1 - beta2) g^2
 *     w  <- w - lr s0 / (1 - beta1^step) / (sqrt(s1 / (1 - beta2^step)) + epsilon) */
#define OPTIMIZER               adam
#define OPTIMIZER_STATES        2
#define OPTIMIZER_LEARNING_RATE 1e-3
#define OPTIMIZER_HYPERPARAMETERS(H) \
    H(beta1, 0.9, 0, BELOW_1, "decay of the running mean of gradients") \
    H(beta2, 0.999, 0, BELOW_1, "decay of the running mean of squared gradients") \
    HYPER_EPSILON(H) HYPER_DECAY(H, 0)
#define OPTIMIZER_NUMBERS(N) ADAM_NUMBERS(N) N(decay, decay)

/* Corrects the bias of the two means, which start at zero. Shared with AdamW, like the step. */
#define ADAM_NUMBERS(N) \
    N(rest1, 1 - beta1) N(beta2, beta2) N(rest2, 1 - beta2) N(epsilon, epsilon) \
    N(step, lr / (1 - pow(beta1, update))) N(root, sqrt(1 - pow(beta2, update)))
#define ADAM_MOVE(p, g, r) adam_move(p, g, r->rest1, r->beta2, r->rest2, r->epsilon, r->step, r->root)

CELL_CODE void adam_move(struct weights *p, V g, V rest1, V beta2, V rest2, V epsilon, V step, V root)
{
    p->s[0] = v_fma(rest1, v_sub(g, p->s[0]), p->s[0]);
    p->s[1] = v_fma(beta2, p->s[1], v_mul(rest2, v_mul(g, g)));
    V scale = v_add(v_div(v_sqrt(p->s[1]), root), epsilon);
    p->w = v_step_down(p->w, step, v_div(p->s[0], scale));
}

OPTIMIZER_STEP(p, r) { ADAM_MOVE(p, v_fma(r->decay, p->w, p->g), r); }

#include OPTIMIZER_USER
#include "nn/optim/optim_end.h"

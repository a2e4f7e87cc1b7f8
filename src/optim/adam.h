/* Adam (Kingma, Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015), as torch.optim.Adam:
 *     g  <- g + decay w
 *     s0 <- beta1 s0 + (1 - beta1) g
 *     s1 <- beta2 s1 + (1 - beta2) g^2
 *     w  <- w - lr s0 / (1 - beta1^step) / (sqrt(s1 / (1 - beta2^step)) + eps) */
#define OPTIMIZER        adam
#define OPTIMIZER_STATES 2
#define OPTIMIZER_RATES  { [RATE_LR] = 1e-3, [RATE_BETA1] = 0.9, [RATE_BETA2] = 0.999, [RATE_EPS] = 1e-8 }

/* AdamW shares it. */
CELL_CODE void adam_move(struct weights *p, V g, const struct rates *r)
{
    p->s0 = v_fma(r->rest1, v_sub(g, p->s0), p->s0);
    p->s1 = v_fma(r->beta2, p->s1, v_mul(r->rest2, v_mul(g, g)));
    V scale = v_add(v_div(v_sqrt(p->s1), r->root), r->eps);
    p->w = v_step_down(p->w, r->step, v_div(p->s0, scale));
}

OPTIMIZER_STEP(p, r)
{
    adam_move(p, v_fma(r->decay, p->w, p->g), r);
}

#include OPTIMIZER_USER
#include "optim/optim_end.h"

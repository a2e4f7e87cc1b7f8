/* Negative log-likelihood of the count y at the rate e^z, without log(y!): e^z - y z, like
 * torch.nn.PoissonNLLLoss(log_input=True, full=False). It can be negative. */
#define LOSS          poisson
#define LOSS_ABOUT    "Poisson negative log-likelihood of log rates"
#define LOSS_TARGETS  0, INFINITY
#define LOSS_ESTIMATE rate_of_log
#define LOSS_WANTS_LINEAR

LOSS_POINT(p)
{
    V rate = v_exp(p->z[0]);
    p->loss = v_fma(v_sub(v_const(0), p->y), p->z[0], rate);
    p->slope[0] = v_sub(rate, p->y);
}

#include "nn/losses/loss_end.h"

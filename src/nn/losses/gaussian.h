/* Negative log-likelihood of a normal distribution including its constant, like torch.nn.GaussianNLLLoss(full=True).
 * The mean is z[0] and the standard deviation s = v_scale(z[1]). */
#define LOSS          gaussian
#define LOSS_ABOUT    "Gaussian negative log-likelihood"
#define LOSS_RESULTS  2
#define LOSS_WANTS_LINEAR
#define LOSS_QUANTILE gaussian_quantile
#define LOSS_ESTIMATE first_result

LOSS_POINT(p)
{
    const V half_log_2_pi = v_const(0.918938533f);
    V s = v_scale(p->z[1]);
    V d = v_div(v_sub(p->y, p->z[0]), s);
    p->loss = v_fma(v_mul(v_const(0.5f), d), d, v_add(v_log(s), half_log_2_pi));
    p->slope[0] = v_div(v_sub(v_const(0), d), s);
    p->slope[1] = v_mul(v_div(v_sub(v_const(1), v_mul(d, d)), s), v_sigmoid(p->z[1]));
}

#include "nn/losses/loss_end.h"

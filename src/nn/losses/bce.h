/* Binary cross-entropy of the logit z and the probability y, -y log s - (1 - y) log(1 - s) with s = sigmoid(z), like
 * torch.nn.BCEWithLogitsLoss. Computed as max(z, 0) - y z + log(1 + e^-|z|), which cannot overflow. The loss of a
 * confident, correct prediction is small, not 0. */
#define LOSS          bce
#define LOSS_ABOUT    "binary cross-entropy of logits"
#define LOSS_TARGETS  0, 1
#define LOSS_WANTS_LINEAR
#define LOSS_ESTIMATE probability_of_logit

LOSS_POINT(p)
{
    V log_sum = v_log1p(v_exp(v_sub(v_const(0), v_abs(p->z[0]))));
    p->loss = v_add(v_fma(v_sub(v_const(0), p->y), p->z[0], v_relu(p->z[0])), log_sum);
    p->slope[0] = v_sub(v_sigmoid(p->z[0]), p->y);
}

#include "nn/losses/loss_end.h"

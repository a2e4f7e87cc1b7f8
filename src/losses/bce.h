/* Binary cross-entropy of the logit z and the probability y, -y log s - (1 - y) log(1 - s) with s = sigmoid(z), as
 * torch.nn.BCEWithLogitsLoss: max(z, 0) - y z + log(1 + e^-|z|), where nothing overflows. Of 1 + e^-|z|, what rounding
 * lost is added to the logarithm: the loss of a sure and right answer is small, not 0. */
#define LOSS          bce
#define LOSS_ABOUT    "binary cross-entropy of logits"
#define LOSS_TARGETS  0, 1
#define LOSS_WANTS_LINEAR

LOSS_POINT(p)
{
    V e = v_exp(v_sub(v_const(0), v_abs(p->z)));
    V sum = v_add(v_const(1), e);
    V lost = v_sub(e, v_sub(sum, v_const(1)));
    V log_sum = v_add(v_log(sum), v_div(lost, sum));
    p->loss = v_add(v_fma(v_sub(v_const(0), p->y), p->z, v_relu(p->z)), log_sum);
    p->slope = v_sub(v_sigmoid(p->z), p->y);
}

#include LOSS_USER
#include "losses/loss_end.h"

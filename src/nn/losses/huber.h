/* Huber loss with delta = 1, equal to torch.nn.SmoothL1Loss with beta = 1: e^2 / 2 for an error e up to 1, |e| - 1/2
 * beyond. With c = e clipped to [-1, 1] both are c (e - c / 2), and the slope is c. */
#define LOSS        huber
#define LOSS_ABOUT  "Huber loss, delta 1"

LOSS_POINT(p)
{
    V error = v_sub(p->z[0], p->y);
    p->slope[0] = v_clip(error, v_const(1));
    p->loss = v_mul(p->slope[0], v_fma(v_const(-0.5), p->slope[0], error));
}

#include "nn/losses/loss_end.h"

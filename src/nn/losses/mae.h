/* Absolute error, |z - y|. If both are equal, the slope is 0, like torch.nn.L1Loss. */
#define LOSS        mae
#define LOSS_ABOUT  "absolute error"

LOSS_POINT(p)
{
    p->loss = v_abs(v_sub(p->z[0], p->y));
    p->slope[0] = v_sub(v_less(p->y, p->z[0]), v_less(p->z[0], p->y));
}

#include "nn/losses/loss_end.h"

/* Absolute error, |z - y|; where they are equal its slope is 0, as torch.nn.L1Loss has it. */
#define LOSS        mae
#define LOSS_ABOUT  "absolute error"

LOSS_POINT(p)
{
    p->loss = v_abs(v_sub(p->z[0], p->y));
    p->slope[0] = v_sub(v_less(p->y, p->z[0]), v_less(p->z[0], p->y));
}

#include "losses/loss_end.h"

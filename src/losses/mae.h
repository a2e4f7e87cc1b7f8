/* Absolute error, |z - y|; where they are equal its slope is 0, as torch.nn.L1Loss has it. */
#define LOSS        mae
#define LOSS_ABOUT  "absolute error"

LOSS_POINT(p)
{
    p->loss = v_abs(v_sub(p->z, p->y));
    p->slope = v_sub(v_less(p->y, p->z), v_less(p->z, p->y));
}

#include LOSS_USER
#include "losses/loss_end.h"

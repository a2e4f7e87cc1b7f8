/* Squared error, (z - y)^2. */
#define LOSS        mse
#define LOSS_ABOUT  "squared error"

LOSS_POINT(p)
{
    V error = v_sub(p->z[0], p->y);
    p->loss = v_mul(error, error);
    p->slope[0] = v_mul(v_const(2), error);
}

#include "nn/losses/loss_end.h"

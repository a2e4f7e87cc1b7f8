/* Pinball loss of the quantile at level q: q (y - z) if the target is above it, (1 - q) (z - y) if below. If both are
 * equal, the slope is 0. A target has a result for each level; its loss is their mean. */
#define LOSS         quantile
#define LOSS_ABOUT   "pinball loss of quantiles"
#define LOSS_LEVELS  "0.1,0.5,0.9"
#define LOSS_QUANTILE quantile_of_levels
#define LOSS_ESTIMATE median_of_levels

LOSS_POINT(p)
{
    V above = v_sub(p->y, p->z[0]), below = v_sub(p->level, v_const(1));
    p->loss = v_max(v_mul(p->level, above), v_mul(below, above));
    p->slope[0] = v_sub(v_const(0), v_fma(v_less(p->z[0], p->y), p->level, v_mul(v_less(p->y, p->z[0]), below)));
}

#include "nn/losses/loss_end.h"

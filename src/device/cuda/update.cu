/* The optimizers' steps, all parameters in one launch; formulas are those of src/optim, one source for every
 * device. Gradients are left zero. */
#include "device/cuda/rows.h"
#include "cells/v/v_cuda.h"
#define OPTIMIZER_USER "device/cuda/update_all.h"
#include "optim/optim_table.h"

static_assert(sizeof(struct rates) <= UPDATE_RATES_BYTES, "there is no room for what an update shares");

/* One thread. What a sum of gradients is multiplied with: 1 / weight, less if the norm of all is above the clip;
 * 0 if nothing was counted or a gradient is not finite. */
KERNEL(gpu_update_begin, struct update_begin_args)
{
    const double weight = *a.weight, clip = a.rates[RATE_CLIP];
    double sum = 0, scale = 0;
    for (uint32_t i = 0; i < a.norm_count; i++)
        sum += a.norms[i];
    if (isfinite(sum) && isfinite(weight) && weight != 0) {
        double length = sqrt(sum) / weight;
        scale = clip > 0 && length > clip ? clip / length / weight : 1 / weight;
    }
    *(struct rates *)a.shared = rates_of(a.rates);
    *a.scale = (float)scale;
}

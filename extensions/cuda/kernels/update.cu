/* The optimizer steps, all parameters in one launch. The formulas are those of src/nn/optim, one source for every
 * device. Clears the gradients. */
#include "extensions/cuda/kernels/rows.h"
#include "nn/vector/v_cuda.h"
#define OPTIMIZER_USER "extensions/cuda/kernels/update_all.h"
#include "nn/optim/optim_table.h"

static_assert(OPTIMIZER_NUMBERS_MAX * sizeof(float) <= UPDATE_RATES_BYTES &&
                  (int)UPDATE_STATES_MAX == (int)OPTIMIZER_STATES_MAX,
              "there is no room for what an update shares");

/* Adapts the loss scale of fp16 training: halved after a gradient that is not finite, doubled after many good
 * updates. */
GPU_CODE void adapt_scale(double *rates)
{
    const double max = 16777216, min = 1, patience = 2000;
    bool overflow = rates[RATE_OVERFLOW] != 0;
    double scale = rates[RATE_SCALE];
    rates[RATE_GOOD] = overflow ? 0 : rates[RATE_GOOD] + 1;
    if (overflow)
        rates[RATE_SCALE] = scale / 2 > min ? scale / 2 : min;
    if (rates[RATE_GOOD] < patience)
        return;
    rates[RATE_SCALE] = 2 * scale < max ? 2 * scale : max;
    rates[RATE_GOOD] = 0;
}

/* One thread. Computes the factor of gradient sums: 1 / weight, less if the total norm exceeds the clip, and 0 if
 * nothing was counted or a gradient is not finite. */
KERNEL(gpu_update_begin, struct update_begin_args)
{
    const double weight = *a.weight, clip = a.rates[RATE_CLIP];
    double sum = 0, scale = 0;
    for (uint32_t i = 0; i < a.norm_count; i++) sum += a.norms[i];
    if (isfinite(sum) && isfinite(weight) && weight != 0) {
        double length = sqrt(sum) / weight;
        scale = clip > 0 && length > clip ? clip / length / weight : 1 / weight;
    }
    if (a.is_scaled) {
        scale = a.rates[RATE_OVERFLOW] != 0 ? 0 : scale / a.rates[RATE_SCALE];
        adapt_scale(a.rates);
    }
    for (int i = 0; i < OPTIMIZER_NUMBERS_MAX; i++) ((float *)a.shared)[i] = (float)a.rates[RATE_NUMBERS + i];
    *a.scale = (float)scale;
}

KERNEL(gpu_step, struct step_args)
{
    if (a.begins) {
        a.kept[0] = *a.loss;
        a.kept[1] = *a.weight;
        *a.loss = *a.weight = 0;
    } else {
        *a.loss += a.kept[0];
        *a.weight += a.kept[1];
    }
}

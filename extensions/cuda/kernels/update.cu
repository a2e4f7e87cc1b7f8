/* The optimizer steps. The formulas are those of src/nn/optim, one source for every device. */
#include "extensions/cuda/kernels/common.cuh"
#include "extensions/gpu/kernels/updates.inc"
#define OPTIMIZER_USER "extensions/cuda/kernels/update_step.cuh"
#include "nn/optim/optim_table.h"

static_assert(OPTIMIZER_NUMBERS_MAX * sizeof(float) <= UPDATE_RATES_BYTES &&
                  (int)UPDATE_STATES_MAX == (int)OPTIMIZER_STATES_MAX,
              "there is no room for the values that an update shares");

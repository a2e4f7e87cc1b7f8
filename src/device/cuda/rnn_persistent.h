/* Recurrences in one launch that keeps weights on chip: the driver's own way (struct gpu_driver). */
#ifndef DEVICE_CUDA_RNN_PERSISTENT_H
#define DEVICE_CUDA_RNN_PERSISTENT_H
#include "device/cuda/context.h"
#include "device/cuda/tiling.h"
#include "device/gpu/gpu_rnn.h"

/* If the planner finds a way: else t->way is ALGORITHM_PORTABLE and *why says why. */
unroll_status rnn_persistent_choose(const struct rnn *, bool back, struct tiling *, const char **why);
/* Measured is what the exchange of any way takes. */
unroll_status rnn_persistent(const struct rnn *, bool back, bool *done);

#endif

/* Recurrences in one launch that keeps weights on chip: the driver's own form (struct gpu_driver). */
#ifndef DEVICE_CUDA_RNN_PERSISTENT_H
#define DEVICE_CUDA_RNN_PERSISTENT_H
#include "extensions/cuda/context.h"
#include "extensions/cuda/tiling.h"
#include "extensions/gpu/gpu_rnn.h"

/* Chooses a tiling. If none is possible, t->algorithm is ALGORITHM_PORTABLE and *why is the reason. */
unroll_status rnn_persistent_choose(const struct rnn *, bool back, struct tiling *, const char **why);
/* While measuring, takes enough scratch for the exchange of any form. */
unroll_status rnn_persistent(const struct rnn *, bool back, bool *done);

#endif

/* What a training step would take on a TPU that is not here: by the TPU's own compiler, ahead of time. Everything it
 * says is that compiler's estimate or follows from the chip's published numbers; nothing was measured. */
#ifndef DEVICE_XLA_TPU_H
#define DEVICE_XLA_TPU_H
#include "plan/plan.h"
#include <stdio.h>

/* Prints the estimate of the step (of plans that train; else of the forward) for a topology such as "v5e:2x2": lines
 * of text, or one JSON object. plan: of each rank of the mesh. */
unroll_status estimate_step(const struct plan *const *plan, int ranks, const char *which, const char *topology,
                            FILE *file, bool json);

#endif

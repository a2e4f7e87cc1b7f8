/* Estimates a training step on a TPU that is not present, by the TPU's own compiler, ahead of time. All results are
 * that compiler's estimates or follow from the chip's published data; nothing is measured. */
#ifndef DEVICE_XLA_TPU_H
#define DEVICE_XLA_TPU_H
#include "plan/ir/plan.h"
#include <stdio.h>

/* Prints the estimate of a step (training plans; else of the forward pass) for a topology such as "v5e:2x2", as
 * lines of text or as one JSON object. plan: one for each rank of the mesh. */
unroll_status estimate_step(const struct plan *const *plan, int ranks, const char *which, const char *topology,
                            FILE *file, bool json);

#endif

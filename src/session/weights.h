/* Copies weights between a model's own memory (floats, whole, PyTorch's order) and the PARAM segment of an executable
 * (floats or doubles, this rank's share). */
#pragma once
#include "device/device.h"

unroll_status weights_push(const struct device *, void *executable, const struct plan *, const float *values);
unroll_status weights_pull(const struct device *, void *executable, const struct plan *, float *values);

/* Converts `count` reals to floats, and back. */
void reals_to_floats(const void *from, enum dtype, float *to, size_t count);
void floats_to_reals(const float *from, enum dtype, void *to, size_t count);

/* Weights between a model's own memory (floats, whole, PyTorch's order) and the PARAM segment of an
 * instance (floats or doubles, this rank's share). */
#ifndef SESSION_WEIGHTS_H
#define SESSION_WEIGHTS_H
#include "device/cpu/instance.h"

void weights_push(struct instance *, const struct plan *, const float *values);
void weights_pull(struct instance *, const struct plan *, float *values);

/* One buffer of reals as floats, dense. */
void reals_to_floats(const void *from, enum dtype, float *to, size_t count);
void floats_to_reals(const float *from, enum dtype, void *to, size_t count);

#endif

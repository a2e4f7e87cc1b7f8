/* How a plan would run on a GPU of CUDA, for people (struct device). */
#ifndef DEVICE_CUDA_EXPLAIN_H
#define DEVICE_CUDA_EXPLAIN_H
#include "device/device.h"

unroll_status cuda_explain(const struct plan *, const char *which, FILE *, struct json_t *);

#endif

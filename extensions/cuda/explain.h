/* Explains how a plan would run on a CUDA GPU (struct device). Writes text to the FILE, or JSON if `json` is given. */
#ifndef DEVICE_CUDA_EXPLAIN_H
#define DEVICE_CUDA_EXPLAIN_H
#include "device/device.h"

unroll_status cuda_explain(const struct plan *, const char *which, FILE *, struct json_t *);

#endif

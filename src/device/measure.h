/* Measures how fast a device computes a model. Rates of devices and ranks (plan/passes/rates.h) are measured only
 * here. */
#pragma once
#include "device/device.h"

/* Measures FLOP/s of a few steps of the model with this configuration, but uncut and on a single rank: forward, and
 * backward if the plan has one. Takes about a tenth of a second; its memory is freed again. */
unroll_status device_rate(const struct device *, const struct device_options *, const struct unroll_model *,
                          const struct plan_config *, double *rate);

/* How fast a device computes a model: the one place where rates of devices and ranks (plan/rates.h) are measured. */
#ifndef DEVICE_MEASURE_H
#define DEVICE_MEASURE_H
#include "device/device.h"

/* FLOP/s of the device in a few steps of the model as the configuration has it, but whole and of a rank alone: forward,
 * and backward where there is one. Takes memory and about a tenth of a second, and gives the memory back. */
unroll_status device_rate(const struct device *, const struct device_options *, const struct unroll_model *,
                          const struct plan_config *, double *rate);

#endif

/* Finds the first bad number when a loss or a gradient is not finite. */
#pragma once
#include "device/device.h"

/* After a forward pass: describes the first parameter, or else the first layer, step, row and gate, that is NaN or
 * infinite. `room` is "" if all are finite. */
void locate_in_forward(const struct device *, void *executable, const struct plan *, char *room, size_t size);

/* After the sums: names the first parameter whose gradient is not finite. */
void locate_in_gradients(const struct device *, void *executable, const struct plan *, char *room, size_t size);

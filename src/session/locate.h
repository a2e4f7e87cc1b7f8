/* Where numbers first went wrong: for the report of a loss or a gradient that is not finite. */
#ifndef SESSION_LOCATE_H
#define SESSION_LOCATE_H
#include "device/device.h"

/* After a forward: the first parameter, then the first layer, step, row and gate that is NaN or infinite, as
 * words in `room`; "" when all are finite. */
void locate_in_forward(const struct device *, void *executable, const struct plan *, char *room, size_t size);

/* After the sums: the first parameter whose gradient is not finite. */
void locate_in_gradients(const struct device *, void *executable, const struct plan *, char *room, size_t size);

#endif

/* What one executable exchanges with other ranks (gpu_ops_ranks.c), by the driver's messages between devices. */
#ifndef DEVICE_GPU_RANKS_H
#define DEVICE_GPU_RANKS_H
#include "device/gpu/gpu_driver.h"

/* All that a rank exchanges goes through one stream, in list order: drivers want one order on all ranks. Streams of
 * operations wait for its events. */
struct gpu_comm {
    struct ranks *ranks;
    gpu_stream stream;
    gpu_event asked, *said;       /* said[op]: that it is done, of operations that communicate */
    gpu_address number;           /* on the device: 0, 1, .. operations, as uint32 */
    volatile uint32_t *under_way; /* in memory of the host: 1 + the operation that exchanges now, or 0 */
};

#endif

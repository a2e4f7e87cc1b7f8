/* The state with which one executable exchanges data with other ranks (gpu_ops_ranks.c), through the driver's
 * messages between devices. */
#ifndef DEVICE_GPU_RANKS_H
#define DEVICE_GPU_RANKS_H
#include "extensions/gpu/gpu_driver.h"

/* All exchanges of a rank go through one stream, in list order, because drivers require the same order on all ranks.
 * Streams of operations wait for its events. */
struct gpu_comm {
    struct ranks *ranks;
    gpu_stream stream;
    gpu_event asked, *said;       /* said[op]: recorded after an operation that communicates */
    gpu_address number;           /* on the device: the numbers 0, 1, .. operations, as uint32 */
    volatile uint32_t *under_way; /* in host memory: 1 + the operation that is exchanging, or 0 */
};

#endif

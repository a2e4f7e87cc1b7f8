/* The argument of the persistent recurrent kernels, filled in by the host. */
#ifndef DEVICE_CUDA_PERSISTENT_ARGS_H
#define DEVICE_CUDA_PERSISTENT_ARGS_H
#include "extensions/cuda/tiling.h"

/* A view of floats: field f of unit u of row b at step t is at at[t * step + b * row + f * field + u]. at NULL:
 * absent. */
struct persistent_view {
    float *at;
    uint32_t step, row, field; /* a step has fewer than 2^30 floats */
    uint32_t unused;           /* arguments have no padding: its contents would be undefined */
};

/* The time limit of a wait for another block. */
enum { WAIT_SECONDS = 5 };

/* Written to the host's memory by a kernel that stops because it waited too long for another block. */
struct wait_record {
    uint32_t kernel; /* persistent_args.kernel; 0: no kernel has stopped */
    uint32_t block, round;
    uint32_t at; /* the packet's offset in the exchange; for clusters, the chunk */
};

/* For the meaning of the views see enum RNN_.. in plan.h. */
struct persistent_args {
    struct tiling tiling;
    struct persistent_view g, h0, s0, y, s, intermediate, hn, sn;
    struct persistent_view dy, dhn, dsn, dh0, ds0, dv; /* backward */
    struct persistent_view vector;                     /* weights by unit: step and row are 0 */
    const float *weights, *bias;                       /* [gates, units, units], [gates, units] */
    const int32_t *lengths;                            /* [rows] of the whole sequence, or NULL */
    const uint8_t *reset;                              /* [steps, reset_row], or NULL */
    struct wait_record *record;                        /* of the host, 16-byte aligned */
    void *exchange;                      /* operands of a grid, 16-byte aligned; initially all bits are 1 */
    uint32_t steps, origin, rows, units; /* origin: index of the first step in the whole sequence */
    uint32_t reset_row;
    uint8_t gate[TILING_PHASES][TILING_FIELDS]; /* gate of the weights for each field of a phase */
    uint8_t direction, trained, add_dh0, add_ds0;
    float clip;
    uint32_t kernel; /* number for the record, from 1 */
};

#endif

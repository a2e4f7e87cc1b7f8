/* The argument of the persistent recurrent kernels, as the host fills it in. */
#ifndef DEVICE_CUDA_PERSISTENT_ARGS_H
#define DEVICE_CUDA_PERSISTENT_ARGS_H
#include "device/cuda/tiling.h"

/* A view of floats: field f of unit u of row b at step t lies at at[t * step + b * row + f * field + u].
 * at NULL: it is absent. */
struct persistent_view {
    float *at;
    uint32_t step, row, field; /* a step has fewer than 2^30 numbers */
    uint32_t unused;           /* arguments have no padding: its contents would be undefined */
};

/* enum RNN_.. of plan.h says what they are. */
struct persistent_args {
    struct tiling tiling;
    struct persistent_view g, h0, s0, y, s, intermediate, hn, sn;
    struct persistent_view dy, dhn, dsn, dh0, ds0, dv; /* backward */
    struct persistent_view vector;                     /* weights unit by unit: step and row 0 */
    const float *weights, *bias;                       /* [gates, units, units], [gates, units] */
    const int32_t *lengths;                            /* [rows] of the whole sequence, or NULL */
    const uint8_t *reset;                              /* [steps, reset_row], or NULL */
    void *exchange;                                    /* a grid's operands, 16-byte aligned: all bits 1 at first */
    uint32_t steps, origin, rows, units;               /* origin: the first step in the whole sequence */
    uint32_t reset_row;
    uint8_t gate[TILING_PHASES][TILING_FIELDS]; /* of the weights: that of each field of a phase */
    uint8_t direction, trained, add_dh0, add_ds0;
    float clip;
    uint32_t unused;
};

#endif

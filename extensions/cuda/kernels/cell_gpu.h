/* A CELL_USER: the kernels NAME_gpu_forward and NAME_gpu_backward of one cell, and those of a second phase. */
#include "nn/cells/step/cell_at.h"

#define GPU_PHASE(forward, backward, phase)                                                                           \
    GPU_CODE void CELL_(forward##_unit)(const struct cell_forward_args &a, uint64_t row, uint32_t unit)               \
    {                                                                                                                 \
        const struct cell_step s = forward_step(a, row);                                                              \
        CELL_(forward##_at)(&s, 0, unit, V_WIDTH);                                                                    \
    }                                                                                                                 \
    GPU_CODE void CELL_(backward##_unit)(const struct cell_backward_args &a, uint64_t row, uint32_t unit, bool begins) \
    {                                                                                                                 \
        const struct cell_step s = backward_step(a, row, CELL_(states), begins);                                      \
        CELL_(backward##_at)(&s, 0, unit, V_WIDTH);                                                                   \
    }                                                                                                                 \
    CELL_FORWARD(CELL_(gpu_##forward), CELL_(forward##_unit), CELL_(forward##_unit), CELL_(states), CELL_(inputs),    \
                 phase, CELL_PHASES, CELL_(intermediates))                                                            \
    CELL_BACKWARD(CELL_(gpu_##backward), CELL_(backward##_unit), CELL_(backward##_unit), CELL_(states),               \
                  CELL_(inputs), CELL_(vectors), phase == CELL_PHASES - 1, CELL_PHASES)

GPU_PHASE(forward, backward, 0)
#if CELL_PHASES == 2
GPU_PHASE(forward_2, backward_2, 1)
#endif
#undef GPU_PHASE

/* A CELL_USER: the kernels NAME_gpu_forward and NAME_gpu_backward of one cell, and those of a second phase. In
 * forward the last phase ends the step; in backward the last phase runs first and begins the step. */
#include "nn/cells/step/cell_at.h"

#define GPU_PLACE                                                             \
    size_t i = thread_number(), row = i / a.units, unit = i % a.units;        \
    if (row >= a.rows)                                                        \
        return;                                                               \
    const bool part = row_lasts(a.ends, a.t, row);

KERNEL(CELL_(gpu_forward), struct cell_forward_args)
{
    GPU_PLACE
    if (part) {
        struct cell_step s = forward_step(a, row);
        CELL_(forward_at)(&s, 0, unit, V_WIDTH);
    } else {
        clear_fields(a.g, CELL_(inputs), row, unit);
    }
#if CELL_PHASES == 1
    end_forward(a, row, unit, part, CELL_(states));
#else
    for (size_t l = 0; l < CELL_(intermediates) && a.kept_intermediate.at; l++)
        *field_at(a.kept_intermediate, l, row, unit) = part ? *field_at(a.intermediate, l, row, unit) : 0;
    if (a.intermediate_lowp.at)
        keep_lowp(a.intermediate_lowp, 0, row, unit, part ? *field_at(a.intermediate, 0, row, unit) : 0);
#endif
}

#if CELL_PHASES == 2
KERNEL(CELL_(gpu_forward_2), struct cell_forward_args)
{
    GPU_PLACE
    if (part) {
        struct cell_step s = forward_step(a, row);
        CELL_(forward_2_at)(&s, 0, unit, V_WIDTH);
    }
    end_forward(a, row, unit, part, CELL_(states));
}

KERNEL(CELL_(gpu_backward_2), struct cell_backward_args)
{
    GPU_PLACE
    forget_gradients(a, row, unit, CELL_(states));
    if (part) {
        struct cell_step s = backward_step(a, row, CELL_(states), true);
        CELL_(backward_2_at)(&s, 0, unit, V_WIDTH);
    }
    keep_gradients(a, CELL_(inputs), row, unit, part);
}
#endif

KERNEL(CELL_(gpu_backward), struct cell_backward_args)
{
    GPU_PLACE
    if (CELL_PHASES == 1)
        forget_gradients(a, row, unit, CELL_(states));
    if (part) {
        struct cell_step s = backward_step(a, row, CELL_(states), CELL_PHASES == 1);
        CELL_(backward_at)(&s, 0, unit, V_WIDTH);
    } else {
        clear_fields(a.dv, CELL_(vectors), row, unit);
    }
    keep_gradients(a, CELL_(inputs), row, unit, part);
}

#undef GPU_PLACE

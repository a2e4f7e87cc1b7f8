/* A CELL_USER: kernels that loop over the rows and units of a step on a CPU, unless CELL_FUSED_ALONE is defined, and
 * fused steps, unless CELL_POINTWISE is defined. */
#include "nn/cells/step/cell_at.h"
#include "nn/cells/cell_declare.h"
#ifndef CELL_POINTWISE
#include "nn/cells/step/cell_fused.h"
#endif

#ifndef CELL_FUSED_ALONE
#ifndef DEFINE_LOOP
/* The local copy lets the compiler assume that stores do not change the step. */
#define DEFINE_LOOP(kernel, at)                                         \
    static void kernel(const struct cell_step *step)                    \
    {                                                                   \
        const struct cell_step s = *step;                               \
        const size_t whole = s.width / V_WIDTH * V_WIDTH;               \
        for (size_t row = 0; row < s.rows; row++) {                     \
            for (size_t unit = 0; unit < whole; unit += V_WIDTH)        \
                at(&s, row, unit, V_WIDTH);                             \
            if (whole < s.width)                                        \
                at(&s, row, whole, s.width - whole);                    \
        }                                                               \
    }
#endif

DEFINE_LOOP(CELL_(forward_loop), CELL_(forward_at))
DEFINE_LOOP(CELL_(backward_loop), CELL_(backward_at))
#if CELL_PHASES == 2
DEFINE_LOOP(CELL_(forward_2_loop), CELL_(forward_2_at))
DEFINE_LOOP(CELL_(backward_2_loop), CELL_(backward_2_at))
#endif
#endif

static const struct cell_kernels CELL_(kernels) = {
    .declaration = &CELL_(declaration),
#ifdef CELL_FUSED_ALONE
#elif CELL_PHASES == 1
    .forward = {CELL_(forward_loop), NULL},
    .backward = {CELL_(backward_loop), NULL},
#else
    .forward = {CELL_(forward_loop), CELL_(forward_2_loop)},
    .backward = {CELL_(backward_loop), CELL_(backward_2_loop)},
#endif
#ifndef CELL_POINTWISE
    .fused = CELL_FUSED,
#endif
};

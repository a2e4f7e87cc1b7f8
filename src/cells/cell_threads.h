/* A CELL_USER: kernels in which a CUDA thread does one unit of one row. blockIdx.y is the row. */
#include "cells/cell_at.h"

#ifndef DEFINE_THREADS
#define DEFINE_THREADS(kernel, at)                                        \
    extern "C" __global__ void kernel(struct cell_step s)                 \
    {                                                                     \
        size_t unit = blockIdx.x * (size_t)blockDim.x + threadIdx.x;      \
        if (unit < s.width)                                               \
            at(&s, blockIdx.y, unit, V_WIDTH);                            \
    }
#endif

DEFINE_THREADS(CELL_(forward_threads),  CELL_(forward_at))
DEFINE_THREADS(CELL_(backward_threads), CELL_(backward_at))
#if CELL_PHASES == 2
DEFINE_THREADS(CELL_(forward_2_threads),  CELL_(forward_2_at))
DEFINE_THREADS(CELL_(backward_2_threads), CELL_(backward_2_at))
#endif

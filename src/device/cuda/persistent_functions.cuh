/* V for operands that are narrower than floats: v_cuda.h (on the host v_f32.h) but for the two functions of gates,
 * which take the GPU's own 2^x and 1 / x: 4 and 5 instructions in the place of more than 20. By NVIDIA's bounds for
 * those, about 2^-22 relative, the sigmoid is within 3e-7 of its value, tanh within 3e-7 absolutely: a thousandth of
 * what rounding an operand to bf16 changes. Not for fp32. */
#define V_DERIVED_H                 /* comes when the two functions are there */
#ifdef __CUDACC__
#include "cells/v/v_cuda.h"
#else
#include "cells/v/v_f32.h"
#endif
#undef V_DERIVED_H

/* 2^-x log2 e overflows to infinity, whose inverse is 0. */
CELL_CODE V narrow_sigmoid(V x)
{
    return inverse_approximate(v_add(v_const(1), exp2_approximate(v_mul(x, v_const(-1.44269504f)))));
}

/* 1 - 2 / (1 + e^2x) */
CELL_CODE V narrow_tanh(V x)
{
    V inverse = inverse_approximate(v_add(v_const(1), exp2_approximate(v_mul(x, v_const(2.88539008f)))));
    return v_fnma(v_const(2), inverse, v_const(1));
}

#define v_sigmoid narrow_sigmoid
#define v_tanh    narrow_tanh
#include "cells/v/v_derived.h"

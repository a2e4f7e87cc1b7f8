/* V for operands narrower than floats: v_cuda.h (on the host v_f32.h) except for the two gate functions, which use
 * the GPU's own 2^x and 1 / x: 4 and 5 instructions instead of more than 20. By NVIDIA's bounds for those, about
 * 2^-22 relative, the sigmoid has an error of at most 3e-7 and tanh an absolute error of at most 3e-7. This is a
 * thousandth of the effect of rounding an operand to bf16. Not for fp32. */
#define V_DERIVED_H /* included below, after the two functions */
#ifdef __CUDACC__
#include "nn/vector/v_cuda.h"
#else
#include "nn/vector/v_f32.h"
#endif
#undef V_DERIVED_H

/* 2^(-x log2 e) may overflow to infinity, whose inverse is 0. */
CELL_CODE V lowp_sigmoid(V x)
{
    return inverse_approximate(v_add(v_const(1), exp2_approximate(v_mul(x, v_const(-1.44269504f)))));
}

/* 1 - 2 / (1 + e^2x) */
CELL_CODE V lowp_tanh(V x)
{
    V inverse = inverse_approximate(v_add(v_const(1), exp2_approximate(v_mul(x, v_const(2.88539008f)))));
    return v_fma(v_const(-2), inverse, v_const(1));
}

#define v_sigmoid lowp_sigmoid
#define v_tanh    lowp_tanh
#include "nn/vector/v_derived.h"

/* Slopes of clipped gates: a value close to that of a limit counts as clipped, because it may come from a
 * step-by-step forward, with the CPU's functions. */
CELL_CODE V lowp_inside(V y, V low, V high)
{
    return v_inside(y, v_add(low, v_const(1e-6f)), v_sub(high, v_const(1e-6f)));
}

CELL_CODE V lowp_clipped_sigmoid_slope(V s, V limit)
{
    return v_mul(v_sigmoid_slope(s), lowp_inside(s, v_sigmoid(v_sub(v_const(0), limit)), v_sigmoid(limit)));
}

CELL_CODE V lowp_clipped_tanh_slope(V t, V limit)
{
    return v_mul(v_tanh_slope(t), lowp_inside(t, v_tanh(v_sub(v_const(0), limit)), v_tanh(limit)));
}

#define v_clipped_sigmoid_slope lowp_clipped_sigmoid_slope
#define v_clipped_tanh_slope    lowp_clipped_tanh_slope

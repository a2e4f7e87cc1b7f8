/* Common functions of cells, built from the basic operations; included by every V header.
 *
 * A V header defines V, CELL_CODE (the qualifiers of its functions), and
 *     v_const v_add v_sub v_mul v_fma v_sigmoid v_tanh     for most cells
 *     v_div v_min v_max v_less v_abs v_sqrt v_exp v_log    for some cells
 *     v_load v_store v_load_some v_store_some              for kernels: V_WIDTH elements at
 *     V_WIDTH v_element                                    p, or the first n (1..V_WIDTH) of them
 *
 * v_min(a, b) is a < b ? a : b, and v_max likewise. If an operand is NaN they return the second one;
 * pass the bound first and the value second. v_less(a, b) is 1 if a < b, otherwise 0, also for a
 * NaN: multiply it by a value that is NaN, too.
 */
#ifndef V_DERIVED_H
#define V_DERIVED_H

/* Without optimization nothing is inlined: one function then loops over tiles of all sizes. */
#if !defined(__OPTIMIZE__) && !defined(__CUDACC__)
#undef CELL_CODE
#define CELL_CODE static inline __attribute__((unused))
#endif

/* z a + (1 - z) b, exact if a equals b. */
CELL_CODE V v_mix(V z, V a, V b) { return v_fma(z, v_sub(a, b), b); }

/* x clipped to [-limit, limit]; a NaN stays NaN. */
CELL_CODE V v_clip(V x, V limit) { return v_max(v_sub(v_const(0), limit), v_min(limit, x)); }

/* 1 if low < x < high, otherwise 0. */
CELL_CODE V v_inside(V x, V low, V high) { return v_mul(v_less(low, x), v_less(x, high)); }

CELL_CODE V v_relu(V x) { return v_max(v_const(0), x); }

/* 1 if x > 0, otherwise 0; a NaN stays NaN. */
CELL_CODE V v_step(V x) { return v_max(v_less(v_const(0), x), v_min(v_const(0), x)); }

/* Slopes from the function's value: sigmoid s (1 - s), tanh 1 - t t, relu 0 or 1. */
CELL_CODE V v_sigmoid_slope(V s) { return v_mul(s, v_sub(v_const(1), s)); }
CELL_CODE V v_tanh_slope(V t) { return v_sub(v_const(1), v_mul(t, t)); }
CELL_CODE V v_relu_slope(V r) { return v_step(r); }

/* Slopes by x of sigmoid(v_clip(x, limit)) and tanh(v_clip(x, limit)). They are 0 if x was clipped: the value then
 * equals the function's value at a limit. */
CELL_CODE V v_clipped_sigmoid_slope(V s, V limit)
{
    V low = v_sigmoid(v_sub(v_const(0), limit)), high = v_sigmoid(limit);
    return v_mul(v_sigmoid_slope(s), v_inside(s, low, high));
}

CELL_CODE V v_clipped_tanh_slope(V t, V limit)
{
    V low = v_tanh(v_sub(v_const(0), limit)), high = v_tanh(limit);
    return v_mul(v_tanh_slope(t), v_inside(t, low, high));
}

/* log(1 + u) for finite u >= 0. The second term corrects the rounding of 1 + u. */
CELL_CODE V v_log1p(V u)
{
    V sum = v_add(v_const(1), u);
    V lost = v_sub(u, v_sub(sum, v_const(1)));
    return v_add(v_log(sum), v_div(lost, sum));
}

/* log(1 + e^x) without overflow; its slope is the sigmoid. */
CELL_CODE V v_softplus(V x) { return v_add(v_max(v_const(0), x), v_log1p(v_exp(v_sub(v_const(0), v_abs(x))))); }

#endif

/* What cells need often, said once in terms of the basic operations; included by every V header.
 *
 * A V header gives: V, CELL_CODE (how to declare a function of it), and
 *     v_const v_add v_sub v_mul v_fma v_sigmoid v_tanh     what most cells need
 *     v_div v_min v_max v_less v_abs v_sqrt v_exp v_log    what a cell may use besides
 *     v_load v_store v_load_some v_store_some              what kernels add: V_WIDTH elements at
 *     V_WIDTH v_element                                    p, or the first n (1..V_WIDTH) of them
 *
 * v_min(a, b) is a < b ? a : b, v_max alike: of a NaN and a number they return the second, hence
 * the value goes second and the bound first. v_less(a, b) is 1 where a < b, otherwise 0, also for a
 * NaN: what follows must multiply it with something that keeps the NaN.
 */
#ifndef V_DERIVED_H
#define V_DERIVED_H

/* Without optimization nothing is inlined: one function walks through the tiles of all sizes. */
#if !defined(__OPTIMIZE__) && !defined(__CUDACC__)
#undef CELL_CODE
#define CELL_CODE static inline __attribute__((unused))
#endif

/* z a + (1 - z) b, exact where a equals b. */
CELL_CODE V v_mix(V z, V a, V b) { return v_fma(z, v_sub(a, b), b); }

/* x within [-limit, limit]; a NaN stays. */
CELL_CODE V v_clip(V x, V limit) { return v_max(v_sub(v_const(0), limit), v_min(limit, x)); }

/* 1 where low < x < high, otherwise 0. */
CELL_CODE V v_inside(V x, V low, V high) { return v_mul(v_less(low, x), v_less(x, high)); }

CELL_CODE V v_relu(V x) { return v_max(v_const(0), x); }

/* 1 where x > 0, otherwise 0; a NaN stays. */
CELL_CODE V v_step(V x) { return v_max(v_less(v_const(0), x), v_min(v_const(0), x)); }

/* Slopes from the value of the function: of the sigmoid s (1 - s), of tanh 1 - t t, of relu 0 or 1. */
CELL_CODE V v_sigmoid_slope(V s) { return v_mul(s, v_sub(v_const(1), s)); }
CELL_CODE V v_tanh_slope(V t) { return v_sub(v_const(1), v_mul(t, t)); }
CELL_CODE V v_relu_slope(V r) { return v_step(r); }

/* Slopes by x of sigmoid(v_clip(x, limit)) and tanh(v_clip(x, limit)): 0 where x was clipped, which
 * shows in a value that is exactly the function's at a limit. */
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

/* log(1 + u) for u >= 0, finite: the second term gives back what rounding 1 + u lost. */
CELL_CODE V v_log1p(V u)
{
    V sum = v_add(v_const(1), u);
    V lost = v_sub(u, v_sub(sum, v_const(1)));
    return v_add(v_log(sum), v_div(lost, sum));
}

/* log(1 + e^x) without overflow; its slope is the sigmoid. */
CELL_CODE V v_softplus(V x) { return v_add(v_max(v_const(0), x), v_log1p(v_exp(v_sub(v_const(0), v_abs(x))))); }

#endif

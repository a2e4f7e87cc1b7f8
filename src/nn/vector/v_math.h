/* sigmoid, tanh, exp and log for every V of 32-bit floats, written once on the basic operations, so
 * that all instruction sets give the same bits (compile with -ffp-contract=off). In addition to the
 * operations of v_derived.h, a V of floats defines five for this file:
 *     v_fnma(a, b, c)                 c - a b, rounded once
 *     v_select_less(a, b, yes, no)    yes if a < b, otherwise no
 *     v_exponent_of_low_bits(t)       the bits of t shifted left by 23: 2^(low 8 bits - 127)
 *     v_low_bits_of_exponent(a)       for a >= 0: 2^23 + the 8 bits of a's exponent
 *     v_mantissa(a)                   the fraction bits of a with exponent 0: in [1, 2)
 *
 * An argument x is split into n ln 2 + r with s = 2^n and n = round(x / ln 2):
 *     exp      s (1 + q), q = e^r - 1 = r + r^2 P(r), P of degree 4, relative error of q 2.5e-8
 *     sigmoid  (1 + t) / ((1 + t) + (1 - t) / s), t = tanh(r / 2)
 *     tanh     of n ln 2 / 2 + r: ((s - 1) + (s + 1) t) / ((s + 1) + (s - 1) t), t = tanh r, which does not
 *              cancel near 0; for both tanh r = r + r^3 P(r^2), P of degree 1, relative error 5.5e-8
 *     log      x = 2^k (1 + f), 1 + f in [sqrt(1/2), sqrt(2)):
 *              log(1 + f) = f - f^2 / 2 + f^3 P(f), P of degree 8, relative error 3.4e-9
 * The polynomials are fitted by tools/fit_expm1.py, fit_gates.py and fit_log1p.py. A division of 16 floats takes 10
 * cycles in a separate unit, in parallel to multiply-adds; Newton's method would need more of those (bench/gates.c
 * measures a cell).
 *
 * Largest errors against double precision, tested in tests/cells/check_math.c (2^-40 <= |x| <= 80
 * for the first two, all x for the others):
 *     sigmoid   8.6e-8, 3.1 ulp (5 below -20)      exp   1.1 ulp, also where the result is denormal
 *     tanh      1.4e-7, 2.4 ulp                    log   0.8 ulp, also for denormals
 * Below -87 the sigmoid stays at 1.6e-38.
 */
#ifndef V_MATH_H
#define V_MATH_H
#ifndef MATH_CODE
#define MATH_CODE CELL_CODE
#endif

/* x clipped to [low, high]; a NaN stays NaN (see v_min in v_derived.h). */
CELL_CODE V v_between(float low, V x, float high) { return v_max(v_const(low), v_min(v_const(high), x)); }

/* Adding this rounds to an integer n and leaves n + 127 in the low bits. */
#define V_SHIFT (12582912.f + 127.f)    /* 1.5 * 2^23 + 127 */

struct v_exponential {
    V n, scale, q;
}; /* e^x = scale (1 + q), scale = 2^n */

/* scale is correct for |x| <= 87, n and q for |x| <= 104. */
CELL_CODE struct v_exponential v_exponential(V x)
{
    const V shift = v_const(V_SHIFT);
    V t = v_fma(x, v_const(1.44269502f), shift);
    V n = v_sub(t, shift);
    V r = v_fma(n, v_const(-0.69140625f), x); /* ln 2 in two parts */
    r = v_fma(n, v_const(-0.0017409306f), r);

    V p = v_fma(v_const(0.0013926184f), r, v_const(0.00836317893f));
    p = v_fma(p, r, v_const(0.0416665561f));
    p = v_fma(p, r, v_const(0.166665763f));
    p = v_fma(p, r, v_const(0.5f));

    struct v_exponential e = {n, v_exponent_of_low_bits(t), v_fma(v_mul(r, r), p, r)};
    return e;
}

/* e^-x = s (1 - t) / (1 + t) with t = tanh(r / 2). One float for ln 2 is exact enough: the error of n ln 2 is 2e-9 n,
 * at most 2.4e-7. */
MATH_CODE V v_sigmoid(V x)
{
    const V shift = v_const(V_SHIFT), one = v_const(1);
    V x87 = v_between(-87, x, 87);
    V n = v_fma(x87, v_const(-1.44269502f), shift);
    V r = v_fma(v_sub(n, shift), v_const(0.693147182f), x87);
    V square = v_mul(r, r);
    V p = v_fma(v_const(0.131106287f / 32), square, v_const(-0.33331272f / 8));
    V q = v_fma(p, square, v_const(0.5f)); /* t = r q */
    V above = v_fma(r, q, one), below = v_fnma(r, q, one);
    return v_div(above, v_fma(v_exponent_of_low_bits(n), below, above));
}

/* tanh(10) rounds to 1, so |n| <= 29, and one float for ln 2 / 2 is exact enough. */
MATH_CODE V v_tanh(V x)
{
    const V shift = v_const(V_SHIFT);
    V x10 = v_between(-10, x, 10);
    V n = v_fma(x10, v_const(2.88539004f), shift); /* 2 / ln 2 */
    V r = v_fma(v_sub(n, shift), v_const(-0.34657359f), x10);
    V square = v_mul(r, r);
    V p = v_fma(v_const(0.131106287f), square, v_const(-0.33331272f));
    V t = v_fma(v_mul(r, square), p, r);
    V s = v_exponent_of_low_bits(n);
    V less = v_sub(s, v_const(1)), more = v_add(s, v_const(1));
    return v_div(v_fma(more, t, less), v_fma(less, t, more));
}

/* e^x from 0 to infinity. 2^n is applied as two factors, because n ranges from -150 to 128. */
MATH_CODE V v_exp(V x)
{
    const V shift = v_const(V_SHIFT);
    struct v_exponential e = v_exponential(v_between(-104, x, 89));
    V t = v_fma(e.n, v_const(0.5f), shift);
    V half = v_exponent_of_low_bits(t);
    V other_half = v_exponent_of_low_bits(v_add(v_sub(e.n, v_sub(t, shift)), shift));
    return v_mul(v_fma(half, e.q, half), other_half);
}

/* log(1 + f) + k ln 2, with f in sqrt(1/2) - 1 .. sqrt(2) - 1. */
CELL_CODE V v_log_of_parts(V f, V k)
{
    V p = v_fma(v_const(0.0697161183f), f, v_const(-0.114797339f));
    p = v_fma(p, f, v_const(0.116854198f));
    p = v_fma(p, f, v_const(-0.124256872f));
    p = v_fma(p, f, v_const(0.142490581f));
    p = v_fma(p, f, v_const(-0.166678026f));
    p = v_fma(p, f, v_const(0.200007156f));
    p = v_fma(p, f, v_const(-0.24999997f));
    p = v_fma(p, f, v_const(0.333333313f));

    V square = v_mul(f, f);
    V small = v_mul(v_mul(square, f), p); /* smallest terms first */
    small = v_fma(k, v_const(0.0017409306f), small);
    small = v_fma(square, v_const(-0.5f), small);
    return v_fma(k, v_const(0.69140625f), v_add(f, small));
}

/* The natural logarithm: -infinity at 0, NaN for negative x. */
MATH_CODE V v_log(V x)
{
    const V zero = v_const(0), one = v_const(1), smallest_normal = v_const(0x1p-126f);
    V scaled = v_mul(x, v_select_less(x, smallest_normal, v_const(0x1p23f), one));
    V bias = v_select_less(x, smallest_normal, v_const(0x1p23f + 127 + 23), v_const(0x1p23f + 127));
    V k = v_sub(v_low_bits_of_exponent(scaled), bias), m = v_mantissa(scaled);
    V halving = v_select_less(v_const(1.41421356f), m, v_const(0.5f), one);
    k = v_add(k, v_select_less(v_const(1.41421356f), m, one, zero));
    V log_x = v_log_of_parts(v_sub(v_mul(m, halving), one), k);

    V not_positive = v_select_less(x, zero, v_const(NAN), v_sub(x, v_const(INFINITY)));
    log_x = v_select_less(zero, x, log_x, not_positive);
    return v_select_less(v_const(0x1.fffffep127f), x, x, log_x);
}

CELL_CODE V v_less(V a, V b) { return v_select_less(a, b, v_const(1), v_const(0)); }

#undef V_SHIFT
#endif

#include "nn/vector/v_derived.h"

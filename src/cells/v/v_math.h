/* sigmoid, tanh, exp and log for every V of 32-bit floats, written once on the basic operations, so
 * that all instruction sets give the same bits (compile with -ffp-contract=off). Besides the
 * operations of v_derived.h a V of floats gives six for this file:
 *     v_fnma(a, b, c)                 c - a b, rounded once
 *     v_select_less(a, b, yes, no)    yes where a < b, otherwise no
 *     v_exponent_of_low_bits(t)       the bits of t shifted left by 23: 2^(low 8 bits - 127)
 *     v_low_bits_of_exponent(a)       for a >= 0: 2^23 + the 8 bits of a's exponent
 *     v_mantissa(a)                   the fraction bits of a with exponent 0: in [1, 2)
 *     v_bits_from(bits, a)            the number whose bits are `bits` minus those of a
 *
 * An argument x is taken apart as n ln 2 + r with s = 2^n and n = round(x / ln 2):
 *     exp      s (1 + q), q = e^r - 1 = r + r^2 P(r), P of degree 4, relative error of q 2.5e-8
 *     sigmoid  1 / (1 + s E(-r)), E(m) = e^-m of degree 6, relative error 1.0e-8
 *     tanh     of n ln 2 / 2 + r with t = tanh r = r + r^3 P(r^2), P of degree 1, relative error 5.5e-8:
 *              ((s - 1) + (s + 1) t) / ((s + 1) + (s - 1) t), where nothing cancels near 0
 *     log      x = 2^k (1 + f), 1 + f in [sqrt(1/2), sqrt(2)):
 *              log(1 + f) = f - f^2 / 2 + f^3 P(f), P of degree 8, relative error 3.4e-9
 * The polynomials are fitted by tools/fit_expm1.py, fit_gates.py and fit_log1p.py. sigmoid and tanh do
 * not divide: a division of 16 numbers takes 10 to 16 cycles, the operations of v_quotient 3 to 7.
 *
 * Largest errors against double precision, tested in tests/cells/check_math.c (2^-40 <= |x| <= 80
 * for the first two, all x for the others):
 *     sigmoid   9.2e-8, 3.0 ulp (5 below -20)      exp   1.1 ulp, also where the result is denormal
 *     tanh      1.5e-7, 2.5 ulp                    log   0.8 ulp, also of denormal numbers
 * Below -87 the sigmoid stays at 1.6e-38.
 */
#ifndef V_MATH_H
#define V_MATH_H

/* x within [low, high]; a NaN stays a NaN (see v_min in v_derived.h). */
CELL_CODE V v_between(float low, V x, float high)
{
    return v_max(v_const(low), v_min(v_const(high), x));
}

/* Adding this rounds to an integer n and leaves n + 127 in the low bits. */
#define V_SHIFT (12582912.f + 127.f)    /* 1.5 * 2^23 + 127 */

struct v_exponential { V n, scale, q; };     /* e^x = scale (1 + q), scale = 2^n */

/* scale is right for |x| <= 87; n and q are right for |x| <= 104. */
CELL_CODE struct v_exponential v_exponential(V x)
{
    const V shift = v_const(V_SHIFT);
    V t = v_fma(x, v_const(1.44269502f), shift);
    V n = v_sub(t, shift);
    V r = v_fma(n, v_const(-0.69140625f), x);           /* ln 2 in two parts */
    r = v_fma(n, v_const(-0.0017409306f), r);

    V p = v_fma(v_const(0.0013926184f), r, v_const(0.00836317893f));
    p = v_fma(p, r, v_const(0.0416665561f));
    p = v_fma(p, r, v_const(0.166665763f));
    p = v_fma(p, r, v_const(0.5f));

    struct v_exponential e = { n, v_exponent_of_low_bits(t), v_fma(v_mul(r, r), p, r) };
    return e;
}

/* About 1 / b for b from 2^-125 to 2^126. The bits of b are about log2 b in units of 2^-23, so a constant minus
 * them is about 1 / b, here within 5.05%. A step of Newton's makes that 0.13% (2.0013 and not 2: errors on both
 * sides). */
CELL_CODE V v_about_inverse(V b)
{
    V r = v_bits_from(0x7ef311c2, b);
    return v_mul(r, v_fnma(b, r, v_const(2.0013f)));
}

/* 1 / b = r / (1 - e) = r + r (e + e^2 + ..), within 0.55 ulp: e^3 is 2.2e-9. */
CELL_CODE V v_reciprocal(V b)
{
    V r = v_about_inverse(b), e = v_fnma(b, r, v_const(1));
    return v_fma(r, v_fma(e, e, e), r);
}

/* a / b, within 0.51 ulp where nothing is denormal. What the quotient by r leaves of a is exact but for one
 * rounding; its share by a closer inverse leaves 2.2e-9. */
CELL_CODE V v_quotient(V a, V b)
{
    V r = v_about_inverse(b);
    V closer = v_fma(r, v_fnma(b, r, v_const(1)), r), z = v_mul(a, r);
    return v_fma(closer, v_fnma(b, z, a), z);
}

/* 1 / (1 + e^-x). ln 2 as one float is exact enough: n of it are wrong by 2e-9 n, at most 2.4e-7. */
CELL_CODE V v_sigmoid(V x)
{
    const V shift = v_const(V_SHIFT);
    V x87 = v_between(-87, x, 87);
    V t = v_fma(x87, v_const(-1.44269502f), shift);     /* n of -x */
    V n = v_sub(t, shift);
    V m = v_fma(n, v_const(0.693147182f), x87);         /* -r */

    V p = v_fma(v_const(0.00139336498f), m, v_const(-0.00836915523f));
    p = v_fma(p, m, v_const(0.0416664667f));
    p = v_fma(p, m, v_const(-0.166665047f));
    p = v_fma(p, m, v_const(0.5f));
    p = v_fma(p, m, v_const(-1));
    p = v_fma(p, m, v_const(1));
    V one_plus = v_fma(v_exponent_of_low_bits(t), p, v_const(1));
    return v_reciprocal(one_plus);
}

/* tanh 10 rounds to 1, so |n| <= 29 and ln 2 / 2 is exact enough as one float. */
CELL_CODE V v_tanh(V x)
{
    const V shift = v_const(V_SHIFT);
    V x10 = v_between(-10, x, 10);
    V t = v_fma(x10, v_const(2.88539004f), shift);      /* 2 / ln 2 */
    V r = v_fma(v_sub(t, shift), v_const(-0.34657359f), x10);

    V square = v_mul(r, r);
    V p = v_fma(v_const(0.131106287f), square, v_const(-0.33331272f));
    V tanh_r = v_fma(v_mul(r, square), p, r);
    V s = v_exponent_of_low_bits(t);
    V less = v_sub(s, v_const(1)), more = v_add(s, v_const(1));
    return v_quotient(v_fma(more, tanh_r, less), v_fma(less, tanh_r, more));
}

/* e^x from 0 to infinity. 2^n goes in two factors, because n runs from -150 to 128. */
CELL_CODE V v_exp(V x)
{
    const V shift = v_const(V_SHIFT);
    struct v_exponential e = v_exponential(v_between(-104, x, 89));
    V t = v_fma(e.n, v_const(0.5f), shift);
    V half = v_exponent_of_low_bits(t);
    V other_half = v_exponent_of_low_bits(v_add(v_sub(e.n, v_sub(t, shift)), shift));
    return v_mul(v_fma(half, e.q, half), other_half);
}

/* log(1 + f), f from sqrt(1/2) - 1 to sqrt(2) - 1, plus k ln 2 */
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
    V small = v_mul(v_mul(square, f), p);               /* smallest terms first */
    small = v_fma(k, v_const(0.0017409306f), small);
    small = v_fma(square, v_const(-0.5f), small);
    return v_fma(k, v_const(0.69140625f), v_add(f, small));
}

/* The natural logarithm: -infinity at 0, NaN below. */
CELL_CODE V v_log(V x)
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

#include "cells/v/v_derived.h"

/* V as a 16-bit fixed-point number, Q3.12 unless FIXED_BITS is defined: simulates a cell with this format for every
 * value. Arrays remain floats, so that matrix products and the time loop do not change. Intended for forward: gradients
 * do not fit the format. All operations saturate. There are no infinities, and NaN becomes the lowest value. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    int32_t q;
} V;
typedef float v_element;
#define V_WIDTH    1
#define CELL_CODE  static inline __attribute__((always_inline, unused))
#ifndef FIXED_BITS
#define FIXED_BITS 12       /* fraction bits */
#endif

CELL_CODE V v_saturated(int64_t q)
{
    V v = {(int32_t)(q > INT16_MAX ? INT16_MAX : q < INT16_MIN ? INT16_MIN : q)};
    return v;
}

/* Rounds half up. The comparisons come before the conversion, which is undefined out of range. */
CELL_CODE V v_rounded(double x)
{
    double q = floor(x * (1 << FIXED_BITS) + 0.5);
    return v_saturated(q > INT16_MAX ? INT16_MAX : q > INT16_MIN ? (int64_t)q : INT16_MIN);
}

CELL_CODE double v_number(V a) { return (double)a.q / (1 << FIXED_BITS); }

/* Rounds a product half up, and a multiply-add once at its end, as a hardware MAC does. */
CELL_CODE V v_fma(V a, V b, V c)
{
    int64_t sum = (int64_t)a.q * b.q + (int64_t)c.q * (1 << FIXED_BITS);
    return v_saturated((sum + (1 << (FIXED_BITS - 1))) >> FIXED_BITS);
}

CELL_CODE V v_load(const float *p) { return v_rounded(*p); }
CELL_CODE void v_store(float *p, V a) { *p = (float)v_number(a); }
CELL_CODE V v_load_some(const float *p, size_t n) { return v_rounded(n ? *p : 0); }
CELL_CODE void v_store_some(float *p, V a, size_t n)
{
    if (n)
        *p = (float)v_number(a);
}
CELL_CODE V v_const(double c) { return v_rounded(c); }
CELL_CODE V v_add(V a, V b) { return v_saturated((int64_t)a.q + b.q); }
CELL_CODE V v_sub(V a, V b) { return v_saturated((int64_t)a.q - b.q); }
CELL_CODE V v_mul(V a, V b) { return v_fma(a, b, v_saturated(0)); }
CELL_CODE V v_div(V a, V b) { return v_rounded(v_number(a) / v_number(b)); }
CELL_CODE V v_sqrt(V a) { return v_rounded(sqrt(v_number(a))); }
CELL_CODE V v_abs(V a) { return v_saturated(a.q < 0 ? -(int64_t)a.q : a.q); }
CELL_CODE V v_min(V a, V b) { return a.q < b.q ? a : b; }
CELL_CODE V v_max(V a, V b) { return a.q > b.q ? a : b; }
CELL_CODE V v_less(V a, V b) { return v_rounded(a.q < b.q); }
CELL_CODE V v_exp(V a) { return v_rounded(exp(v_number(a))); }
CELL_CODE V v_log(V a) { return v_rounded(log(v_number(a))); }
CELL_CODE V v_sigmoid(V a) { return v_rounded(1 / (1 + exp(-v_number(a)))); }
CELL_CODE V v_tanh(V a) { return v_rounded(tanh(v_number(a))); }

#include "nn/vector/v_derived.h"

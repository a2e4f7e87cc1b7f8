/* V is one float: the reference that every other V of floats must match bit for bit. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef float V, v_element;
#define V_WIDTH   1
#define CELL_CODE static inline __attribute__((always_inline, unused))
#define MATH_CODE static __attribute__((noinline, unused)) /* without a V of several floats, calls cost little */

CELL_CODE uint32_t v_bits_of(V a)
{
    uint32_t bits;
    memcpy(&bits, &a, 4);
    return bits;
}
CELL_CODE V v_of_bits(uint32_t bits)
{
    V a;
    memcpy(&a, &bits, 4);
    return a;
}

CELL_CODE V v_load(const float *p) { return *p; }
CELL_CODE void v_store(float *p, V a) { *p = a; }
CELL_CODE V v_load_some(const float *p, size_t n) { return n ? *p : 0; }
CELL_CODE void v_store_some(float *p, V a, size_t n)
{
    if (n)
        *p = a;
}
CELL_CODE V v_const(float c) { return c; }
CELL_CODE V v_add(V a, V b) { return a + b; }
CELL_CODE V v_sub(V a, V b) { return a - b; }
CELL_CODE V v_mul(V a, V b) { return a * b; }
CELL_CODE V v_div(V a, V b) { return a / b; }
#ifdef FP_FAST_FMAF
CELL_CODE V v_fma(V a, V b, V c) { return fmaf(a, b, c); }
#else
/* Has the bits of fmaf, a function call. The product is exact in double, and so is the result, unless the rounded sum
 * is halfway between two floats, or the float has fewer bits. */
CELL_CODE V v_fma(V a, V b, V c)
{
    const double sum = (double)a * (double)b + (double)c;
    uint64_t bits;
    memcpy(&bits, &sum, 8);
    if (__builtin_expect((bits & 0x1fffffff) == 0x10000000 || fabs(sum) < 0x1p-126, 0))
        return fmaf(a, b, c);
    return (float)sum;
}
#endif
CELL_CODE V v_fnma(V a, V b, V c) { return v_fma(-a, b, c); }
CELL_CODE V v_sqrt(V a) { return sqrtf(a); }
CELL_CODE V v_abs(V a) { return fabsf(a); }
CELL_CODE V v_min(V a, V b) { return a < b ? a : b; }
CELL_CODE V v_max(V a, V b) { return a > b ? a : b; }
CELL_CODE V v_select_less(V a, V b, V yes, V no) { return a < b ? yes : no; }
CELL_CODE V v_exponent_of_low_bits(V t) { return v_of_bits(v_bits_of(t) << 23); }
CELL_CODE V v_low_bits_of_exponent(V a) { return v_of_bits(v_bits_of(a) >> 23 | 0x4b000000); }
CELL_CODE V v_mantissa(V a) { return v_of_bits((v_bits_of(a) & 0x007fffff) | 0x3f800000); }

#include "nn/vector/v_math.h"

/* V is 4 floats in a NEON register of a 64-bit ARM, with the bits of v_f32.h. 32-bit ARM is not
 * for it: its NEON has no division and flushes denormal numbers. */
#ifndef __aarch64__
#error "v_neon.h needs a 64-bit ARM"
#endif
#include <arm_neon.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef float32x4_t V;
typedef float v_element;
#define V_WIDTH   4
#define CELL_CODE static inline __attribute__((always_inline, unused))

/* NEON has no masked load: some go through a copy. */
CELL_CODE V v_load_some(const float *p, size_t n)
{
    float some[V_WIDTH] = {0};
    memcpy(some, p, n * sizeof *p);
    return vld1q_f32(some);
}

CELL_CODE void v_store_some(float *p, V a, size_t n)
{
    float some[V_WIDTH];
    vst1q_f32(some, a);
    memcpy(p, some, n * sizeof *p);
}

CELL_CODE V v_load(const float *p) { return vld1q_f32(p); }
CELL_CODE void v_store(float *p, V a) { vst1q_f32(p, a); }
CELL_CODE V v_const(float c) { return vdupq_n_f32(c); }
CELL_CODE V v_add(V a, V b) { return vaddq_f32(a, b); }
CELL_CODE V v_sub(V a, V b) { return vsubq_f32(a, b); }
CELL_CODE V v_mul(V a, V b) { return vmulq_f32(a, b); }
CELL_CODE V v_div(V a, V b) { return vdivq_f32(a, b); }
CELL_CODE V v_fma(V a, V b, V c) { return vfmaq_f32(c, a, b); }
CELL_CODE V v_fnma(V a, V b, V c) { return vfmsq_f32(c, a, b); }
CELL_CODE V v_sqrt(V a) { return vsqrtq_f32(a); }
CELL_CODE V v_abs(V a) { return vabsq_f32(a); }
CELL_CODE V v_select_less(V a, V b, V yes, V no) { return vbslq_f32(vcltq_f32(a, b), yes, no); }
CELL_CODE V v_min(V a, V b) { return v_select_less(a, b, a, b); }
CELL_CODE V v_max(V a, V b) { return v_select_less(b, a, a, b); }
CELL_CODE V v_exponent_of_low_bits(V t) { return vreinterpretq_f32_u32(vshlq_n_u32(vreinterpretq_u32_f32(t), 23)); }
CELL_CODE V v_low_bits_of_exponent(V a)
{
    uint32x4_t exponent = vshrq_n_u32(vreinterpretq_u32_f32(a), 23);
    return vreinterpretq_f32_u32(vorrq_u32(exponent, vdupq_n_u32(0x4b000000)));
}
CELL_CODE V v_mantissa(V a)
{
    uint32x4_t fraction = vandq_u32(vreinterpretq_u32_f32(a), vdupq_n_u32(0x007fffff));
    return vreinterpretq_f32_u32(vorrq_u32(fraction, vdupq_n_u32(0x3f800000)));
}

#include "nn/vector/v_math.h"

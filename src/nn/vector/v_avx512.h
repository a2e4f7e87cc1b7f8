/* V is 16 floats in an AVX-512 register, with the bits of v_f32.h. */
#ifndef __AVX512F__
#error "v_avx512.h needs -mavx512f"
#endif
#include <immintrin.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

typedef __m512 V;
typedef float v_element;
#define V_WIDTH   16
#define CELL_CODE static inline __attribute__((always_inline, unused))

CELL_CODE __mmask16 v_first(size_t n) { return (__mmask16)((1u << n) - 1); } /* n <= 16 */

CELL_CODE V v_load(const float *p) { return _mm512_loadu_ps(p); }
CELL_CODE void v_store(float *p, V a) { _mm512_storeu_ps(p, a); }
CELL_CODE V v_load_some(const float *p, size_t n) { return _mm512_maskz_loadu_ps(v_first(n), p); }
CELL_CODE void v_store_some(float *p, V a, size_t n) { _mm512_mask_storeu_ps(p, v_first(n), a); }
CELL_CODE V v_const(float c) { return _mm512_set1_ps(c); }
CELL_CODE V v_add(V a, V b) { return _mm512_add_ps(a, b); }
CELL_CODE V v_sub(V a, V b) { return _mm512_sub_ps(a, b); }
CELL_CODE V v_mul(V a, V b) { return _mm512_mul_ps(a, b); }
CELL_CODE V v_div(V a, V b) { return _mm512_div_ps(a, b); }
CELL_CODE V v_fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
CELL_CODE V v_fnma(V a, V b, V c) { return _mm512_fnmadd_ps(a, b, c); }
CELL_CODE V v_sqrt(V a) { return _mm512_sqrt_ps(a); }
CELL_CODE V v_abs(V a) { return _mm512_abs_ps(a); }
CELL_CODE V v_min(V a, V b) { return _mm512_min_ps(a, b); }
CELL_CODE V v_max(V a, V b) { return _mm512_max_ps(a, b); }
CELL_CODE V v_select_less(V a, V b, V yes, V no)
{
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), no, yes);
}
CELL_CODE V v_exponent_of_low_bits(V t) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(t), 23)); }
CELL_CODE V v_low_bits_of_exponent(V a)
{
    __m512i exponent = _mm512_srli_epi32(_mm512_castps_si512(a), 23);
    return _mm512_castsi512_ps(_mm512_or_si512(exponent, _mm512_set1_epi32(0x4b000000)));
}
CELL_CODE V v_mantissa(V a)
{
    __m512i fraction = _mm512_and_si512(_mm512_castps_si512(a), _mm512_set1_epi32(0x007fffff));
    return _mm512_castsi512_ps(_mm512_or_si512(fraction, _mm512_set1_epi32(0x3f800000)));
}

#include "nn/vector/v_math.h"

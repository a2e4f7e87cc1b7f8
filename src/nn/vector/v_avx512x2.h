/* V is 32 floats in two AVX-512 registers, with the bits of v_f32.h. Two interleaved chains of operations hide the
 * latency of a sigmoid, which saves 20% of a cell's forward. For pointwise code; fused steps use one register. */
#ifndef __AVX512F__
#error "v_avx512x2.h needs -mavx512f"
#endif
#include <immintrin.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    __m512 a, b;
} V;
typedef float v_element;
#define V_WIDTH   32
#define CELL_CODE static inline __attribute__((always_inline, unused))
#define BOTH(f, x)         (V){ f((x).a), f((x).b) }
#define BOTH2(f, x, y)     (V){ f((x).a, (y).a), f((x).b, (y).b) }
#define BOTH3(f, x, y, z)  (V){ f((x).a, (y).a, (z).a), f((x).b, (y).b, (z).b) }

/* The first n of 32 lanes, for each half. */
CELL_CODE __mmask16 v_first_a(size_t n) { return (__mmask16)(n < 16 ? (1u << n) - 1 : 0xffff); }
CELL_CODE __mmask16 v_first_b(size_t n) { return (__mmask16)(n < 16 ? 0 : (1u << (n - 16)) - 1); }

CELL_CODE __m512 v_half_select_less(__m512 a, __m512 b, __m512 yes, __m512 no)
{
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), no, yes);
}
CELL_CODE __m512 v_half_exponent_of_low_bits(__m512 t)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(t), 23));
}
CELL_CODE __m512 v_half_low_bits_of_exponent(__m512 a)
{
    __m512i exponent = _mm512_srli_epi32(_mm512_castps_si512(a), 23);
    return _mm512_castsi512_ps(_mm512_or_si512(exponent, _mm512_set1_epi32(0x4b000000)));
}
CELL_CODE __m512 v_half_mantissa(__m512 a)
{
    __m512i fraction = _mm512_and_si512(_mm512_castps_si512(a), _mm512_set1_epi32(0x007fffff));
    return _mm512_castsi512_ps(_mm512_or_si512(fraction, _mm512_set1_epi32(0x3f800000)));
}

CELL_CODE V v_load(const float *p) { return (V){_mm512_loadu_ps(p), _mm512_loadu_ps(p + 16)}; }
CELL_CODE void v_store(float *p, V x) { _mm512_storeu_ps(p, x.a), _mm512_storeu_ps(p + 16, x.b); }
CELL_CODE V v_load_some(const float *p, size_t n)
{
    return (V){_mm512_maskz_loadu_ps(v_first_a(n), p), _mm512_maskz_loadu_ps(v_first_b(n), p + 16)};
}
CELL_CODE void v_store_some(float *p, V x, size_t n)
{
    _mm512_mask_storeu_ps(p, v_first_a(n), x.a);
    _mm512_mask_storeu_ps(p + 16, v_first_b(n), x.b);
}
CELL_CODE V v_const(float c) { return (V){_mm512_set1_ps(c), _mm512_set1_ps(c)}; }
CELL_CODE V v_add(V x, V y) { return BOTH2(_mm512_add_ps, x, y); }
CELL_CODE V v_sub(V x, V y) { return BOTH2(_mm512_sub_ps, x, y); }
CELL_CODE V v_mul(V x, V y) { return BOTH2(_mm512_mul_ps, x, y); }
CELL_CODE V v_div(V x, V y) { return BOTH2(_mm512_div_ps, x, y); }
CELL_CODE V v_fma(V x, V y, V z) { return BOTH3(_mm512_fmadd_ps, x, y, z); }
CELL_CODE V v_fnma(V x, V y, V z) { return BOTH3(_mm512_fnmadd_ps, x, y, z); }
CELL_CODE V v_sqrt(V x) { return BOTH(_mm512_sqrt_ps, x); }
CELL_CODE V v_abs(V x) { return BOTH(_mm512_abs_ps, x); }
CELL_CODE V v_min(V x, V y) { return BOTH2(_mm512_min_ps, x, y); }
CELL_CODE V v_max(V x, V y) { return BOTH2(_mm512_max_ps, x, y); }
CELL_CODE V v_exponent_of_low_bits(V t) { return BOTH(v_half_exponent_of_low_bits, t); }
CELL_CODE V v_low_bits_of_exponent(V x) { return BOTH(v_half_low_bits_of_exponent, x); }
CELL_CODE V v_mantissa(V x) { return BOTH(v_half_mantissa, x); }
CELL_CODE V v_select_less(V x, V y, V yes, V no)
{
    return (V){v_half_select_less(x.a, y.a, yes.a, no.a), v_half_select_less(x.b, y.b, yes.b, no.b)};
}

#undef BOTH
#undef BOTH2
#undef BOTH3

#include "nn/vector/v_math.h"

/* V is 8 floats in an AVX2 register, with the bits of v_f32.h. Fused multiply-add is a separate extension that must be
 * detected at run time, too. */
#if !defined(__AVX2__) || !defined(__FMA__)
#error "v_avx2.h needs -mavx2 -mfma"
#endif
#include <immintrin.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

typedef __m256 V;
typedef float v_element;
#define V_WIDTH   8
#define CELL_CODE static inline __attribute__((always_inline, unused))

/* All ones in the first n lanes. */
CELL_CODE __m256i v_first(size_t n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

CELL_CODE V v_load(const float *p) { return _mm256_loadu_ps(p); }
CELL_CODE void v_store(float *p, V a) { _mm256_storeu_ps(p, a); }
CELL_CODE V v_load_some(const float *p, size_t n) { return _mm256_maskload_ps(p, v_first(n)); }
CELL_CODE void v_store_some(float *p, V a, size_t n) { _mm256_maskstore_ps(p, v_first(n), a); }
CELL_CODE V v_const(float c) { return _mm256_set1_ps(c); }
CELL_CODE V v_add(V a, V b) { return _mm256_add_ps(a, b); }
CELL_CODE V v_sub(V a, V b) { return _mm256_sub_ps(a, b); }
CELL_CODE V v_mul(V a, V b) { return _mm256_mul_ps(a, b); }
CELL_CODE V v_div(V a, V b) { return _mm256_div_ps(a, b); }
CELL_CODE V v_fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
CELL_CODE V v_fnma(V a, V b, V c) { return _mm256_fnmadd_ps(a, b, c); }
CELL_CODE V v_sqrt(V a) { return _mm256_sqrt_ps(a); }
CELL_CODE V v_abs(V a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.f), a); }
CELL_CODE V v_min(V a, V b) { return _mm256_min_ps(a, b); }
CELL_CODE V v_max(V a, V b) { return _mm256_max_ps(a, b); }
CELL_CODE V v_select_less(V a, V b, V yes, V no) { return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(a, b, _CMP_LT_OQ)); }
CELL_CODE V v_exponent_of_low_bits(V t) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(t), 23)); }
CELL_CODE V v_low_bits_of_exponent(V a)
{
    __m256i exponent = _mm256_srli_epi32(_mm256_castps_si256(a), 23);
    return _mm256_castsi256_ps(_mm256_or_si256(exponent, _mm256_set1_epi32(0x4b000000)));
}
CELL_CODE V v_mantissa(V a)
{
    __m256i fraction = _mm256_and_si256(_mm256_castps_si256(a), _mm256_set1_epi32(0x007fffff));
    return _mm256_castsi256_ps(_mm256_or_si256(fraction, _mm256_set1_epi32(0x3f800000)));
}

#include "nn/vector/v_math.h"

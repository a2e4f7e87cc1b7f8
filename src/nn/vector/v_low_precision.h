/* Weights narrower than a float, V_WIDTH words of 4 bytes at a time. A word is two bf16 or four int8 of consecutive k
 * of one unit, the first at the lowest address. Include it after a V header of floats.
 *
 * vc_max and vc_largest compare words as unsigned integers. vc_store_bytes stores the lowest byte of each word.
 * vc_dot(sum, x, w) is sum + x0 w0 + x1 w1 + x2 w2 + x3 w3 with unsigned bytes x and signed bytes w, modulo 2^32 and
 * therefore exact in any order. AVX-512 with VNNI has an instruction for it. */
#ifndef V_LOWP
#define V_LOWP
#include <stdint.h>

#if V_WIDTH == 16 && defined(__AVX512BW__)

/* 16 elements instead of the 8 of __m512i: gcc 12 copies a sum used as both types in each iteration of a loop. */
typedef __v16si VC;

CELL_CODE VC vc_load(const void *p) { return (VC)_mm512_loadu_si512(p); }
CELL_CODE VC vc_const(uint32_t word) { return (VC)_mm512_set1_epi32((int)word); }
CELL_CODE VC vc_sub(VC a, VC b) { return (VC)_mm512_sub_epi32((__m512i)a, (__m512i)b); }
CELL_CODE V vc_first_bf16(VC a) { return _mm512_castsi512_ps(_mm512_slli_epi32((__m512i)a, 16)); }
CELL_CODE V vc_second_bf16(VC a)
{
    return _mm512_castsi512_ps(_mm512_and_si512((__m512i)a, _mm512_set1_epi32((int)0xffff0000u)));
}
CELL_CODE VC vc_bits(V a) { return (VC)_mm512_castps_si512(a); }
CELL_CODE V vc_to_float(VC a) { return _mm512_cvtepi32_ps((__m512i)a); }
CELL_CODE VC vc_max(VC a, VC b) { return (VC)_mm512_max_epu32((__m512i)a, (__m512i)b); }
CELL_CODE uint32_t vc_largest(VC a) { return _mm512_reduce_max_epu32((__m512i)a); }
CELL_CODE void vc_store_bytes(uint8_t *to, VC a)
{
    _mm_storeu_si128((__m128i *)(void *)to, _mm512_cvtepi32_epi8((__m512i)a));
}

#if defined(__AVX512VNNI__)
CELL_CODE VC vc_dot(VC sum, VC x, VC w) { return (VC)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)x, (__m512i)w); }
#else
CELL_CODE VC vc_dot(VC sum, VC x, VC w)
{
    const __m512i low = _mm512_set1_epi32(0x00ff00ff), a = (__m512i)x, b = (__m512i)w;
    __m512i x_even = _mm512_and_si512(a, low), x_odd = _mm512_and_si512(_mm512_srli_epi32(a, 8), low);
    __m512i w_even = _mm512_srai_epi16(_mm512_slli_epi16(b, 8), 8), w_odd = _mm512_srai_epi16(b, 8);
    sum += (VC)_mm512_madd_epi16(x_even, w_even);
    return sum + (VC)_mm512_madd_epi16(x_odd, w_odd);
}
#endif

#elif V_WIDTH == 8 && defined(__AVX2__)

typedef __m256i VC;

CELL_CODE VC vc_load(const void *p) { return _mm256_loadu_si256(p); }
CELL_CODE VC vc_const(uint32_t word) { return _mm256_set1_epi32((int)word); }
CELL_CODE VC vc_sub(VC a, VC b) { return _mm256_sub_epi32(a, b); }
CELL_CODE V vc_first_bf16(VC a) { return _mm256_castsi256_ps(_mm256_slli_epi32(a, 16)); }
CELL_CODE V vc_second_bf16(VC a)
{
    return _mm256_castsi256_ps(_mm256_and_si256(a, _mm256_set1_epi32((int)0xffff0000u)));
}
CELL_CODE VC vc_bits(V a) { return _mm256_castps_si256(a); }
CELL_CODE V vc_to_float(VC a) { return _mm256_cvtepi32_ps(a); }
CELL_CODE VC vc_max(VC a, VC b) { return _mm256_max_epu32(a, b); }
CELL_CODE uint32_t vc_largest(VC a)
{
    __m128i four = _mm_max_epu32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    __m128i two = _mm_max_epu32(four, _mm_unpackhi_epi64(four, four));
    return (uint32_t)_mm_cvtsi128_si32(_mm_max_epu32(two, _mm_srli_epi64(two, 32)));
}
CELL_CODE void vc_store_bytes(uint8_t *to, VC a)
{
    const __m256i lowest = _mm256_set1_epi32(0x0c080400);
    __m256i fours = _mm256_shuffle_epi8(a, lowest);
    _mm_storel_epi64((__m128i *)(void *)to,
                     _mm_unpacklo_epi32(_mm256_castsi256_si128(fours), _mm256_extracti128_si256(fours, 1)));
}
CELL_CODE VC vc_dot(VC sum, VC x, VC w)
{
    const __m256i low = _mm256_set1_epi32(0x00ff00ff);
    __m256i x_even = _mm256_and_si256(x, low), x_odd = _mm256_and_si256(_mm256_srli_epi32(x, 8), low);
    __m256i w_even = _mm256_srai_epi16(_mm256_slli_epi16(w, 8), 8), w_odd = _mm256_srai_epi16(w, 8);
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(x_even, w_even));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(x_odd, w_odd));
}

#elif V_WIDTH == 4 && defined(__aarch64__)

typedef uint32x4_t VC;

CELL_CODE VC vc_load(const void *p) { return vreinterpretq_u32_u8(vld1q_u8(p)); }
CELL_CODE VC vc_const(uint32_t word) { return vdupq_n_u32(word); }
CELL_CODE VC vc_sub(VC a, VC b) { return vsubq_u32(a, b); }
CELL_CODE V vc_first_bf16(VC a) { return vreinterpretq_f32_u32(vshlq_n_u32(a, 16)); }
CELL_CODE V vc_second_bf16(VC a) { return vreinterpretq_f32_u32(vandq_u32(a, vdupq_n_u32(0xffff0000u))); }
CELL_CODE VC vc_bits(V a) { return vreinterpretq_u32_f32(a); }
CELL_CODE V vc_to_float(VC a) { return vcvtq_f32_s32(vreinterpretq_s32_u32(a)); }
CELL_CODE VC vc_max(VC a, VC b) { return vmaxq_u32(a, b); }
CELL_CODE uint32_t vc_largest(VC a) { return vmaxvq_u32(a); }
CELL_CODE void vc_store_bytes(uint8_t *to, VC a)
{
    uint16x4_t half = vmovn_u32(a);
    vst1_lane_u32((uint32_t *)(void *)to, vreinterpret_u32_u8(vmovn_u16(vcombine_u16(half, half))), 0);
}
CELL_CODE VC vc_dot(VC sum, VC x, VC w)
{
    uint8x16_t x_bytes = vreinterpretq_u8_u32(x);
    int8x16_t w_bytes = vreinterpretq_s8_u32(w);
    int16x8_t x_low = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(x_bytes)));
    int16x8_t x_high = vreinterpretq_s16_u16(vmovl_high_u8(x_bytes));
    int16x8_t w_low = vmovl_s8(vget_low_s8(w_bytes)), w_high = vmovl_high_s8(w_bytes);
    int32x4_t low = vpaddq_s32(vmull_s16(vget_low_s16(x_low), vget_low_s16(w_low)), vmull_high_s16(x_low, w_low));
    int32x4_t high = vpaddq_s32(vmull_s16(vget_low_s16(x_high), vget_low_s16(w_high)), vmull_high_s16(x_high, w_high));
    return vaddq_u32(sum, vreinterpretq_u32_s32(vpaddq_s32(low, high)));
}

#elif V_WIDTH == 1

typedef uint32_t VC;

CELL_CODE VC vc_load(const void *p)
{
    VC a;
    memcpy(&a, p, sizeof a);
    return a;
}
CELL_CODE VC vc_const(uint32_t word) { return word; }
CELL_CODE VC vc_sub(VC a, VC b) { return a - b; }
CELL_CODE V vc_first_bf16(VC a) { return v_of_bits(a << 16); }
CELL_CODE V vc_second_bf16(VC a) { return v_of_bits(a & 0xffff0000u); }
CELL_CODE VC vc_bits(V a) { return v_bits_of(a); }
CELL_CODE V vc_to_float(VC a) { return (float)(int32_t)a; }
CELL_CODE VC vc_max(VC a, VC b) { return a > b ? a : b; }
CELL_CODE uint32_t vc_largest(VC a) { return a; }
CELL_CODE void vc_store_bytes(uint8_t *to, VC a) { *to = (uint8_t)a; }
CELL_CODE VC vc_dot(VC sum, VC x, VC w)
{
    for (int i = 0; i < 32; i += 8) sum += (x >> i & 0xff) * (uint32_t)(int32_t)(int8_t)(w >> i & 0xff);
    return sum;
}

#endif
#endif

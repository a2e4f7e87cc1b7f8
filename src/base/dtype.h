/* The element types of tensors, by the names that safetensors gives them, and types of weights by those that users
 * give them. One list makes the enum, the names and the sizes.
 * Not arithmetic: only the two 16-bit float formats can be widened and made here. */
#ifndef BASE_DTYPE_H
#define BASE_DTYPE_H
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* name, bytes */
#define DTYPE_LIST(X) \
    X(F64, 8) X(F32, 4) X(F16, 2) X(BF16, 2) \
    X(I64, 8) X(I32, 4) X(I16, 2) X(I8, 1) \
    X(U64, 8) X(U32, 4) X(U16, 2) X(U8, 1) \
    X(BOOL, 1)

enum dtype {
#define DTYPE_ENUMERATOR(name, bytes) DTYPE_##name,
    DTYPE_LIST(DTYPE_ENUMERATOR)
#undef DTYPE_ENUMERATOR
        DTYPE_COUNT
};

const char *dtype_name(enum dtype dtype);
size_t dtype_size(enum dtype dtype);                   /* bytes of one element */
bool dtype_parse(const char *name, enum dtype *dtype); /* false, *dtype untouched: no such type */

/* What users call the types that packed weights may have: fp32 (or NULL), bf16, int8. */
unroll_status weights_choose(const char *name, enum dtype *dtype); /* refused: none of these */
const char *weights_name(enum dtype dtype);

static inline float f32_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* bfloat16 is the upper half of a float: exact, NaN payloads included. */
static inline float bf16_to_f32(uint16_t bits) { return f32_from_bits((uint32_t)bits << 16); }

static inline uint32_t f32_to_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* To nearest, ties to even; beyond the largest finite number infinity. A NaN stays one, made quiet. */
static inline uint16_t f32_to_bf16(float value)
{
    uint32_t bits = f32_to_bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

/* IEEE binary16, exact: 1 sign bit, 5 of exponent (bias 15), 10 of fraction. NaN payloads are kept. */
static inline float f16_to_f32(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16;
    uint32_t exponent = bits >> 10 & 0x1fu, fraction = bits & 0x3ffu;
    if (exponent == 0) { /* a subnormal half is a normal float: flushing does not touch it */
        float magnitude = (float)fraction * 0x1p-24f;
        return sign ? -magnitude : magnitude;
    }
    if (exponent == 0x1f)
        return f32_from_bits(sign | 0x7f800000u | fraction << 13);
    return f32_from_bits(sign | (exponent + 127 - 15) << 23 | fraction << 13);
}

/* To nearest, ties to even; beyond the largest finite half infinity. A NaN stays one, made quiet. */
static inline uint16_t f32_to_f16(float value)
{
    uint32_t bits = f32_to_bits(value), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u | (magnitude >> 13 & 0x1ffu));
    if (magnitude >= 0x477ff000u) /* 65520: halfway from the largest half to the next, which is even */
        return (uint16_t)(sign | 0x7c00u);
    if (magnitude < 0x38800000u) /* below 2^-14: a multiple of 2^-24, which adding 0.5 rounds to */
        return (uint16_t)(sign | (f32_to_bits(f32_from_bits(magnitude) + 0.5f) - 0x3f000000u));
    magnitude += 0xfffu + (magnitude >> 13 & 1);
    return (uint16_t)(sign | (magnitude - 0x38000000u) >> 13);
}

#endif

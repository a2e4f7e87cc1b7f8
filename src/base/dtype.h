/* Element types of tensors with safetensors' names, and the types of packed weights with the names of options. One list
 * generates the enum, the names and the sizes. Only the two 16-bit float formats are converted here; there is no other
 * arithmetic. */
#pragma once
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
bool dtype_parse(const char *name, enum dtype *dtype); /* returns false for an unknown type and leaves *dtype
                                                        * unchanged */

/* The types of packed weights: fp32 (also NULL), bf16, int8. */
unroll_status weights_choose(const char *name, enum dtype *dtype); /* UNROLL_USAGE for another name */
const char *weights_name(enum dtype dtype);

static inline float f32_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Converts bfloat16, the upper half of a float, exactly. NaN payloads are kept. */
static inline float bf16_to_f32(uint16_t bits) { return f32_from_bits((uint32_t)bits << 16); }

static inline uint32_t f32_to_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Rounds to nearest, ties to even. Values beyond the largest finite one become infinity, and a NaN becomes quiet. */
static inline uint16_t f32_to_bf16(float value)
{
    uint32_t bits = f32_to_bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

/* Converts IEEE binary16 (1 sign, 5 exponent and 10 fraction bits, bias 15) exactly. NaN payloads are kept. */
static inline float f16_to_f32(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16;
    uint32_t exponent = bits >> 10 & 0x1fu, fraction = bits & 0x3ffu;
    if (exponent == 0) { /* a subnormal half is a normal float, so flushing does not affect it */
        float magnitude = (float)fraction * 0x1p-24f;
        return sign ? -magnitude : magnitude;
    }
    if (exponent == 0x1f)
        return f32_from_bits(sign | 0x7f800000u | fraction << 13);
    return f32_from_bits(sign | (exponent + 127 - 15) << 23 | fraction << 13);
}

/* Rounds to nearest, ties to even. Values beyond the largest finite half become infinity, and a NaN becomes quiet. */
static inline uint16_t f32_to_f16(float value)
{
    uint32_t bits = f32_to_bits(value), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u | (magnitude >> 13 & 0x1ffu));
    if (magnitude >= 0x477ff000u) /* 65520, halfway between the largest half and the next value, which is even */
        return (uint16_t)(sign | 0x7c00u);
    if (magnitude < 0x38800000u) /* below 2^-14 the result is a multiple of 2^-24; adding 0.5 rounds to it */
        return (uint16_t)(sign | (f32_to_bits(f32_from_bits(magnitude) + 0.5f) - 0x3f000000u));
    magnitude += 0xfffu + (magnitude >> 13 & 1);
    return (uint16_t)(sign | (magnitude - 0x38000000u) >> 13);
}

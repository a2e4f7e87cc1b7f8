/* Is a number, or are all of an array, neither infinite nor NaN? Inline and in vectors: a stream asks it of a few numbers
 * at each step, a session of millions. */
#ifndef BASE_FINITE_H
#define BASE_FINITE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* An exponent of ones carries into the sign. */
#define FINITE_CARRY(bits)  (((bits) & 0x7f800000u) + 0x00800000u)
#define FINITE_SIGN         0x80000000u

static inline bool is_finite(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return FINITE_CARRY(bits) < FINITE_SIGN;
}

static inline bool all_finite(const float *x, size_t n)
{
    enum { BLOCK = 4 };
    typedef uint32_t block __attribute__((vector_size(BLOCK * sizeof(uint32_t))));
    block carries = { 0 }, bits;
    uint32_t any = 0, last;
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK) {
        memcpy(&bits, x + i, sizeof bits);
        carries |= FINITE_CARRY(bits);
    }
    for (; i < n; i++) {
        memcpy(&last, x + i, sizeof last);
        any |= FINITE_CARRY(last);
    }
    for (i = 0; i < BLOCK; i++)
        any |= carries[i];
    return any < FINITE_SIGN;
}

#endif

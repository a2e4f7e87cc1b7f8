/* Checks that floats are finite. Inline, because streams check every frame and must finish within 100 ns. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Four words; the compiler emulates the vector where the processor has none. */
typedef uint32_t finite_bits __attribute__((vector_size(16)));

/* Sets the sign bit if all bits of the exponent are set. */
static inline finite_bits finite_carry(finite_bits x) { return (x & 0x7fffffffu) + 0x00800000u; }

/* Returns true if all n floats are finite. Also copies them to `to` unless it is NULL. */
static inline bool copy_finite(float *restrict to, const float *restrict x, size_t n)
{
    enum { FOUR = sizeof(finite_bits) / sizeof(float) };
    finite_bits some, carried = {0};
    size_t i = 0;
    for (; i + FOUR <= n; i += FOUR) {
        memcpy(&some, x + i, sizeof some);
        if (to)
            memcpy(to + i, &some, sizeof some);
        carried |= finite_carry(some);
    }
    for (some = (finite_bits){0}; i < n; i++) {
        memcpy(&some, x + i, sizeof *x);
        if (to)
            to[i] = x[i];
        carried |= finite_carry(some);
    }
    return (carried[0] | carried[1] | carried[2] | carried[3]) < 0x80000000u;
}

static inline bool all_finite(const float *x, size_t n) { return copy_finite(NULL, x, n); }

/* Returns the index of the first value that is not finite, or n. */
static inline size_t first_not_finite(const float *x, size_t n)
{
    size_t i = 0;
    while (i < n && x[i] - x[i] == 0) i++;
    return i;
}

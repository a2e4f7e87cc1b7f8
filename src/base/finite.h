/* Are numbers finite? Inline: asked of every batch, and of every frame of a stream, which is done within 100 ns. */
#ifndef BASE_FINITE_H
#define BASE_FINITE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What any machine has, or the compiler makes of others. */
typedef uint32_t finite_bits __attribute__((vector_size(16)));

/* An exponent of ones carries into the sign. */
static inline finite_bits finite_carry(finite_bits x) { return (x & 0x7fffffffu) + 0x00800000u; }

/* Are all of them finite? They are copied on the way; to = NULL: they are not. */
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

/* The first that is not; n: all are. */
static inline size_t first_not_finite(const float *x, size_t n)
{
    size_t i = 0;
    while (i < n && x[i] - x[i] == 0) i++;
    return i;
}

#endif

/* Random numbers that depend only on a key and a counter (Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel Random
 * Numbers: As Easy as 1, 2, 3", SC 2011). A mask drawn with (seed; tensor, step, element) is the same for any number of
 * threads, ranks and chunks. Not for cryptography. */
#pragma once
#include <stdint.h>

#ifndef PHILOX_CODE /* GPU sources define their own function qualifiers */
#define PHILOX_CODE static inline
#endif

/* Computes four random words for one counter. */
PHILOX_CODE void philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4])
{
    uint32_t k0 = key[0], k1 = key[1];
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xd2511f53u * c0;
        uint64_t p1 = (uint64_t)0xcd9e8d57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9e3779b9u; /* golden ratio */
        k1 += 0xbb67ae85u; /* sqrt(3) - 1 */
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* Uniform in [0, 1), from the upper 24 bits; every value is exact. */
PHILOX_CODE float philox_unit(uint32_t bits) { return (float)(bits >> 8) * 0x1p-24f; }

/* The words of one key in sequence. (seed, stream, position) is the whole state and is stored in checkpoints; the block
 * is derived. */
struct rng {
    uint64_t seed, stream; /* streams of one seed are independent: initialization, shuffling, ... */
    uint64_t position;     /* words drawn so far */
    uint32_t block[4];     /* the words of the block that contains position */
};

struct rng rng_new(uint64_t seed, uint64_t stream);
struct rng rng_at(uint64_t seed, uint64_t stream, uint64_t position); /* resumes from a checkpoint */
uint32_t rng_next_u32(struct rng *rng);
float rng_uniform(struct rng *rng);              /* [0, 1) with 24 bits */
uint64_t rng_below(struct rng *rng, uint64_t n); /* uniform in 0 .. n-1; n >= 1 */

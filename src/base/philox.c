/* The sequential generator on top of philox(): counter = (block number, stream), key = seed. Initializers and shuffles
 * are implemented by their users. */
#include "base/philox.h"

static void fill_block(struct rng *rng)
{
    uint64_t number = rng->position / 4;
    uint32_t key[2] = {(uint32_t)rng->seed, (uint32_t)(rng->seed >> 32)};
    uint32_t counter[4] = {(uint32_t)number, (uint32_t)(number >> 32), (uint32_t)rng->stream,
                           (uint32_t)(rng->stream >> 32)};
    philox(key, counter, rng->block);
}

struct rng rng_at(uint64_t seed, uint64_t stream, uint64_t position)
{
    struct rng rng = {.seed = seed, .stream = stream, .position = position};
    fill_block(&rng);
    return rng;
}

struct rng rng_new(uint64_t seed, uint64_t stream) { return rng_at(seed, stream, 0); }

uint32_t rng_next_u32(struct rng *rng)
{
    if (rng->position % 4 == 0)
        fill_block(rng);
    return rng->block[rng->position++ % 4];
}

float rng_uniform(struct rng *rng) { return philox_unit(rng_next_u32(rng)); }

uint64_t rng_below(struct rng *rng, uint64_t n)
{
    uint64_t rejected = (0 - n) % n; /* 2^64 mod n; without these values the rest divides evenly */
    uint64_t bits;
    do {
        bits = rng_next_u32(rng);
        bits = bits << 32 | rng_next_u32(rng);
    } while (bits < rejected);
    return bits % n;
}

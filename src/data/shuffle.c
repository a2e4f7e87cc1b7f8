/* A Feistel network with halves of h bits, where 4^h >= n > 4^(h-1): a walk takes fewer than four turns on average. */
#include "data/shuffle.h"

#include "base/philox.h"

enum { ROUNDS = 6 }; /* four rounds make a random permutation of long halves; these may have one bit */

static uint64_t permute(const uint32_t key[2], uint64_t tweak, int half, uint64_t value)
{
    const uint64_t mask = ((uint64_t)1 << half) - 1;
    uint64_t left = value >> half, right = value & mask;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const uint32_t counter[4] = {(uint32_t)right, round, (uint32_t)tweak, (uint32_t)(tweak >> 32)};
        uint32_t out[4];
        philox(key, counter, out);
        uint64_t mixed = left ^ (out[0] & mask);
        left = right;
        right = mixed;
    }
    return left << half | right;
}

uint64_t shuffle_at(uint64_t seed, uint32_t stream, uint64_t epoch, uint64_t n, uint64_t place)
{
    const uint32_t key[2] = {(uint32_t)seed ^ stream, (uint32_t)(seed >> 32)};
    int half = 1;
    while (half < 32 && (uint64_t)1 << 2 * half < n) half++;
    do place = permute(key, epoch, half, place);
    while (place >= n);
    return place;
}

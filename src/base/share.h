/* Divides a range: rows among threads, units among ranks. */
#pragma once
#include <stdint.h>

/* Returns share `at` of n shares of `size`, in multiples of `grain`: [*first, *first + *count). */
static inline void shard_range(uint32_t size, int n, int at, uint32_t grain, uint32_t *first, uint32_t *count)
{
    uint64_t grains = (size + grain - 1) / grain;
    uint64_t begin = grains * (uint64_t)at / (uint64_t)n * grain;
    uint64_t end = grains * (uint64_t)(at + 1) / (uint64_t)n * grain;
    *first = (uint32_t)(begin < size ? begin : size);
    *count = (uint32_t)(end < size ? end : size) - *first;
}

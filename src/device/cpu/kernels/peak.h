/* Fused multiply-adds at the ISA's peak rate: independent chains without memory accesses. Two per cycle with a latency
 * of 4 to 5 cycles need 10 chains; 12 and the two factors fit 16 registers. */

enum { PEAK_CHAINS = 12 };

/* Returns the operations done, two per multiply-add. sink [V_WIDTH] keeps the compiler from removing them. */
__attribute__((unused)) /* by an ISA that has its own */
static uint64_t
peak(uint64_t rounds, void *sink)
{
    V chain[PEAK_CHAINS], half = v_const(0.5f), one = v_const(1);

#pragma GCC unroll 16
    for (int i = 0; i < PEAK_CHAINS; i++) chain[i] = v_const((float)i);
    for (uint64_t round = 0; round < rounds; round++) {
#pragma GCC unroll 16
        for (int i = 0; i < PEAK_CHAINS; i++) chain[i] = v_fma(chain[i], half, one);
    }
#pragma GCC unroll 16
    for (int i = 1; i < PEAK_CHAINS; i++) chain[0] = v_add(chain[0], chain[i]);
    v_store(sink, chain[0]);
    return rounds * PEAK_CHAINS * V_WIDTH * 2;
}

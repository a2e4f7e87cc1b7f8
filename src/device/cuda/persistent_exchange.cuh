/* How the blocks of a group give each other their parts of the next operand: stores into shared memory of the cluster
 * that are counted by barriers there, or through L2 with a flag for each block. Knows no cell and no product.
 *
 * Rounds of a chunk are counted from 0. Round r reads operand buffer r % 2, what it makes goes to the other one. A
 * block sends in round r after all its warps have read buffer r % 2 (there is a barrier between); so who has all of
 * round r's operands knows that nobody reads buffer (r - 1) % 2 any more, and may fill it. */
#ifndef DEVICE_CUDA_PERSISTENT_EXCHANGE_CUH
#define DEVICE_CUDA_PERSISTENT_EXCHANGE_CUH
#include "device/cuda/persistent_product.cuh"

/* What a thread knows of its block. */
struct seat {
    uint32_t group, rank; /* of the block among the members of its group */
    uint32_t unit0, row0; /* first unit of the block, first row of the group */
};

GPU_CODE unsigned char *operand_at(const struct tiling &t, uint32_t chunk, uint32_t round)
{
    const uint32_t buffer = t.algorithm == ALGORITHM_GRID ? 0 : chunk * 2 + round % 2;
    return dynamic_shared() + t.at_operand + buffer * t.operand_buffer;
}

GPU_CODE uint32_t flag_at(const struct tiling &t, const struct seat &s, uint32_t chunk, uint32_t rank)
{
    return (s.group * t.chunks + chunk) * t.members + rank;
}

GPU_CODE unsigned char *exchanged_at(const struct persistent_args &a, const struct seat &s, uint32_t chunk,
                                     uint32_t round)
{
    const struct tiling &t = a.tiling;
    return (unsigned char *)a.exchange + ((size_t)(s.group * t.chunks + chunk) * 2 + round % 2) * t.operand_buffer;
}

/* ---- pieces: 16 bytes of what a block makes --------------------------------------------- */

/* Of the operand of a phase: [row of the chunk][field][own units]. */
GPU_CODE uint32_t pieces_of(const struct tiling &t, int phase, uint32_t number)
{
    return t.chunk_rows * t.product[phase].fields * (t.units * number / 16);
}

GPU_CODE uint32_t *piece_table(const struct tiling &t, int phase, uint32_t number)
{
    return (uint32_t *)(dynamic_shared() + t.at_pieces) + (phase ? pieces_of(t, 0, number) : 0);
}

/* Where each piece belongs in an operand buffer. */
GPU_CODE void make_piece_tables(const struct tiling &t, const struct seat &s, uint32_t number)
{
    const uint32_t of_units = t.units * number / 16;
#pragma unroll 1
    for (uint32_t phase = 0; phase < t.phases; phase++) {
        const struct tiling_product &p = t.product[phase];
        uint32_t *table = piece_table(t, (int)phase, number);
#pragma unroll 1
        for (uint32_t i = threadIdx.x; i < pieces_of(t, (int)phase, number); i += PERSISTENT_THREADS) {
            const uint32_t n = i / (p.fields * of_units), field = i / of_units % p.fields;
            table[i] = n * p.operand_row + (field * t.members + s.rank) * t.units * number + i % of_units * 16;
        }
    }
}

/* ---- clusters ---------------------------------------------------------------------------- */

GPU_CODE mbarrier *barrier_at(const struct tiling &t, uint32_t chunk, uint32_t round)
{
    return (mbarrier *)(dynamic_shared() + t.at_barriers) + chunk * 2 + round % 2;
}

/* The operand of `round`, of that phase, will come. By one thread. */
GPU_CODE void expect_operand(const struct tiling &t, uint32_t chunk, uint32_t round, int phase, uint32_t number)
{
    mbarrier_arrive_expect(barrier_at(t, chunk, round), t.members * pieces_of(t, phase, number) * 16);
}

GPU_CODE void send_to_cluster(const struct tiling &t, const struct seat &s, uint32_t chunk, uint32_t round, int phase,
                              uint32_t number, uint32_t start, uint32_t start_rank, uint32_t ranks_a_turn,
                              uint32_t pieces_a_turn)
{
    const uint4 *staged = (const uint4 *)(dynamic_shared() + t.at_staged);
    const uint32_t *table = piece_table(t, phase, number), pieces = pieces_of(t, phase, number);
    const shared_address operand = shared_at(operand_at(t, chunk, round));
    const shared_address barrier = shared_at(barrier_at(t, chunk, round));
#pragma unroll 1
    for (uint32_t piece = start, other = start_rank; other < t.members;) {
        const uint32_t to = s.rank + other < t.members ? s.rank + other : s.rank + other - t.members;
        store_async(cluster_map(operand + table[piece], to), staged[piece], cluster_map(barrier, to));
        piece += pieces_a_turn;
        other += ranks_a_turn;
        if (piece >= pieces) {
            piece -= pieces;
            other++;
        }
    }
}

/* ---- the exchange ------------------------------------------------------------------------ */

/* Begins: barriers of all blocks are there, nothing is sent before. */
GPU_CODE void begin_exchange(const struct tiling &t)
{
    if (t.algorithm == ALGORITHM_GRID) {
        __syncthreads();
        return;
    }
    if (threadIdx.x == 0) {
#pragma unroll 1
        for (uint32_t i = 0; i < 2 * t.chunks; i++) mbarrier_init(barrier_at(t, 0, 0) + i, 1);
        mbarrier_init_fence();
    }
    __syncthreads();
    cluster_sync();
}

/* A warp fetches the parts of every eighth member, each as soon as it is there. */
GPU_CODE void fetch_operand(const struct persistent_args &a, const struct seat &s, uint32_t chunk, uint32_t round,
                            int phase, uint32_t number)
{
    const struct tiling &t = a.tiling;
    const uint32_t *table = piece_table(t, phase, number), pieces = pieces_of(t, phase, number);
    unsigned char *to = operand_at(t, chunk, round);
    const unsigned char *from = exchanged_at(a, s, chunk, round);
    clock_divisions(2); /* of multiply */
#pragma unroll 1
    for (uint32_t rank = threadIdx.x / 32; rank < t.members; rank += TILING_WARPS) {
        const uint32_t beside = (rank - s.rank) * t.units * number; /* the table is of this block's part */
        wait_at_least(a.flags + flag_at(t, s, chunk, rank), round);
#pragma unroll 2
        for (uint32_t i = threadIdx.x % 32; i < pieces; i += 32)
            copy_async(to + (table[i] + beside), from + (table[i] + beside));
    }
    copy_async_commit();
    copy_async_wait<0>();
    __syncthreads();
}

/* All of the operand of round 1 or a later one, of that phase, is in its buffer. */
GPU_CODE void wait_for_operand(const struct persistent_args &a, const struct seat &s, uint32_t chunk, uint32_t round,
                               int phase, uint32_t number)
{
    if (a.tiling.algorithm == ALGORITHM_GRID)
        fetch_operand(a, s, chunk, round, phase, number);
    else
        mbarrier_wait(barrier_at(a.tiling, chunk, round), (round - 1) / 2 % 2);
}

/* What the block staged becomes its part of the operand of `round`, which multiplies in `phase`. All threads; what
 * is staged was written before a barrier. */
GPU_CODE void send_operand(const struct persistent_args &a, const struct seat &s, uint32_t chunk, uint32_t round,
                           int phase, uint32_t number)
{
    const struct tiling &t = a.tiling;
    const uint32_t pieces = pieces_of(t, phase, number);
    if (t.algorithm != ALGORITHM_GRID) {
        clock_divisions(2);
        send_to_cluster(t, s, chunk, round, phase, number, threadIdx.x % pieces, threadIdx.x / pieces,
                        PERSISTENT_THREADS / pieces, PERSISTENT_THREADS % pieces);
        return;
    }
    const uint4 *staged = (const uint4 *)(dynamic_shared() + t.at_staged);
    const uint32_t *table = piece_table(t, phase, number);
    unsigned char *to = exchanged_at(a, s, chunk, round);
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < pieces; i += PERSISTENT_THREADS) *(uint4 *)(to + table[i]) = staged[i];
    __syncthreads();
    if (threadIdx.x == 0)
        store_release(a.flags + flag_at(t, s, chunk, s.rank), round);
}

/* Nobody's memory is written after this. */
GPU_CODE void end_exchange(const struct tiling &t)
{
    if (t.algorithm != ALGORITHM_GRID)
        cluster_sync();
}

#endif

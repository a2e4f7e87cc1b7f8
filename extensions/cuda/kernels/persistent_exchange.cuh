/* How the blocks of a group exchange their parts of the next operand: by stores into the cluster's shared memory,
 * counted by barriers there, or by packets in L2 that are their own flags. Independent of cells and products.
 *
 * The rounds of a chunk are counted from 0. Round r multiplies operand r and produces operand r + 1.
 *
 * Clusters: operand r is in buffer r % 2. A block sends in round r only after all its warps have read buffer r % 2,
 * because there is a barrier between. So a block that has received all of operand r may fill buffer (r - 1) % 2: no
 * block reads it any more.
 *
 * Grids: operand r is in buffer r % TILING_RING, whose packets are initially empty, written once, and read until
 * none is empty. In rounds r that are multiples of the turn, each sending thread empties its packets of the
 * operands of the turn before r, after it has sent. Then all threads of the block execute a fence. All loads and
 * stores of packets are relaxed, with GPU scope. Only one thread writes a packet, so its old, empty and new contents
 * appear in this order.
 *
 * In terms of PTX's memory model: a reader never finds an old packet. Thread E empties it in round r, executes a
 * fence, and sends a packet of operand r + 2 or r + 3 (with two phases a lane may have a field of only one of them):
 * a release pattern. Some thread X of the reader's block loads that packet, because each block multiplies all of an
 * operand, and executes a fence in round r + turn at the latest: an acquire pattern. The two fences
 * synchronize. The barrier of the block in the next round extends this from X to the reader, which requests the
 * buffer again only after that barrier, in round r + turn + 2 or later. The ring is longer than a turn by
 * this distance. So the reader then loads either an empty or a new packet.
 *
 * No packet is emptied too early either. A block that has all of operand r has packets of every block. Each was
 * produced after a barrier that followed that block's loads of operand r - 1, from values that depend on them. If a
 * packet were emptied before it is read, its reading would depend on itself, which the model forbids (no values out
 * of thin air). A packet is a single access of 16 bytes: if its first word is present, all of it is. */
#ifndef DEVICE_CUDA_PERSISTENT_EXCHANGE_CUH
#define DEVICE_CUDA_PERSISTENT_EXCHANGE_CUH
#include "extensions/cuda/kernels/persistent_product.cuh"

/* A thread's view of its block. */
struct seat {
    uint32_t group, rank; /* rank: of the block among the members of its group */
    uint32_t unit0, row0; /* first unit of the block, first row of the group */
};

/* A thread's cell is number `thread` of [row of the chunk][unit of the block]. The cells that fill a packet of each
 * field of an operand belong to neighboring lanes, which share the sending: lane l sends fields l, l + lanes, .. */
struct cell_place {
    uint32_t n, u;                  /* row of the chunk, unit of the block */
    uint32_t lane;                  /* among those that share packets */
    uint32_t sums[TILING_PHASES];   /* by phase: byte offset in the sums; */
    uint32_t staged[TILING_PHASES]; /* in the staging area, of field 0 of its packet; */
    uint32_t to[TILING_PHASES];     /* in an operand's buffer, of field `lane` */
    bool is;                        /* the cell exists */
};

/* Clusters only. */
GPU_CODE unsigned char *operand_at(const struct tiling &t, uint32_t chunk, uint32_t round)
{
    return dynamic_shared() + t.at_operand + (chunk * 2 + round % 2) * t.operand_buffer;
}

/* Returns the offset of a grid's operand in the exchange, which has at most TILING_EXCHANGE bytes. */
GPU_CODE uint32_t exchanged_at(const struct tiling &t, const struct seat &s, uint32_t chunk, uint32_t round)
{
    return ((s.group * t.chunks + chunk) * t.ring + (round & (t.ring - 1))) * t.operand_buffer;
}

GPU_CODE uint32_t operand_row_bytes(const struct tiling &t, int phase, uint32_t number)
{
    return t.product[phase].fields * t.members * t.units * number;
}

/* ---- clusters ---------------------------------------------------------------------------- */

GPU_CODE mbarrier *barrier_at(const struct tiling &t, uint32_t chunk, uint32_t round)
{
    return (mbarrier *)(dynamic_shared() + t.at_barriers) + chunk * 2 + round % 2;
}

/* Expects the operand of `round` and `phase`. One thread calls this. */
GPU_CODE void expect_operand(const struct tiling &t, uint32_t chunk, uint32_t round, int phase, uint32_t number)
{
    mbarrier_arrive_expect(barrier_at(t, chunk, round), t.chunk_rows * operand_row_bytes(t, phase, number));
}

/* Begins the exchange: nothing is sent before the barriers of all blocks exist. */
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

/* ---- receiving --------------------------------------------------------------------------- */

/* Returns where the operand of `round`, multiplied in `phase`, will be; does not wait. */
GPU_CODE struct operand_source find_operand(const struct persistent_args &a, const struct seat &s, uint32_t chunk,
                                            uint32_t round, int phase, uint32_t number)
{
    const struct tiling &t = a.tiling;
    const uint32_t row = t.product[phase].operand_row, bytes = operand_row_bytes(t, phase, number);
    if (t.algorithm != ALGORITHM_GRID)
        return {operand_at(t, chunk, round), row, TILING_PACKET, 8 * row, bytes, true, round};
    return {(const unsigned char *)a.exchange + exchanged_at(t, s, chunk, round),
            TILING_PACKET,
            TILING_COLUMN,
            8 * row,
            bytes,
            false,
            round};
}

/* Waits for an operand that arrives in shared memory, the one after `before` others. Packets in L2 are awaited by the
 * threads that multiply them. */
GPU_CODE void receive_operand(const struct tiling &t, uint32_t chunk, uint32_t round, uint32_t before)
{
    if (t.algorithm != ALGORITHM_GRID)
        wait_for_operand(barrier_at(t, chunk, round), before / 2 % 2, chunk, round);
}

/* ---- sending ----------------------------------------------------------------------------- */

/* Bytes from a field of an operand's row to the next, in a buffer and in the staging area. */
GPU_CODE uint32_t own_bytes(const struct tiling &t, uint32_t number) { return t.units * number; }

/* Bytes from a field of a grid's operand to the next. */
GPU_CODE uint32_t field_in_exchange(const struct tiling &t, uint32_t number)
{
    return t.members * own_bytes(t, number) / TILING_PACKET * TILING_COLUMN;
}

/* Returns the cell of this thread, with its addresses in sums, staging and the exchanged operands. */
template <int PHASES>
GPU_CODE struct cell_place cell_place_of(const struct tiling &t, const struct seat &s, uint32_t number)
{
    struct cell_place c;
    const uint32_t own = own_bytes(t, number);
    c.n = threadIdx.x / t.units;
    c.u = threadIdx.x % t.units;
    c.lane = c.u % (TILING_PACKET / number);
    c.is = threadIdx.x < t.chunk_rows * t.units;
#pragma unroll
    for (uint32_t i = 0; i < TILING_PHASES; i++) {
        const struct tiling_product &m = t.product[i < PHASES ? i : 0];
        const uint32_t first = (c.u - c.lane) * number;
        c.sums[i] = kept((c.n * m.sums_row + c.u * (m.rows / t.units)) * 4);
        c.staged[i] = kept(c.n * m.fields * own + first);
        const uint32_t packet = (s.rank * own + first) / TILING_PACKET;
        c.to[i] = kept(t.algorithm == ALGORITHM_GRID
                           ? c.n / 8 * 8 * m.operand_row + c.n % 8 * TILING_PACKET + packet * TILING_COLUMN +
                                 c.lane * field_in_exchange(t, number)
                           : c.n * m.operand_row + packet * TILING_PACKET + c.lane * t.members * own);
    }
    return c;
}

GPU_CODE void send_to_cluster(const struct tiling &t, const struct seat &s, const struct cell_place &c, uint32_t chunk,
                              uint32_t round, int phase, uint32_t number)
{
    const uint32_t lanes = TILING_PACKET / number, own = own_bytes(t, number), field = t.members * own;
    const shared_address operand = shared_at(operand_at(t, chunk, round)) + c.to[phase] - c.lane * field;
    const shared_address barrier = shared_at(barrier_at(t, chunk, round));
#pragma unroll 1
    for (uint32_t q = 0; q < t.product[phase].fields; q++) {
        const uint4 v = *(const uint4 *)(dynamic_shared() + t.at_staged + c.staged[phase] + q * own);
#pragma unroll 1
        for (uint32_t other = c.lane; other < t.members; other += lanes) {
            const uint32_t to = s.rank + other < t.members ? s.rank + other : s.rank + other - t.members;
            clock_instructions(INSTRUCTIONS_COPY);
            store_async(cluster_map(operand + q * field, to), v, cluster_map(barrier, to));
        }
    }
}

/* Sends the part of the operand of `round` and `phase` that the warp's lanes have staged. `at`: the operand's
 * offset, for a grid. */
GPU_CODE void send_operand(const struct persistent_args &a, const struct seat &s, const struct cell_place &c,
                           uint32_t at, uint32_t chunk, uint32_t round, int phase, uint32_t number)
{
    const struct tiling &t = a.tiling;
    const uint32_t fields = t.product[phase].fields, own = own_bytes(t, number), lanes = TILING_PACKET / number;
    __syncwarp();
    clock_shared(4, 1);
    if (!c.is)
        return;
    if (t.algorithm != ALGORITHM_GRID) {
        send_to_cluster(t, s, c, chunk, round, phase, number);
        return;
    }
    const unsigned char *staged = dynamic_shared() + t.at_staged + c.staged[phase] + c.lane * own;
    unsigned char *to = (unsigned char *)a.exchange + (at + c.to[phase]);
#pragma unroll 1
    for (uint32_t q = c.lane; q < fields; q += lanes, staged += lanes * own, to += lanes * field_in_exchange(t, number))
        store_packet(to, *(const uint4 *)staged);
}

/* Empties the block's packets of the operands before `round`, after sending, in one round of each turn. */
GPU_CODE void empty_packets(const struct persistent_args &a, const struct seat &s, const struct cell_place &c,
                            uint32_t chunk, uint32_t round, uint32_t phases, uint32_t number)
{
    static_assert(TILING_RING >= 2 * TILING_TURN + 2 && TILING_TURN >= 4, "a buffer is read again after two fences");
    static_assert(2 * TILING_RING >= 4 * TILING_TURN + 2, "also in a long ring, with a turn twice as long");
    const struct tiling &t = a.tiling;
    const bool longer = t.ring > TILING_RING;
    if (t.algorithm != ALGORITHM_GRID || round == 0 || round % TILING_TURN != 0 || (longer && round % 2 != 0))
        return;
#pragma unroll 1
    for (uint32_t i = round - (longer ? 2 : 1) * TILING_TURN; i < round && c.is; i++) {
        const int phase = phases == 1 ? 0 : (int)(i % 2);
        unsigned char *at = (unsigned char *)a.exchange + (exchanged_at(t, s, chunk, i) + (phase ? c.to[1] : c.to[0]));
#pragma unroll 1
        for (uint32_t q = c.lane; q < (phase ? t.product[1] : t.product[0]).fields; q += TILING_PACKET / number) {
            store_packet(at, make_uint4(~0u, ~0u, ~0u, ~0u));
            at += TILING_PACKET / number * field_in_exchange(t, number);
        }
    }
    fence_gpu();
}

/* Ends the exchange: no memory of another block is written after this. */
GPU_CODE void end_exchange(const struct tiling &t)
{
    if (t.algorithm != ALGORITHM_GRID)
        cluster_sync();
}

#endif

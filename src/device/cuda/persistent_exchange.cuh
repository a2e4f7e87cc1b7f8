/* How the blocks of a group give each other their parts of the next operand: stores into shared memory of the cluster
 * that are counted by barriers there, or packets in L2 that are their own flags. Knows no cell and no product.
 *
 * Rounds of a chunk are counted from 0; what round r multiplies is operand r, what it makes operand r + 1.
 *
 * Clusters: operand r lies in buffer r % 2. A block sends in round r after all its warps have read buffer r % 2 (there
 * is a barrier between); so who has all of operand r knows that nobody reads buffer (r - 1) % 2 any more, and may fill
 * it.
 *
 * Grids: operand r lies in buffer r % TILING_RING, whose packets are empty at first, written once and read until none
 * is empty. In the rounds r that TILING_TURN divides a thread that sends packets empties, after it has sent, its
 * packets of the TILING_TURN operands before r; then all threads of the block fence. All loads and stores of packets
 * are relaxed, of the GPU's scope, and one thread alone writes a packet, so its old, empty and new contents come in
 * this order. In the terms of PTX's memory model: A reader finds no old packet. Thread E empties it in round r, fences,
 * and sends a packet of operand r + 2 or r + 3 (of two phases a lane may have a field of one alone): a release pattern.
 * Some thread X of the reader's block loads that one, for each block multiplies with all of an operand, and fences in
 * round r + TILING_TURN at the latest: an acquire pattern. The two fences synchronize; the block's barrier in the next
 * round carries it from X to the reader, who asks for the buffer again after that barrier: no earlier than in round r +
 * TILING_TURN + 2, so the ring is so much longer than a turn. What it loads then is empty or new. Nobody empties what
 * is still wanted. Who has all of operand r has packets of every block, each made after a barrier behind that block's
 * loads of operand r - 1, and of values that depend on them: were a packet emptied before it is read, its reading would
 * depend on itself, which the model forbids (no values out of thin air). A packet is one access of 16 bytes: all of it
 * is there when its first word is. */
#ifndef DEVICE_CUDA_PERSISTENT_EXCHANGE_CUH
#define DEVICE_CUDA_PERSISTENT_EXCHANGE_CUH
#include "device/cuda/persistent_product.cuh"

/* What a thread knows of its block. */
struct seat {
    uint32_t group, rank; /* of the block among the members of its group */
    uint32_t unit0, row0; /* first unit of the block, first row of the group */
};

/* A thread's cell is number `thread` of [row of the chunk][unit of the block]. Cells that fill a packet of each field
 * of an operand are those of neighbouring lanes, which share the sending: lane l of them has fields l, l + lanes, .. */
struct cell_place {
    uint32_t n, u;                  /* row of the chunk, unit of the block */
    uint32_t lane;                  /* of those that share packets */
    uint32_t sums[TILING_PHASES];   /* by phase: bytes in the sums; */
    uint32_t staged[TILING_PHASES]; /* in what the block stages, of field 0 of its packet; */
    uint32_t to[TILING_PHASES];     /* in an operand's buffer, of field `lane` */
    bool is;                        /* there is such a cell */
};

/* A grid needs one in shared memory for the first operand, and for plain floats. */
GPU_CODE unsigned char *operand_at(const struct tiling &t, uint32_t chunk, uint32_t round)
{
    const uint32_t buffer = t.algorithm == ALGORITHM_GRID ? 0 : chunk * 2 + round % 2;
    return dynamic_shared() + t.at_operand + buffer * t.operand_buffer;
}

/* Where a grid's operand begins: bytes in the exchange, which are at most TILING_EXCHANGE. */
GPU_CODE uint32_t exchanged_at(const struct tiling &t, const struct seat &s, uint32_t chunk, uint32_t round)
{
    return ((s.group * t.chunks + chunk) * TILING_RING + round % TILING_RING) * t.operand_buffer;
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

/* The operand of `round`, of that phase, will come. By one thread. */
GPU_CODE void expect_operand(const struct tiling &t, uint32_t chunk, uint32_t round, int phase, uint32_t number)
{
    mbarrier_arrive_expect(barrier_at(t, chunk, round), t.chunk_rows * operand_row_bytes(t, phase, number));
}

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

/* ---- receiving --------------------------------------------------------------------------- */

/* A grid's operand into shared memory, for plain floats: all threads fetch packets in the order of the columns. */
GPU_CODE void gather_operand(const struct persistent_args &a, const struct seat &s, uint32_t chunk, uint32_t round,
                             int phase, uint32_t number)
{
    constexpr uint32_t AT_ONCE = 4, TURN = (uint32_t)PERSISTENT_THREADS * TILING_PACKET;
    const struct tiling &t = a.tiling;
    const uint32_t row = t.product[phase].operand_row,
                   packets = operand_row_bytes(t, phase, number) / TILING_PACKET * 8;
    const unsigned char *from = (const unsigned char *)a.exchange + exchanged_at(t, s, chunk, round);
    unsigned char *to = operand_at(t, chunk, round);
#pragma unroll 1
    for (uint32_t tile = 0; tile < t.chunk_rows / 8; tile++, from += 8 * row, to += 8 * row)
#pragma unroll 1
        for (uint32_t k = threadIdx.x; k < packets; k += AT_ONCE * (uint32_t)PERSISTENT_THREADS) {
            uint4 v[AT_ONCE];
            const uint32_t left = (packets - k + PERSISTENT_THREADS - 1) / PERSISTENT_THREADS;
            const uint32_t wanted = left < AT_ONCE ? (1u << left) - 1 : (1u << AT_ONCE) - 1;
            ask_for_packets<1, TURN>(v, from + k * TILING_PACKET, 0, wanted);
            wait_for_packets<1, TURN>(v, from + k * TILING_PACKET, 0, wanted);
#pragma unroll
            for (uint32_t i = 0; i < AT_ONCE; i++) {
                const uint32_t j = k + i * PERSISTENT_THREADS;
                if (j < packets)
                    *(uint4 *)(to + j % 8 * row + j / 8 * TILING_PACKET) = v[i];
            }
        }
    __syncthreads();
}

/* Where the operand of `round`, which multiplies in `phase`, will be found: nothing is waited for. */
GPU_CODE struct operand_source find_operand(const struct persistent_args &a, const struct seat &s, uint32_t chunk,
                                            uint32_t round, int phase, uint32_t number, bool plain_floats)
{
    const struct tiling &t = a.tiling;
    const uint32_t row = t.product[phase].operand_row, bytes = operand_row_bytes(t, phase, number);
    if (round == 0 || t.algorithm != ALGORITHM_GRID || plain_floats)
        return {operand_at(t, chunk, round), row, TILING_PACKET, 8 * row, bytes, true};
    return {(const unsigned char *)a.exchange + exchanged_at(t, s, chunk, round),
            TILING_PACKET,
            TILING_COLUMN,
            8 * row,
            bytes,
            false};
}

/* Waits for it if it comes into shared memory; packets in L2 are waited for by those who multiply. */
GPU_CODE void receive_operand(const struct persistent_args &a, const struct seat &s, uint32_t chunk, uint32_t round,
                              int phase, uint32_t number, bool plain_floats)
{
    if (round > 0 && a.tiling.algorithm != ALGORITHM_GRID)
        mbarrier_wait(barrier_at(a.tiling, chunk, round), (round - 1) / 2 % 2);
    else if (round > 0 && plain_floats)
        gather_operand(a, s, chunk, round, phase, number);
}

/* ---- sending ----------------------------------------------------------------------------- */

/* Bytes from a field of an operand's row to the next, in a buffer and in what is staged. */
GPU_CODE uint32_t own_bytes(const struct tiling &t, uint32_t number) { return t.units * number; }

/* Bytes from a field of a grid's operand to the next. */
GPU_CODE uint32_t field_in_exchange(const struct tiling &t, uint32_t number)
{
    return t.members * own_bytes(t, number) / TILING_PACKET * TILING_COLUMN;
}

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

/* What the warp's lanes staged becomes their part of the operand of `round`, which multiplies in `phase`. `at`: where
 * it begins, of a grid. */
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

/* The block's packets of the operands before `round` are emptied, in one round of TILING_TURN, after it has sent. */
GPU_CODE void empty_packets(const struct persistent_args &a, const struct seat &s, const struct cell_place &c,
                            uint32_t chunk, uint32_t round, uint32_t phases, uint32_t number)
{
    static_assert(TILING_RING >= 2 * TILING_TURN + 2 && TILING_TURN >= 4, "a buffer is read again after two fences");
    const struct tiling &t = a.tiling;
    if (t.algorithm != ALGORITHM_GRID || round == 0 || round % TILING_TURN != 0)
        return;
#pragma unroll 1
    for (uint32_t i = round - TILING_TURN; i < round && c.is; i++) {
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

/* Nobody's memory is written after this. */
GPU_CODE void end_exchange(const struct tiling &t)
{
    if (t.algorithm != ALGORITHM_GRID)
        cluster_sync();
}

#endif

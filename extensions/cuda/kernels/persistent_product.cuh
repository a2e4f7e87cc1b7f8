/* The products of a persistent recurrence: weights in registers and shared memory, an operand in shared memory, and
 * sums in shared memory, where any thread finds those of its cells. Independent of cells; for the shapes see
 * tiling.h. */
#ifndef DEVICE_CUDA_PERSISTENT_PRODUCT_CUH
#define DEVICE_CUDA_PERSISTENT_PRODUCT_CUH
#include "extensions/cuda/kernels/cycles.h"
#include "extensions/cuda/kernels/persistent_wait.cuh"

enum { PERSISTENT_THREADS = TILING_WARPS * 32 };

/* Operations on one kind of operand. A k step of 32 bytes is 16 values of 16 bits or 8 of 32, and one mma: in 4-byte
 * words the fragments of both are the same. */
template <int O> struct operand_of;

template <> struct operand_of<OPERAND_BF16> {
    typedef uint16_t number;
    GPU_CODE number make(float a) { return to_bf16(a); }
    GPU_CODE uint32_t word(float low, float high) { return pack_bf16(low, high); }
    GPU_CODE void multiply(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) { mma_bf16(c, a, b0, b1); }
};

template <> struct operand_of<OPERAND_F16> {
    typedef uint16_t number;
    GPU_CODE number make(float a) { return to_fp16(a); }
    GPU_CODE uint32_t word(float low, float high) { return pack_fp16(low, high); }
    GPU_CODE void multiply(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) { mma_fp16(c, a, b0, b1); }
};

template <> struct operand_of<OPERAND_TF32> {
    typedef uint32_t number;
    GPU_CODE number make(float a) { return to_tf32(a); }
    GPU_CODE uint32_t word(float only, float) { return to_tf32(only); }
    GPU_CODE void multiply(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) { mma_tf32(c, a, b0, b1); }
};

/* Avoids the value with all bits 1, which marks an empty packet. */
template <> struct operand_of<OPERAND_F32> {
    typedef float number;
    GPU_CODE number make(float a) { return __float_as_uint(a) == ~0u ? __uint_as_float(0x7fffffff) : a; }
};

/* Weights in registers: [slot][word of the fragment]. Slot: step * tiles of the band + tile, starting at the phase's
 * first slot. */
typedef uint32_t weight_registers[TILING_SLOTS][4];

/* The part of a product that a warp computes. */
struct part {
    uint32_t band, split, first, steps;
    bool any;
};

/* The parts of all phases, one word each: k steps fit for rows of up to 32 kB. This keeps divisions out of the
 * steps. requested: the packets of an operand in L2 that the lane requests ahead (request_ahead). */
struct parts {
    uint32_t of[TILING_PHASES], requested[TILING_PHASES];
};

/* Returns how many of a product's first pairs of k steps are fetched at once. all: pairs in registers; n: tiles of 8
 * rows. */
GPU_CODE constexpr uint32_t first_pairs(uint32_t all, uint32_t tiles, uint32_t n)
{
    const uint32_t wanted = tiles * n == 8 ? 2 : TILING_BATCH / n;
    return all < wanted ? all : wanted;
}

/* Returns the packets among them that belong to this lane, as a bit mask. */
GPU_CODE uint32_t first_packets(const struct tiling &t, uint32_t phase, uint32_t first, uint32_t steps, uint32_t number)
{
    const struct tiling_product &p = t.product[phase];
    const uint32_t n = t.chunk_rows / 8, slots = t.phases > 1 ? TILING_SLOTS_EACH : TILING_SLOTS;
    const uint32_t pairs = min(first_pairs(slots / 2 / p.tiles, p.tiles, n), min(p.in_registers, steps) / 2);
    const uint32_t bytes = p.fields * t.members * t.units * number;
    uint32_t wanted = 0;
#pragma unroll 1
    for (uint32_t i = 0; i < pairs; i++)
        if ((first / 2 + i) * 2 * TILING_STEP_BYTES + threadIdx.x % 4 * TILING_PACKET < bytes)
            wanted |= ((1u << n) - 1) << i * n;
    return wanted;
}

template <int PHASES> GPU_CODE struct parts make_parts(const struct tiling &t, uint32_t number)
{
    struct parts parts;
#pragma unroll
    for (uint32_t i = 0; i < TILING_PHASES; i++) {
        const struct tiling_product &p = t.product[i < PHASES ? i : 0];
        const uint32_t warp = threadIdx.x / 32, split = warp / p.bands;
        const uint32_t first = split * p.steps, steps = split < p.splits ? min(p.steps, p.steps_all - first) : 0;
        parts.of[i] = warp % p.bands | split << 4 | first << 8 | steps << 20;
        parts.requested[i] = first_packets(t, i < PHASES ? i : 0, first, steps, number);
    }
    return parts;
}

GPU_CODE struct part part_of(const struct parts &parts, int phase)
{
    const uint32_t w = made_here(phase ? parts.of[1] : parts.of[0]);
    return {w & 15, w >> 4 & 15, w >> 8 & 0xfff, w >> 20, w >> 20 > 0};
}

/* ---- loading weights from global memory, once -------------------------------------------- */

/* Returns the gate of a field, without a run-time index, so that arguments stay in registers. */
GPU_CODE uint32_t gate_of(const struct persistent_args &a, int phase, uint32_t field)
{
    uint32_t gate = a.gate[phase][0];
#pragma unroll
    for (uint32_t i = 1; i < TILING_FIELDS; i++) gate = field == i ? a.gate[phase][i] : gate;
    return gate;
}

/* Returns row m of the block's matrix of a phase, for weight_at, or NULL for zeros. The rows of a unit's fields are
 * consecutive, so that their sums are. */
template <bool BACK>
GPU_CODE const float *weight_row(const struct persistent_args &a, int phase, uint32_t unit0, uint32_t m)
{
    const struct tiling_product &p = a.tiling.product[phase];
    const uint32_t fields = p.rows / a.tiling.units, field = BACK ? 0 : m % fields,
                   unit = unit0 + (BACK ? m : m / fields);
    if (m >= p.rows || unit >= a.units)
        return NULL;
    return BACK ? a.weights + unit : a.weights + ((size_t)gate_of(a, phase, field) * a.units + unit) * a.units;
}

/* Returns the weight that multiplies element k of the operand. */
template <bool BACK> GPU_CODE float weight_at(const struct persistent_args &a, int phase, const float *row, uint32_t k)
{
    const uint32_t wide = a.tiling.members * a.tiling.units;
    uint32_t field = 0;
    if constexpr (BACK) {
        field = k / wide;
        k -= field * wide;
    }
    if (!row || k >= a.units || field >= a.tiling.product[phase].fields)
        return 0;
    return BACK ? row[((size_t)gate_of(a, phase, field) * a.units + k) * a.units] : row[k];
}

/* Returns a word of a row: element k of the operand and, for 16 bits, the next one. */
template <int O, bool BACK>
GPU_CODE uint32_t weight_word(const struct persistent_args &a, int phase, const float *row, uint32_t word)
{
    const uint32_t k = word * (4 / sizeof(typename operand_of<O>::number));
    return operand_of<O>::word(weight_at<BACK>(a, phase, row, k), weight_at<BACK>(a, phase, row, k + 1));
}

/* Returns the lane's fragment of a tile of 16 rows: `row` and the one 8 below. Two k steps are 16 words of an
 * operand's row, of which a lane has the four of its packet, two for each step. So k is permuted, in weights and
 * operand alike. */
template <int O, bool BACK>
GPU_CODE uint4 weight_fragment(const struct persistent_args &a, int phase, const float *row, const float *below,
                               uint32_t step)
{
    const uint32_t word = step / 2 * 16 + threadIdx.x % 4 * 4 + step % 2 * 2;
    return make_uint4(weight_word<O, BACK>(a, phase, row, word), weight_word<O, BACK>(a, phase, below, word),
                      weight_word<O, BACK>(a, phase, row, word + 1), weight_word<O, BACK>(a, phase, below, word + 1));
}

/* Returns a shared slot of this warp: a fragment of 32 x 16 bytes, or for plain floats two of them: [8 k][32 rows]. */
GPU_CODE unsigned char *shared_slot(const struct tiling &t, uint32_t slot)
{
    return dynamic_shared() + t.at_weights + (threadIdx.x / 32 * t.shared_slots + slot) * (size_t)TILING_SLOT_BYTES;
}

enum { FRAGMENTS = 4 }; /* fragments whose loads are in flight at once */

/* Register indices must be compile-time constants, so this checks every batch. */
template <int FIRST, int SLOTS>
GPU_CODE void set_slots(weight_registers &w, uint32_t batch, const uint4 (&f)[FRAGMENTS])
{
#pragma unroll
    for (uint32_t b = 0; b < SLOTS / FRAGMENTS; b++)
        if (b == batch)
#pragma unroll
            for (uint32_t j = 0; j < FRAGMENTS; j++) {
                uint32_t (&to)[4] = w[FIRST + b * FRAGMENTS + j];
                to[0] = f[j].x, to[1] = f[j].y, to[2] = f[j].z, to[3] = f[j].w;
            }
}

/* Slot i holds tile i % tiles of k step i / tiles; the first slots go to registers, the others to shared memory. */
template <int O, bool BACK, int PHASE, int FIRST, int SLOTS>
GPU_CODE void load_fragments(const struct persistent_args &a, const struct part &part, uint32_t unit0,
                             weight_registers &w)
{
    static_assert(SLOTS % FRAGMENTS == 0, "batches of slots");
    const struct tiling_product &p = a.tiling.product[PHASE];
    const uint32_t lane = threadIdx.x % 32, in_registers = p.in_registers * p.tiles, all = part.steps * p.tiles;
#pragma unroll 1
    for (uint32_t batch = 0; batch * FRAGMENTS < all; batch++) {
        uint4 f[FRAGMENTS];
#pragma unroll
        for (uint32_t j = 0; j < FRAGMENTS; j++) {
            const uint32_t i = batch * FRAGMENTS + j, tile = i & (p.tiles - 1), step = i >> (p.tiles >> 1);
            const uint32_t m = (part.band * p.tiles + tile) * TILING_ROWS + lane / 4;
            const bool is = i < all;
            const float *row = is ? weight_row<BACK>(a, PHASE, unit0, m) : NULL,
                        *below = is ? weight_row<BACK>(a, PHASE, unit0, m + 8) : NULL;
            f[j] = weight_fragment<O, BACK>(a, PHASE, row, below, part.first + step);
        }
        if (batch * FRAGMENTS < in_registers)
            set_slots<FIRST, SLOTS>(w, batch, f);
#pragma unroll
        for (uint32_t j = 0; j < FRAGMENTS; j++) {
            const uint32_t i = batch * FRAGMENTS + j;
            if (i >= in_registers && i < all)
                ((uint4 *)shared_slot(a.tiling, p.shared_slot + i - in_registers))[lane] = f[j];
        }
    }
}

template <bool BACK, int PHASE>
GPU_CODE void load_floats(const struct persistent_args &a, const struct part &part, uint32_t unit0)
{
    const struct tiling_product &p = a.tiling.product[PHASE];
    const uint32_t lane = threadIdx.x % 32, band = 8 * p.tiles, m = lane % band;
    const float *row = weight_row<BACK>(a, PHASE, unit0, part.band * band + m);
    float *to = (float *)shared_slot(a.tiling, p.shared_slot);
#pragma unroll 4
    for (uint32_t k = lane / band; k < part.steps * 8; k += 32 / band)
        to[k * band + m] = weight_at<BACK>(a, PHASE, row, part.first * 8 + k);
}

/* Loads the weights of all PHASES phases of a cell. Slots beyond a warp's own steps, which in_registers need not
 * divide, are zeros. */
template <int O, bool BACK, int PHASES>
GPU_CODE void load_weights(const struct persistent_args &a, const struct parts &parts, uint32_t unit0,
                           weight_registers &w)
{
    enum { SLOTS = PHASES > 1 ? TILING_SLOTS_EACH : TILING_SLOTS };
    if constexpr (O == OPERAND_F32) {
        load_floats<BACK, 0>(a, part_of(parts, 0), unit0);
        if constexpr (PHASES > 1)
            load_floats<BACK, 1>(a, part_of(parts, 1), unit0);
    } else {
#pragma unroll
        for (uint32_t i = 0; i < TILING_SLOTS; i++)
            for (uint32_t j = 0; j < 4; j++) w[i][j] = 0;
        load_fragments<O, BACK, 0, 0, SLOTS>(a, part_of(parts, 0), unit0, w);
        if constexpr (PHASES > 1)
            load_fragments<O, BACK, 1, SLOTS, SLOTS>(a, part_of(parts, 1), unit0, w);
    }
}

/* ---- the operand ------------------------------------------------------------------------- */

/* Where a block finds an operand: in its shared memory, by rows, or as packets in L2 that may still be empty, by
 * columns. The packets of 8 rows fill a line of 128 bytes, which one block writes. Lines that several blocks write
 * take twice the time (measured on an H100: 3,727 cycles a round against 1,941). */
struct operand_source {
    const unsigned char *at;
    uint32_t row, packet, tile; /* bytes from row to row, from packet to packet of a row, and from 8 rows to the next */
    uint32_t bytes;             /* of a row: packets after them read as zeros */
    bool shared;
    uint32_t round;
};

/* The lane's first packets of an operand in L2, requested ahead. */
struct packets_ahead {
    uint4 v[TILING_REQUESTED];
};

/* Returns the address of the lane's packet of pair `first`. */
GPU_CODE const unsigned char *packet_at(const struct operand_source &from, uint32_t first)
{
    const uint32_t lane = made_here(threadIdx.x % 32);
    return from.at + lane / 4 * from.row + (first * 4 + lane % 4) * from.packet;
}

/* Requests packets of an operand in L2, so that other loads of the round overlap with them. Also loads packets that
 * are not the lane's, from the following addresses, which avoids conditions. */
template <int O>
GPU_CODE void request_ahead(const struct tiling &t, const struct parts &parts, int phase,
                            const struct operand_source &from, struct packets_ahead &ahead)
{
    const struct part part = part_of(parts, phase);
    if (O == OPERAND_F32 || from.shared || !part.any)
        return;
    const unsigned char *at = packet_at(from, part.first / 2);
    if (t.chunk_rows > 8)
        request_packets<2, TILING_PAIR>(ahead.v, at, from.tile, ~0u);
    else
        request_packets<1, TILING_PAIR>(ahead.v, at, from.tile, ~0u);
}

/* Completes the first batch: the packets requested ahead, and the rest. */
template <int COUNT, int N>
GPU_CODE void take_packets(uint4 (&b)[COUNT][N], const struct operand_source &from, uint32_t first, uint32_t wanted,
                           const struct packets_ahead &ahead)
{
    enum { EARLY = COUNT * N < TILING_REQUESTED ? COUNT * N : TILING_REQUESTED, ALL_EARLY = (1 << EARLY) - 1 };
    uint4 v[COUNT * N];
    if (COUNT * N > EARLY)
        request_packets<N, TILING_PAIR>(v, packet_at(from, first), from.tile, wanted & ~ALL_EARLY);
#pragma unroll
    for (int i = 0; i < EARLY; i++) v[i] = ahead.v[i];
    if ((wanted & ALL_EARLY) != ALL_EARLY) {
#pragma unroll
        for (int i = 0; i < EARLY; i++)
            if (!(wanted >> i & 1))
                v[i] = make_uint4(0, 0, 0, 0);
    }
    wait_for_packets<N, TILING_PAIR>(v, packet_at(from, first), from.tile, wanted, from.round);
    clock_part(CLOCK_PRODUCT);
#pragma unroll
    for (int i = 0; i < COUNT * N; i++) b[i / N][i % N] = v[i];
    __syncwarp();
}

/* Fetches the lane's packets of COUNT pairs of k steps, starting at `first`, in N tiles of 8 rows; zeros from pair
 * `end` on. */
template <int COUNT, int N>
GPU_CODE void fetch_packets(uint4 (&b)[COUNT][N], const struct operand_source &from, uint32_t first, uint32_t end)
{
    const uint32_t offset = first * 2 * TILING_STEP_BYTES + made_here(threadIdx.x % 4) * TILING_PACKET;
    const unsigned char *at = packet_at(from, first);
    if (from.shared) {
        clock_shared(COUNT * N * 4, 1);
#pragma unroll
        for (int i = 0; i < COUNT; i++)
#pragma unroll
            for (int n = 0; n < N; n++)
                b[i][n] = first + i < end ? *(const uint4 *)(at + n * from.tile + i * 2 * TILING_STEP_BYTES)
                                          : make_uint4(0, 0, 0, 0);
        return;
    }
    uint4 v[COUNT * N];
    uint32_t wanted = 0; /* a bit mask of packets */
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        if (first + i < end && offset + i * 2 * TILING_STEP_BYTES < from.bytes)
            wanted |= ((1u << N) - 1) << i * N;
    request_packets<N, TILING_PAIR>(v, at, from.tile, wanted);
    wait_for_packets<N, TILING_PAIR>(v, at, from.tile, wanted, from.round);
#pragma unroll
    for (int i = 0; i < COUNT * N; i++) b[i / N][i % N] = v[i];
    __syncwarp();
}

/* ---- the product ------------------------------------------------------------------------- */

/* Sums of band and split: sums[(split * rows + n) * sums_row + m], with m the row of the matrix and n that of the
 * operand. M tiles of the matrix, N tiles of 8 rows of the operand. There are at least four chains of additions,
 * which steps use in turn. */
template <int O, int FIRST, int SLOTS, int M, int N>
GPU_CODE void multiply_fragments(const struct tiling &t, const struct tiling_product &p, const struct part &part,
                                 const weight_registers &w, const struct operand_source &from, uint32_t requested,
                                 const struct packets_ahead &ahead, float *sums)
{
    enum {
        ALL = SLOTS / 2 / M,
        BATCH = first_pairs(ALL, M, N),
        CHAINS = M * N < 4 ? 4 / (M * N) : 1,
        FEW = M * N == 8 ? 2 : 4
    };
    const uint32_t lane = made_here(threadIdx.x % 32), pair0 = part.first / 2, end = pair0 + part.steps / 2;
    const uint32_t in_registers = min(p.in_registers, part.steps) / 2;
    float c[CHAINS][M][N][4];
#pragma unroll
    for (int i = 0; i < 4 * CHAINS * M * N; i++) c[i / (4 * M * N)][i / (4 * N) % M][i / 4 % N][i % 4] = 0;
#pragma unroll
    for (uint32_t first = 0; first < ALL; first += BATCH)
        if (first < in_registers) {
            uint4 b[BATCH][N];
            if (first == 0 && !from.shared)
                take_packets(b, from, pair0, requested, ahead);
            else
                fetch_packets(b, from, pair0 + first, pair0 + in_registers);
#pragma unroll
            for (uint32_t i = 0; i < BATCH && first + i < ALL; i++)
                if (first + i < in_registers)
#pragma unroll
                    for (int j = 0; j < 2 * M * N; j++) {
                        const int step = j / (M * N), m = j / N % M, n = j % N;
                        operand_of<O>::multiply(c[(2 * i + step) % CHAINS][m][n],
                                                w[FIRST + ((first + i) * 2 + step) * M + m],
                                                step ? b[i][n].z : b[i][n].x, step ? b[i][n].w : b[i][n].y);
                    }
        }
#pragma unroll 1
    for (uint32_t first = in_registers; first < part.steps / 2; first += FEW) {
        uint4 b[FEW][N];
        fetch_packets(b, from, pair0 + first, end);
#pragma unroll
        for (uint32_t i = 0; i < FEW; i++)
            if (first + i < part.steps / 2)
#pragma unroll
                for (int j = 0; j < 2 * M; j++) {
                    const int step = j / M, m = j % M;
                    const uint32_t slot = p.shared_slot + ((first + i - in_registers) * 2 + step) * M + m;
                    const uint4 v = ((const uint4 *)shared_slot(t, slot))[lane];
                    const uint32_t f[4] = {v.x, v.y, v.z, v.w};
                    clock_shared(4, 0);
#pragma unroll
                    for (int n = 0; n < N; n++)
                        operand_of<O>::multiply(c[(2 * i + step) % CHAINS][m][n], f, step ? b[i][n].z : b[i][n].x,
                                                step ? b[i][n].w : b[i][n].y);
                }
    }
    float *to = sums + (part.split * t.chunk_rows + lane % 4 * 2) * p.sums_row + part.band * M * TILING_ROWS + lane / 4;
    clock_part(CLOCK_SUMS);
    clock_shared(4 * M * N, 0);
    clock_instructions(INSTRUCTIONS_PRODUCT);
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int n = 0; n < N; n++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                float sum = c[0][m][n][e];
#pragma unroll
                for (int i = 1; i < CHAINS; i++) sum += c[i][m][n][e];
                to[(n * 8 + e % 2) * p.sums_row + m * 16 + e / 2 * 8] = sum;
            }
}

/* How the lanes of a warp share a product of plain floats: a band of 8 * TILES rows of the matrix, ROWS of the operand.
 * A lane computes 4 rows of the matrix and R of the operand. If there are more lanes than that, each of two lanes
 * multiplies half of k. */
template <int TILES, int ROWS> struct float_lanes {
    static constexpr int BAND = 8 * TILES, M = BAND / 4, N = 32 / M; /* M, N: lanes along each */
    static constexpr int HALVES = N > ROWS ? 2 : 1, R = HALVES == 2 ? 1 : ROWS / N;
    static constexpr int GROUPS = R == 4 ? 2 : 1, GROUP_ROWS = R / GROUPS; /* groups of rows at equal distances */
    static constexpr int STEPS = 4 * HALVES / R;                           /* k steps requested together: .. */
    static constexpr int PACKETS = STEPS * 2 / HALVES * GROUP_ROWS;        /* .. 8 packets in all groups */
    uint4 v[GROUPS][PACKETS];
};

/* Requests, or loads from shared memory, the packets of STEPS k steps from `step` on; wait: of an earlier request,
 * waits until they have arrived. */
template <int TILES, int ROWS, bool WAIT>
GPU_CODE void fetch_floats(float_lanes<TILES, ROWS> &b, const struct operand_source &from, uint32_t step, uint32_t end)
{
    typedef float_lanes<TILES, ROWS> L;
    const uint32_t lane = threadIdx.x % 32, n = lane / L::M % ROWS, half = lane / (L::M * ROWS);
    const uint32_t row_bytes = TILES == 4 && ROWS == 8 ? 4 * from.row : from.tile, first = step * 2 + half;
    const unsigned char *at = from.at + n / 8 * from.tile + n % 8 * from.row + first * from.packet;
    uint32_t wanted = 0;
#pragma unroll
    for (uint32_t i = 0; i < L::PACKETS; i++) {
        const uint32_t k = first + i / L::GROUP_ROWS * L::HALVES;
        wanted |= (k < 2 * end && k * TILING_PACKET < from.bytes ? 1u : 0) << i;
    }
#pragma unroll
    for (int g = 0; g < L::GROUPS; g++, at += 4 * from.row) {
        if (WAIT && !from.shared)
            wait_for_packets<L::GROUP_ROWS, L::HALVES * TILING_COLUMN>(b.v[g], at, row_bytes, wanted, from.round);
        else if (!from.shared)
            request_packets<L::GROUP_ROWS, L::HALVES * TILING_COLUMN>(b.v[g], at, row_bytes, wanted);
        else if (!WAIT)
#pragma unroll
            for (int i = 0; i < L::PACKETS; i++)
                b.v[g][i] = wanted >> i & 1 ? *(const uint4 *)(at + i / L::GROUP_ROWS * (L::HALVES * TILING_PACKET) +
                                                               i % L::GROUP_ROWS * row_bytes)
                                            : make_uint4(0, 0, 0, 0);
    }
}

/* Adds the products of 4 rows of the matrix, of which w has those of one packet's 4 k, and of a row of the operand. */
template <int BAND> GPU_CODE void add_floats(float (&c)[4], const float4 (&w)[4], const uint4 &packet)
{
    const float h[4] = {__uint_as_float(packet.x), __uint_as_float(packet.y), __uint_as_float(packet.z),
                        __uint_as_float(packet.w)};
#pragma unroll
    for (int k = 0; k < 4; k++) {
        c[0] = fmaf(w[k].x, h[k], c[0]);
        c[1] = fmaf(w[k].y, h[k], c[1]);
        c[2] = fmaf(w[k].z, h[k], c[2]);
        c[3] = fmaf(w[k].w, h[k], c[3]);
    }
}

/* Multiplies plain floats, with weights from shared memory: [k][row of the band]. */
template <int TILES, int ROWS>
GPU_CODE void multiply_floats(const struct tiling &t, const struct tiling_product &p, const struct part &part,
                              const struct operand_source &from, float *sums)
{
    typedef float_lanes<TILES, ROWS> L;
    const uint32_t lane = threadIdx.x % 32, m = lane % L::M * 4, n = lane / L::M % ROWS, end = part.first + part.steps;
    const uint32_t half = lane / (L::M * ROWS);
    float c[L::R][4] = {{0}};
    L requested;
    fetch_floats<TILES, ROWS, false>(requested, from, part.first, end);
#pragma unroll 1
    for (uint32_t step = 0; step < part.steps; step += L::STEPS) {
        fetch_floats<TILES, ROWS, true>(requested, from, part.first + step, end);
        const L b = requested;
        fetch_floats<TILES, ROWS, false>(requested, from, part.first + step + L::STEPS, end);
        clock_shared(8 * 4 * L::STEPS / L::HALVES, 0);
        clock_instructions(L::STEPS * FLOAT_INSTRUCTIONS(L::R) / L::HALVES);
#pragma unroll
        for (int i = 0; i < 2 * L::STEPS / L::HALVES; i++) {
            const uint32_t packet = 2 * step + i * L::HALVES + half;
            const float *w = (const float *)shared_slot(t, p.shared_slot) + packet * 4 * L::BAND + m;
            float4 v[4];
            if (packet < 2 * part.steps)
#pragma unroll
                for (int k = 0; k < 4; k++) v[k] = *(const float4 *)(w + k * L::BAND);
            if (packet < 2 * part.steps)
#pragma unroll
                for (int r = 0; r < L::R; r++)
                    add_floats<L::BAND>(c[r], v, b.v[r / L::GROUP_ROWS][i * L::GROUP_ROWS + r % L::GROUP_ROWS]);
        }
    }
    __syncwarp();
#pragma unroll
    for (int r = 0; r < L::R; r++) {
        const uint32_t row = n + (L::GROUPS == 2 ? r / 2 * 4 + r % 2 * 8 : L::N == 4 ? r * 4 : r * 8);
        if (L::HALVES == 2)
#pragma unroll
            for (int i = 0; i < 4; i++) c[r][i] += __shfl_xor_sync(~0u, c[r][i], 16);
        *(float4 *)(sums + (part.split * t.chunk_rows + row) * p.sums_row + part.band * L::BAND + m) =
            make_float4(c[r][0], c[r][1], c[r][2], c[r][3]);
    }
}

template <int ROWS>
GPU_CODE void multiply_band_of_floats(const struct tiling &t, const struct tiling_product &p, const struct part &part,
                                      const struct operand_source &from, float *sums)
{
    if (p.tiles == 1)
        multiply_floats<1, ROWS>(t, p, part, from, sums);
    else if (p.tiles == 2)
        multiply_floats<2, ROWS>(t, p, part, from, sums);
    else
        multiply_floats<4, ROWS>(t, p, part, from, sums);
}

template <int O, int FIRST, int SLOTS, int N>
GPU_CODE void multiply_band(const struct tiling &t, const struct tiling_product &p, const struct part &part,
                            const weight_registers &w, const struct operand_source &from, uint32_t requested,
                            const struct packets_ahead &ahead, float *sums)
{
    if (p.tiles == 1)
        multiply_fragments<O, FIRST, SLOTS, 1, N>(t, p, part, w, from, requested, ahead, sums);
    else if (p.tiles == 2)
        multiply_fragments<O, FIRST, SLOTS, 2, N>(t, p, part, w, from, requested, ahead, sums);
    else
        multiply_fragments<O, FIRST, SLOTS, 4, N>(t, p, part, w, from, requested, ahead, sums);
}

/* Computes the product of a phase of a cell with PHASES phases. */
template <int O, int PHASES, int PHASE>
GPU_CODE void multiply(const struct tiling &t, const struct parts &parts, const weight_registers &w,
                       const struct operand_source &from, const struct packets_ahead &ahead, float *sums)
{
    enum { SLOTS = PHASES > 1 ? TILING_SLOTS_EACH : TILING_SLOTS, FIRST = PHASE * SLOTS };
    const struct tiling_product &p = t.product[PHASE];
    const struct part part = part_of(parts, PHASE);
    if (!part.any)
        return;
    if constexpr (O == OPERAND_F32) {
        if (t.chunk_rows > 8)
            multiply_band_of_floats<16>(t, p, part, from, sums);
        else
            multiply_band_of_floats<8>(t, p, part, from, sums);
    } else if (t.chunk_rows > 8) {
        multiply_band<O, FIRST, SLOTS, 2>(t, p, part, w, from, made_here(parts.requested[PHASE]), ahead, sums);
    } else {
        multiply_band<O, FIRST, SLOTS, 1>(t, p, part, w, from, made_here(parts.requested[PHASE]), ahead, sums);
    }
}

#endif

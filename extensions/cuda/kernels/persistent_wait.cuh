/* Waits for other blocks, with a time limit: a packet that is lost must not occupy the GPU forever. A kernel that
 * reaches the limit writes a record for the host (stopped.h) and ends the launch with an error. */
#ifndef DEVICE_CUDA_PERSISTENT_WAIT_CUH
#define DEVICE_CUDA_PERSISTENT_WAIT_CUH
#include "extensions/cuda/kernels/gpu.cuh"
#include "extensions/cuda/kernels/persistent_args.h"

enum {
    WAIT_OTHERS = 100, /* milliseconds until the launch ends, in which others write their records */
    WAIT_TRIES = 1024  /* unsuccessful loads of packets between two looks at the time; a power of two */
};

/* The first bytes of shared memory: what a record needs, and what each warp waits for. */
struct wait_notes {
    struct wait_record *record;
    const unsigned char *exchange; /* NULL: clusters */
    uint32_t kernel, tiles;        /* tiles of 8 rows of an operand */
    uint32_t operand, ring;        /* bytes from one operand to the next; their number in a chunk */
    uint32_t first, chunks;        /* offset of the group's first operand; its chunks */
    uint32_t tile[TILING_PHASES];  /* bytes from one tile to the next; .. */
    uint32_t bytes[TILING_PHASES]; /* .. those that are packets */
    struct wait_note {
        uint32_t round, since; /* of the last look at the time: its round, and when that began */
        uint32_t chunk;        /* in clusters */
    } warp[TILING_WARPS];
};
static_assert(sizeof(struct wait_notes) <= TILING_NOTES, "the notes fit into their part of shared memory");

GPU_CODE struct wait_notes *wait_notes(void) { return (struct wait_notes *)dynamic_shared(); }

/* One thread calls this before the block's first wait. */
GPU_CODE void begin_notes(const struct persistent_args &a, uint32_t number)
{
    struct wait_notes *notes = wait_notes();
    notes->record = a.record, notes->kernel = a.kernel, notes->tiles = a.tiling.chunk_rows / 8;
    notes->exchange = a.tiling.algorithm == ALGORITHM_GRID ? (const unsigned char *)a.exchange : NULL;
    notes->operand = a.tiling.operand_buffer, notes->ring = a.tiling.ring, notes->chunks = a.tiling.chunks;
    notes->first = blockIdx.x / a.tiling.cluster * a.tiling.chunks * a.tiling.ring * a.tiling.operand_buffer;
#pragma unroll
    for (uint32_t i = 0; i < TILING_PHASES; i++) {
        const struct tiling_product &p = a.tiling.product[i < a.tiling.phases ? i : 0];
        notes->tile[i] = 8 * p.operand_row;
        notes->bytes[i] = 8 * p.fields * a.tiling.members * a.tiling.units * number;
    }
#pragma unroll 1
    for (int i = 0; i < TILING_WARPS; i++) notes->warp[i].round = ~0u;
}

/* Returns the offset of the first empty packet of the group's operands of a round. */
GPU_CODE uint32_t first_empty(const struct wait_notes *notes, uint32_t round)
{
    const uint32_t tile = notes->tile[round % TILING_PHASES], bytes = notes->bytes[round % TILING_PHASES];
    uint32_t operand = notes->first + round % notes->ring * notes->operand;
#pragma unroll 1
    for (uint32_t chunk = 0; chunk < notes->chunks; chunk++, operand += notes->ring * notes->operand)
#pragma unroll 1
        for (uint32_t to = 0; to < notes->tiles * tile; to += TILING_PACKET)
            if (to % tile < bytes && is_empty(load_packet(notes->exchange + operand + to)))
                return operand + to;
    return notes->first;
}

/* Writes the record and ends the launch. Blocks that have received everything wait in later rounds for those that have
 * not: the record of the earliest round is the cause. */
static __device__ __noinline__ void stop_waiting(void)
{
    const struct wait_notes *notes = wait_notes();
    const struct wait_notes::wait_note *w = &notes->warp[threadIdx.x / 32];
    const uint32_t at = notes->exchange ? first_empty(notes, w->round) : w->chunk;
    if (notes->record->kernel == 0 || notes->record->round > w->round)
        *(uint4 *)notes->record = make_uint4(notes->kernel, blockIdx.x, w->round, at);
    while (milliseconds() - w->since < WAIT_SECONDS * 1000 + WAIT_OTHERS) poll_again();
    stop_kernel();
}

/* Ends the launch if this warp has waited too long in a round. Not inline, and with one argument, because the callers
 * have no free registers. */
static __device__ __noinline__ void check_time(uint32_t round)
{
    struct wait_notes::wait_note *w = &wait_notes()->warp[threadIdx.x / 32];
    const uint32_t now = milliseconds();
    if (w->round != round)
        w->round = round, w->since = now;
    if (now - w->since >= WAIT_SECONDS * 1000)
        stop_waiting();
}

/* Waits, after request_packets, until no packet is empty. Loads only empty packets again. wanted: the packets that were
 * requested. */
template <int N, int STEP, int COUNT>
GPU_CODE void wait_for_packets(uint4 (&v)[COUNT], const unsigned char *at, uint32_t tile, uint32_t wanted,
                               uint32_t round)
{
    for (uint32_t tries = WAIT_TRIES;;) {
        bool empty = false;
#pragma unroll
        for (int i = 0; i < COUNT; i++) empty |= is_empty(v[i]);
        if (!empty)
            break;
        if (--tries == 0)
            check_time(round), tries = WAIT_TRIES;
        poll_again();
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            if (is_empty(v[i]))
                v[i] = load_packet(at + i / N * STEP + i % N * tile);
    }
    clock_packets<N, STEP, COUNT>(at, tile, wanted);
}

/* Waits until all of an operand has arrived in a cluster's shared memory. */
GPU_CODE void wait_for_operand(mbarrier *b, unsigned parity, uint32_t chunk, uint32_t round)
{
    while (!mbarrier_try_wait(b, parity)) {
        wait_notes()->warp[threadIdx.x / 32].chunk = chunk;
        check_time(round);
    }
}

#endif

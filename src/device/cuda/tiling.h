/* How the steps of a recurrence are divided among the blocks of a GPU that stay for all steps, with the weights on
 * chip. The planner (tiling.c) knows counts and limits, neither CUDA nor a cell's name; kernels read its result. */
#ifndef DEVICE_CUDA_TILING_H
#define DEVICE_CUDA_TILING_H
#include <stdint.h>

/* A *group* of blocks holds all weights and walks through time with some rows of the batch. Each of its `members`
 * owns `units` units: it multiplies their weights by an operand that all members made together, does the cell for
 * its units, and gives its part of the next operand to all others: a *round*. A cell has a round for each of its
 * phases. Rows go in *chunks* of 8 or 16 that take turns, so that one computes while another's operand is under way.
 *
 * Matrices, by the phase that multiplies them:
 *     forward    [fields of the phase x units] x [h or intermediate, all units]
 *     backward   [own units of dh or dlink] x [fields of the phase x all units]
 * A block multiplies in tiles of 16 rows. A warp does a *band* of 1, 2 or 4 tiles and a share of k, its *split*: k in
 * steps of 32 bytes, two at a time, the weights of the first steps in registers, of others in shared memory. */

/* How a recurrence runs: step by step; groups meet in a cluster or in L2; a cell that multiplies no state walks through
 * time in a thread for each row and unit. */
enum tiling_algorithm { ALGORITHM_PORTABLE, ALGORITHM_CLUSTER, ALGORITHM_GRID, ALGORITHM_WALK };

enum gpu_operand { OPERAND_F32, OPERAND_TF32, OPERAND_BF16, OPERAND_F16, GPU_OPERANDS };

enum {
    TILING_PHASES = 2,
    TILING_FIELDS = 8,
    TILING_WARPS = 8,                  /* of a block; each thread can have 255 registers */
    TILING_SLOTS = 32,                 /* tiles of a k step whose weights a warp has in registers: 4 each; .. */
    TILING_SLOTS_EACH = 12,            /* .. of each of two phases: with more of them registers spill */
    TILING_ROWS = 16,                  /* of a tile */
    TILING_TILES = 4,                  /* of a band, at most: 1, 2 or 4 */
    WALK_AHEAD = 4,                    /* steps that a walk asks for: a load of memory takes longer than one of them */
    TILING_CHUNKS = 16,                /* of a group, at most */
    TILING_STEP_BYTES = 32,            /* of an operand's row: a k step */
    TILING_SLOT_BYTES = 512,           /* weights of a tile of a k step */
    TILING_PACKET = 16,                /* bytes of an operand that are sent at once */
    TILING_BATCH = 8,                  /* packets of an operand that a lane waits for together, */
    TILING_ASKED = 4,                  /* of which it asks for so many before: registers spill with more */
    TILING_RING = 32,                  /* operands of a grid, under way or not yet emptied, */
    TILING_TURN = 14,                  /* which happens to so many at once: persistent_exchange.cuh */
    TILING_COLUMN = 8 * TILING_PACKET, /* bytes of a packet of each of 8 rows: a grid's operand is stored so */
    TILING_PAIR = 4 * TILING_COLUMN,   /* of two k steps of 8 rows */
    TILING_BEHIND = TILING_ASKED * TILING_PAIR, /* bytes after the operands that a block may load, and ignores */
    TILING_EXCHANGE = 32 << 20                  /* bytes of a grid's operands at most: they are to stay in L2 */
};

static inline uint32_t operand_bytes(enum gpu_operand o) { return o == OPERAND_BF16 || o == OPERAND_F16 ? 2 : 4; }

/* The product of one phase, in one block. */
struct tiling_product {
    uint32_t rows;             /* of its matrix */
    uint32_t fields;           /* of the operand; each is members * units numbers long */
    uint32_t tiles;            /* of a band */
    uint32_t bands, splits;    /* bands * splits <= TILING_WARPS: warp w does band w % bands, split w / bands */
    uint32_t steps, steps_all; /* k steps of a warp; of all splits: even */
    uint32_t in_registers;     /* of a warp's first steps; even */
    uint32_t shared_slot;      /* the others: in the warp's shared slots, from this one on */
    uint32_t operand_row;      /* bytes from row to row of the operand */
    uint32_t sums_row;         /* numbers from row to row of the sums: 4 more than a multiple of 32 */
};

struct tiling {
    enum tiling_algorithm algorithm;
    uint32_t groups, members;    /* groups may be more than fit at once if they are clusters */
    uint32_t cluster;            /* blocks from group to group: members, or the size of the cluster */
    uint32_t units;              /* of a block, a multiple of 8 */
    uint32_t chunk_rows, chunks; /* of a group */
    uint32_t phases, states;
    uint32_t warps, shared_slots; /* that multiply; of each of them, all phases together */
    struct tiling_product product[TILING_PHASES];
    /* bytes of shared memory, and where its parts begin */
    uint32_t at_operand, operand_buffer; /* a buffer: chunk_rows rows */
    uint32_t at_sums, sums_buffer;       /* two buffers */
    uint32_t at_staged, at_states, at_bias, at_lengths, at_barriers, at_weights;
    uint32_t shared_bytes;
    uint64_t exchange_bytes;        /* a grid's operands in global memory */
    double cycles, portable_cycles; /* forecasts: of all steps, this way and the portable one */
};

struct tiling_problem {
    uint32_t phases, states;
    uint32_t fields[TILING_PHASES]; /* inputs from h; from the intermediate */
    uint32_t inputs, intermediates;
    uint32_t steps, rows, units; /* of the operation */
    enum gpu_operand operand;
    int backward, projected, shared_by_ranks;
};

/* What a direction or layer may use of a device: a share of the multiprocessors if others run beside it. */
struct tiling_device {
    uint32_t multiprocessors;
    uint32_t shared_bytes; /* that a block can have */
    uint32_t registers;    /* of a multiprocessor */
    uint32_t clusters[5];  /* of 1, 2, 4, 8, 16 blocks with all shared memory, that can run at once */
    int cooperative;       /* grids whose blocks all run at once */
    uint32_t only_groups, only_rows, only_tiles; /* 0: any; for measurements */
};

/* The cheapest way. ALGORITHM_PORTABLE: *why says in a few words why no other. `only`: ALGORITHM_CLUSTER or
 * ALGORITHM_GRID ask for that way or none, ALGORITHM_PORTABLE for whichever is cheapest. */
void tiling_choose(const struct tiling_problem *, const struct tiling_device *, enum tiling_algorithm only,
                   struct tiling *, const char **why);

/* Bytes of exchange that no way takes more than. */
uint64_t tiling_exchange_max(const struct tiling_problem *);

#endif

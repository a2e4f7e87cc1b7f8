/* How the steps of a recurrence are divided among GPU blocks that stay resident for all steps, with the weights on
 * chip. The planner (tiling.c) works on counts and limits, independent of CUDA and of cell names; kernels read its
 * result. */
#ifndef DEVICE_CUDA_TILING_H
#define DEVICE_CUDA_TILING_H
#include <stdint.h>

/* A *group* of blocks holds all weights and processes some rows of the batch over time. Each of its `members` owns
 * `units` units. In a *round* it multiplies their weights by an operand that all members produced together, computes
 * the cell for its units, and sends its part of the next operand to all others. A cell has one round for each of its
 * phases. Rows are divided into *chunks* of 8 or 16 that take turns, so that one computes while another's operand is
 * under way.
 *
 * Matrices, by the phase that multiplies them:
 *     forward    [fields of the phase x units] x [h or intermediate, all units]
 *     backward   [own units of dh or dlink] x [fields of the phase x all units]
 * A block multiplies in tiles of 16 rows, of 8 for plain floats. A warp computes a *band* of 1, 2 or 4 tiles and a
 * share of k, its *split*: k advances in steps of 32 bytes, two at a time. The weights of the first steps are in
 * registers, the others in shared memory. */

/* How a recurrence runs: step by step; in groups that exchange through a cluster or through L2; or, for a cell that
 * multiplies no state, in one thread for each row and unit. */
enum tiling_algorithm { ALGORITHM_PORTABLE, ALGORITHM_CLUSTER, ALGORITHM_GRID, ALGORITHM_WALK };

enum gpu_operand { OPERAND_F32, OPERAND_TF32, OPERAND_BF16, OPERAND_F16, GPU_OPERANDS };

enum {
    TILING_PHASES = 2,
    TILING_FIELDS = 8,
    TILING_WARPS = 8,        /* of a block; each thread can have 255 registers */
    TILING_SLOTS = 32,       /* tiles of a k step whose weights a warp has in registers, 4 registers each; .. */
    TILING_SLOTS_EACH = 12,  /* .. in each of two phases: registers spill with more */
    TILING_ROWS = 16,        /* of a tile; of plain floats half as many */
    TILING_TILES = 4,        /* maximum of a band: 1, 2 or 4 */
    WALK_AHEAD = 4,          /* steps that a walk loads ahead: a load from memory takes longer than one step */
    TILING_CHUNKS = 16,      /* maximum of a group */
    TILING_STEP_BYTES = 32,  /* a k step of an operand's row */
    TILING_SLOT_BYTES = 512, /* weights of a tile in a k step */
    TILING_PACKET = 16,      /* bytes of an operand that are sent at once */
    TILING_BATCH = 8,        /* packets of an operand that a lane waits for together */
    TILING_REQUESTED = 4,    /* of these, packets requested ahead: registers spill with more */
    TILING_NOTES = 256,      /* first bytes of shared memory: see persistent_wait.cuh */
    TILING_RING = 16,        /* operands of a grid that are under way or not yet emptied; twice as many if all are .. */
    TILING_FEW = 16 << 20,   /* .. at most this many bytes */
    TILING_TURN = 7,         /* operands emptied at once, or twice as many: see persistent_exchange.cuh */
    TILING_COLUMN = 8 * TILING_PACKET, /* bytes of a packet of each of 8 rows: the layout of a grid's operand */
    TILING_PAIR = 4 * TILING_COLUMN,   /* two k steps of 8 rows */
    TILING_MARGIN = TILING_REQUESTED * TILING_PAIR, /* bytes after the operands that a block may load and ignore */
    TILING_EXCHANGE = 34 << 20                      /* maximum bytes of a grid's operands, so that they stay in L2 */
};

static inline uint32_t operand_bytes(enum gpu_operand o) { return o == OPERAND_BF16 || o == OPERAND_F16 ? 2 : 4; }

static inline uint32_t tile_rows(enum gpu_operand o) { return o == OPERAND_F32 ? TILING_ROWS / 2 : TILING_ROWS; }

/* The product of one phase, in one block. */
struct tiling_product {
    uint32_t rows;             /* of its matrix */
    uint32_t fields;           /* of the operand; each has members * units elements */
    uint32_t tiles;            /* of a band */
    uint32_t bands, splits;    /* bands * splits <= TILING_WARPS: warp w computes band w % bands, split w / bands */
    uint32_t steps, steps_all; /* k steps of a warp (even), and of all splits */
    uint32_t in_registers;     /* of a warp's first steps; even */
    uint32_t shared_slot;      /* first shared slot of the warp for the other steps */
    uint32_t operand_row;      /* bytes between rows of the operand */
    uint32_t sums_row;         /* floats between rows of the sums: 4 more than a multiple of 32 */
};

struct tiling {
    enum tiling_algorithm algorithm;
    uint32_t groups, members;    /* clusters may have more groups than run at once */
    uint32_t cluster;            /* blocks between groups: members, or the size of the cluster */
    uint32_t units;              /* of a block, a multiple of 8 */
    uint32_t chunk_rows, chunks; /* of a group */
    uint32_t phases, states;
    uint32_t ring;                /* operands of a chunk of a grid: TILING_RING or twice as many */
    uint32_t warps, shared_slots; /* warps that multiply; shared slots of each, all phases together */
    struct tiling_product product[TILING_PHASES];
    /* bytes of shared memory, and offsets of its parts */
    uint32_t at_operand, operand_buffer; /* a buffer: chunk_rows rows */
    uint32_t at_sums, sums_buffer;       /* two buffers */
    uint32_t at_staged, at_states, at_bias, at_lengths, at_barriers, at_weights;
    uint32_t shared_bytes;
    uint64_t exchange_bytes;        /* operands of a grid in global memory */
    double cycles, portable_cycles; /* estimates for all steps: of this tiling, and of the portable form */
};

struct tiling_problem {
    uint32_t phases, states;
    uint32_t fields[TILING_PHASES]; /* inputs from h, and from the intermediate */
    uint32_t inputs, intermediates;
    uint32_t steps, rows, units; /* of the operation */
    enum gpu_operand operand;
    int backward, projected, shared_by_ranks;
};

/* The share of a device that a direction or layer may use, if others run at the same time. */
struct tiling_device {
    uint32_t multiprocessors;
    uint32_t shared_bytes; /* maximum of a block */
    uint32_t registers;    /* of a multiprocessor */
    uint32_t clusters[5];  /* clusters of 1, 2, 4, 8, 16 blocks with all shared memory that run at once */
    int cooperative;       /* grids whose blocks are all resident */
    uint32_t only_groups, only_rows, only_tiles; /* 0: any; for measurements */
};

/* Chooses the cheapest form. If it is ALGORITHM_PORTABLE, *why is a short reason. `only`: ALGORITHM_CLUSTER or
 * ALGORITHM_GRID allow just that form, ALGORITHM_PORTABLE allows all. */
void tiling_choose(const struct tiling_problem *, const struct tiling_device *, enum tiling_algorithm only,
                   struct tiling *, const char **why);

/* Returns an upper bound of the exchange, in bytes, for any tiling. */
uint64_t tiling_exchange_max(const struct tiling_problem *);

#endif

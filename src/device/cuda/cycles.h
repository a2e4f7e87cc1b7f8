/* What the instructions that blocks wait for take on a GPU of sm_90 (H100, H200), in cycles of a multiprocessor: the
 * planner's prices (tiling.c) and the clocks of the tests' runtime (fake_cuda/clock.cc) are made of these. Published
 * measurements where there are any, each with its source; none is ours, and nothing here is tuned to a result. */
#ifndef DEVICE_CUDA_CYCLES_H
#define DEVICE_CUDA_CYCLES_H

/* [L24] Luo and others 2024, arXiv 2402.13499: H800 PCIe (Hopper) beside A100; [L25] their arXiv 2501.12084
 * [CF]  ClusterFusion, H100 SXM5, figure 5        [B]   raw logs of a suite of barriers, A100 (IISWC 2024)
 * [S]   Sun and others 2022, arXiv 2206.02874: mma.sync and ldmatrix on A100
 * [W]   NVIDIA's white paper of A100               [F]  NVIDIA's forum, thread 355253: H100, informal
 * [A]   assumed, as said: no number is known to us */
enum {
    CYCLES_INSTRUCTION = 2, /* [A] of a warp that shares a scheduler with one other: each issues every other cycle */
    CYCLES_DIVISION = 130,  /* [A] of integers not known when compiled: some 30 instructions, each after the other */
    CYCLES_SHARED = 29,     /* [L24] a load from shared memory */
    CYCLES_MATRIX = 30,     /* [S] ldmatrix.x4: 29.3 */
    CYCLES_MMA = 33,        /* [S] mma.sync.m16n8k16 with fp32 sums, until the next of its chain */
    CYCLES_BARRIER = 37,    /* [B] __syncthreads of 8 warps */
    CYCLES_WARP = 5,        /* [B] __syncwarp */
    CYCLES_SHUFFLE = 25,    /* [B] */
    CYCLES_L2 = 336,        /* [L25] a load from L2: 258 from the near half, 414 from the far one */
    CYCLES_STORE = 336,   /* [A] until a load of another multiprocessor finds a store: a load's way there and back. With
                             CYCLES_POLL and the load itself 840 from one to another; published: 281 (pings by compare
                             and swap, H100), over 470 [CF], 956 and 1110 [L25] */
    CYCLES_POLL = 168,    /* [A] half a load: what is stored between two loads of a loop is found by the second */
    CYCLES_FENCE = 764,   /* [B] __threadfence on A100; of H100 none is known */
    CYCLES_MEMORY = 479,  /* [L24] a load from device memory */
    CYCLES_CLUSTER = 195, /* [CF] to another multiprocessor of a cluster of 16; [L25] 184..213 */
    CYCLES_MBARRIER = 29  /* [A] to see that its phase has ended: as a load from shared memory */
};

/* Bytes, and multiply-adds, in a cycle. */
enum {
    BYTES_SHARED = 128,  /* of a multiprocessor's shared memory: 32 banks of 4 */
    BYTES_L2_PORT = 64,  /* [W] of a multiprocessor's port to L2 */
    BYTES_L2 = 5016,     /* [F] all multiprocessors of an H100 reading at once: 38 each; [W] says 5120 of A100 */
    BYTES_MEMORY = 2450, /* all device memory: an H200's copies, 4.3 TB/s at 1.755 GHz */
    BYTES_CLUSTER = 16,  /* [L24] out of a multiprocessor to others of its cluster; [CF] 14.8 in clusters of 16 */
    ADDS_MMA_16 = 1270,  /* [L24] of a multiprocessor by mma.sync: 62% of the peak; of tf32 half as many */
    ADDS_FLOAT = 128     /* of its fp32 units */
};

/* What a warp issues in a round of a persistent recurrence beyond the words that the clocks know, as counted in the
 * SASS of an LSTM in bf16 (nvcc 13.0, sm_90a): for a product, after its operand is there; for a cell before that, until
 * the operand is asked for and while it comes, for each split of its sums, until its warp has sent (105, and the time
 * of 30 for two functions, four of MUFU one after the other), after that; for each store into the cluster. Not of the
 * table above: they follow the code. */
enum {
    INSTRUCTIONS_PRODUCT = 50,
    INSTRUCTIONS_BEFORE = 96,
    INSTRUCTIONS_HOLD = 95,
    INSTRUCTIONS_SPLIT = 7,
    INSTRUCTIONS_CELL = 135,
    INSTRUCTIONS_AFTER = 80,
    INSTRUCTIONS_COPY = 9,
    INSTRUCTIONS_WALK = 71, /* a step of minGRU, which multiplies no state; backward */
    INSTRUCTIONS_WALK_BACK = 87
};

#endif

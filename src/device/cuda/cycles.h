/* What the instructions that blocks wait for take on a GPU of sm_90 (H100, H200), in cycles of a multiprocessor: the
 * planner's prices (tiling.c) and the clocks of the tests' runtime (fake_cuda/clock.cc) are made of these, so that the
 * two agree says nothing of a GPU. Measured by bench/gpu_probe.cu where nothing else is said. */
#ifndef DEVICE_CUDA_CYCLES_H
#define DEVICE_CUDA_CYCLES_H

/* [P] bench/gpu_probe.cu on an H100 80GB HBM3 (SXM), driver 580.159, 2026-11-27
 * [N] Nsight Compute on the same machine: lstm_bf16_forward, 16 rows, 768 units
 * [L24] Luo and others 2024, arXiv 2402.13499: H800 PCIe (Hopper) next to A100; [L25] their arXiv 2501.12084
 * [B]   raw logs of a suite of barriers, A100 (IISWC 2024)
 * [S]   Sun and others 2022, arXiv 2206.02874: mma.sync and ldmatrix on A100
 * [A]   assumed, as said: no number is known to us */
enum {
    CYCLES_INSTRUCTION = 2, /* [A] of a warp that shares a scheduler with one other. [N] says 3.9, with all stalls but
                               those that this table lists */
    CYCLES_DIVISION = 130,  /* [A] of integers not known when compiled: some 30 instructions, each after the other */
    CYCLES_SHARED = 28,     /* [P] a load from shared memory; [L24] 29 */
    CYCLES_MATRIX = 30,     /* [S] ldmatrix.x4: 29.3 */
    CYCLES_MMA = 25,        /* [P] mma.sync.m16n8k16 and tf32's m16n8k8, until the next of its chain */
    CYCLES_BARRIER = 28,    /* [P] __syncthreads of 8 warps */
    CYCLES_WARP = 5,        /* [B] __syncwarp */
    CYCLES_SHUFFLE = 25,    /* [B] */
    CYCLES_L2 = 336,        /* [L25] a load from L2: 258 from the near half, 414 from the far one */
    CYCLES_STORE = 220,   /* [P] with CYCLES_POLL and the load itself 507 to 698, median 669 or 527 in two runs: from a
                             store to another multiprocessor's load that finds it, nothing else under way */
    CYCLES_POLL = 110,    /* a third of a load: see there */
    CYCLES_FENCE = 874,   /* [P] fence.acq_rel.gpu by 8 warps; by one 667 */
    CYCLES_MEMORY = 479,  /* [L24] a load from device memory */
    CYCLES_CLUSTER = 264, /* [P] with CYCLES_MBARRIER 293: st.async until the other block's wait ends, in clusters of
                             2 to 16; 125 within a block */
    CYCLES_MBARRIER = 29  /* [A] to see that its phase has ended: as a load from shared memory */
};

/* Bytes, and multiply-adds, in a cycle. */
enum {
    BYTES_SHARED = 128,  /* of a multiprocessor's shared memory: 32 banks of 4 */
    BYTES_L2_PORT = 46,  /* [P] of a multiprocessor's port to L2 */
    BYTES_L2 = 5016,     /* [P] all multiprocessors reading the same 512 kB at once: 4967 to 5058; 32 kB: 6135 */
    BYTES_MEMORY = 2450, /* all device memory: an H200's copies, 4.3 TB/s at 1.755 GHz */
    BYTES_CLUSTER = 16,  /* [L24] out of a multiprocessor to others of its cluster */
    ADDS_MMA_16 = 1347,  /* [P] of a multiprocessor by mma.sync, 1.52 cycles each; of tf32 half as many */
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

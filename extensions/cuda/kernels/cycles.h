/* Costs, in cycles of a multiprocessor, of the instructions that blocks wait for on a GPU of sm_90 (H100, H200). The
 * planner's prices (tiling.c) and the clocks of the test runtime (fake_cuda/clock.cc) both use these values, so
 * their agreement proves nothing about a GPU. Measured by bench/gpu_probe.cu unless noted otherwise. */
#ifndef DEVICE_CUDA_CYCLES_H
#define DEVICE_CUDA_CYCLES_H

/* [P] bench/gpu_probe.cu on an H100 80GB HBM3 (SXM), driver 580.159, 2026-11-27
 * [N] Nsight Compute on the same machine: lstm_bf16_forward, 16 rows, 768 units
 * [L24] Luo and others 2024, arXiv 2402.13499: H800 PCIe (Hopper) next to A100; [L25] their arXiv 2501.12084
 * [B]   raw logs of a suite of barriers, A100 (IISWC 2024)
 * [S]   Sun and others 2022, arXiv 2206.02874: mma.sync and ldmatrix on A100
 * [A]   assumed: no measurement is known to us */
enum {
    CYCLES_INSTRUCTION = 2, /* [A] for a warp that shares a scheduler with one other. [N] reports 3.9, including all
                               stalls except those listed here */
    CYCLES_DIVISION = 130,  /* [A] for integers not known when compiled: some 30 dependent instructions */
    CYCLES_SHARED = 28,     /* [P] a load from shared memory; [L24] 29 */
    CYCLES_MATRIX = 30,     /* [S] ldmatrix.x4: 29.3 */
    CYCLES_MMA = 25,        /* [P] mma.sync.m16n8k16 and tf32's m16n8k8, until the next one of the same chain */
    CYCLES_BARRIER = 28,    /* [P] __syncthreads of 8 warps */
    CYCLES_WARP = 5,        /* [B] __syncwarp */
    CYCLES_SHUFFLE = 25,    /* [B] */
    CYCLES_L2 = 336,        /* [L25] a load from L2: 258 from the near half, 414 from the far one */
    CYCLES_STORE = 220,   /* [P] with CYCLES_POLL and the load itself 507 to 698, median 669 or 527 in two runs: from a
                             store until a load of another multiprocessor returns it, with no other traffic */
    CYCLES_POLL = 110,    /* a third of a load: see CYCLES_STORE */
    CYCLES_FENCE = 874,   /* [P] fence.acq_rel.gpu by 8 warps; 667 by one */
    CYCLES_MEMORY = 479,  /* [L24] a load from device memory */
    CYCLES_CLUSTER = 264, /* [P] with CYCLES_MBARRIER 293: st.async until the other block's wait ends, in clusters of
                             2 to 16; 125 within a block */
    CYCLES_MBARRIER = 29  /* [A] to notice the end of a phase: like a load from shared memory */
};

/* Bytes and multiply-adds per cycle. */
enum {
    BYTES_SHARED = 128,  /* shared memory of a multiprocessor: 32 banks of 4 */
    BYTES_L2_PORT = 46,  /* [P] port of a multiprocessor to L2 */
    BYTES_L2 = 5016,     /* [P] all multiprocessors reading the same 512 kB: 4967 to 5058; 32 kB: 6135 */
    BYTES_MEMORY = 2450, /* all device memory: copies on an H200, 4.3 TB/s at 1.755 GHz */
    BYTES_CLUSTER = 16,  /* [L24] from a multiprocessor to others of its cluster */
    ADDS_MMA_16 = 1347,  /* [P] mma.sync of a multiprocessor, 1.52 cycles each; half for tf32 */
    ADDS_FLOAT = 128     /* fp32 units of a multiprocessor */
};

/* Instructions that a warp issues in a round of a persistent recurrence, beyond those that the clock functions
 * count. Counted in the SASS of an LSTM in bf16 (nvcc 13.0, sm_90a).
 *    PRODUCT   after the operand of a product has arrived
 *    BEFORE    of a cell, until the operand is requested
 *    HOLD      of a cell, while the operand is under way
 *    SPLIT     for each split of a cell's sums
 *    CELL      until the warp has sent: 105, and the time of 30 for two functions, with four dependent MUFU
 *    AFTER     after the warp has sent
 *    COPY      for each store into the cluster
 * Unlike the table above, these follow the code. */
enum {
    INSTRUCTIONS_PRODUCT = 50,
    INSTRUCTIONS_BEFORE = 96,
    INSTRUCTIONS_HOLD = 95,
    INSTRUCTIONS_SPLIT = 7,
    INSTRUCTIONS_CELL = 135,
    INSTRUCTIONS_AFTER = 80,
    INSTRUCTIONS_COPY = 9,
    INSTRUCTIONS_WALK = 71, /* a step of minGRU, which multiplies no state; then backward */
    INSTRUCTIONS_WALK_BACK = 87
};

/* The same for a k step of a product of plain floats, with `rows` rows of the operand in a lane. */
#define FLOAT_INSTRUCTIONS(rows) (32 * (rows) + 8 + 6 * (rows))

#endif

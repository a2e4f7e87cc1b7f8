/* The products of a persistent recurrence: weights in registers and shared memory, an operand in shared memory, sums
 * back to shared memory, where any thread finds those of its cells. Knows no cell; tiling.h has the shapes. */
#ifndef DEVICE_CUDA_PERSISTENT_PRODUCT_CUH
#define DEVICE_CUDA_PERSISTENT_PRODUCT_CUH
#include "device/cuda/gpu.cuh"
#include "device/cuda/persistent_args.h"

enum { PERSISTENT_THREADS = TILING_WARPS * 32 };

/* What is special about an operand. A k step of 32 bytes is 16 numbers of 16 bits or 8 of 32, and one mma: in 4-byte
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

template <> struct operand_of<OPERAND_F32> {
    typedef float number;
    GPU_CODE number make(float a) { return a; }
};

/* Weights in registers: [slot][tile of the pair][word of the fragment]. */
typedef uint32_t weight_registers[TILING_SLOTS][2][4];

/* Which part of a product a warp does. */
struct part {
    uint32_t pair, split, first, steps;
    bool any;
};

GPU_CODE struct part part_of(const struct tiling_product &p, uint32_t warp)
{
    struct part part;
    part.pair = warp % p.pairs;
    part.split = warp / p.pairs;
    part.first = part.split * p.steps;
    part.any = part.split < p.splits;
    part.steps = part.any ? min(p.steps, p.steps_all - part.first) : 0;
    return part;
}

/* ---- weights: from global memory, once --------------------------------------------------- */

/* Row m of the block's matrix of a phase, to be indexed by weight_at; NULL: zeros. */
template <bool BACK>
GPU_CODE const float *weight_row(const struct persistent_args &a, int phase, uint32_t unit0, uint32_t m)
{
    const uint32_t units = a.tiling.units, field = BACK ? 0 : m / units, unit = unit0 + (BACK ? m : m % units);
    if (m >= a.tiling.product[phase].rows || unit >= a.units)
        return NULL;
    return BACK ? a.weights + unit : a.weights + ((size_t)a.gate[phase][field] * a.units + unit) * a.units;
}

/* Number k of the operand multiplies this weight. */
template <bool BACK> GPU_CODE float weight_at(const struct persistent_args &a, int phase, const float *row, uint32_t k)
{
    const uint32_t wide = a.tiling.members * a.tiling.units;
    uint32_t field = 0;
    for (; BACK && k >= wide; k -= wide) field++;
    if (!row || k >= a.units || field >= a.tiling.product[phase].fields)
        return 0;
    return BACK ? row[((size_t)a.gate[phase][field] * a.units + k) * a.units] : row[k];
}

/* Lane's fragment of a tile of 16 rows: `row` and the one 8 below, numbers from k on. */
template <int O, bool BACK>
GPU_CODE uint4 weight_fragment(const struct persistent_args &a, int phase, const float *row, const float *below,
                               uint32_t k)
{
    const uint32_t per_word = 4 / sizeof(typename operand_of<O>::number), half = 4 * per_word;
    uint4 f;
    k += threadIdx.x % 4 * per_word;
    f.x = operand_of<O>::word(weight_at<BACK>(a, phase, row, k), weight_at<BACK>(a, phase, row, k + 1));
    f.y = operand_of<O>::word(weight_at<BACK>(a, phase, below, k), weight_at<BACK>(a, phase, below, k + 1));
    k += half;
    f.z = operand_of<O>::word(weight_at<BACK>(a, phase, row, k), weight_at<BACK>(a, phase, row, k + 1));
    f.w = operand_of<O>::word(weight_at<BACK>(a, phase, below, k), weight_at<BACK>(a, phase, below, k + 1));
    return f;
}

/* A shared slot of this warp: two fragments of 32 x 16 bytes; of plain floats [8 k][32 rows]. */
GPU_CODE unsigned char *shared_slot(const struct tiling &t, uint32_t slot)
{
    return dynamic_shared() + t.at_weights + (threadIdx.x / 32 * t.shared_slots + slot) * (size_t)TILING_SLOT_BYTES;
}

/* The index of a slot is not known when this is compiled, those of registers must be: all are looked at. */
GPU_CODE void set_slot(weight_registers &w, uint32_t slot, uint4 first, uint4 second)
{
#pragma unroll
    for (uint32_t i = 0; i < TILING_SLOTS; i++)
        if (i == slot) {
            w[i][0][0] = first.x, w[i][0][1] = first.y, w[i][0][2] = first.z, w[i][0][3] = first.w;
            w[i][1][0] = second.x, w[i][1][1] = second.y, w[i][1][2] = second.z, w[i][1][3] = second.w;
        }
}

template <int O, bool BACK>
GPU_CODE void load_fragments(const struct persistent_args &a, int phase, uint32_t unit0, weight_registers &w)
{
    const struct tiling_product &p = a.tiling.product[phase];
    const struct part part = part_of(p, threadIdx.x / 32);
    const uint32_t queue = threadIdx.x % 32, m = part.pair * TILING_ROWS + queue / 4;
    const float *row[4];
    for (uint32_t i = 0; i < 4; i++) row[i] = weight_row<BACK>(a, phase, unit0, m + 8 * i);
#pragma unroll 1
    for (uint32_t i = 0; i < part.steps; i++) {
        uint32_t k = (part.first + i) * (TILING_STEP_BYTES / sizeof(typename operand_of<O>::number));
        uint4 first = weight_fragment<O, BACK>(a, phase, row[0], row[1], k);
        uint4 second = weight_fragment<O, BACK>(a, phase, row[2], row[3], k);
        if (i < p.in_registers) {
            set_slot(w, p.slot + i, first, second);
        } else {
            uint4 *to = (uint4 *)shared_slot(a.tiling, p.shared_slot + i - p.in_registers);
            to[queue] = first;
            to[32 + queue] = second;
        }
    }
}

template <bool BACK> GPU_CODE void load_floats(const struct persistent_args &a, int phase, uint32_t unit0)
{
    const struct tiling_product &p = a.tiling.product[phase];
    const struct part part = part_of(p, threadIdx.x / 32);
    const uint32_t queue = threadIdx.x % 32;
    const float *row = weight_row<BACK>(a, phase, unit0, part.pair * TILING_ROWS + queue);
#pragma unroll 1
    for (uint32_t i = 0; i < part.steps; i++) {
        float *to = (float *)shared_slot(a.tiling, p.shared_slot + i);
        for (uint32_t k = 0; k < 8; k++) to[k * 32 + queue] = weight_at<BACK>(a, phase, row, (part.first + i) * 8 + k);
    }
}

template <int O, bool BACK>
GPU_CODE void load_weights(const struct persistent_args &a, uint32_t unit0, weight_registers &w)
{
    if constexpr (O == OPERAND_F32) {
        for (uint32_t phase = 0; phase < a.tiling.phases; phase++) load_floats<BACK>(a, (int)phase, unit0);
    } else {
#pragma unroll
        for (uint32_t i = 0; i < TILING_SLOTS; i++)
            for (uint32_t j = 0; j < 8; j++) w[i][j / 4][j % 4] = 0;
#pragma unroll 1
        for (uint32_t phase = 0; phase < a.tiling.phases; phase++) load_fragments<O, BACK>(a, (int)phase, unit0, w);
    }
}

/* ---- the product ------------------------------------------------------------------------- */

/* Sums of pair and split: sums[(split * rows + n) * sums_row + m], m the row of the matrix, n that of the operand. */
template <int O, int TILES>
GPU_CODE void multiply_fragments(const struct tiling &t, const struct tiling_product &p, const struct part &part,
                                 const weight_registers &w, const unsigned char *operand, float *sums)
{
    const uint32_t queue = threadIdx.x % 32;
    const uint32_t row = queue % 8 + (TILES == 2 ? queue / 16 * 8 : 0);
    const unsigned char *x = operand + row * p.operand_row + queue / 8 % 2 * 16 + part.first * TILING_STEP_BYTES;
    float c[2][TILES][4];
#pragma unroll
    for (int i = 0; i < 8 * TILES; i++) c[i / (4 * TILES)][i / 4 % TILES][i % 4] = 0;
    const uint32_t in_registers = min(p.in_registers, part.steps), last = in_registers - 1;
    /* Slots beyond the last hold zeros, which the last step of the operand multiplies: it is surely there. */
#pragma unroll
    for (uint32_t run = 0; run < TILING_SLOTS; run += TILING_RUN)
        if (run >= p.slot && run < p.slot + in_registers) {
            uint32_t b[TILING_RUN][4];
#pragma unroll
            for (uint32_t i = 0; i < TILING_RUN; i++)
                load_matrix_4(b[i], x + min(run + i - p.slot, last) * TILING_STEP_BYTES);
#pragma unroll
            for (uint32_t i = 0; i < TILING_RUN; i++)
#pragma unroll
                for (int n = 0; n < TILES; n++)
#pragma unroll
                    for (int m = 0; m < 2; m++)
                        operand_of<O>::multiply(c[m][n], w[run + i][m], b[i][2 * n], b[i][2 * n + 1]);
        }
#pragma unroll 2
    for (uint32_t i = in_registers; i < part.steps; i++) {
        const uint4 *from = (const uint4 *)shared_slot(t, p.shared_slot + i - in_registers) + queue;
        const uint4 v[2] = {from[0], from[32]};
        uint32_t b[4];
        load_matrix_4(b, x + i * TILING_STEP_BYTES);
#pragma unroll
        for (int m = 0; m < 2; m++) {
            const uint32_t f[4] = {v[m].x, v[m].y, v[m].z, v[m].w};
#pragma unroll
            for (int n = 0; n < TILES; n++) operand_of<O>::multiply(c[m][n], f, b[2 * n], b[2 * n + 1]);
        }
    }
    float *to = sums + (part.split * t.chunk_rows + queue % 4 * 2) * p.sums_row + part.pair * TILING_ROWS + queue / 4;
#pragma unroll
    for (int i = 0; i < 8 * TILES; i++) {
        const int m = i / (4 * TILES), n = i / 4 % TILES, e = i % 4;
        to[(n * 8 + e % 2) * p.sums_row + m * 16 + e / 2 * 8] = c[m][n][e];
    }
}

/* Of plain floats: a lane does 4 rows of the matrix and each fourth row of the operand. */
template <int ROWS>
GPU_CODE void multiply_floats(const struct tiling &t, const struct tiling_product &p, const struct part &part,
                              const unsigned char *operand, float *sums)
{
    const uint32_t queue = threadIdx.x % 32, m = queue % 8 * 4, n = queue / 8;
    const unsigned char *x = operand + n * p.operand_row + part.first * TILING_STEP_BYTES;
    float c[ROWS / 4][4] = {{0}};
#pragma unroll 1
    for (uint32_t i = 0; i < part.steps; i++) {
        const float *w = (const float *)shared_slot(t, p.shared_slot + i) + m;
#pragma unroll
        for (uint32_t half = 0; half < 2; half++) {
            float4 v[4];
#pragma unroll
            for (int k = 0; k < 4; k++) v[k] = *(const float4 *)(w + (half * 4 + k) * 32);
#pragma unroll
            for (int j = 0; j < ROWS / 4; j++) {
                const float4 h = *(const float4 *)(x + j * 4 * p.operand_row + i * TILING_STEP_BYTES + half * 16);
                const float hk[4] = {h.x, h.y, h.z, h.w};
#pragma unroll
                for (int k = 0; k < 4; k++) {
                    c[j][0] = fmaf(v[k].x, hk[k], c[j][0]);
                    c[j][1] = fmaf(v[k].y, hk[k], c[j][1]);
                    c[j][2] = fmaf(v[k].z, hk[k], c[j][2]);
                    c[j][3] = fmaf(v[k].w, hk[k], c[j][3]);
                }
            }
        }
    }
#pragma unroll
    for (int j = 0; j < ROWS / 4; j++)
        *(float4 *)(sums + (part.split * t.chunk_rows + n + j * 4) * p.sums_row + part.pair * TILING_ROWS + m) =
            make_float4(c[j][0], c[j][1], c[j][2], c[j][3]);
}

template <int O>
GPU_CODE void multiply(const struct tiling &t, int phase, const weight_registers &w, const unsigned char *operand,
                       float *sums)
{
    const struct tiling_product &p = t.product[phase];
    const struct part part = part_of(p, threadIdx.x / 32);
    if (!part.any)
        return;
    if constexpr (O == OPERAND_F32) {
        if (t.chunk_rows > 8)
            multiply_floats<16>(t, p, part, operand, sums);
        else
            multiply_floats<8>(t, p, part, operand, sums);
    } else if (t.chunk_rows > 8) {
        multiply_fragments<O, 2>(t, p, part, w, operand, sums);
    } else {
        multiply_fragments<O, 1>(t, p, part, w, operand, sums);
    }
}

#endif

/* Warp-level operations: shuffles, votes, matrix fragments. Products are exact; their sum over k is in double and
 * rounded once, because the hardware's order of additions is not documented. */
#include "gpu_host.h"
#include "fibre.h"

void fake_shuffles(void *const slot[32], uint32_t mask)
{
    for (int i = 0; i < 32; i++) {
        struct fake_shuffle *s = (struct fake_shuffle *)slot[i];
        if (!(mask >> i & 1))
            continue;
        if (!(mask >> s->from & 1))
            fake_fail("lane %d takes a number from lane %d, which is not in the mask %08x", i, s->from, mask);
        s->result = ((struct fake_shuffle *)slot[s->from])->value;
    }
}

void fake_votes(void *const slot[32], uint32_t mask)
{
    uint64_t votes = 0;
    for (int i = 0; i < 32; i++)
        if (mask >> i & 1)
            votes |= ((struct fake_shuffle *)slot[i])->value << i;
    for (int i = 0; i < 32; i++)
        if (mask >> i & 1)
            ((struct fake_shuffle *)slot[i])->result = votes;
}

/* ---- products ---------------------------------------------------------------------------- */

typedef float number_of(uint32_t words, int half);
static float half_bf16(uint32_t w, int half) { return from_bf16((uint16_t)(w >> 16 * half)); }
static float half_fp16(uint32_t w, int half) { return from_fp16((uint16_t)(w >> 16 * half)); }
static float whole_tf32(uint32_t w, int)
{
    if (w & 0x1fff)
        fake_fail("an operand of mma_tf32 (%#x) was not rounded by to_tf32", w);
    return __uint_as_float(w);
}

/* a [16, k], b [k, 8], c [16, 8] */
static void multiply(void *const slot[32], const float *a, const float *b, int k)
{
    for (int lane = 0; lane < 32; lane++)
        for (int j = 0; j < 4; j++) {
            float *c = &((struct fake_mma *)slot[lane])->c[j];
            int row = lane / 4 + (j & 2) * 4, column = lane % 4 * 2 + (j & 1);
            double sum = *c;
            for (int i = 0; i < k; i++) sum += (double)a[row * k + i] * b[i * 8 + column];
            *c = (float)sum;
        }
}

static void mma_16816(void *const slot[32], number_of *number)
{
    float a[16 * 16], b[16 * 8];
    for (int lane = 0; lane < 32; lane++) {
        const struct fake_mma *m = (const struct fake_mma *)slot[lane];
        int g = lane / 4, i = lane % 4 * 2;
        for (int r = 0; r < 4; r++)
            for (int half = 0; half < 2; half++) a[(g + r % 2 * 8) * 16 + i + half + r / 2 * 8] = number(m->a[r], half);
        for (int r = 0; r < 2; r++)
            for (int half = 0; half < 2; half++) b[(i + half + r * 8) * 8 + g] = number(m->b[r], half);
    }
    multiply(slot, a, b, 16);
}

void fake_mma_bf16(void *const slot[32], uint32_t) { mma_16816(slot, half_bf16); }
void fake_mma_fp16(void *const slot[32], uint32_t) { mma_16816(slot, half_fp16); }

void fake_mma_tf32(void *const slot[32], uint32_t)
{
    float a[16 * 8], b[8 * 8];
    for (int lane = 0; lane < 32; lane++) {
        const struct fake_mma *m = (const struct fake_mma *)slot[lane];
        int g = lane / 4, i = lane % 4;
        for (int r = 0; r < 4; r++) a[(g + r % 2 * 8) * 8 + i + r / 2 * 4] = whole_tf32(m->a[r], 0);
        for (int r = 0; r < 2; r++) b[(i + r * 4) * 8 + g] = whole_tf32(m->b[r], 0);
    }
    multiply(slot, a, b, 8);
}

/* ---- matrices from shared memory --------------------------------------------------------- */

void fake_load_matrices(void *const slot[32], uint32_t)
{
    uint16_t m[4][8][8];
    const struct fake_rows *first = (const struct fake_rows *)slot[0];
    for (int lane = 0; lane < first->matrices * 8; lane++) {
        const void *row = ((const struct fake_rows *)slot[lane])->row;
        fake_check_shared(row, 16, "a row of load_matrix");
        tell_read(row, 16);
        memcpy(m[lane / 8][lane % 8], row, 16);
    }
    for (int lane = 0; lane < 32; lane++)
        for (int j = 0; j < first->matrices; j++) {
            int g = lane / 4, i = lane % 4 * 2;
            uint32_t low = first->transposed ? m[j][i][g] : m[j][g][i];
            uint32_t high = first->transposed ? m[j][i + 1][g] : m[j][g][i + 1];
            ((struct fake_rows *)slot[lane])->r[j] = low | high << 16;
        }
}

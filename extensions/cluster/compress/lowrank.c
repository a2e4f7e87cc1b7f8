/* lowrank:R: a matrix M [m, n] as P Q', with P [m, R] orthonormal and Q = M' P [n, R], both as fp16, Q scaled by its
 * largest value. Two subspace iterations from a fixed start find P, so nothing is kept between codes (PowerSGD,
 * Vogels et al., arXiv 1905.13727, keeps Q). A matrix with no more values than its factors is sent as bf16. */
#include "base/dtype.h"
#include "base/philox.h"
#include "extensions/cluster/compress/compress.h"
#include <math.h>
#include <string.h>

enum { ITERATIONS = 2 };

static size_t rank_of(const struct matrix *m) { return (size_t)m->level; }

static size_t factors(const struct matrix *m) { return rank_of(m) * (m->rows + m->columns); }

static bool is_small(const struct matrix *m) { return factors(m) >= m->rows * m->columns; }

static size_t most(const struct matrix *m)
{
    return is_small(m) ? compress_half.most(m) : sizeof(float) + (factors(m) + 1) / 2 * 4;
}

static size_t scratch(const struct matrix *m) { return is_small(m) ? 0 : factors(m) * sizeof(float); }

/* p [m, R] = M q. */
static void multiply(const struct matrix *m, const float *x, const float *q, float *p)
{
    const size_t R = rank_of(m);
    memset(p, 0, m->rows * R * sizeof *p);
    for (size_t i = 0; i < m->rows; i++, p += R)
        for (size_t j = 0; j < m->columns; j++)
            for (size_t r = 0; r < R; r++) p[r] += x[i * m->columns + j] * q[j * R + r];
}

/* q [n, R] = M' p. */
static void multiply_back(const struct matrix *m, const float *x, const float *p, float *q)
{
    const size_t R = rank_of(m);
    memset(q, 0, m->columns * R * sizeof *q);
    for (size_t i = 0; i < m->rows; i++)
        for (size_t j = 0; j < m->columns; j++)
            for (size_t r = 0; r < R; r++) q[j * R + r] += x[i * m->columns + j] * p[i * R + r];
}

/* Orthonormalizes the columns of [count, R] one after another (Gram-Schmidt); columns that depend on earlier ones
 * become zero. */
static void make_orthonormal(float *p, size_t count, size_t R)
{
    for (size_t r = 0; r < R; r++) {
        double before = 0, square = 0;
        for (size_t i = 0; i < count; i++) before += (double)p[i * R + r] * (double)p[i * R + r];
        for (size_t k = 0; k < r; k++) {
            double dot = 0;
            for (size_t i = 0; i < count; i++) dot += (double)p[i * R + k] * (double)p[i * R + r];
            for (size_t i = 0; i < count; i++) p[i * R + r] -= (float)dot * p[i * R + k];
        }
        for (size_t i = 0; i < count; i++) square += (double)p[i * R + r] * (double)p[i * R + r];
        const float scale = square <= 1e-10 * before ? 0 : (float)(1 / sqrt(square));
        for (size_t i = 0; i < count; i++) p[i * R + r] *= scale;
    }
}

static void begin(const struct matrix *m, float *q)
{
    struct rng rng = rng_new(m->rows, m->columns);
    for (size_t i = 0; i < m->columns * rank_of(m); i++) q[i] = rng_uniform(&rng) - 0.5f;
}

static float largest(const float *x, size_t count)
{
    float most = 0;
    for (size_t i = 0; i < count; i++) most = !(fabsf(x[i]) <= most) ? fabsf(x[i]) : most; /* keeps a NaN */
    return most;
}

/* Writes a code: scale, P and Q with x ~ P Q^T, by power iteration, in fp16. Small matrices become fp16 numbers. */
static size_t encode(const struct matrix *m, const float *x, void *room, void *code)
{
    const size_t R = rank_of(m), np = m->rows * R, nq = m->columns * R;
    if (is_small(m))
        return compress_half.encode(m, x, room, code);
    float *p = room, *q = p + np;
    begin(m, q);
    for (int i = 0; i < ITERATIONS; i++) {
        multiply(m, x, q, p);
        make_orthonormal(p, m->rows, R);
        multiply_back(m, x, p, q);
    }
    const float scale = largest(q, nq);
    uint16_t *to = (uint16_t *)((float *)code + 1);
    memcpy(code, &scale, sizeof scale);
    for (size_t i = 0; i < np; i++) to[i] = f32_to_f16(p[i]);
    for (size_t i = 0; i < nq; i++) to[np + i] = f32_to_f16(scale > 0 ? q[i] / scale : q[i]);
    if ((np + nq) % 2)
        to[np + nq] = 0;
    return most(m);
}

/* Adds factor * P Q^T to `to`; returns false if the code has the wrong size. */
static bool decode(const struct matrix *m, const void *code, size_t bytes, float factor, void *room, float *to)
{
    const size_t R = rank_of(m), np = m->rows * R, nq = m->columns * R;
    if (is_small(m))
        return compress_half.decode(m, code, bytes, factor, room, to);
    if (bytes != most(m))
        return false;
    const uint16_t *from = (const uint16_t *)((const float *)code + 1);
    float scale, *p = room, *q = p + np;
    memcpy(&scale, code, sizeof scale);
    for (size_t i = 0; i < np; i++) p[i] = f16_to_f32(from[i]);
    for (size_t i = 0; i < nq; i++) q[i] = factor * scale * f16_to_f32(from[np + i]);
    for (size_t i = 0; i < m->rows; i++)
        for (size_t j = 0; j < m->columns; j++) {
            float sum = 0;
            for (size_t r = 0; r < R; r++) sum += p[i * R + r] * q[j * R + r];
            to[i * m->columns + j] += sum;
        }
    return true;
}

const struct compressor compress_lowrank = {.name = "lowrank",
                                            .about = "lowrank:R, each matrix as the product of two of rank R",
                                            .loses = true,
                                            .min = 1,
                                            .max = 64,
                                            .level = "R is a rank from 1 to 64",
                                            .most = most,
                                            .scratch = scratch,
                                            .encode = encode,
                                            .decode = decode};

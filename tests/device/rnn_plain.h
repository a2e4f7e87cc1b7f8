/* A recurrence and its backward in plain loops on the cells' scalar kernels, for one row at a time: the reference for
 * persistent kernels. Operands are rounded as on a GPU; sums are in double. Arrays are dense: g [T,B,G,U], weights
 * [gates,U,U], bias [gates,U], y [T,B,U], s [T,B,S-1,U], intermediate [T,B,L,U], h0 [B,U], s0 [S-1,B,U]. */
#ifndef TESTS_DEVICE_RNN_PLAIN_H
#define TESTS_DEVICE_RNN_PLAIN_H
#include "nn/cells/cell.h"
#include <stdlib.h>
#include <string.h>
#include <vector>

typedef std::vector<float> floats;

struct plain {
    const struct cell_kernels *cell;
    uint32_t T, B, U;
    bool direction;
    float (*round)(float); /* of operands */
    float clip;
    floats weights, bias, vectors;
    std::vector<int32_t> lengths; /* may be empty, as may reset */
    std::vector<uint8_t> reset;
    floats g, h0, s0, y, s, intermediate, hn, sn;
    floats dy, dhn, dsn, dh0, ds0, dv; /* backward */

    uint32_t G() const { return (uint32_t)cell->declaration->inputs; }
    uint32_t S() const { return (uint32_t)cell->declaration->states; }
    uint32_t L() const { return (uint32_t)cell->declaration->intermediates; }
    uint32_t V() const { return (uint32_t)cell->declaration->vectors; }
    bool part(uint32_t t, uint32_t b) const { return lengths.empty() || (int32_t)t < lengths[b]; }
    bool is_reset(uint32_t t, uint32_t b) const { return !reset.empty() && reset[t * B + b]; }
    uint32_t step(uint32_t i) const { return direction ? T - 1 - i : i; }
};

static inline struct fields plain_fields(const float *at, uint32_t units)
{
    struct fields f = {(void *)at, units, 0};
    return f;
}

/* Runs one phase of one row. */
static inline struct cell_step plain_step(const struct plain &p, float *in, float *state, float *next,
                                          float *intermediate)
{
    struct cell_step s;
    memset(&s, 0, sizeof s);
    s.rows = 1;
    s.width = p.U;
    s.options.clip = p.clip;
    s.value.in = s.value.saved = plain_fields(in, p.U);
    s.value.state = plain_fields(state, p.U);
    s.value.next = plain_fields(next, p.U);
    s.value.intermediate = plain_fields(intermediate, p.U);
    s.value.vector = plain_fields(p.vectors.data(), p.U);
    return s;
}

/* Adds weights times the operand to the inputs of a phase with this source. */
static inline void plain_products(const struct plain &p, float *in, const float *operand, unsigned source, int phase)
{
    const struct cell_declaration *c = p.cell->declaration;
    uint32_t weight = 0;
    for (uint32_t i = 0; i < p.G(); weight += (c->input[i].from & (FROM_H | FROM_INTERMEDIATE)) != 0, i++)
        for (uint32_t u = 0; u < p.U && (c->input[i].from & source) && c->input[i].phase == phase; u++) {
            double sum = p.bias[weight * p.U + u];
            for (uint32_t k = 0; k < p.U; k++)
                sum += (double)p.round(p.weights[((size_t)weight * p.U + u) * p.U + k]) * p.round(operand[k]);
            in[i * p.U + u] = (float)((c->input[i].from & FROM_X ? in[i * p.U + u] : 0) + sum);
        }
}

/* Computes one forward step of one row and updates `state`. */
static inline void plain_forward_row(struct plain &p, uint32_t t, uint32_t b, float *state)
{
    const uint32_t U = p.U, S = p.S();
    float *g = &p.g[((size_t)t * p.B + b) * p.G() * U];
    floats next(S * U), intermediate(p.L() * U + 1);
    if (!p.part(t, b)) {
        memset(g, 0, p.G() * U * sizeof *g);
        return;
    }
    if (p.is_reset(t, b))
        memset(state, 0, S * U * sizeof *state);
    struct cell_step step = plain_step(p, g, state, next.data(), intermediate.data());
    for (int phase = 0; phase < p.cell->declaration->phases; phase++) {
        plain_products(p, g, state, FROM_H, phase);
        plain_products(p, g, intermediate.data(), FROM_INTERMEDIATE, phase);
        p.cell->forward[phase](&step);
    }
    memcpy(state, next.data(), S * U * sizeof *state);
    memcpy(&p.y[((size_t)t * p.B + b) * U], state, U * sizeof *state);
    for (uint32_t i = 0; i < (S - 1) * U; i++) p.s[((size_t)t * p.B + b) * (S - 1) * U + i] = state[U + i];
    for (uint32_t i = 0; i < p.L() * U; i++) p.intermediate[((size_t)t * p.B + b) * p.L() * U + i] = intermediate[i];
}

static inline void plain_forward(struct plain &p)
{
    const uint32_t U = p.U, S = p.S();
    for (uint32_t b = 0; b < p.B; b++) {
        floats state(S * U);
        for (uint32_t i = 0; i < S * U; i++)
            state[i] = i < U ? p.h0[b * U + i] : p.s0[((i / U - 1) * p.B + b) * U + i % U];
        for (uint32_t i = 0; i < p.T; i++) plain_forward_row(p, p.step(i), b, state.data());
        for (uint32_t i = 0; i < S * U; i++)
            (i < U ? p.hn[b * U + i] : p.sn[((i / U - 1) * p.B + b) * U + i % U]) = state[i];
    }
}

/* Adds the gradient of an operand: transposed weights times gradients of the inputs with this source. */
static inline void plain_transposed(const struct plain &p, float *to, const float *d_in, unsigned source)
{
    const struct cell_declaration *c = p.cell->declaration;
    for (uint32_t u = 0; u < p.U; u++) {
        double sum = 0;
        uint32_t weight = 0;
        for (uint32_t i = 0; i < p.G(); weight += (c->input[i].from & (FROM_H | FROM_INTERMEDIATE)) != 0, i++)
            for (uint32_t k = 0; k < p.U && (c->input[i].from & source); k++)
                sum += (double)p.round(p.weights[((size_t)weight * p.U + k) * p.U + u]) * p.round(d_in[i * p.U + k]);
        to[u] += (float)sum;
    }
}

/* Returns state i of a unit at the start of step t. */
static inline float plain_entering(const struct plain &p, uint32_t i, uint32_t t, uint32_t b, uint32_t u)
{
    const uint32_t before = p.direction ? t + 1 : t - 1, S = p.S();
    if (p.is_reset(t, b))
        return 0;
    if (before < p.T && p.part(before, b))
        return i ? p.s[(((size_t)before * p.B + b) * (S - 1) + i - 1) * p.U + u]
                 : p.y[((size_t)before * p.B + b) * p.U + u];
    return i ? p.s0[((i - 1) * p.B + b) * p.U + u] : p.h0[b * p.U + u];
}

/* Computes one backward step of one row; d: the gradient of the next states, then of the previous ones. */
static inline void plain_backward_row(struct plain &p, uint32_t t, uint32_t b, float *d)
{
    const uint32_t U = p.U, S = p.S();
    const int phases = p.cell->declaration->phases;
    float *g = &p.g[((size_t)t * p.B + b) * p.G() * U];
    if (!p.part(t, b))
        return;
    floats state(S * U), next(S * U), d_next(d, d + S * U), d_intermediate(p.L() * U + 1), none(1);
    for (uint32_t i = 0; i < S * U; i++) {
        state[i] = plain_entering(p, i / U, t, b, i % U);
        next[i] = i < U ? p.y[((size_t)t * p.B + b) * U + i] : p.s[((size_t)t * p.B + b) * (S - 1) * U + i - U];
    }
    for (uint32_t u = 0; u < U; u++) d_next[u] += p.dy[((size_t)t * p.B + b) * U + u];
    struct cell_step step = plain_step(p, g, state.data(), next.data(), none.data());
    step.gradient.in = plain_fields(g, U);
    step.gradient.state = plain_fields(d, U);
    step.gradient.next = plain_fields(d_next.data(), U);
    step.gradient.intermediate = plain_fields(d_intermediate.data(), U);
    step.gradient.vector = plain_fields(p.dv.data() + ((size_t)t * p.B + b) * p.V() * U, U);
    memset(d, 0, S * U * sizeof *d);
    for (int phase = phases - 1; phase >= 0; phase--) {
        p.cell->backward[phase](&step);
        if (phase > 0)
            plain_transposed(p, d_intermediate.data(), g, FROM_INTERMEDIATE);
    }
    plain_transposed(p, d, g, FROM_H);
    if (p.is_reset(t, b))
        memset(d, 0, S * U * sizeof *d);
}

static inline void plain_backward(struct plain &p)
{
    const uint32_t U = p.U, S = p.S();
    for (uint32_t b = 0; b < p.B; b++) {
        floats d(S * U);
        for (uint32_t i = 0; i < S * U; i++)
            d[i] = i < U ? p.dhn[b * U + i] : p.dsn[((i / U - 1) * p.B + b) * U + i % U];
        for (uint32_t i = p.T; i-- > 0;) plain_backward_row(p, p.step(i), b, d.data());
        for (uint32_t i = 0; i < S * U; i++)
            (i < U ? p.dh0[b * U + i] : p.ds0[((i / U - 1) * p.B + b) * U + i % U]) += d[i];
    }
}

#endif

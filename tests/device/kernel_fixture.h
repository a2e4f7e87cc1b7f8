/* Hand-made calls of kernels for tests: views with random strides in memory full of NaN, the same values for floats and
 * doubles, teams of threads, and comparisons. */
#ifndef KERNEL_FIXTURE_H
#define KERNEL_FIXTURE_H
#include "../check.h"
#include "base/philox.h"
#include "device/cpu/executor/executable_parts.h"
#include "tests/device/workspaces.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct memory {
    void *data;
    char *in_view;
    size_t elements;
};

struct fixture {
    struct plan plan;
    struct op op;
    struct call call;
    struct memory memory[OP_VIEWS];
    struct rng rng;
    enum dtype real;
    double flops;
};

/* ---- building -------------------------------------------------------------------------- */

static inline struct fixture *fixture_new(enum op_kind kind, uint64_t seed, enum dtype real)
{
    struct fixture *f = calloc(1, sizeof *f);
    f->op.kind = kind;
    f->op.group = -1;
    f->rng = rng_new(seed, (uint64_t)kind);
    f->real = real;
    f->plan.block_steps = 1;
    f->plan.config.shards = 1;
    return f;
}

static inline void fixture_free(struct fixture *f)
{
    for (int i = 0; i < OP_VIEWS; i++) {
        free(f->memory[i].data);
        free(f->memory[i].in_view);
    }
    free(f);
}

static inline uint32_t random_size(struct fixture *f, uint32_t low, uint32_t high)
{
    return low + (uint32_t)rng_below(&f->rng, high - low + 1);
}

static inline double random_real(struct fixture *f) { return 2 * (double)rng_uniform(&f->rng) - 1; }

static inline double get(const struct fixture *f, int slot, size_t i)
{
    const void *p = f->memory[slot].data;
    switch (f->call.view[slot].dtype) {
    case DTYPE_F32: return (double)((const float *)p)[i];
    case DTYPE_F64: return ((const double *)p)[i];
    case DTYPE_I32: return ((const int32_t *)p)[i];
    case DTYPE_I64: return (double)((const int64_t *)p)[i];
    default: return ((const uint8_t *)p)[i];
    }
}

static inline void set(struct fixture *f, int slot, size_t i, double value)
{
    void *p = f->memory[slot].data;
    switch (f->call.view[slot].dtype) {
    case DTYPE_F32: ((float *)p)[i] = (float)value; break;
    case DTYPE_F64: ((double *)p)[i] = value; break;
    case DTYPE_I32: ((int32_t *)p)[i] = isnan(value) ? INT32_MIN : (int32_t)value; break;
    case DTYPE_I64: ((int64_t *)p)[i] = isnan(value) ? INT64_MIN : (int64_t)value; break;
    default: ((uint8_t *)p)[i] = isnan(value) ? 255 : (uint8_t)value; break;
    }
}

/* Returns the offset of element (i, j, k, l) of a view. */
static inline size_t at4(const struct fixture *f, int slot, size_t i, size_t j, size_t k, size_t l)
{
    const struct tensor *x = &f->call.view[slot];
    const size_t index[4] = {i, j, k, l};
    size_t at = (size_t)((char *)x->at - (char *)f->memory[slot].data) / dtype_size(x->dtype);
    for (int a = 0; a < x->rank; a++) at += index[a] * x->stride[a];
    return at;
}

static inline double value(const struct fixture *f, int slot, size_t i, size_t j, size_t k, size_t l)
{
    return get(f, slot, at4(f, slot, i, j, k, l));
}

/* Loops over all indices i, j, k, l of a view. */
#define EACH(f, slot)                                                                                   \
    for (size_t i = 0; i < extent((f), (slot), 0); i++) for (size_t j = 0; j < extent((f), (slot), 1); j++) \
    for (size_t k = 0; k < extent((f), (slot), 2); k++) for (size_t l = 0; l < extent((f), (slot), 3); l++)

static inline size_t extent(const struct fixture *f, int slot, int axis)
{
    return axis < f->call.view[slot].rank ? f->call.view[slot].count[axis] : 1;
}

/* Makes a view of random values in [-1, 1) with randomly widened strides, surrounded by NaN. */
static inline void make(struct fixture *f, int slot, enum dtype dtype, enum access access, int rank,
                        const uint32_t *count)
{
    struct tensor *x = &f->call.view[slot];
    *x = (struct tensor){.rank = rank, .dtype = dtype};
    size_t stride = 1, start = random_size(f, 0, 5);
    for (int i = rank - 1; i >= 0; i--) {
        x->count[i] = count[i];
        x->stride[i] = stride;
        stride *= count[i];
        if (i > 0 && random_size(f, 0, 2) == 0)
            stride += random_size(f, 1, 5);
    }
    struct memory *m = &f->memory[slot];
    m->elements = start + stride + 40;
    m->data = malloc(m->elements * 8);
    m->in_view = calloc(m->elements, 1);
    for (size_t i = 0; i < m->elements; i++) set(f, slot, i, NAN);
    x->at = (char *)m->data + start * dtype_size(dtype);
    f->op.view[slot].access = access;
    f->op.views = slot + 1 > f->op.views ? slot + 1 : f->op.views;
    EACH(f, slot)
    {
        m->in_view[at4(f, slot, i, j, k, l)] = 1;
        set(f, slot, at4(f, slot, i, j, k, l), random_real(f));
    }
}

#define SIZES(...) (const uint32_t[]){ __VA_ARGS__ }

/* Makes integers 0 .. below - 1, some of them -1 if `negative`. */
static inline void make_integers(struct fixture *f, int slot, int rank, const uint32_t *count, uint32_t below,
                                 bool negative)
{
    make(f, slot, DTYPE_I32, READ, rank, count);
    EACH(f, slot)
    set(f, slot, at4(f, slot, i, j, k, l),
        negative && random_size(f, 0, 5) == 0 ? -1 : (double)random_size(f, 0, below - 1));
}

/* Returns the offset of element (g, u, k) of [G, U, K] in panels. */
static inline size_t panel_at(size_t g, size_t u, size_t k, size_t units, size_t width)
{
    return ((g * panels(units) + u / PANEL) * width + k) * PANEL + u % PANEL;
}

/* Returns the offset of row n and column k, of `rows` rows, in columns. */
static inline size_t column_at(size_t n, size_t k, size_t rows) { return (k / PANEL * rows + n) * PANEL + k % PANEL; }

/* Returns the offset of element (g, u, k) of [gates, U, width] with interleaved gates. */
static inline size_t gate_at(size_t g, size_t u, size_t k, size_t gates, size_t width)
{
    return ((u / CELL_TILE * width + k) * gates + g) * CELL_TILE + u % CELL_TILE;
}

/* Makes a view in panels with random values, and zeros in the padding of units. */
static inline void make_panels(struct fixture *f, int slot, enum access access, uint32_t gates, uint32_t units,
                               uint32_t width)
{
    struct tensor *x = &f->call.view[slot];
    *x = (struct tensor){.rank = 3, .count = {gates, units, width}, .dtype = f->real};
    struct memory *m = &f->memory[slot];
    m->elements = gates * panels(units) * width * PANEL;
    m->data = calloc(m->elements, 8);
    m->in_view = malloc(m->elements);
    memset(m->in_view, 1, m->elements);
    x->at = m->data;
    f->op.view[slot].access = access;
    for (size_t g = 0; g < gates; g++)
        for (size_t u = 0; u < units; u++)
            for (size_t k = 0; k < width; k++) set(f, slot, panel_at(g, u, k, units, width), random_real(f));
}

/* Makes a view [(G), U, K] in columns with random values, and zeros in the padding of columns. */
static inline void make_columns(struct fixture *f, int slot, enum access access, bool gated, uint32_t gates,
                                uint32_t units, uint32_t width)
{
    struct tensor *x = &f->call.view[slot];
    *x = (struct tensor){.rank = gated ? 3 : 2, .dtype = f->real, .layout = LAYOUT_COLUMNS};
    const uint32_t count[] = {gates, units, width};
    memcpy(x->count, count + !gated, (size_t)x->rank * sizeof *count);
    struct memory *m = &f->memory[slot];
    m->elements = (size_t)gates * units * panels(width) * PANEL;
    m->data = calloc(m->elements, 8);
    m->in_view = malloc(m->elements);
    memset(m->in_view, 1, m->elements);
    x->at = m->data;
    f->op.view[slot].access = access;
    for (size_t row = 0; row < (size_t)gates * units; row++)
        for (size_t k = 0; k < width; k++) set(f, slot, column_at(row, k, (size_t)gates * units), random_real(f));
}

/* Makes a view with interleaved gates, filled with zeros. */
static inline void make_gates(struct fixture *f, int slot, enum access access, uint32_t gates, uint32_t units,
                              uint32_t width)
{
    struct tensor *x = &f->call.view[slot];
    *x = (struct tensor){.rank = 3, .count = {gates, units, width}, .dtype = f->real, .layout = LAYOUT_GATES};
    struct memory *m = &f->memory[slot];
    m->elements = (units + CELL_TILE - 1) / CELL_TILE * CELL_TILE * (size_t)gates * width;
    m->data = calloc(m->elements, 8);
    m->in_view = malloc(m->elements);
    memset(m->in_view, 1, m->elements);
    x->at = m->data;
    f->op.view[slot].access = access;
}

/* ---- running --------------------------------------------------------------------------- */

struct team_call {
    struct call *call;
    int team;
    struct work work[8];
};

static inline void run_member(void *arg, int me)
{
    struct team_call *t = arg;
    use_workspace(me);
    isa_kernel(t->call->isa, t->call->kind)(t->call, me, t->team, &t->work[me]);
}

/* Runs the operation with a team and returns its total work. */
static inline struct work run_on(struct fixture *f, const struct cpu_isa *isa, int team_members)
{
    struct team_call t = {.call = &f->call, .team = team_members};
    struct barrier barrier;
    struct team *team = NULL;
    bind_numbers(&f->plan, &f->op, &f->call);
    f->call.isa = isa;
    f->call.barrier = &barrier;
    barrier_init(&barrier, team_members);
    if (team_new(team_members, &team) != UNROLL_OK)
        abort();
    team_run(team, run_member, &t);
    team_free(team);
    struct work sum = {0, 0};
    for (int i = 0; i < team_members; i++) {
        sum.flops += t.work[i].flops;
        sum.bytes += t.work[i].bytes;
    }
    return sum;
}

/* Computes bytes by the formula of struct work. */
static inline double bytes_of(const struct fixture *f)
{
    double bytes = 0;
    for (int slot = 0; slot < OP_VIEWS; slot++) {
        const struct tensor *x = &f->call.view[slot];
        enum access access = f->op.view[slot].access;
        double elements = x->at ? 1 : 0;
        for (int i = 0; i < x->rank; i++) elements *= x->count[i];
        bytes += elements * (double)dtype_size(x->dtype) * (access == ADD || access == UPDATE ? 2 : 1);
    }
    return bytes;
}

/* ---- comparing ------------------------------------------------------------------------- */

static inline bool same_number(double a, double b) { return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b)); }

/* True if all views of both have the same bits. */
static inline bool same_bits(const struct fixture *a, const struct fixture *b)
{
    for (int slot = 0; slot < OP_VIEWS; slot++)
        for (size_t i = 0; i < a->memory[slot].elements; i++)
            if (!same_number(get(a, slot, i), get(b, slot, i)))
                return false;
    return true;
}

/* True if nothing was written outside of the views. */
static inline bool only_views_changed(const struct fixture *f)
{
    for (int slot = 0; slot < OP_VIEWS; slot++) {
        const struct memory *m = &f->memory[slot];
        enum dtype dtype = f->call.view[slot].dtype;
        for (size_t i = 0; i < m->elements; i++) {
            double v = m->in_view[i] ? NAN : get(f, slot, i);
            bool untouched = isnan(v) || (dtype != DTYPE_F32 && dtype != DTYPE_F64);
            if (!untouched)
                return false;
        }
    }
    return true;
}

/* Returns the largest difference of a view, relative to its largest value or 1. */
static inline double distance(const struct fixture *a, const struct fixture *b, int slot)
{
    double largest = 1, worst = 0;
    for (size_t i = 0; i < a->memory[slot].elements; i++) {
        if (!a->memory[slot].in_view[i])
            continue;
        double x = get(a, slot, i), y = get(b, slot, i), d = fabs(x - y);
        if (same_number(x, y))
            continue;
        worst = d <= worst ? worst : d; /* keeps NaN */
        largest = fabs(x) > largest ? fabs(x) : largest;
    }
    return worst / largest;
}

#endif

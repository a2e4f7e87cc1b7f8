/* A recurrence for the tests of rnn: its shape, its arrays by slot, and calls of the kernels over chunks and teams.
 * Outputs and scratch are initially NaN, so that reads of uninitialized values are detected. The reference is in
 * test_rnn.c. */
#ifndef TESTS_DEVICE_RNN_CASE_H
#define TESTS_DEVICE_RNN_CASE_H
#include "base/memory.h"
#include "base/philox.h"
#include "device/cpu/executor/executable_parts.h"
#include "device/cpu/recurrent/rnn_kernels.h"
#include "tests/device/workspaces.h"
#include "tests/check.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct shape {
    const char *cell;
    uint32_t T, B, U, K; /* U: units of the whole layer; K: width of h */
    int direction;
    bool projected, lengths, resets, bias;
};

enum { CHUNKS_TESTED = 3 };

/* Contents of a slot of the operation for all steps, with the strides of a plan. */
struct slot {
    int rank;
    uint32_t count[BUFFER_AXES];
    size_t stride[BUFFER_AXES];
    bool has_time;
    enum access access[2]; /* of rnn, of rnn_back */
    enum dtype dtype;
    void *memory, *at;
    size_t bytes;
};

struct rnn_case {
    struct shape shape;
    const struct cpu_isa *isa;
    const struct cell_kernels *cell;
    uint32_t units, first_unit; /* own */
    struct slot slot[RNN_BACK_VIEWS];
    struct slot w_dense, w_columns;       /* RNN_W as it is, and in the layout for backward */
    void *handover[2][CHUNKS_TESTED + 1]; /* states [B, K] and [S, B, U] between chunks */
    void *d_handover[2][CHUNKS_TESTED + 1];
    struct unroll_model model;
    struct layer layer;
    struct plan plan;
    struct buffer whole_g; /* RNN_G as in the plan: all units of the ranks */
    struct group group;
    struct unroll_comm *comm; /* NULL: one rank */
    enum division division;   /* division of steps among a team */
    struct work work[2];      /* of the last forward and backward, all chunks and threads */
};

/* ---- slots ----------------------------------------------------------------------------- */

/* wide: the last axis is the second half of rows twice as long, as in the output of a bidirectional layer. */
static void add_slot(struct rnn_case *c, int at, int rank, const uint32_t *count, bool has_time, bool wide,
                     enum access forward, enum access backward)
{
    struct slot *s = &c->slot[at];
    size_t step = 1, size;
    *s = (struct slot){.rank = rank, .has_time = has_time, .access = {forward, backward}};
    s->dtype = at == RNN_LENGTHS ? DTYPE_I32 : at == RNN_RESET ? DTYPE_U8 : c->isa->real;
    size = dtype_size(s->dtype);
    for (int i = rank; i-- > 0;) {
        s->count[i] = count[i];
        s->stride[i] = step;
        step *= count[i] * (wide && i == rank - 1 ? 2 : 1);
    }
    s->bytes = step * size;
    s->memory = allocate_zeroed(step ? step : 1, size);
    memset(s->memory, 0xff, s->bytes); /* NaN in both real types */
    s->at = (char *)s->memory + (wide ? s->count[rank - 1] * size : 0);
}

#define SLOT(at, has_time, wide, forward, backward, ...)                                            \
    add_slot(c, at, (int)(sizeof (uint32_t[]){ __VA_ARGS__ } / sizeof(uint32_t)),                   \
             (uint32_t[]){ __VA_ARGS__ }, has_time, wide, forward, backward)

/* Sets the shape and access of each tensor of the operation. */
static void add_slots(struct rnn_case *c)
{
    const struct cell_declaration *cell = c->cell->declaration;
    uint32_t T = c->shape.T, B = c->shape.B, U = c->units, K = c->shape.K, W = K > U ? K : U;
    uint32_t G = (uint32_t)cell->inputs, S = (uint32_t)cell->states, L = (uint32_t)cell->intermediates;
    uint32_t V = (uint32_t)cell->vectors, own = c->shape.projected ? K : U;
    uint32_t H = (uint32_t)cell_inputs_from(cell, FROM_H | FROM_INTERMEDIATE);
    SLOT(RNN_G, true, false, UPDATE, UPDATE, T, B, G, U);
    SLOT(RNN_H0, false, false, READ, READ, B, K);
    SLOT(RNN_HN, false, false, WRITE, NONE, B, K);
    SLOT(RNN_Y, true, true, WRITE, READ, T, B, K);
    SLOT(RNN_DY, true, true, NONE, READ, T, B, K);
    SLOT(RNN_DHN, false, false, NONE, READ, B, own);
    SLOT(RNN_DH0, false, false, NONE, WRITE, B, own);
    SLOT(RNN_SCRATCH, false, false, WRITE, WRITE, 4 * S + L + 2 + 2 * (G + 1), B, W);
    if (H) {
        SLOT(RNN_W, false, false, READ, READ, H, U, K);
        c->w_dense = c->slot[RNN_W];
        SLOT(RNN_W, false, false, READ, READ, (uint32_t)panels(K), H * U, PANEL);
        c->w_columns = c->slot[RNN_W];
        SLOT(RNN_W, false, false, READ, READ, H, (U + CELL_TILE - 1) / CELL_TILE * CELL_TILE, K);
        c->slot[RNN_W].count[1] = U;
    }
    if (H && c->shape.bias)
        SLOT(RNN_BIAS, false, false, READ, NONE, H, U);
    if (V) {
        SLOT(RNN_VECTOR, false, false, READ, READ, V, U);
        SLOT(RNN_DV, true, false, NONE, WRITE, T, B, V, U);
    }
    if (c->shape.projected) {
        SLOT(RNN_PROJ, false, false, READ, READ, K, U);
        SLOT(RNN_M, true, false, WRITE, READ, T, B, U);
        SLOT(RNN_DP, true, false, NONE, WRITE, T, B, K);
    }
    if (S > 1) {
        SLOT(RNN_S0, false, false, READ, READ, S - 1, B, U);
        SLOT(RNN_SN, false, false, WRITE, NONE, S - 1, B, U);
        SLOT(RNN_S, true, false, WRITE, READ, T, B, S - 1, U);
        SLOT(RNN_DSN, false, false, NONE, READ, S - 1, B, U);
        SLOT(RNN_DS0, false, false, NONE, WRITE, S - 1, B, U);
    }
    if (L)
        SLOT(RNN_INTERMEDIATE, true, false, WRITE, READ, T, B, L, K);
    if (c->shape.lengths)
        SLOT(RNN_LENGTHS, false, false, READ, READ, B);
    if (c->shape.resets)
        SLOT(RNN_RESET, true, false, READ, READ, T, B);
}

/* ---- values ---------------------------------------------------------------------------- */

static size_t offset_of(const struct slot *s, const uint32_t *index)
{
    size_t at = 0;
    for (int i = 0; i < s->rank; i++) at += index[i] * s->stride[i];
    return at;
}

static double get(const struct slot *s, uint32_t i, uint32_t j, uint32_t k, uint32_t l)
{
    size_t at = offset_of(s, (uint32_t[]){i, j, k, l});
    return s->dtype == DTYPE_F64 ? ((double *)s->at)[at] : (double)((float *)s->at)[at];
}

static void set(struct slot *s, uint32_t i, uint32_t j, uint32_t k, uint32_t l, double value)
{
    size_t at = offset_of(s, (uint32_t[]){i, j, k, l});
    if (s->dtype == DTYPE_F64)
        ((double *)s->at)[at] = value;
    else
        ((float *)s->at)[at] = (float)value;
}

static double random_number(uint32_t stream, uint32_t i, uint32_t j, uint32_t k, uint32_t l)
{
    uint32_t key[2] = {1, stream}, counter[4] = {i, j, k, l}, bits[4];
    philox(key, counter, bits);
    return 2 * (double)philox_unit(bits[0]) - 1;
}

/* Fills in values that depend on their position in the whole layer, whose axis `units` is cut at first_unit. */
static void fill(struct rnn_case *c, struct slot *s, uint32_t stream, int units)
{
    uint32_t n[4] = {1, 1, 1, 1}, i[4];
    for (int a = 0; a < s->rank; a++) n[a] = s->count[a];
    for (i[0] = 0; s->rank && i[0] < n[0]; i[0]++)
        for (i[1] = 0; i[1] < n[1]; i[1]++)
            for (i[2] = 0; i[2] < n[2]; i[2]++)
                for (i[3] = 0; i[3] < n[3]; i[3]++) {
                    uint32_t place[4] = {i[0], i[1], i[2], i[3]};
                    if (units >= 0)
                        place[units] += c->first_unit;
                    set(s, i[0], i[1], i[2], i[3], random_number(stream, place[0], place[1], place[2], place[3]));
                }
}

static void pack_weights(struct rnn_case *c)
{
    const struct slot *d = &c->w_dense, *w = &c->slot[RNN_W];
    struct slot element = {.rank = 1, .stride = {1}, .dtype = w->dtype, .at = w->at};
    if (w->rank) {
        memset(w->memory, 0, w->bytes);
        memset(c->w_columns.memory, 0, c->w_columns.bytes);
    }
    for (uint32_t g = 0; d->rank && g < d->count[0]; g++)
        for (uint32_t u = 0; u < d->count[1]; u++)
            for (uint32_t k = 0; k < d->count[2]; k++) {
                size_t line = (u / CELL_TILE * d->count[2] + k) * d->count[0] + g;
                set(&element, (uint32_t)(line * CELL_TILE + u % CELL_TILE), 0, 0, 0, get(d, g, u, k, 0));
                set(&c->w_columns, k / PANEL, g * d->count[1] + u, k % PANEL, 0, get(d, g, u, k, 0));
            }
}

/* Pre-activations of inputs that do not depend on x stay NaN: no kernel may read them. */
static void fill_sums(struct rnn_case *c)
{
    const struct cell_declaration *cell = c->cell->declaration;
    struct slot *g = &c->slot[RNN_G];
    memset(g->memory, 0xff, g->bytes);
    for (uint32_t t = 0; t < g->count[0]; t++)
        for (uint32_t b = 0; b < g->count[1]; b++)
            for (uint32_t k = 0; k < g->count[2]; k++)
                for (uint32_t u = 0; (cell->input[k].from & FROM_X) && u < g->count[3]; u++)
                    set(g, t, b, k, u, random_number(RNN_G, t, b, k, u + c->first_unit));
}

/* Rows of half the steps, of none and of all in turn, so that active rows have inactive ones between them. Some are
 * reset, also after their end. */
static void fill_rows(struct rnn_case *c)
{
    const int32_t lengths[] = {(int32_t)c->shape.T / 2, 0, (int32_t)c->shape.T};
    for (uint32_t b = 0; c->shape.lengths && b < c->shape.B; b++)
        ((int32_t *)c->slot[RNN_LENGTHS].at)[b] = lengths[b % 3];
    for (uint32_t t = 0; c->shape.resets && t < c->shape.T; t++)
        for (uint32_t b = 0; b < c->shape.B; b++)
            ((uint8_t *)c->slot[RNN_RESET].at)[t * c->shape.B + b] = random_number(99, t, b, 0, 0) > 0.4;
}

static void fill_all(struct rnn_case *c)
{
    static const struct {
        int slot, units;
    } random[] = {{RNN_BIAS, 1}, {RNN_VECTOR, 1}, {RNN_PROJ, 1}, {RNN_H0, -1},
                  {RNN_S0, 2},   {RNN_DY, -1},    {RNN_DHN, 1},  {RNN_DSN, 2}};
    for (size_t i = 0; i < sizeof random / sizeof *random; i++)
        fill(c, &c->slot[random[i].slot], (uint32_t)random[i].slot, random[i].units);
    if (c->w_dense.rank)
        fill(c, &c->w_dense, RNN_W, 1);
    pack_weights(c);
    fill_sums(c);
    fill_rows(c);
}

/* ---- a case ---------------------------------------------------------------------------- */

/* Allocates a case with random numbers for a share of the units. */
static void case_new(struct rnn_case *c, const struct cpu_isa *isa, struct shape shape, uint32_t first_unit,
                     uint32_t units)
{
    memset(c, 0, sizeof *c);
    c->shape = shape;
    c->isa = isa;
    c->cell = cell_find(isa->cells, shape.cell);
    c->units = units;
    c->first_unit = first_unit;
    c->layer.options.clip = 0.7f;
    c->model.layer = &c->layer;
    c->model.layers = 1;
    c->plan.model = &c->model;
    c->plan.group = &c->group;
    c->whole_g.whole[3] = c->shape.U;
    c->plan.buffer = &c->whole_g;
    add_slots(c);
    fill_all(c);
    for (int i = 0; i <= CHUNKS_TESTED; i++)
        for (int s = 0; s < 2; s++) {
            c->handover[s][i] = allocate_zeroed(c->slot[s ? RNN_S0 : RNN_H0].bytes + 1, 1);
            c->d_handover[s][i] = allocate_zeroed(c->slot[s ? RNN_DS0 : RNN_DH0].bytes + 1, 1);
        }
}

static void case_free(struct rnn_case *c)
{
    for (int i = 0; i < RNN_BACK_VIEWS; i++) release(c->slot[i].memory);
    release(c->w_dense.memory);
    release(c->w_columns.memory);
    for (int i = 0; i <= CHUNKS_TESTED; i++)
        for (int s = 0; s < 2; s++) {
            release(c->handover[s][i]);
            release(c->d_handover[s][i]);
        }
}

/* ---- calls ----------------------------------------------------------------------------- */

static struct tensor tensor_of(const struct rnn_case *c, const struct slot *s, uint32_t t0, uint32_t n)
{
    struct tensor x = {.at = s->at, .rank = s->rank, .dtype = s->dtype};
    for (int i = 0; i < s->rank; i++) {
        x.count[i] = s->count[i];
        x.stride[i] = s->stride[i];
    }
    if (s->has_time) {
        x.at = (char *)s->at + t0 * s->stride[0] * dtype_size(s->dtype);
        x.count[0] = n;
        x.origin[0] = t0;
    }
    if (s == &c->slot[RNN_G])
        x.origin[3] = c->first_unit;
    return x;
}

/* Describes [H, U, K] in columns. */
static struct tensor columns_of(const struct rnn_case *c)
{
    struct tensor x = tensor_of(c, &c->w_dense, 0, 0);
    x.at = c->w_columns.at;
    x.layout = LAYOUT_COLUMNS;
    x.stride[1] = PANEL;
    x.stride[0] = x.count[1] * PANEL;
    return x;
}

/* Makes the n-th of `chunks` calls in forward order; states come from handover[n] and go to [n + 1]. */
static void chunk_call(struct rnn_case *c, int n, int chunks, bool back, bool keeps, struct op *op, struct call *call)
{
    uint32_t t0, count;
    int chunk = c->shape.direction ? chunks - 1 - n : n;
    shard_range(c->shape.T, chunks, chunk, 1, &t0, &count);
    *op = op_new(back ? OP_RNN_BACK : OP_RNN, PHASE_FORWARD, 1);
    op->direction = c->shape.direction;
    op->group = c->comm ? 0 : -1;
    op->tag = 7;
    op->view[RNN_G].buffer = 0;
    *call = (struct call){.isa = c->isa, .cell = c->cell, .comm = c->comm};
    for (int i = 0; i < RNN_BACK_VIEWS; i++) {
        const struct slot *s = &c->slot[i];
        bool kept = i == RNN_S || i == RNN_INTERMEDIATE || i == RNN_M;
        op->view[i].access = s->rank ? s->access[back] : NONE;
        if (op->view[i].access == NONE || (kept && !keeps))
            continue;
        call->view[i] = back && i == RNN_W ? columns_of(c) : tensor_of(c, s, t0, count);
    }
    bind_numbers(&c->plan, op, call);
    for (int s = 0; s < 2; s++) {
        if (call->view[s ? RNN_S0 : RNN_H0].at && n > 0)
            call->view[s ? RNN_S0 : RNN_H0].at = c->handover[s][n];
        if (call->view[s ? RNN_SN : RNN_HN].at && n < chunks - 1)
            call->view[s ? RNN_SN : RNN_HN].at = c->handover[s][n + 1];
        if (call->view[s ? RNN_DS0 : RNN_DH0].at && n > 0)
            call->view[s ? RNN_DS0 : RNN_DH0].at = c->d_handover[s][n];
        if (call->view[s ? RNN_DSN : RNN_DHN].at && n < chunks - 1)
            call->view[s ? RNN_DSN : RNN_DHN].at = c->d_handover[s][n + 1];
    }
}

struct team_call {
    const struct call *call;
    kernel *kernel;
    int team;
    struct work work[8];
    atomic_int status;
};

static void call_as(void *argument, int me)
{
    struct team_call *t = argument;
    if (t->team > 1 || !workspace_of_thread) /* ranks are also threads, each with a team of one */
        use_workspace(me);
    unroll_status status = t->kernel(t->call, me, t->team, &t->work[me]);
    if (status != UNROLL_OK) {
        printf("  %s\n", unroll_last_error());
        atomic_store(&t->status, (int)status);
    }
}

/* Runs the kernel on the threads `members`; NULL: on the caller alone. */
static unroll_status run_kernel(struct rnn_case *c, struct team *members, int chunks, bool back, bool keeps)
{
    bool is_double = c->isa->real == DTYPE_F64;
    kernel *forward = is_double ? kernel_rnn_f64 : kernel_rnn;
    kernel *backward = is_double ? kernel_rnn_back_f64 : kernel_rnn_back;
    struct barrier barrier;
    c->plan.config.mode = keeps ? MODE_TRAIN : MODE_INFER;
    c->work[back] = (struct work){0, 0};
    for (int i = 0; i < chunks; i++) {
        struct op op;
        struct call call;
        struct team_call t = {.call = &call, .kernel = back ? backward : forward, .team = 1};
        chunk_call(c, back ? chunks - 1 - i : i, chunks, back, keeps, &op, &call);
        call.barrier = &barrier;
        call.division = c->division;
        barrier_init(&barrier, members ? team_size(members) : 1);
        memset(c->slot[RNN_SCRATCH].memory, 0xff, c->slot[RNN_SCRATCH].bytes);
        if (members) {
            t.team = team_size(members);
            team_run(members, call_as, &t);
        } else {
            call_as(&t, 0);
        }
        if (atomic_load(&t.status) != UNROLL_OK)
            return (unroll_status)atomic_load(&t.status);
        for (int m = 0; m < t.team; m++) {
            c->work[back].flops += t.work[m].flops;
            c->work[back].bytes += t.work[m].bytes;
        }
    }
    return UNROLL_OK;
}

#endif

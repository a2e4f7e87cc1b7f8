/* Shared by rnn and rnn_back: rows and their lengths, scratch planes, blocks of gates, ranks that share the units, and
 * counting work. Included once per `real`. */
#include "device/cpu/kernels/tensor.h"
#include <string.h>

struct slice {
    uint32_t first, count;
}; /* units of h that a rank owns */

/* One call on one thread. Rows keep their index in the batch everywhere. */
struct rnn {
    const struct call *call;
    const struct tensor *view; /* by enum RNN_.. */
    const struct cell_declaration *cell;
    size_t states, intermediates;
    size_t units, width; /* U: own units; K: width of the whole h */
    size_t first_unit;   /* own units are [first_unit, first_unit + units) of K */
    bool projected;
    size_t steps, origin;           /* of this chunk; its first step in the whole sequence */
    int me;                         /* this thread's index in the team */
    size_t row, row_end;            /* of this thread */
    size_t unit, unit_end;          /* of this thread, within the own units */
    bool rendezvous;                /* the team divides units: its threads synchronize in every step */
    bool counts;                    /* this thread counts the work of its rows */
    size_t scratch_row, plane;      /* elements in a row and in a plane of scratch */
    size_t active, active_end;      /* range that contains all active rows of this step */
    double row_steps;               /* finished so far, for counting work */
    const struct rank_group *group; /* NULL: this rank has all units */
    bool gathers;                   /* gather gradients of sums, to sum over all units in order */
    size_t sums;                    /* units of a gathered row: of all ranks, or own */
};

/* ---- addresses ------------------------------------------------------------------------- */

static bool present(const struct rnn *r, int slot) { return r->view[slot].at != NULL; }

/* Address in a [T, B, ..] view; NULL: absent. */
static real *at_step(const struct rnn *r, int slot, size_t t, size_t b)
{
    const struct tensor *x = &r->view[slot];
    return x->at ? (real *)x->at + t * x->stride[0] + b * x->stride[1] : NULL;
}

/* State s of row b, in the views [B, ..] of the output and [S, B, U] of the other states; NULL: absent. */
static real *at_state(const struct rnn *r, int output, int others, size_t s, size_t b)
{
    const struct tensor *x = &r->view[s ? others : output];
    if (!x->at)
        return NULL;
    return (real *)x->at + (s ? (s - 1) * x->stride[0] + b * x->stride[1] : b * x->stride[0]);
}

static real *at_plane(const struct rnn *r, size_t plane, size_t b)
{
    return (real *)r->view[RNN_SCRATCH].at + plane * r->plane + b * r->scratch_row;
}

/* Fields whose address changes from step to step: in a [T, B, fields, U] view .. */
static struct fields step_fields(const struct rnn *r, int slot)
{
    const struct tensor *x = &r->view[slot];
    return (struct fields){NULL, x->stride[2], x->stride[1]};
}

/* .. and in consecutive planes. */
static struct fields plane_fields(const struct rnn *r) { return (struct fields){NULL, r->plane, r->scratch_row}; }

/* Weights per unit: the same for all rows. */
static struct fields vector_fields(const struct rnn *r)
{
    const struct tensor *x = &r->view[RNN_VECTOR];
    return (struct fields){x->at, x->stride[0], 0};
}

static void clear(real *to, size_t n) { memset(to, 0, n * sizeof *to); }

/* from may be NULL: zeros. */
static void put(real *to, const real *from, size_t n)
{
    if (from)
        memcpy(to, from, n * sizeof *to);
    else
        clear(to, n);
}

/* In blocks of constant size, which compilers vectorize at -O2. */
static void add(real *restrict to, const real *restrict from, size_t n)
{
    enum { BLOCK = 16 };
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK)
        for (size_t j = 0; j < BLOCK; j++) to[i + j] += from[i + j];
    for (; i < n; i++) to[i] += from[i];
}

/* ---- time and rows --------------------------------------------------------------------- */

/* Returns the i-th step in order of execution. */
static size_t step_at(const struct rnn *r, size_t i) { return r->call->direction ? r->steps - 1 - i : i; }

static bool takes_part(const struct rnn *r, size_t t, size_t b)
{
    const int32_t *lengths = r->view[RNN_LENGTHS].at;
    return !lengths || (int64_t)(r->origin + t) < lengths[b];
}

static bool is_reset(const struct rnn *r, size_t t, size_t b)
{
    const struct tensor *x = &r->view[RNN_RESET];
    return x->at && ((const uint8_t *)x->at)[t * x->stride[0] + b * x->stride[1]];
}

/* Moves *b to the next row that is active in step t. Returns the length of the run of active rows, 0: none. */
static size_t next_rows(const struct rnn *r, size_t t, size_t *b)
{
    if (!present(r, RNN_LENGTHS))
        return r->row_end - *b;
    while (*b < r->row_end && !takes_part(r, t, *b)) ++*b;
    size_t end = *b;
    while (end < r->row_end && takes_part(r, t, end)) end++;
    return end - *b;
}

/* Finds the range of active rows. A product processes the whole range and the results of inactive rows in it are
 * dropped, so it remains one product when rows are not sorted by length. */
static void find_active(struct rnn *r, size_t t)
{
    r->active = r->active_end = r->row_end;
    for (size_t b = r->row, n; (n = next_rows(r, t, &b)) > 0; b += n) {
        if (r->active == r->row_end)
            r->active = b;
        r->active_end = b + n;
        r->row_steps += (double)n;
    }
}

/* ---- products -------------------------------------------------------------------------- */

/* Gate inputs with the same sources, adjacent in g and in the recurrent weights. */
struct block {
    size_t input, count, weight;
};

/* Finds the next block that has one of the sources. Start with zeros. */
static bool next_block(const struct rnn *r, unsigned sources, bool join, struct block *k)
{
    const struct cell_input *input = r->cell->input;
    size_t inputs = (size_t)r->cell->inputs, i = k->input + k->count, weight = k->weight + k->count;
    for (; i < inputs && !(input[i].from & sources); i++) weight += (input[i].from & (FROM_H | FROM_INTERMEDIATE)) != 0;
    if (i == inputs)
        return false;
    size_t end = i + 1;
    while (join && end < inputs && input[end].from == input[i].from) end++;
    *k = (struct block){.input = i, .count = end - i, .weight = weight};
    return true;
}

/* ---- ranks that share the units -------------------------------------------------------- */

/* Returns a member's units, as the plan's cut divides them. */
static struct slice slice_of(const struct rnn *r, int member)
{
    struct slice s;
    shard_range(r->call->all_units, r->group->size, member, 1, &s.first, &s.count);
    return s;
}

/* Sums rows of a plane of partial sums over the ranks. */
static unroll_status sum_over_ranks(const struct rnn *r, size_t plane, size_t row, size_t end)
{
    return comm_all_reduce(r->call->comm, r->group->rank, r->group->size, r->call->tag, at_plane(r, plane, row),
                           (end - row) * r->scratch_row, sizeof(real) == sizeof(double));
}

/* ---- begin and count ------------------------------------------------------------------- */

/* Initializes the common part of a recurrence and this thread's share of its rows. */
static unroll_status begin(struct rnn *r, const struct call *call, int me, int team, size_t planes_per_state)
{
    const struct tensor *g = &call->view[RNN_G], *scratch = &call->view[RNN_SCRATCH];
    const struct cell_declaration *cell = call->cell->declaration;
    uint32_t first = 0, rows = g->count[1];
    *r = (struct rnn){.call = call,
                      .view = call->view,
                      .cell = cell,
                      .states = (size_t)cell->states,
                      .intermediates = (size_t)cell->intermediates,
                      .units = g->count[3],
                      .width = call->view[RNN_Y].count[2],
                      .projected = call->view[RNN_PROJ].at != NULL,
                      .steps = g->count[0],
                      .origin = g->origin[0],
                      .scratch_row = scratch->stride[1],
                      .plane = scratch->stride[0],
                      .group = call->group.size ? &call->group : NULL};
    size_t planes = planes_per_state * r->states + r->intermediates + 2;
    if (scratch->count[0] < planes)
        return fail(UNROLL_FAILURE, "the scratch memory of a %s has %u planes; fix: allocate %zu", cell->name,
                    (unsigned)scratch->count[0], planes);
    if (!r->group)
        shard_range(g->count[1], team, me, 1, &first, &rows);
    else if (me > 0)
        rows = 0; /* communication in steps runs on one thread */
    r->row = first;
    r->row_end = first + rows;
    r->unit_end = r->sums = r->units;
    r->counts = true;
    if (!r->group || rows == 0)
        return UNROLL_OK;
    r->first_unit = g->origin[3];
    if (present(r, RNN_INTERMEDIATE) && r->view[RNN_INTERMEDIATE].count[3] != r->width)
        return fail(UNROLL_UNSUPPORTED,
                    "ranks share the units of a %s, but its intermediate is not stored completely; fix: " REPORT_BUG,
                    cell->name);
    r->gathers = call->choice;
    if (r->gathers)
        r->sums = call->all_units;
    return UNROLL_OK;
}

/* Returns the cost of a row in a ragged batch: its steps in this chunk, plus one for the others. */
static size_t steps_of_row(const struct rnn *r, size_t b)
{
    const int32_t *lengths = r->view[RNN_LENGTHS].at;
    int64_t left = lengths ? lengths[b] - (int64_t)r->origin : (int64_t)r->steps;
    left = left < 0 ? 0 : left;
    return ((size_t)left < r->steps ? (size_t)left : r->steps) + 1;
}

/* Returns the rows of a part of the team, with about the same number of steps in each part. */
static struct range rows_of_part(const struct rnn *r, size_t part, size_t parts)
{
    const size_t rows = r->view[RNN_G].count[1];
    struct range mine = {0, 0};
    size_t all = 0, before = 0;
    for (size_t b = 0; b < rows; b++) all += steps_of_row(r, b);
    for (size_t b = 0; b < rows; b++) {
        size_t steps = steps_of_row(r, b), its = (2 * before + steps) * parts / (2 * all);
        mine.first += its < part;
        mine.end += its <= part;
        before += steps;
    }
    return mine;
}

static bool is_of_bf16x3(const struct tensor *w) { return layout_is_right(w->layout); }

/* Returns the bytes of a recurrent weight in the layout that steps read. */
static size_t weight_bytes(const struct tensor *w)
{
    if (is_of_bf16x3(w) && !layout_is_whole(w->layout))
        return 3 * sizeof(uint16_t);
    return w->at ? dtype_size(w->dtype) : sizeof(real);
}

/* Returns the fraction of active rows in a step of this chunk; more than 0. */
static double taking_part(const struct rnn *r)
{
    const size_t rows = r->view[RNN_G].count[1];
    size_t all = 0;
    for (size_t b = 0; b < rows; b++) all += steps_of_row(r, b);
    return (double)all / (double)((r->steps + 1) * rows);
}

/* Divides steps by rows and units according to the shape and the caches. If units are divided, a step waits at
 * `barriers` barriers, and all threads read `handed` bytes per row. */
static void divide(struct rnn *r, int me, int team, int barriers, size_t handed)
{
    if (r->group)
        return;
    const struct tensor *g = &r->view[RNN_G], *w = &r->view[RNN_W];
    struct division_shape shape = {.rows = g->count[1],
                                   .units = r->units,
                                   .gates = w->at ? w->count[0] : 0,
                                   .width = r->width,
                                   .taking_part = taking_part(r),
                                   .number = weight_bytes(w),
                                   .handed = handed,
                                   .tiles = is_of_bf16x3(w) || r->call->by_tiles,
                                   .barriers = barriers,
                                   .rows_only = r->projected};
    struct division_parts parts = division_of(&shape, team, r->call->division);
    struct range row = {0, 0};
    uint32_t unit = 0, units = 0;
    if (me < parts.rows * parts.units) {
        row = rows_of_part(r, (size_t)(me / parts.units), (size_t)parts.rows);
        shard_range((uint32_t)r->units, parts.units, me % parts.units, PANEL, &unit, &units);
    }
    r->row = row.first;
    r->row_end = row.end;
    r->unit = unit;
    r->unit_end = unit + units;
    r->me = me;
    r->rendezvous = parts.units > 1;
    r->counts = me % parts.units == 0;
}

static void meet(const struct rnn *r)
{
    if (r->rendezvous)
        barrier_wait(r->call->barrier, r->me);
}

/* The axis of each view that the team divides; -1: all threads read the view. */
static const signed char batch_axis[RNN_BACK_VIEWS] = {
    [RNN_G] = 1,       [RNN_W] = -1,      [RNN_BIAS] = -1,   [RNN_VECTOR] = -1,      [RNN_PROJ] = -1, [RNN_H0] = 0,
    [RNN_S0] = 1,      [RNN_Y] = 1,       [RNN_S] = 1,       [RNN_INTERMEDIATE] = 1, [RNN_M] = 1,     [RNN_LENGTHS] = 0,
    [RNN_RESET] = 1,   [RNN_SCRATCH] = 1, [RNN_HN] = 0,      [RNN_SN] = 1,           [RNN_X] = 1,     [RNN_W_X] = -1,
    [RNN_BIAS_X] = -1, [RNN_SAVED] = 1,   [RNN_PIECES] = -1, [RNN_DY] = 1,           [RNN_DHN] = 0,   [RNN_DSN] = 1,
    [RNN_DH0] = 0,     [RNN_DS0] = 1,     [RNN_DV] = 1,      [RNN_DP] = 1,           [RNN_DG] = 1,
};

static double elements(const struct rnn *r, int slot, size_t rows)
{
    const struct tensor *x = &r->view[slot];
    double n = x->at != NULL;
    for (int i = 0; i < x->rank; i++) n *= i == batch_axis[slot] ? (double)rows : (double)x->count[i];
    return n;
}

static void count_work(const struct rnn *r, int me, struct work *work)
{
    if (!r->counts)
        return;
    work->flops += 2 * r->row_steps * (elements(r, RNN_W, 0) + elements(r, RNN_PROJ, 0) + elements(r, RNN_W_X, 0));
    for (int slot = 0; slot < RNN_BACK_VIEWS; slot++)
        if (batch_axis[slot] >= 0)
            count_elements(work, r->call, slot, elements(r, slot, r->row_end - r->row));
        else
            count_view(work, r->call, slot, me);
}

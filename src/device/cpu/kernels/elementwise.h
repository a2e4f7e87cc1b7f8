/* Kernels without sums over rows: dropout, copy, fill, tree, norm. */
#include "base/philox.h"

/* ---- dropout --------------------------------------------------------------------------- */

enum { RUN_SEED, RUN_STEP }; /* indices of the I64 view DROPOUT_RUN */

/* The state of a row's mask: its position in the whole tensor, the step, the seed and the stream. */
struct mask {
    uint32_t key[2], counter[4];
    float probability;
    real factor[2];
}; /* for dropped and kept units */

static struct mask mask_of(const struct call *call)
{
    const int64_t *run = call->view[DROPOUT_RUN].at;
    const uint64_t seed = (uint64_t)run[RUN_SEED];
    const float p = call->probability;
    return (struct mask){.key = {(uint32_t)seed, (uint32_t)(seed >> 32) ^ (uint32_t)call->stream},
                         .counter = {0, 0, 0, (uint32_t)run[RUN_STEP]},
                         .probability = p,
                         .factor = {0, (real)(1.0 / (1.0 - (double)p))}};
}

/* y = x / (1 - p) where the mask keeps, otherwise 0. `unit` is the index of x[0] in the whole row. Four units share a
 * counter. The factors are in a table because a branch on the mask would be unpredictable. */
static void drop_row(struct mask *m, const real *x, real *y, size_t n, uint32_t unit, bool adds)
{
    for (size_t i = 0; i < n;) {
        uint32_t word[4];
        m->counter[0] = unit / 4;
        philox(m->key, m->counter, word);
        for (size_t w = unit % 4; w < 4 && i < n; w++, i++, unit++) {
            real kept = x[i] * m->factor[philox_unit(word[w]) >= m->probability];
            y[i] = adds ? y[i] + kept : kept;
        }
    }
}

/* Also its own backward: dx = dropout of dy. */
static unroll_status kernel_dropout(const struct call *call, int me, int team, struct work *work)
{
    const struct tensor *x = &call->view[DROPOUT_X], *y = &call->view[DROPOUT_Y];
    const bool adds = call->view[DROPOUT_Y].access == ADD;
    const size_t rows = tensor_rows(x), batch = x->count[1];
    const struct range row = my_share(rows, me, team, 1);
    const struct lasting lasting = lasting_of(x, call->view[DROPOUT_LENGTHS].at);
    struct mask mask = mask_of(call);
    for (size_t r = row.first; r < row.end; r++, comm_poll()) {
        if (!lasts(&lasting, r / batch, r % batch)) {
            if (!adds)
                memset(tensor_row(y, r), 0, tensor_width(y) * sizeof(real));
            continue;
        }
        mask.counter[1] = x->origin[1] + (uint32_t)(r % batch);
        mask.counter[2] = x->origin[0] + (uint32_t)(r / batch);
        drop_row(&mask, tensor_row(x, r), tensor_row(y, r), tensor_width(x), x->origin[2], adds);
    }
    count_slices(work, call, DROPOUT_X, row, rows);
    count_slices(work, call, DROPOUT_Y, row, rows);
    count_view(work, call, DROPOUT_RUN, me);
    count_view(work, call, DROPOUT_LENGTHS, me);
    return UNROLL_OK;
}

/* ---- copy, fill ------------------------------------------------------------------------ */

/* Copies any type; adds only reals. */
static unroll_status kernel_copy(const struct call *call, int me, int team, struct work *work)
{
    const struct tensor *from = &call->view[COPY_FROM], *to = &call->view[COPY_TO];
    const size_t rows = tensor_rows(to), width = tensor_width(to);
    const struct range row = my_share(rows, me, team, 1);
    for (size_t r = row.first; r < row.end; r++, comm_poll())
        if (call->view[COPY_TO].access == ADD)
            add_numbers(tensor_row(to, r), tensor_row(from, r), width);
        else
            memmove(tensor_row(to, r), tensor_row(from, r), width * dtype_size(to->dtype));
    count_slices(work, call, COPY_FROM, row, rows);
    count_slices(work, call, COPY_TO, row, rows);
    return UNROLL_OK;
}

/* Fills with zeros. */
static unroll_status kernel_fill(const struct call *call, int me, int team, struct work *work)
{
    const struct tensor *to = &call->view[FILL_TO];
    const size_t rows = tensor_rows(to);
    const struct range row = my_share(rows, me, team, 1);
    for (size_t r = row.first; r < row.end; r++, comm_poll())
        memset(tensor_row(to, r), 0, tensor_width(to) * dtype_size(to->dtype));
    count_slices(work, call, FILL_TO, row, rows);
    return UNROLL_OK;
}

/* ---- tree ------------------------------------------------------------------------------ */

/* x[0] = the sum of all shards in a binary tree: distance 1, then 2, then 4, .. */
static unroll_status kernel_tree(const struct call *call, int me, int team, struct work *work)
{
    const struct tensor *x = &call->view[TREE_X];
    const size_t shards = x->count[0], rows = tensor_rows(x) / shards, width = tensor_width(x);
    const struct range column = my_share(width, me, team, 16);
    for (size_t distance = 1; distance < shards; distance *= 2)
        for (size_t s = 0; s + distance < shards; s += 2 * distance)
            for (size_t r = 0; r < rows; r++, comm_poll())
                add_numbers((real *)tensor_row(x, s * rows + r) + column.first,
                            (const real *)tensor_row(x, (s + distance) * rows + r) + column.first,
                            column.end - column.first);
    count_slices(work, call, TREE_X, column, width);
    return UNROLL_OK;
}

/* ---- norm ------------------------------------------------------------------------------ */

/* 16 sums: fewer would stall on their own latency. */
enum { NORM_LANES = 16, NORM_SOME = 8 };
typedef real norm_numbers __attribute__((vector_size(NORM_SOME * sizeof(real))));
typedef double norm_squares __attribute__((vector_size(NORM_SOME * sizeof(double))));

/* Returns the sum of squares in double: 16 sums by column modulo 16, then a tree, the same on every ISA. */
static double squares_of_row(const real *x, size_t n)
{
    norm_squares half[NORM_LANES / NORM_SOME] = {{0}};
    double lane[NORM_LANES];
    size_t i = 0;
    for (; i + NORM_LANES <= n; i += NORM_LANES)
        for (size_t j = 0; j < NORM_LANES / NORM_SOME; j++) {
            norm_numbers some;
            memcpy(&some, x + i + j * NORM_SOME, sizeof some);
            const norm_squares wide = __builtin_convertvector(some, norm_squares);
            half[j] += wide * wide;
        }
    memcpy(lane, half, sizeof lane);
    for (size_t l = 0; i + l < n; l++) lane[l] += (double)x[i + l] * (double)x[i + l];
    for (size_t distance = NORM_LANES / 2; distance > 0; distance /= 2)
        for (size_t l = 0; l < distance; l++) lane[l] += lane[l + distance];
    return lane[0];
}

/* Adds the squared norm, in double, row by row. */
static unroll_status kernel_norm(const struct call *call, int me, int team, struct work *work)
{
    const struct tensor *x = &call->view[NORM_GRAD];
    double total = 0;
    (void)team;
    if (me != 0)
        return UNROLL_OK;
    for (size_t row = 0; row < tensor_rows(x); row++, comm_poll())
        total += squares_of_row(tensor_row(x, row), tensor_width(x));
    *(double *)call->view[NORM_OUT].at += total;
    count_view(work, call, NORM_GRAD, me);
    count_view(work, call, NORM_OUT, me);
    return UNROLL_OK;
}

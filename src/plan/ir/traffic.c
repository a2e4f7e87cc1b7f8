/* Bytes sent by each operation. Sums are computed from the rounds of comm. Recurrences are computed from shapes,
 * following what device/cpu/recurrent/rnn_forward.h and rnn_backward.h send. tests/plan/test_mesh.c compares with what
 * ranks really send. */
#include "plan/ir/traffic.h"
#include <math.h>

/* ---- views ----------------------------------------------------------------------------- */

bool view_is_contiguous(const struct plan *p, const struct view *v)
{
    const struct buffer *b = &p->buffer[v->buffer];
    bool cut = false; /* an inner axis is not complete */
    for (int i = b->rank; i-- > 0; cut |= v->count[i] != b->size[i])
        if (cut && v->count[i] > 1)
            return false;
    return true;
}

/* Returns the elements from the start of a dense buffer's segment to the view. */
static size_t view_begin(const struct plan *p, const struct view *v)
{
    const struct buffer *b = &p->buffer[v->buffer];
    size_t at = 0;
    for (int i = 0; i < b->rank; i++) at = at * b->size[i] + v->first[i];
    return b->offset / dtype_size(b->dtype) + at;
}

/* ---- sums ------------------------------------------------------------------------------ */

size_t sum_numbers(const struct plan *p, const struct op *op)
{
    const struct view *first = &op->view[COMM_X], *last = op->kind == OP_ALL_REDUCE ? first : first + op->views - 1;
    return view_begin(p, last) - view_begin(p, first) + view_elements(p, last);
}

bool sum_is_by_size(const struct plan *p, const struct op *op)
{
    return !op->choice && (p->config.sum == COMM_AUTO || op->kind == OP_ALL_REDUCE);
}

static enum algorithm choose_algorithm(const struct plan *p, const struct op *op, size_t bytes)
{
    if (op->choice)
        return COMM_SHARDS; /* uses the order of their tree */
    if (!sum_is_by_size(p, op))
        return (enum algorithm)p->config.sum;
    return algorithm_choose(p->group[op->group].size, bytes, p->config.shards > 1);
}

struct sum sum_of_numbers(const struct plan *p, const struct op *op, size_t count)
{
    const struct group *group = &p->group[op->group];
    enum dtype dtype = p->buffer[op->view[COMM_X].buffer].dtype;
    size_t here = op->choice ? op->view[COMM_X].count[0] : 1;
    return (struct sum){.ranks = group->rank,
                        .size = group->size,
                        .tag = op->tag,
                        .count = count / here,
                        .is_double = dtype == DTYPE_F64,
                        .algorithm = choose_algorithm(p, op, count * dtype_size(dtype)),
                        .shards = op->choice ? (int)p->config.shards : 1};
}

/* ---- elements -------------------------------------------------------------------------- */

/* Returns the elements that this rank, a member, sends. */
static double sum_sends(const struct plan *p, const struct sum *sum)
{
    struct sum_shape shape = {.size = sum->size, .count = sum->count, .shards = sum->shards};
    struct round round;
    double numbers = 0;
    while (sum->ranks[shape.place] != plan_rank(p)) shape.place++;
    if (sum->algorithm == COMM_NATIVE)
        numbers = 2.0 * (sum->size - 1) / sum->size * (double)sum->count;
    else
        for (int i = 0; algorithm_round(sum->algorithm, &shape, i, &round); i++)
            numbers += round.to >= 0 ? (double)round.sent : 0;
    return numbers;
}

static double reduction_sends(const struct plan *p, const struct op *op)
{
    const struct view *x = &op->view[COMM_X];
    bool in_pieces = op->kind == OP_ALL_REDUCE && !view_is_contiguous(p, x);
    size_t all = in_pieces ? view_elements(p, x) : sum_numbers(p, op);
    size_t max = in_pieces ? PIECE_BYTES / dtype_size(p->buffer[x->buffer].dtype) : all;
    double numbers = 0;
    for (size_t done = 0; done < all; done += max) {
        struct sum sum = sum_of_numbers(p, op, all - done < max ? all - done : max);
        numbers += sum_sends(p, &sum);
    }
    return numbers;
}

/* Returns the elements of this rank's part of an axis, sent to each other rank. */
static double gather_sends(const struct plan *p, const struct op *op)
{
    struct view mine = op->view[COMM_X];
    uint32_t first;
    shard_range(mine.count[op->choice], p->config.mesh[M_HIDDEN], p->config.at[M_HIDDEN], 1, &first,
                &mine.count[op->choice]);
    return (double)(p->group[op->group].size - 1) * (double)view_elements(p, &mine);
}

/* ---- inside the steps of a recurrence -------------------------------------------------- */

struct step {
    double rows, others, units; /* of the batch; of the group; of this rank */
    double partial;             /* elements that a sum of a scratch plane sends */
};

static struct step step_of(const struct plan *p, const struct op *op)
{
    const struct view *g = &op->view[RNN_G], *plane = &op->view[RNN_SCRATCH];
    const struct group *group = &p->group[op->group];
    struct sum sum = {.ranks = group->rank,
                      .size = group->size,
                      .algorithm = COMM_TREE,
                      .shards = 1,
                      .count = (size_t)g->count[1] * p->buffer[plane->buffer].size[2]};
    return (struct step){g->count[1], group->size - 1, g->count[3], sum_sends(p, &sum)};
}

/* Own units of h and the intermediate; a projected h is summed. */
static double forward_numbers(const struct plan *p, const struct op *op, const struct step *s)
{
    const struct cell_declaration *cell = p->model->layer[op->depth - 1].cell;
    double own = s->others * s->rows * s->units;
    return (cell->phases - 1) * own + (op->view[RNN_PROJ].buffer >= 0 ? s->partial : own);
}

/* The gradients of own sums, or sums of those of h and the intermediate. */
static double backward_numbers(const struct plan *p, const struct op *op, const struct step *s)
{
    const struct cell_declaration *cell = p->model->layer[op->depth - 1].cell;
    if (op->choice)
        return s->others * s->rows * s->units * cell->inputs;
    return (cell->phases - 1 + (cell_inputs_from(cell, FROM_H) > 0)) * s->partial;
}

/* States sent by ranks along time. The i-th rank receives states i times and sends them once more; the last one
 * broadcasts them instead. Each message has a note of 16 bytes. Backward is the same in reverse order. */
static double states_sent(const struct plan *p, const struct op *op)
{
    const int ranks = p->config.mesh[M_TIME], at = p->config.at[M_TIME];
    const int turned = (op->kind == OP_RNN_BACK) != op->direction, place = turned ? ranks - 1 - at : at;
    const struct buffer *pieces = &p->buffer[op->view[RNN_PIECES].buffer];
    const struct cell_declaration *cell = p->model->layer[op->depth - 1].cell;
    const double rows = op->view[RNN_G].count[1], times = place + 1 < ranks ? place + 1 : ranks - 1;
    const double notes = op->pieces > 1 ? rows : ceil(rows / PIECES_MAX);
    const double numbers = rows * cell->states * pieces->size[1];
    return times * (numbers + notes * 16 / (double)dtype_size(pieces->dtype));
}

static double recurrence_sends(const struct plan *p, const struct op *op)
{
    const struct view *g = &op->view[RNN_G];
    if (op->group < 0)
        return 0;
    if (p->config.mesh[M_TIME] > 1)
        return states_sent(p, op);
    struct step s = step_of(p, op);
    double numbers = op->kind == OP_RNN ? forward_numbers(p, op, &s) : backward_numbers(p, op, &s);
    return g->count[0] * numbers;
}

/* ---- operations ------------------------------------------------------------------------ */

static double numbers_sent(const struct plan *p, const struct op *op)
{
    switch (op->kind) {
    case OP_SEND: return (double)view_elements(p, &op->view[COMM_X]);
    case OP_ALL_REDUCE:
    case OP_SUM_BEGIN: return reduction_sends(p, op);
    case OP_ALL_GATHER: return gather_sends(p, op);
    case OP_RNN:
    case OP_RNN_BACK: return recurrence_sends(p, op);
    default: return 0;
    }
}

double op_sends(const struct plan *p, const struct op *op)
{
    const struct view *x = &op->view[0]; /* the communicated view: COMM_X, RNN_G */
    return x->buffer < 0 ? 0 : numbers_sent(p, op) * (double)dtype_size(p->buffer[x->buffer].dtype);
}

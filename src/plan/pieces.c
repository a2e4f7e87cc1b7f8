/* Pieces of time: how many pieces of a sequence each recurrence runs at once, as rows of a batch, or on the ranks of a
 * cut of time, from states that are guessed and then repaired. It decides and refuses; what a device does with
 * op.pieces is its own (device/cpu/rnn_pieces.h, rnn_time_ranks.h). Not chunks, which run one after the other from the
 * states that they hand on. */
#include "cells/cell.h"
#include "plan/plan.h"
#include "unroll.h"

/* Of a choice: so many steps that repairs are a small part of a piece, for networks forget in some hundred; and so many
 * rows that more would read no weight less often. */
enum { ENOUGH_STEPS = 1024, ENOUGH_PIECES = 16 };

bool forgets_exactly(const struct cell_declaration *cell)
{
    return cell_inputs_from(cell, FROM_H | FROM_INTERMEDIATE) == 0;
}

/* The first recurrent layer whose cell multiplies its state; NULL: there is none. */
static const struct layer *dense_layer(const struct unroll_model *m)
{
    for (int i = 0; i < m->layers; i++)
        if (m->layer[i].cell && !forgets_exactly(m->layer[i].cell))
            return &m->layer[i];
    return NULL;
}

static bool recurs(const struct unroll_model *m)
{
    for (int i = 0; i < m->layers; i++)
        if (m->layer[i].cell)
            return true;
    return false;
}

bool plan_repairs(const struct plan_config *c) { return c->pieces > 1 || c->mesh[M_TIME] > 1; }

/* Why time can't be cut between ranks, in pieces or not. */
static unroll_status check_cut(const struct plan_config *c)
{
    const int ranks = c->mesh[M_TIME];
    if (ranks == 1)
        return UNROLL_OK;
    /* A training's evaluations have its ranks, and windows of their own: right with any steps. */
    if (c->mode != MODE_EVAL && c->T / (uint32_t)ranks < UNROLL_PIECE_STEPS)
        return fail(UNROLL_UNSUPPORTED,
                    "the cut time=%d of %u steps: a rank of fewer than %d steps ends before it has forgotten how it "
                    "began; fix: time=%u, or more steps",
                    ranks, c->T, UNROLL_PIECE_STEPS, c->T < 2 * UNROLL_PIECE_STEPS ? 1 : c->T / UNROLL_PIECE_STEPS);
    if (c->exact && c->mode >= MODE_TRAIN)
        return fail(UNROLL_UNSUPPORTED,
                    "the cut time=%d adds gradients of weights rank by rank, not in the order of one process: not "
                    "exact; fix: cut batch or layers, or leave out exact",
                    ranks);
    return UNROLL_OK;
}

/* Why there can't be pieces, or ranks along time; UNROLL_OK: there can. */
static unroll_status check_possible(const struct plan *p)
{
    const struct plan_config *c = &p->config;
    const struct layer *dense = dense_layer(p->model);
    if (c->streaming)
        return fail(UNROLL_UNSUPPORTED, "a stream has one step at a time, not pieces of time; fix: pieces = 1");
    if (!c->traits.pieces)
        return fail(UNROLL_UNSUPPORTED,
                    "this device runs a sequence in one piece; fix: pieces = 1 without a cut of time, or the cpu");
    if (c->chunks > 1 || c->checkpoint)
        return fail(UNROLL_UNSUPPORTED,
                    "pieces run all steps at once, %s some after others; fix: pieces = 1 without a cut of time, or "
                    "without `%s`",
                    c->checkpoint ? "checkpoints" : "chunks", c->checkpoint ? "checkpoint_time" : "chunks");
    if (c->mesh[M_HIDDEN] > 1)
        return fail(
            UNROLL_UNSUPPORTED,
            "ranks that share units meet in every step, in one piece; fix: pieces = 1 without a cut of time, or "
            "a split along batch or layer");
    if (dense && (c->exact || c->time_tolerance == 0))
        return fail(UNROLL_UNSUPPORTED,
                    "'%s' multiplies its state and never forgets a wrong one to the last bit; fix: time_tolerance "
                    "1e-6 without exact, a cell whose gates multiply no state, or pieces = 1 without a cut of time",
                    dense->cell->called);
    return UNROLL_OK;
}

static unroll_status check_given(const struct plan_config *c)
{
    const uint32_t T = c->T / (uint32_t)c->mesh[M_TIME]; /* of a rank */
    if (c->pieces < 1 || c->pieces > PIECES_MAX)
        return fail(UNROLL_USAGE,
                    "pieces = %d is outside 1..%d (UNROLL_AUTO: as many as are fast); fix: a value in this range",
                    c->pieces, PIECES_MAX);
    if (c->pieces > 1 && T / (uint32_t)c->pieces < UNROLL_PIECE_STEPS)
        return fail(
            UNROLL_UNSUPPORTED,
            "%d pieces of %u steps: a piece of fewer than %d steps ends before it has forgotten how it began; "
            "fix: pieces = %u",
            c->pieces, T, UNROLL_PIECE_STEPS,
            T / UNROLL_PIECE_STEPS > 1 ? T / UNROLL_PIECE_STEPS < PIECES_MAX ? T / UNROLL_PIECE_STEPS : PIECES_MAX : 1);
    return UNROLL_OK;
}

/* Rows of the batch are as good as pieces, and need no repairs. Cells that multiply no state read no weights in their
 * steps: their training gains nothing by pieces, and keeps all sums twice (docs/internals/time.md). */
static int choose(const struct plan *p)
{
    const struct plan_config *c = &p->config;
    const uint32_t enough = c->T / (uint32_t)c->mesh[M_TIME] / ENOUGH_STEPS, rows = (ENOUGH_PIECES + c->B - 1) / c->B;
    const uint32_t pieces = enough < rows ? enough : rows;
    if (c->mode >= MODE_TRAIN && !dense_layer(p->model))
        return 1;
    if (pieces < 2 || !recurs(p->model) || check_possible(p) != UNROLL_OK)
        return 1;
    return (int)pieces;
}

unroll_status pass_pieces(struct plan *p)
{
    struct plan_config *c = &p->config;
    if (!(c->time_tolerance >= 0 && c->time_tolerance < 1))
        return fail(UNROLL_USAGE, "time_tolerance = %g is outside 0 <= t < 1; fix: a value in this range",
                    (double)c->time_tolerance);
    if (c->pieces == PIECES_AUTO)
        c->pieces = choose(p);
    TRY(check_given(c));
    if (!plan_repairs(c))
        return UNROLL_OK;
    TRY(check_cut(c));
    TRY(check_possible(p));
    c->chunks = 1;
    return UNROLL_OK;
}

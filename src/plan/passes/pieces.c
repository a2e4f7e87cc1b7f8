/* Pieces of time: how many pieces of a sequence each recurrence runs at once, as rows of a batch or on the ranks of a
 * time cut, from guessed states that are then repaired. This pass decides and checks; devices implement op.pieces
 * (device/cpu/recurrent/rnn_pieces.h, rnn_time_ranks.h). Unlike pieces, chunks run one after the other and pass on
 * their states. */
#include "nn/cells/cell.h"
#include "plan/ir/plan.h"
#include "unroll.h"

/* Automatic choice: enough steps for repairs to be a small part of a piece, because networks forget within some hundred
 * steps; and enough rows that more would not reduce the reads of weights. */
enum { ENOUGH_STEPS = 1024, ENOUGH_PIECES = 16 };

bool forgets_exactly(const struct cell_declaration *cell)
{
    return cell_inputs_from(cell, FROM_H | FROM_INTERMEDIATE) == 0;
}

/* Returns the first recurrent layer whose cell multiplies its state; NULL: none. */
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

/* Fails if time cannot be cut between ranks, in pieces or not. */
static unroll_status check_cut(const struct plan_config *c)
{
    const int ranks = c->mesh[M_TIME];
    if (ranks == 1)
        return UNROLL_OK;
    /* A training's evaluations have the same ranks but shorter windows; they are correct with any number of steps. */
    if (c->mode != MODE_EVAL && c->T / (uint32_t)ranks < UNROLL_PIECE_STEPS)
        return fail(UNROLL_UNSUPPORTED,
                    "the cut time=%d of %u steps: a rank with fewer than %d steps is too short for its state to "
                    "become independent of the initial one; fix: use time=%u, or more steps",
                    ranks, c->T, UNROLL_PIECE_STEPS, c->T < 2 * UNROLL_PIECE_STEPS ? 1 : c->T / UNROLL_PIECE_STEPS);
    if (c->exact && c->mode >= MODE_TRAIN)
        return fail(UNROLL_UNSUPPORTED,
                    "the cut time=%d adds weight gradients rank by rank, in a different order than one process, "
                    "which is not exact; fix: cut batch or layers, or leave out exact",
                    ranks);
    return UNROLL_OK;
}

/* Fails if pieces, or ranks along time, are not possible. */
static unroll_status check_possible(const struct plan *p)
{
    const struct plan_config *c = &p->config;
    const struct layer *dense = dense_layer(p->model);
    if (c->streaming)
        return fail(UNROLL_UNSUPPORTED, "a stream runs one step at a time and cannot have pieces; fix: set pieces = 1");
    if (!c->traits.pieces)
        return fail(UNROLL_UNSUPPORTED,
                    "this device runs a sequence in one piece; fix: use pieces = 1 without a cut of time, or the "
                    "device cpu");
    if (c->chunks > 1 || c->checkpoint)
        return fail(UNROLL_UNSUPPORTED,
                    "pieces run all steps at once and cannot be combined with %s; fix: use pieces = 1 without a cut "
                    "of time, or leave out `%s`",
                    c->checkpoint ? "checkpoints" : "chunks", c->checkpoint ? "checkpoint_time" : "chunks");
    if (c->mesh[M_HIDDEN] > 1)
        return fail(UNROLL_UNSUPPORTED,
                    "a split along hidden synchronizes ranks in every step and cannot have pieces; fix: use pieces = 1 "
                    "without a cut of time, or a split along batch or layer");
    if (dense && (c->exact || c->time_tolerance == 0))
        return fail(UNROLL_UNSUPPORTED,
                    "'%s' multiplies its state by weights, so an error in the initial state never decays to zero; "
                    "fix: use time_tolerance 1e-6 without exact, a cell whose gates do not read the state, or pieces "
                    "= 1 without a cut of time",
                    dense->cell->called);
    return UNROLL_OK;
}

/* Checks a number of pieces that the caller chose. */
static unroll_status check_given(const struct plan_config *c)
{
    const uint32_t T = c->T / (uint32_t)c->mesh[M_TIME]; /* of a rank */
    if (c->pieces < 1 || c->pieces > PIECES_MAX)
        return fail(UNROLL_USAGE,
                    "`pieces` = %d is outside 1..%d (UNROLL_AUTO: automatic); fix: use a value in this range",
                    c->pieces, PIECES_MAX);
    if (c->pieces > 1 && T / (uint32_t)c->pieces < UNROLL_PIECE_STEPS)
        return fail(
            UNROLL_UNSUPPORTED,
            "%d pieces of %u steps: a piece with fewer than %d steps is too short for its state to become "
            "independent of the initial one; fix: set `pieces` = %u",
            c->pieces, T, UNROLL_PIECE_STEPS,
            T / UNROLL_PIECE_STEPS > 1 ? T / UNROLL_PIECE_STEPS < PIECES_MAX ? T / UNROLL_PIECE_STEPS : PIECES_MAX : 1);
    return UNROLL_OK;
}

/* Rows of the batch are as good as pieces and need no repairs. Cells that multiply no state read no weights in their
 * steps: their training is not faster with pieces, which store all sums twice (docs/internals/time.md). */
static int choose_pieces(const struct plan *p)
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
        return fail(UNROLL_USAGE, "`time_tolerance` = %g is outside 0 <= t < 1; fix: use a value in this range",
                    (double)c->time_tolerance);
    if (c->pieces == PIECES_AUTO)
        c->pieces = choose_pieces(p);
    TRY(check_given(c));
    if (!plan_repairs(c))
        return UNROLL_OK;
    TRY(check_cut(c));
    TRY(check_possible(p));
    c->chunks = 1;
    return UNROLL_OK;
}

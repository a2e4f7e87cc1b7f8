/* Lowering of recurrent layers: the buffers of a direction, the product with x, the recurrence. */
#include "plan/lower/lowering.h"
#include "plan/lower/lower.h"
#include <stdio.h>

/* The buffers of one direction of one layer. */
struct layer_buffers {
    int g, s, intermediate, m, h0, s0, hn, sn, scratch, saved, pieces;
    int enter_h, enter_s; /* what enters the first step, if other ranks come before this one; otherwise h0 and s0 */
};

static int optional(struct plan *p, bool wanted, const char *name, enum segment segment, struct buffer_shape s,
                    bool *ok)
{
    if (!wanted || !*ok)
        return -1;
    int made = plan_add(p, name, p->config.real, segment, s);
    *ok = made >= 0;
    return made;
}

/* Returns the planes of `width` elements per row for the gradients of all sums of a step. */
static uint32_t gathered_planes(const struct plan *p, const struct cell_declaration *cell, uint32_t U, uint32_t width)
{
    const struct operand_traits *operands = p->config.traits.operands;
    const uint32_t inputs = (uint32_t)cell->inputs;
    return operands ? operands->planes(p, inputs, U, width) : inputs + 1;
}

/* Returns the pieces that run at once; with one piece of time these are rows of the batch. */
static uint32_t pieces_at_once(const struct plan_config *c)
{
    return c->pieces > 1 ? (uint32_t)c->pieces : c->B < PIECES_MAX ? c->B : PIECES_MAX;
}

/* Returns the planes of a piece, as documented in device/cpu/recurrent/rnn_pieces.h and rnn_pieces_back.h: those of a
 * step (`planes` in backward), PIECE_STATES of all states, and the states of the last PIECE_HELD steps or of each
 * stretch of at least 32. */
static uint32_t piece_planes(const struct plan *p, const struct cell_declaration *cell, uint32_t planes)
{
    const struct plan_config *c = &p->config;
    const uint32_t states = (uint32_t)cell->states, T = c->T / (uint32_t)c->mesh[M_TIME] + p->block_steps;
    const uint32_t steps = (c->mesh[M_TIME] > 1 ? T : c->T) / (uint32_t)c->pieces;
    const uint32_t forward = 2 * states + (uint32_t)cell->intermediates + 2 + (PIECE_STATES + PIECE_HELD) * states;
    const uint32_t backward = c->mode >= MODE_TRAIN ? planes + (PIECE_STATES + (steps + 31) / 32) * states : 0;
    return forward > backward ? forward : backward;
}

/* Adds the buffer of what enters the first local step, if earlier ranks have other steps. It is not carried between
 * runs. Its gradient is still that of the first states, which is broadcast to all ranks. */
static unroll_status add_entering(struct plan *p, int state, int *enter, bool reverse)
{
    char name[sizeof p->buffer->name + 8];
    if (state < 0)
        return UNROLL_OK;
    snprintf(name, sizeof name, "enter.%s", p->buffer[state].name);
    *enter = plan_add_like(p, name, SEG_STEP, state);
    if (*enter < 0)
        return UNROLL_RESOURCE;
    p->buffer[state].is_kept = reverse; /* otherwise it is carried from run to run, or belongs to another rank */
    if (p->config.mode >= MODE_TRAIN) {
        const int gradient = plan_gradient(p, state);
        p->buffer[*enter].wants_gradient = true;
        p->buffer[*enter].gradient = gradient;
        return gradient < 0 ? UNROLL_RESOURCE : UNROLL_OK;
    }
    return UNROLL_OK;
}

static unroll_status add_all_entering(struct plan *p, int direction, struct layer_buffers *l)
{
    const int last = p->config.mesh[M_TIME] - 1;
    l->enter_h = l->h0, l->enter_s = l->s0;
    if (p->config.at[M_TIME] == (direction ? last : 0))
        return UNROLL_OK;
    TRY(add_entering(p, l->h0, &l->enter_h, direction));
    return add_entering(p, l->s0, &l->enter_s, direction);
}

/* Adds the buffers of one direction; those that only a backward pass needs are optional. */
static unroll_status add_layer_buffers(struct plan *p, int layer, int direction, struct layer_buffers *l)
{
    const struct plan_config *c = &p->config;
    const struct layer *described = &p->model->layer[layer];
    const struct cell_declaration *cell = described->cell;
    uint32_t T = c->T, B = c->B, U = described->hidden, K = described->width;
    uint32_t others = (uint32_t)cell->states - 1, intermediates = (uint32_t)cell->intermediates;
    bool keeps = c->mode >= MODE_TRAIN, ok = true; /* backward needs more buffers, and more scratch */
    uint32_t gathered = keeps ? 2 * gathered_planes(p, cell, U, K > U ? K : U) : 0;
    char name[32];
#define NAMED(prefix) (snprintf(name, sizeof name, prefix ".l%d%s", layer, direction ? ".reverse" : ""), name)
    l->g =
        optional(p, true, NAMED("g"), SEG_STEP, SHAPE4(AX_T, T, AX_B, B, AX_G, (uint32_t)cell->inputs, AX_U, U), &ok);
    bool in_pieces = plan_repairs(c); /* first results are compared with repaired ones */
    l->s = optional(p, others && (keeps || in_pieces), NAMED("s"), SEG_STEP,
                    SHAPE4(AX_T, T, AX_B, B, AX_G, others, AX_U, U), &ok);
    l->intermediate = optional(p, intermediates && keeps, NAMED("link"), SEG_STEP,
                               SHAPE4(AX_T, T, AX_B, B, AX_G, intermediates, AX_K, K), &ok); /* whole: an operand */
    l->m = optional(p, described->projection && keeps, NAMED("m"), SEG_STEP, SHAPE3(AX_T, T, AX_B, B, AX_U, U), &ok);
    l->h0 = optional(p, true, NAMED("h0"), SEG_CARRY, SHAPE2(AX_B, B, AX_K, K), &ok);
    l->s0 = optional(p, others, NAMED("s0"), SEG_CARRY, SHAPE3(AX_G, others, AX_B, B, AX_U, U), &ok);
    l->hn = optional(p, true, NAMED("hn"), SEG_IO, SHAPE2(AX_B, B, AX_K, K), &ok);
    l->sn = optional(p, others, NAMED("sn"), SEG_IO, SHAPE3(AX_G, others, AX_B, B, AX_U, U), &ok);
    uint32_t planes =
        (keeps ? 4 : 2) * (others + 1) + intermediates + 2; /* as documented in device/cpu/recurrent/rnn_kernels.h */
    l->scratch = optional(p, true, NAMED("scratch"), SEG_SCRATCH,
                          SHAPE3(AX_G, planes + gathered, AX_B, B, AX_K, K > U ? K : U), &ok);
    l->saved = optional(p, in_pieces && keeps, NAMED("saved"), SEG_STEP,
                        SHAPE4(AX_T, T, AX_B, B, AX_G, (uint32_t)cell->inputs, AX_U, U), &ok);
    l->pieces = optional(
        p, in_pieces, NAMED("pieces"), SEG_SCRATCH,
        SHAPE2(AX_G, in_pieces ? piece_planes(p, cell, planes + gathered) * pieces_at_once(c) : 0, AX_K, K > U ? K : U),
        &ok);
#undef NAMED
    if (!ok)
        return UNROLL_RESOURCE;
    p->buffer[l->g].wants_gradient = true;
    p->buffer[l->g].gradient = l->g; /* pre-activations -> saved values -> their gradients */
    p->buffer[l->h0].wants_gradient = p->buffer[l->hn].wants_gradient = true;
    if (others)
        p->buffer[l->s0].wants_gradient = p->buffer[l->sn].wants_gradient = true;
    return add_all_entering(p, direction, l);
}

/* Adds the input product: all gates that read x, for all steps at once. */
static unroll_status lower_input_product(struct plan *p, int layer, int direction, int x, int g)
{
    struct op op = lower_product(p, x, layer);
    op.view[GEMM_W] = view_of(p, lower_weight(p, lower_master(p, PARAM_W_IH, layer, direction)), READ);
    op.view[GEMM_BIAS] = view_of(p, lower_master(p, PARAM_B_IH, layer, direction), READ);
    op.view[GEMM_Y] = view_of(p, g, WRITE);
    op.view[GEMM_LENGTHS] = lower_named(p, "lengths");
    view_narrow(p, &op.view[GEMM_Y], AX_G, 0, (uint32_t)cell_inputs_from(p->model->layer[layer].cell, FROM_X));
    op.direction = direction;
    return plan_push(p, &op);
}

/* Adds the operation of one direction, which reads the gates in l->g. */
static unroll_status lower_recurrence(struct plan *p, int layer, int direction, int y, const struct layer_buffers *l)
{
    struct op op = op_new(OP_RNN, PHASE_FORWARD, layer + 1);
    uint32_t K = p->model->layer[layer].width, before = (uint32_t)(direction - p->model->layer[layer].first_direction);
    op.direction = direction;
    op.view[RNN_G] = view_of(p, l->g, UPDATE);
    op.view[RNN_W] = view_of(p, lower_weight(p, lower_master(p, PARAM_W_HH, layer, direction)), READ);
    op.view[RNN_BIAS] = view_of(p, lower_master(p, PARAM_B_HH, layer, direction), READ);
    op.view[RNN_VECTOR] = view_of(p, lower_master(p, PARAM_VECTOR, layer, direction), READ);
    op.view[RNN_PROJ] = view_of(p, lower_master(p, PARAM_W_HR, layer, direction), READ);
    op.view[RNN_H0] = view_of(p, l->enter_h, l->enter_h == l->h0 ? READ : WRITE);
    op.view[RNN_S0] = view_of(p, l->enter_s, l->enter_s == l->s0 ? READ : WRITE);
    op.view[RNN_Y] = view_of(p, y, WRITE);
    view_narrow(p, &op.view[RNN_Y], AX_K, before * K, K);
    op.view[RNN_S] = view_of(p, l->s, WRITE);
    op.view[RNN_INTERMEDIATE] = view_of(p, l->intermediate, WRITE);
    op.view[RNN_M] = view_of(p, l->m, WRITE);
    op.view[RNN_LENGTHS] = lower_named(p, "lengths");
    op.view[RNN_RESET] = lower_named(p, "reset");
    op.view[RNN_SCRATCH] = view_of(p, l->scratch, WRITE);
    op.view[RNN_HN] = view_of(p, l->hn, WRITE);
    op.view[RNN_SN] = view_of(p, l->sn, WRITE);
    op.view[RNN_SAVED] = view_of(p, l->saved, WRITE);
    op.view[RNN_PIECES] = view_of(p, l->pieces, WRITE);
    op.pieces = p->config.pieces;
    op.tolerance = forgets_exactly(p->model->layer[layer].cell) ? 0 : p->config.time_tolerance;
    return plan_push(p, &op);
}

static unroll_status lower_recurrent(struct plan *p, int layer, int x, int *y)
{
    const struct layer *l = &p->model->layer[layer];
    *y = lower_output(p, layer);
    if (*y < 0)
        return UNROLL_RESOURCE;
    for (int direction = l->first_direction; direction < layer_end(l); direction++) {
        struct layer_buffers buffers;
        TRY(add_layer_buffers(p, layer, direction, &buffers));
        TRY(lower_input_product(p, layer, direction, x, buffers.g));
        TRY(lower_recurrence(p, layer, direction, *y, &buffers));
    }
    return UNROLL_OK;
}

const struct layer_lowering lowering_recurrent = {"recurrent", lower_recurrent};

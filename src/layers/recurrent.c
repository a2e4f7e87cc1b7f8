/* Recurrent layers: a cell of the table of cells, in one direction or both. What a cell computes is in its own file. */
#include "base/status.h"
#include "layers/layer_table.h"
#include "plan/lower.h"
#include <stdio.h>

enum { MAX_UNITS = 1 << 20 };

/* ---- description ----------------------------------------------------------------------- */

static unroll_status take(const unroll_layer *g, int index, const struct cell_declaration *cell, struct layer *l)
{
    struct cell_options options = {.clip = g->clip, .input_forget = g->input_forget != 0};
    const struct layer_option of_dense = {"activation", g->activation}, of_pool = {"pool", g->pool};
    TRY(refuse_options(&of_dense, 1, index, "dense"));
    TRY(refuse_options(&of_pool, 1, index, "pool"));
    if (l->pooled)
        return fail(
            UNROLL_USAGE,
            "layer %d: '%s' goes through the steps of a sequence, and a pool has left one of them; fix: the pool "
            "behind the recurrent layers",
            index, g->kind);
    if (!(g->clip >= 0 && g->clip <= 80))
        return fail(UNROLL_USAGE, "layer %d: clip = %g is outside 0..80 (0: none); fix: 0 to 80", index,
                    (double)g->clip);
    TRY(parse_activations(g->activations, g->name, &options));
    if (!cell)
        TRY(find_cell(g->kind, g->peephole, &options, &cell));
    if (g->reverse && g->bidirectional)
        return fail(UNROLL_USAGE, "layer %d: reverse is one direction, bidirectional is both; fix: one of the two",
                    index);
    if (g->projection && !cell->projects)
        return fail(UNROLL_UNSUPPORTED,
                    "layer %d: '%s' has no projection, because it reads its own h unit by unit; fix: "
                    "leave it out, or choose the lstm",
                    index, g->kind);
    if (g->projection < 0 || g->projection >= g->width)
        return fail(UNROLL_USAGE,
                    "layer %d: projection = %d is not narrower than the %d units; fix: 1 to %d, or 0 for none", index,
                    g->projection, g->width, g->width - 1);
    TRY(check_range("level", g->level, 0, MODEL_LAYERS_MAX - 1));
    l->level = g->level;
    l->cell = cell;
    l->options = options;
    l->directions = g->bidirectional ? 2 : 1;
    l->first_direction = g->reverse != 0;
    l->hidden = (uint32_t)g->width;
    l->projection = (uint32_t)g->projection;
    l->width = l->projection ? l->projection : l->hidden;
    l->outputs = (uint32_t)l->directions * l->width;
    return UNROLL_OK;
}

static void describe_recurrent(const struct layer *l, unroll_layer *layer)
{
    layer->kind = l->cell->called;
    layer->level = l->level;
    layer->width = (int)l->hidden;
    layer->bidirectional = l->directions == 2;
    layer->reverse = l->first_direction;
    layer->input_forget = l->options.input_forget;
    layer->activations = activations_for_users(l->cell, &l->options);
    layer->projection = (int)l->projection;
    layer->peephole = l->cell->peepholes;
    layer->clip = l->options.clip;
}

static void add_direction(struct unroll_model *m, int layer, int direction)
{
    const struct layer *l = &m->layer[layer];
    uint32_t from_x = (uint32_t)cell_inputs_from(l->cell, FROM_X);
    uint32_t recurrent = (uint32_t)cell_inputs_from(l->cell, FROM_H | FROM_INTERMEDIATE);
    model_add_parameter(m, PARAM_W_IH, layer, direction, 3, from_x, l->hidden, l->input);
    model_add_parameter(m, PARAM_W_HH, layer, direction, 3, recurrent, l->hidden, l->width);
    if (l->bias) {
        model_add_parameter(m, PARAM_B_IH, layer, direction, 2, from_x, l->hidden, 0);
        model_add_parameter(m, PARAM_B_HH, layer, direction, 2, recurrent, l->hidden, 0);
    }
    model_add_parameter(m, PARAM_VECTOR, layer, direction, 2, (uint32_t)l->cell->vectors, l->hidden, 0);
    model_add_parameter(m, PARAM_W_HR, layer, direction, 2, l->projection, l->hidden, 0);
}

static void add_parameters(struct unroll_model *m, int layer)
{
    for (int direction = m->layer[layer].first_direction; direction < layer_end(&m->layer[layer]); direction++)
        add_direction(m, layer, direction);
}

/* ---- operations ------------------------------------------------------------------------ */

/* The buffers of one direction of one layer. */
struct layer_buffers {
    int g, s, intermediate, m, h0, s0, hn, sn, scratch, saved, pieces;
    int enter_h, enter_s; /* of a rank that other ranks come before: what enters its first step; else h0 and s0 */
};

static int optional(struct plan *p, bool wanted, const char *name, enum segment segment, struct shape s, bool *ok)
{
    if (!wanted || !*ok)
        return -1;
    int made = plan_add(p, name, p->config.real, segment, s);
    *ok = made >= 0;
    return made;
}

/* Planes of `width` numbers a row for the gradients of all sums of a step. */
static uint32_t gathered_planes(const struct plan *p, const struct cell_declaration *cell, uint32_t U, uint32_t width)
{
    const struct operand_traits *operands = p->config.traits.operands;
    const uint32_t inputs = (uint32_t)cell->inputs;
    return operands ? operands->planes(p, inputs, U, width) : inputs + 1;
}

/* Pieces that run at once; in one piece of time rows of the batch do. */
static uint32_t pieces_at_once(const struct plan_config *c)
{
    return c->pieces > 1 ? (uint32_t)c->pieces : c->B < PIECES_MAX ? c->B : PIECES_MAX;
}

/* Planes of a piece, as device/cpu/rnn_pieces.h and rnn_pieces_back.h say: those of a step, `planes` of a backward;
 * PIECE_STATES of all states; states of the last PIECE_HELD steps, or of each stretch of at least 32. */
static uint32_t piece_planes(const struct plan *p, const struct cell_declaration *cell, uint32_t planes)
{
    const struct plan_config *c = &p->config;
    const uint32_t states = (uint32_t)cell->states, T = c->T / (uint32_t)c->mesh[M_TIME] + p->block_steps;
    const uint32_t steps = (c->mesh[M_TIME] > 1 ? T : c->T) / (uint32_t)c->pieces;
    const uint32_t forward = 2 * states + (uint32_t)cell->intermediates + 2 + (PIECE_STATES + PIECE_HELD) * states;
    const uint32_t backward = c->mode >= MODE_TRAIN ? planes + (PIECE_STATES + (steps + 31) / 32) * states : 0;
    return forward > backward ? forward : backward;
}

/* What enters the first step here, where ranks before this one have other steps: a step's, no state that is carried.
 * The gradient is the first states' all the same: all ranks are told it. */
static unroll_status add_entering(struct plan *p, int state, int *enter, bool reverse)
{
    char name[sizeof p->buffer->name + 8];
    if (state < 0)
        return UNROLL_OK;
    snprintf(name, sizeof name, "enter.%s", p->buffer[state].name);
    *enter = plan_add_like(p, name, SEG_STEP, state);
    if (*enter < 0)
        return UNROLL_RESOURCE;
    p->buffer[state].is_kept = reverse; /* else it is carried from run to run, or not here */
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

static unroll_status add_layer_buffers(struct plan *p, int layer, int direction, struct layer_buffers *l)
{
    const struct plan_config *c = &p->config;
    const struct layer *described = &p->model->layer[layer];
    const struct cell_declaration *cell = described->cell;
    uint32_t T = c->T, B = c->B, U = described->hidden, K = described->width;
    uint32_t others = (uint32_t)cell->states - 1, intermediates = (uint32_t)cell->intermediates;
    bool keeps = c->mode >= MODE_TRAIN, ok = true; /* the backward needs more, and more scratch */
    uint32_t gathered = keeps ? 2 * gathered_planes(p, cell, U, K > U ? K : U) : 0;
    char name[32];
#define NAMED(prefix) (snprintf(name, sizeof name, prefix ".l%d%s", layer, direction ? ".reverse" : ""), name)
    l->g =
        optional(p, true, NAMED("g"), SEG_STEP, SHAPE4(AX_T, T, AX_B, B, AX_G, (uint32_t)cell->inputs, AX_U, U), &ok);
    bool in_pieces = plan_repairs(c); /* what they made first is compared with what repairs make */
    l->s = optional(p, others && (keeps || in_pieces), NAMED("s"), SEG_STEP,
                    SHAPE4(AX_T, T, AX_B, B, AX_G, others, AX_U, U), &ok);
    l->intermediate = optional(p, intermediates && keeps, NAMED("link"), SEG_STEP,
                               SHAPE4(AX_T, T, AX_B, B, AX_G, intermediates, AX_K, K), &ok); /* whole: an operand */
    l->m = optional(p, described->projection && keeps, NAMED("m"), SEG_STEP, SHAPE3(AX_T, T, AX_B, B, AX_U, U), &ok);
    l->h0 = optional(p, true, NAMED("h0"), SEG_CARRY, SHAPE2(AX_B, B, AX_K, K), &ok);
    l->s0 = optional(p, others, NAMED("s0"), SEG_CARRY, SHAPE3(AX_G, others, AX_B, B, AX_U, U), &ok);
    l->hn = optional(p, true, NAMED("hn"), SEG_IO, SHAPE2(AX_B, B, AX_K, K), &ok);
    l->sn = optional(p, others, NAMED("sn"), SEG_IO, SHAPE3(AX_G, others, AX_B, B, AX_U, U), &ok);
    uint32_t planes = (keeps ? 4 : 2) * (others + 1) + intermediates + 2; /* as device/cpu/rnn_kernels.h says */
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
    p->buffer[l->g].gradient = l->g; /* pre-activations -> saved -> their gradients */
    p->buffer[l->h0].wants_gradient = p->buffer[l->hn].wants_gradient = true;
    if (others)
        p->buffer[l->s0].wants_gradient = p->buffer[l->sn].wants_gradient = true;
    return add_all_entering(p, direction, l);
}

/* The input product: all gates that see x, for all steps at once. */
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

static unroll_status lower(struct plan *p, int layer, int x, int *y)
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

const struct layer_kind layer_recurrent = {.gathers_columns = true,
                                           .keeps_results = true,
                                           .widest = MAX_UNITS,
                                           .take = take,
                                           .describe = describe_recurrent,
                                           .add_parameters = add_parameters,
                                           .lower = lower};

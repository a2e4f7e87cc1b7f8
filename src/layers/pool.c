/* Pools: one step in the place of all steps of a sequence. What lies behind one has T = 1 and the lengths of the batch,
 * of which 0 is a row that has no answer. */
#include "base/status.h"
#include "layers/layer_table.h"
#include "plan/lower.h"
#include <stdio.h>
#include <string.h>

/* In the order of enum pool; "first" is not chosen, but what "last" is of a direction backward in time. */
static const char *const names[] = {[POOL_LAST] = "last", [POOL_MEAN] = "mean", [POOL_MAX] = "max"};
enum { NAMES = sizeof names / sizeof *names };

/* ---- description ----------------------------------------------------------------------- */

static unroll_status take_pool(const char *name, int index, struct layer *l)
{
    l->pool = 0;
    while (name && l->pool < NAMES && strcmp(names[l->pool], name)) l->pool++;
    if (!name || l->pool == NAMES)
        return fail(UNROLL_USAGE, "layer %d: there is no pool '%.40s'; fix: last, mean or max", index,
                    name ? name : "");
    return UNROLL_OK;
}

static unroll_status take(const unroll_layer *g, int index, const struct cell_declaration *cell, struct layer *l)
{
    const struct layer_option others[] = {{"level", g->level},           {"bidirectional", g->bidirectional},
                                          {"projection", g->projection}, {"peephole", g->peephole},
                                          {"clip", g->clip > 0},         {"reverse", g->reverse},
                                          {"coupled", g->input_forget},  {"functions", g->activations}};
    const struct layer_option of_dense = {"activation", g->activation};
    (void)cell;
    TRY(refuse_options(others, sizeof others / sizeof *others, index, "recurrent"));
    TRY(refuse_options(&of_dense, 1, index, "dense"));
    if (l->pooled)
        return fail(
            UNROLL_USAGE,
            "layer %d: a pool wants the steps of a sequence, and a pool before it has left one; fix: leave one out",
            index);
    if (g->width && (uint32_t)g->width != l->input)
        return fail(UNROLL_USAGE, "layer %d: a pool is as wide as what it reads; fix: width = %u, or 0", index,
                    (unsigned)l->input);
    l->bias = false;
    l->pooled = true;
    l->outputs = l->input;
    return take_pool(g->pool, index, l);
}

static void describe_pool(const struct layer *l, unroll_layer *layer) { layer->pool = names[l->pool]; }

static void add_parameters(struct unroll_model *m, int layer) { (void)m, (void)layer; }

/* ---- operations ------------------------------------------------------------------------ */

/* Columns of x that end where the same direction does. */
struct part {
    uint32_t first, width;
    int pool;
};

static unroll_status lower_part(struct plan *p, int layer, const struct part *part, int x, int y, int at)
{
    struct op op = op_new(OP_POOL, PHASE_FORWARD, layer + 1);
    op.choice = part->pool;
    op.view[POOL_X] = view_of(p, x, READ);
    op.view[POOL_LENGTHS] = lower_named(p, "lengths");
    op.view[POOL_Y] = view_of(p, y, WRITE);
    op.view[POOL_AT] = view_of(p, at, WRITE);
    for (int k = POOL_X; k <= POOL_AT; k++) view_narrow(p, &op.view[k], AX_K, part->first, part->width);
    return plan_push(p, &op);
}

/* A direction backward in time ends at the first step: what it gives there is of the whole sequence. */
static unroll_status lower_ends(struct plan *p, int layer, int x, int y)
{
    const struct layer *l = &p->model->layer[layer];
    struct part part = {0, 0, POOL_LAST};
    for (int i = 0; i < l->sources; i++) {
        const struct layer *source = l->source[i] == SOURCE_INPUT ? NULL : &p->model->layer[l->source[i]];
        const int directions = source && source->cell ? source->directions : 1;
        for (int d = 0; d < directions; d++) {
            const bool back = source && source->cell && source->first_direction + d == 1;
            const int pool = back ? POOL_FIRST : POOL_LAST;
            if (part.width && part.pool != pool) {
                TRY(lower_part(p, layer, &part, x, y, -1));
                part.first += part.width;
                part.width = 0;
            }
            part.pool = pool;
            part.width += model_source(p->model, l->source[i]) / (uint32_t)directions;
        }
    }
    return lower_part(p, layer, &part, x, y, -1);
}

/* A stream's answer is that of the sequence so far: of its last step the step itself, otherwise a state goes on. */
static unroll_status lower_streaming(struct plan *p, int layer, int x, int y)
{
    const struct layer *l = &p->model->layer[layer];
    const bool copies = l->pool == POOL_LAST;
    struct op op = op_new(copies ? OP_COPY : OP_POOL, PHASE_FORWARD, layer + 1);
    op.choice = l->pool;
    op.view[copies ? (int)COPY_FROM : (int)POOL_X] = view_of(p, x, READ);
    op.view[copies ? (int)COPY_TO : (int)POOL_Y] = view_of(p, y, WRITE);
    for (int next = 0; next < 2 && !copies; next++) {
        char name[32];
        snprintf(name, sizeof name, next ? "pn.l%d" : "p0.l%d", layer);
        int state = plan_add(p, name, p->config.real, next ? SEG_IO : SEG_CARRY,
                             SHAPE2(AX_B, p->config.B, AX_K, l->outputs + 1));
        if (state < 0)
            return UNROLL_RESOURCE;
        op.view[next ? POOL_NEXT : POOL_STATE] = view_of(p, state, next ? WRITE : READ);
    }
    return plan_push(p, &op);
}

static unroll_status lower(struct plan *p, int layer, int x, int *y)
{
    const struct layer *l = &p->model->layer[layer];
    const struct plan_config *c = &p->config;
    const struct part all = {0, l->outputs, l->pool};
    int at = -1;
    char name[32];
    if (c->resets)
        return fail(
            UNROLL_UNSUPPORTED,
            "layer %d, '%s', pools all steps of a row, and `resets` begin other sequences among them; fix: a row "
            "for each sequence, with `lengths`",
            layer, l->name);
    *y = lower_output(p, layer);
    if (*y < 0)
        return UNROLL_RESOURCE;
    if (c->streaming)
        return lower_streaming(p, layer, x, *y);
    if (l->pool == POOL_LAST)
        return lower_ends(p, layer, x, *y);
    if (l->pool == POOL_MAX && c->mode >= MODE_TRAIN) { /* backward has only to look where each was found */
        snprintf(name, sizeof name, "at.l%d", layer);
        at = plan_add(p, name, DTYPE_I32, SEG_STEP, SHAPE3(AX_ONE, 1, AX_B, c->B, AX_K, l->outputs));
        if (at < 0)
            return UNROLL_RESOURCE;
    }
    return lower_part(p, layer, &all, x, *y, at);
}

const struct layer_kind layer_pool = {
    .name = "pool", .take = take, .describe = describe_pool, .add_parameters = add_parameters, .lower = lower};

/* Lowering of pools: reduce all steps of a sequence to one. Layers after a pool have T = 1 and the lengths of the
 * batch; a length of 0 is a row without a result. */
#include "base/status.h"
#include "plan/lower/lowering.h"
#include "plan/lower/lower.h"
#include <stdio.h>

/* Columns of x whose directions end at the same step. */
struct pooled_half {
    uint32_t first, width;
    int pool;
};

static unroll_status lower_part(struct plan *p, int layer, const struct pooled_half *part, int x, int y, int at)
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

/* A direction that runs backward in time ends at the first step, whose output covers the whole sequence. */
static unroll_status lower_ends(struct plan *p, int layer, int x, int y)
{
    const struct layer *l = &p->model->layer[layer];
    struct pooled_half part = {0, 0, POOL_LAST};
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

/* A stream pools the sequence so far: `last` copies the step; the others update a state. */
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

/* Adds the pool of a layer over x and returns its output in *y. */
static unroll_status lower_pool(struct plan *p, int layer, int x, int *y)
{
    const struct layer *l = &p->model->layer[layer];
    const struct plan_config *c = &p->config;
    const struct pooled_half all = {0, l->outputs, l->pool};
    int at = -1;
    char name[32];
    if (c->resets)
        return fail(
            UNROLL_UNSUPPORTED,
            "layer %d, '%s', pools all steps of a row, but `resets` start new sequences in the row; fix: use one row "
            "per sequence, with `lengths`",
            layer, l->name);
    *y = lower_output(p, layer);
    if (*y < 0)
        return UNROLL_RESOURCE;
    if (c->streaming)
        return lower_streaming(p, layer, x, *y);
    if (l->pool == POOL_LAST)
        return lower_ends(p, layer, x, *y);
    if (l->pool == POOL_MAX && c->mode >= MODE_TRAIN) { /* backward only looks up where each maximum was found */
        snprintf(name, sizeof name, "at.l%d", layer);
        at = plan_add(p, name, DTYPE_I32, SEG_STEP, SHAPE3(AX_ONE, 1, AX_B, c->B, AX_K, l->outputs));
        if (at < 0)
            return UNROLL_RESOURCE;
    }
    return lower_part(p, layer, &all, x, *y, at);
}

const struct layer_lowering lowering_pool = {"pool", lower_pool};

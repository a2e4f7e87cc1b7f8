/* Pools: reduce all steps of a sequence to one. Layers after a pool have T = 1 and the lengths of the batch; a length
 * of 0 is a row without a result. */
#include "base/status.h"
#include "model/layer_table.h"
#include <string.h>

/* In the order of enum pool; "first" cannot be chosen, but is `last` for a direction that runs backward in time. */
static const char *const names[] = {[POOL_LAST] = "last", [POOL_MEAN] = "mean", [POOL_MAX] = "max"};
enum { NAMES = sizeof names / sizeof *names };

static unroll_status take_pool(const char *name, int index, struct layer *l)
{
    l->pool = 0;
    while (name && l->pool < NAMES && strcmp(names[l->pool], name)) l->pool++;
    if (!name || l->pool == NAMES)
        return fail(UNROLL_USAGE, "layer %d: there is no pool '%.40s'; fix: choose one of last, mean, max", index,
                    name ? name : "");
    return UNROLL_OK;
}

/* Checks the options of a pool layer and sets its fields. */
static unroll_status take_pool_layer(const unroll_layer *g, int index, const struct cell_declaration *cell,
                                     struct layer *l)
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
            "layer %d: a pool needs the steps of a sequence, but an earlier pool has reduced them to one; fix: leave "
            "one pool out",
            index);
    if (g->width && (uint32_t)g->width != l->input)
        return fail(UNROLL_USAGE, "layer %d: a pool has the width of its input; fix: set width = %u, or 0", index,
                    (unsigned)l->input);
    l->bias = false;
    l->pooled = true;
    l->outputs = l->input;
    return take_pool(g->pool, index, l);
}

static void describe_pool(const struct layer *l, unroll_layer *layer) { layer->pool = names[l->pool]; }

static void add_parameters(struct unroll_model *m, int layer) { (void)m, (void)layer; }

const struct layer_kind layer_pool = {
    .name = "pool", .take = take_pool_layer, .describe = describe_pool, .add_parameters = add_parameters};

/* The kind of dense layers: y = activation(W x + b). The last one of a network may share the embedding's weights. */
#include "base/status.h"
#include "model/layer_table.h"
#include <string.h>

static unroll_status take_activation(const unroll_layer *g, int index, struct layer *l)
{
    if (!g->activation)
        return UNROLL_OK;
    if (!activation_parse(g->activation, &l->activation))
        return fail(UNROLL_USAGE,
                    "layer %d: there is no activation '%.40s'; fix: use an activation such as relu, tanh or sigmoid",
                    index, g->activation);
    if (g->alpha != 0)
        l->activation.alpha = g->alpha;
    if (g->beta != 0)
        l->activation.beta = g->beta;
    return check_activation(&l->activation, g->name);
}

/* Checks the options of a dense layer and sets its fields. */
static unroll_status take_dense(const unroll_layer *g, int index, const struct cell_declaration *cell, struct layer *l)
{
    const struct layer_option others[] = {{"level", g->level},           {"bidirectional", g->bidirectional},
                                          {"projection", g->projection}, {"peephole", g->peephole},
                                          {"clip", g->clip > 0},         {"reverse", g->reverse},
                                          {"coupled", g->input_forget},  {"functions", g->activations}};
    const struct layer_option of_pool = {"pool", g->pool};
    (void)cell;
    TRY(refuse_options(others, sizeof others / sizeof *others, index, "recurrent"));
    TRY(refuse_options(&of_pool, 1, index, "pool"));
    l->outputs = (uint32_t)g->width;
    return take_activation(g, index, l);
}

/* Returns only the name if alpha and beta have the default values. */
static const char *activation_for_users(const struct activation *f)
{
    static _Thread_local char text[64];
    activation_format(f, text, sizeof text);
    return strchr(text, '(') ? text : activation_name(f->kind);
}

static void describe_dense(const struct layer *l, unroll_layer *layer)
{
    layer->activation = activation_for_users(&l->activation);
    layer->alpha = l->activation.alpha;
    layer->beta = l->activation.beta;
}

static void add_parameters(struct unroll_model *m, int layer)
{
    const struct layer *l = &m->layer[layer];
    if (!m->tied || layer + 1 < m->layers)
        model_add_parameter(m, PARAM_W_DENSE, layer, 0, 2, l->outputs, l->input, 0);
    if (l->bias)
        model_add_parameter(m, PARAM_B_DENSE, layer, 0, 1, l->outputs, 0, 0);
}

const struct layer_kind layer_dense = {.name = "dense",
                                       .is_affine = true,
                                       .gathers_columns = true,
                                       .widest = 1 << 23,
                                       .take = take_dense,
                                       .describe = describe_dense,
                                       .add_parameters = add_parameters};

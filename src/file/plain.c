/* Stacks among networks: recurrent layers of one name and kind, one above the other,
 * with or without a linear head. */
#include "file/plain.h"

#include <string.h>

#include "base/status.h"

/* No option that a specification can't say. */
static bool is_same_cell(const unroll_layer *l, const unroll_layer *first, int level)
{
    return !strcmp(l->kind, first->kind) && !strcmp(l->name, first->name) && l->level == level &&
           !l->sources && l->width == first->width && l->projection == first->projection &&
           l->bidirectional == first->bidirectional && l->bias == first->bias && !l->peephole &&
           !(l->clip > 0) && !(l->dropout > 0) && !l->activation && !l->output;
}

static bool is_head(const unroll_layer *l)
{
    return !strcmp(l->kind, "dense") && l->bias && !l->sources &&
           (!l->activation || !strcmp(l->activation, "linear"));
}

/* How many recurrent layers the stack has; 0: the network is none. */
static int levels_of(const unroll_network *n)
{
    int levels = 0;

    while (levels < n->layers && strcmp(n->layer[levels].kind, "dense") &&
           is_same_cell(&n->layer[levels], &n->layer[0], levels))
        levels++;
    return levels == n->layers || (levels == n->layers - 1 && is_head(&n->layer[levels])) ? levels : 0;
}

unroll_status model_of_network(const unroll_network *n, bool tied, struct unroll_model **model)
{
    int levels = levels_of(n);
    const unroll_layer *first = &n->layer[0], *head = levels < n->layers ? &n->layer[levels] : NULL;
    unroll_spec spec = unroll_spec_default();

    if (levels == 0)
        return unroll_network_new(n, 0, model);
    spec.cell = first->kind;
    spec.layers = levels;
    spec.hidden = first->width;
    spec.projection = first->projection;
    spec.bidirectional = first->bidirectional;
    spec.bias = first->bias;
    spec.tokens = n->tokens;
    spec.input = n->input;
    spec.embed = n->embed;
    spec.tied = tied && head;
    spec.output = head ? head->width : 0;
    spec.loss = n->loss;
    TRY(unroll_model_new(&spec, 0, model));
    model_rename(*model, n->embedding, first->name, head ? head->name : NULL);
    return UNROLL_OK;
}

/* A stack, recurrent layers of one cell and perhaps a linear head, is a short way to write a network: from the one to
 * the other and back. What a network is, layers.c checks. */
#include "base/memory.h"
#include "base/status.h"
#include "losses/loss.h"
#include "model/layer_kind.h"
#include <string.h>

unroll_spec unroll_spec_default(void)
{
    return (unroll_spec){.size = sizeof(unroll_spec), .cell = "lstm", .layers = 1, .hidden = 128, .bias = 1};
}

/* ---- from a stack to a network --------------------------------------------------------- */

static unroll_status check_spec(const unroll_spec *s)
{
    enum { MAX = 1 << 20 };
    CHECK_BEGUN(s, unroll_spec, "unroll_spec_default()");
    TRY(check_range("layers", s->layers, 1, MODEL_LAYERS_MAX - 1));
    TRY(check_range("hidden", s->hidden, 1, MAX));
    TRY(check_range("output", s->output, 0, MAX * 8));
    if (!(s->dropout >= 0 && s->dropout < 1))
        return fail(UNROLL_USAGE, "dropout = %g is outside 0 <= p < 1", (double)s->dropout);
    int loss;
    TRY(loss_find(s->loss, &loss));
    if (loss != LOSS_NONE && !s->output)
        return fail(UNROLL_USAGE, "a loss needs a head (output > 0)");
    return UNROLL_OK;
}

static void write_layer(const unroll_spec *s, int index, unroll_layer *l)
{
    *l = unroll_layer_default();
    if (index == s->layers) {
        l->name = "head";
        l->width = s->output;
        return;
    }
    l->kind = s->cell ? s->cell : "";
    l->name = "rnn";
    l->level = index;
    l->width = s->hidden;
    l->bidirectional = s->bidirectional;
    l->projection = s->projection;
    l->peephole = s->peephole;
    l->clip = s->clip;
    l->bias = s->bias;
    l->dropout = index + 1 < s->layers ? s->dropout : 0;
}

unroll_status network_of_spec(const unroll_spec *s, unroll_layer layer[MODEL_LAYERS_MAX], unroll_network *n)
{
    TRY(check_spec(s));
    *n = unroll_network_default();
    n->tokens = s->tokens;
    n->input = s->input;
    n->embed = s->embed;
    n->tied = s->tied;
    n->loss = s->loss;
    n->layer = layer;
    n->layers = s->layers + (s->output > 0);
    for (int i = 0; i < n->layers; i++) write_layer(s, i, &layer[i]);
    return UNROLL_OK;
}

unroll_status model_build(const unroll_spec *spec, const struct cell_declaration *cell, uint64_t seed,
                          struct unroll_model **model)
{
    unroll_layer layer[MODEL_LAYERS_MAX];
    unroll_network network;
    TRY(network_of_spec(spec, layer, &network));
    return network_build(&network, cell, seed, model);
}

unroll_status unroll_model_new(const unroll_spec *spec, uint64_t seed, unroll_model **model)
{
    return model_build(spec, NULL, seed, model);
}

/* ---- and back -------------------------------------------------------------------------- */

static bool reads_the_one_before(const struct layer *l, int index)
{
    return l->sources == 1 && l->source[0] == index - 1;
}

/* Is layer `index` one of a stack of the first one's kind? */
static bool is_level(const struct unroll_model *m, int index)
{
    const struct layer *l = &m->layer[index], *first = &m->layer[0];
    return l->cell && l->cell == first->cell && !strcmp(l->name, first->name) && l->level == index &&
           reads_the_one_before(l, index) && l->hidden == first->hidden && l->projection == first->projection &&
           l->directions == first->directions && !l->first_direction && l->bias == first->bias &&
           !memcmp(&l->options, &first->options, sizeof l->options);
}

static bool is_head(const struct unroll_model *m, int index)
{
    const struct layer *l = &m->layer[index];
    return l->kind == layer_kind_find(unroll_layer_default().kind) && reads_the_one_before(l, index) && l->bias &&
           l->activation.kind == ACTIVATION_LINEAR;
}

/* Dropout lies between the levels, the same everywhere; only the last layer is read by the host. */
static bool is_uniform(const struct unroll_model *m, int levels)
{
    bool uniform = m->layer[levels - 1].dropout == 0;
    for (int i = 0; i + 1 < m->layers; i++)
        uniform &= !m->layer[i].is_output && (i + 1 >= levels || m->layer[i].dropout == m->layer[0].dropout);
    return uniform;
}

int unroll_model_spec(const unroll_model *m, unroll_spec *spec)
{
    const struct layer *first = &m->layer[0];
    int levels = 0;
    while (levels < m->layers && is_level(m, levels)) levels++;
    bool headed = levels + 1 == m->layers && is_head(m, levels);
    const char *cell =
        levels && !first->options.input_forget ? cell_with_own_activations(first->cell, &first->options) : NULL;
    if (!cell || (levels != m->layers && !headed) || !is_uniform(m, levels))
        return 0;
    *spec = (unroll_spec){.size = sizeof *spec,
                          .cell = cell,
                          .layers = levels,
                          .hidden = (int)first->hidden,
                          .bidirectional = first->directions == 2,
                          .projection = (int)first->projection,
                          .peephole = first->cell->vectors > 0,
                          .clip = first->options.clip,
                          .bias = first->bias,
                          .dropout = first->dropout,
                          .tokens = m->tokens,
                          .input = m->input,
                          .embed = m->embed,
                          .tied = m->tied,
                          .output = headed ? (int)m->layer[levels].outputs : 0,
                          .loss = loss_name(m->loss)};
    return 1;
}

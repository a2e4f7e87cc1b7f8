/* A stack, recurrent layers of one cell with an optional linear head, is a short form of a network. This file converts
 * between the two. layers.c checks the network. */
#include "base/sized.h"
#include "base/status.h"
#include "model/layer_kind.h"
#include <string.h>

void unroll_model_config_begin(unroll_model_config *config, size_t size)
{
    const unroll_model_config standard = {
        .size = sizeof(unroll_model_config), .cell = "lstm", .layers = 1, .hidden = 128, .bias = 1};
    sized_begin(&standard, sizeof standard, config, size);
}

/* ---- from a stack to a network --------------------------------------------------------- */

/* The pools that a stack may have before its head, which reads their concatenated results. */
enum { POOLS_MAX = 2 };
static const struct pools {
    const char *name;
    int count;
    const char *pool[POOLS_MAX];
} pools[] = {{"last", 1, {"last"}}, {"mean", 1, {"mean"}}, {"max", 1, {"max"}}, {"mean+max", 2, {"mean", "max"}}};
enum { POOLS = sizeof pools / sizeof *pools };

static const struct pools *pools_of(const unroll_model_config *s)
{
    for (int i = 0; s->pool && i < POOLS; i++)
        if (!strcmp(pools[i].name, s->pool))
            return &pools[i];
    static const struct pools none = {.count = 0};
    return &none;
}

static unroll_status check_pool(const unroll_model_config *s)
{
    const int count = pools_of(s)->count, layers = s->layers + count + (s->output > 0);
    if (s->pool && !count)
        return fail(UNROLL_USAGE, "there is no pool '%.40s'; fix: choose one of last, mean, max, mean+max", s->pool);
    if (count > 1 && !s->output)
        return fail(UNROLL_USAGE,
                    "`pool` = '%s' makes %d outputs, which only a head can combine; fix: set output > 0, or choose one "
                    "pool",
                    s->pool, count);
    if (layers > MODEL_LAYERS_MAX)
        return fail(
            UNROLL_USAGE,
            "a network has at most %d layers, but this one has %d with its pool and head; fix: set `layers` = %d",
            MODEL_LAYERS_MAX, layers, s->layers - (layers - MODEL_LAYERS_MAX));
    return UNROLL_OK;
}

static unroll_status check_spec(const unroll_model_config *s)
{
    enum { MAX = 1 << 20 };
    TRY(check_range("layers", s->layers, 1, MODEL_LAYERS_MAX - 1));
    TRY(check_range("hidden", s->hidden, 1, MAX));
    TRY(check_range("output", s->output, 0, MAX * 8));
    if (!(s->dropout >= 0 && s->dropout < 1))
        return fail(UNROLL_USAGE, "`dropout` = %g is outside 0 <= p < 1; fix: choose a value from 0 to 0.95",
                    (double)s->dropout);
    struct loss_choice loss;
    TRY(loss_choose(s->loss, &loss));
    if (loss.index != LOSS_NONE && !s->output)
        return fail(UNROLL_USAGE, "a loss requires a head; fix: set output > 0, or leave the loss out");
    return check_pool(s);
}

static void write_head(const unroll_model_config *s, unroll_layer *l)
{
    l->name = "head";
    l->width = s->output;
    l->sources = pools_of(s)->count;
    for (int i = 0; i < l->sources; i++) l->source[i] = s->layers + i;
}

/* All pools read the last level. */
static void write_pool(const unroll_model_config *s, const char *pool, unroll_layer *l)
{
    l->kind = "pool";
    l->name = l->pool = pool;
    l->sources = 1;
    l->source[0] = s->layers - 1;
}

static void write_level(const unroll_model_config *s, int index, unroll_layer *l)
{
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

unroll_status network_of_spec(const unroll_model_config *given, unroll_layer layer[MODEL_LAYERS_MAX], unroll_network *n)
{
    unroll_model_config taken = unroll_model_config_default(), *s = &taken;
    TRY(sized_take(SIZED_SPEC, given, s));
    TRY(check_spec(s));
    *n = unroll_network_default();
    n->tokens = s->tokens;
    n->input = s->input;
    n->embed = s->embed;
    n->tied = s->tied;
    n->loss = s->loss;
    n->inputs = s->inputs;
    n->n_inputs = s->n_inputs;
    n->input_dropout = s->input_dropout;
    n->init = s->init;
    n->forget_bias = s->forget_bias;
    n->layer = layer;
    const int count = pools_of(s)->count;
    for (int i = 0; i < s->layers + count + (s->output > 0); i++) layer[i] = unroll_layer_default();
    for (int i = 0; i < s->layers; i++) write_level(s, i, &layer[i]);
    for (int i = 0; i < count; i++) write_pool(s, pools_of(s)->pool[i], &layer[s->layers + i]);
    if (s->output)
        write_head(s, &layer[s->layers + count]);
    n->layers = s->layers + count + (s->output > 0);
    return UNROLL_OK;
}

unroll_status model_build(const unroll_model_config *spec, const struct cell_declaration *cell, uint64_t seed,
                          struct unroll_model **model)
{
    unroll_layer layer[MODEL_LAYERS_MAX];
    unroll_network network = {.size = sizeof network};
    TRY(network_of_spec(spec, layer, &network));
    return network_build(&network, cell, seed, model);
}

unroll_status unroll_model_new(const unroll_model_config *spec, uint64_t seed, unroll_model **model)
{
    return model_build(spec, NULL, seed, model);
}

/* ---- and back -------------------------------------------------------------------------- */

static bool reads_the_one_before(const struct layer *l, int index)
{
    return l->sources == 1 && l->source[0] == index - 1;
}

/* Returns whether layer `index` is a level of a stack with the first layer's options. */
static bool is_level(const struct unroll_model *m, int index)
{
    const struct layer *l = &m->layer[index], *first = &m->layer[0];
    return l->cell && l->cell == first->cell && !strcmp(l->name, first->name) && l->level == index &&
           reads_the_one_before(l, index) && l->hidden == first->hidden && l->projection == first->projection &&
           l->directions == first->directions && !l->first_direction && l->bias == first->bias &&
           !memcmp(&l->options, &first->options, sizeof l->options);
}

/* Returns the pools after `levels` levels; the row may be empty. Returns NULL if they are not those of a stack. */
static const struct pools *find_pools(const struct unroll_model *m, int levels)
{
    for (const struct pools *p = pools; p < pools + POOLS; p++) {
        bool found = levels + p->count <= m->layers && levels + p->count + 1 >= m->layers;
        for (int i = 0; found && i < p->count; i++) {
            const struct layer *l = &m->layer[levels + i];
            const char *pool = layer_pool_of(l);
            found = pool && !strcmp(pool, p->pool[i]) && reads_the_one_before(l, levels) && l->dropout == 0;
        }
        if (found)
            return p;
    }
    return NULL;
}

/* Returns whether layer `index` is a stack's head after `levels` levels and the pools, if any. */
static bool is_head(const struct unroll_model *m, int index, int levels)
{
    const struct layer *l = &m->layer[index];
    bool reads = l->sources == (index > levels ? index - levels : 1);
    for (int i = 0; reads && i < l->sources; i++) reads = l->source[i] == index - l->sources + i;
    return l->kind == layer_kind_find(unroll_layer_default().kind) && reads && l->bias &&
           l->activation.kind == ACTIVATION_LINEAR;
}

/* Returns whether dropout is equal between all levels and 0 after the last one, and only the last layer is an
 * output. */
static bool is_uniform(const struct unroll_model *m, int levels)
{
    bool uniform = m->layer[levels - 1].dropout == 0;
    for (int i = 0; i + 1 < m->layers; i++)
        uniform &= !m->layer[i].is_output && (i + 1 >= levels || m->layer[i].dropout == m->layer[0].dropout);
    return uniform;
}

bool unroll_model_stack(const unroll_model *m, unroll_model_config *given)
{
    if (sized_check(SIZED_SPEC, given) != UNROLL_OK)
        return false;
    const struct layer *first = &m->layer[0];
    int levels = 0;
    while (levels < m->layers && is_level(m, levels)) levels++;
    const struct pools *pooled = find_pools(m, levels);
    const int end = levels + (pooled ? pooled->count : 0);
    bool headed = end + 1 == m->layers && is_head(m, end, levels);
    const char *cell =
        levels && !first->options.input_forget ? cell_with_own_activations(first->cell, &first->options) : NULL;
    if (!cell || (end != m->layers && !headed) || !is_uniform(m, levels))
        return false;
    const unroll_model_config spec = {.size = sizeof spec,
                                      .cell = cell,
                                      .layers = levels,
                                      .hidden = (int)first->hidden,
                                      .bidirectional = first->directions == 2,
                                      .projection = (int)first->projection,
                                      .peephole = first->cell->peepholes,
                                      .clip = first->options.clip,
                                      .bias = first->bias,
                                      .dropout = first->dropout,
                                      .tokens = m->tokens,
                                      .input = m->input,
                                      .embed = m->embed,
                                      .tied = m->tied,
                                      .pool = pooled ? pooled->name : NULL,
                                      .output = headed ? (int)m->layer[end].outputs : 0,
                                      .loss = m->loss.text,
                                      .inputs = m->n_inputs > 1 ? m->inputs : NULL,
                                      .n_inputs = m->n_inputs > 1 ? m->n_inputs : 0,
                                      .input_dropout = m->input_dropout};
    sized_give(&spec, sizeof spec, given);
    return true;
}

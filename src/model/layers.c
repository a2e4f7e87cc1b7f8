/* What a network is made of: the checks of a specification and of a list of layers, and the layers that a
 * specification stands for. No parameter has a value here. */
#include "base/memory.h"
#include "base/status.h"
#include "base/utf8.h"
#include "model/model.h"
#include <stdio.h>
#include <string.h>

unroll_spec unroll_spec_default(void)
{
    return (unroll_spec){ .size = sizeof(unroll_spec), .cell = "lstm", .layers = 1, .hidden = 128, .bias = 1 };
}

unroll_layer unroll_layer_default(void)
{
    return (unroll_layer){ .size = sizeof(unroll_layer), .kind = "dense", .bias = 1 };
}

unroll_network unroll_network_default(void)
{
    return (unroll_network){ .size = sizeof(unroll_network) };
}

/* ---- the specification ----------------------------------------------------------------- */

static unroll_status check_range(const char *name, int value, int least, int most)
{
    if (value < least || value > most)
        return fail(UNROLL_USAGE, "%s = %d is outside %d..%d", name, value, least, most);
    return UNROLL_OK;
}

static unroll_status check_sizes(const unroll_spec *s)
{
    enum { MOST = 1 << 20 };
    TRY(check_range("layers", s->layers, 1, MODEL_LAYERS_MAX));
    TRY(check_range("hidden", s->hidden, 1, MOST));
    TRY(check_range("input", s->input, 1, MOST * 8));
    TRY(check_range("embed", s->embed, 0, MOST));
    TRY(check_range("output", s->output, 0, MOST * 8));
    if (s->projection < 0 || s->projection >= s->hidden)
        return fail(UNROLL_USAGE, "projection = %d is not narrower than hidden = %d; fix: 1 to %d, or 0 for none",
                    s->projection, s->hidden, s->hidden - 1);
    return UNROLL_OK;
}

static unroll_status check_numbers(const unroll_spec *s)
{
    if (!(s->dropout >= 0 && s->dropout < 1))
        return fail(UNROLL_USAGE, "dropout = %g is outside 0 <= p < 1", (double)s->dropout);
    if (!(s->clip >= 0 && s->clip <= 80))
        return fail(UNROLL_USAGE, "clip = %g is outside 0..80 (0: none)", (double)s->clip);
    return UNROLL_OK;
}

static unroll_status check_combinations(const unroll_spec *s, const struct cell_declaration *cell)
{
    int width = s->projection ? s->projection : s->hidden, directions = s->bidirectional ? 2 : 1;
    if (s->projection && strncmp(cell->name, "lstm", 4))
        return fail(UNROLL_UNSUPPORTED, "a projection is for the lstm; '%s' reads its own h unit by unit; fix: leave it out, "
                    "or choose the lstm", s->cell);
    if (!s->tokens && (s->embed || s->tied))
        return fail(UNROLL_USAGE, "embed and tied are for models of tokens (tokens = 1)");
    if (s->tied && !s->embed)
        return fail(UNROLL_USAGE, "a tied head needs an embedding; fix: embed = %d, the width of the last layer",
                    directions * width);
    if (s->tied && s->embed != directions * width)
        return fail(UNROLL_USAGE, "a tied head needs embed = %d, the width of the last layer, not %d",
                    directions * width, s->embed);
    if (s->tied && s->output != s->input)
        return fail(UNROLL_USAGE, "a tied head has as many outputs as there are symbols: output = %d, not %d",
                    s->input, s->output);
    if (s->loss != UNROLL_LOSS_NONE && !s->output)
        return fail(UNROLL_USAGE, "a loss needs a head (output > 0)");
    if (s->loss < UNROLL_LOSS_NONE || s->loss > UNROLL_LOSS_MSE)
        return fail(UNROLL_USAGE, "loss = %d is none of the losses", (int)s->loss);
    return UNROLL_OK;
}

unroll_status check_spec(const unroll_spec *s, const struct cell_declaration **cell)
{
    if (!s || s->size != sizeof *s)
        return fail(UNROLL_USAGE, "the specification was not begun with unroll_spec_default()");
    struct cell_options options = { .clip = s->clip };
    TRY(check_numbers(s));
    TRY(find_cell(s->cell, s->peephole, &options, cell));
    TRY(check_sizes(s));
    return check_combinations(s, *cell);
}

/* ---- the layers of a specification ----------------------------------------------------- */

static struct layer recurrent_layer(const struct cell_declaration *cell, const char *name, int level, uint32_t input,
                                    int directions, int hidden, int projection)
{
    struct layer l = {
        .kind = LAYER_RECURRENT, .level = level, .input = input, .cell = cell, .directions = directions,
        .hidden = (uint32_t)hidden, .projection = (uint32_t)projection,
        .width = (uint32_t)(projection ? projection : hidden),
    };
    l.outputs = (uint32_t)directions * l.width;
    snprintf(l.name, sizeof l.name, "%s", name);
    return l;
}

/* The options of a stack's cell: those of any functions get their own ones. */
static struct cell_options options_of(const struct cell_declaration *cell, const char *name, float clip)
{
    const struct cell_declaration *same = cell;
    struct cell_options options = { .clip = clip };
    if (strstr(cell->name, "_any"))
        find_cell(name, cell->vectors > 0, &options, &same);        /* found once already */
    return options;
}

static struct layer dense_layer(const char *name, uint32_t input, int outputs)
{
    struct layer l = { .kind = LAYER_DENSE, .input = input, .outputs = (uint32_t)outputs, .bias = true };
    snprintf(l.name, sizeof l.name, "%s", name);
    return l;
}

unroll_status layers_of_spec(const unroll_spec *s, const struct cell_declaration *cell, struct layer **layers,
                             int *count)
{
    int n = s->layers + (s->output > 0);
    const struct cell_options options = options_of(cell, s->cell, s->clip);
    uint32_t input = (uint32_t)(s->tokens && s->embed ? s->embed : s->input);
    struct layer *layer = allocate_zeroed((size_t)n, sizeof *layer);
    if (!layer)
        return fail(UNROLL_RESOURCE, "no memory for %d layers", n);
    for (int i = 0; i < n; i++) {
        struct layer *l = &layer[i];
        *l = i < s->layers ? recurrent_layer(cell, "rnn", i, input, s->bidirectional ? 2 : 1, s->hidden, s->projection)
                           : dense_layer("head", input, s->output);
        l->bias |= s->bias != 0;
        l->options = options;
        l->dropout = i + 1 < s->layers ? s->dropout : 0;
        l->sources = 1;
        l->source[0] = i - 1;                           /* SOURCE_INPUT for the first */
        input = l->outputs;
    }
    layer[n - 1].is_output = true;
    *layers = layer;
    *count = n;
    return UNROLL_OK;
}

/* ---- networks of any layers ------------------------------------------------------------ */

static unroll_status check_layer_sizes(const unroll_layer *g, int index)
{
    enum { MOST = 1 << 20 };
    char where[32];
    snprintf(where, sizeof where, "layer %d: width", index);
    TRY(check_range(where, g->width, 1, MOST));
    snprintf(where, sizeof where, "layer %d: sources", index);
    TRY(check_range(where, g->sources, 0, SOURCES_MAX));
    if (!(g->dropout >= 0 && g->dropout < 1))
        return fail(UNROLL_USAGE, "layer %d: dropout = %g is outside 0 <= p < 1", index, (double)g->dropout);
    if (!(g->clip >= 0 && g->clip <= 80))
        return fail(UNROLL_USAGE, "layer %d: clip = %g is outside 0..80 (0: none)", index, (double)g->clip);
    return UNROLL_OK;
}

static bool is_name(const char *name)
{
    return name && *name && strlen(name) < sizeof ((struct layer *)0)->name && utf8_is_sound(name);
}

/* Parameters are named by it: letters, digits, dots and such, and no two layers alike. */
static unroll_status check_name(const struct layer *layers, int index, const char *name, int level,
                                const char *embedding)
{
    if (!is_name(name) || !strcmp(name, embedding))
        return fail(UNROLL_USAGE, "layer %d needs a name of 1 to %zu bytes of UTF-8, not '%.63s'", index,
                    sizeof layers->name - 1, embedding);
    for (int i = 0; i < index; i++)
        if (!strcmp(layers[i].name, name) && layers[i].level == level)
            return fail(UNROLL_USAGE, "layers %d and %d are both named '%s'%s", i, index, name,
                        level ? ", with the same level" : "");
    return UNROLL_OK;
}

/* What the layer reads: the sources it names, or the layer before it. */
static unroll_status connect(const unroll_network *n, const struct layer *layers, int index, struct layer *l)
{
    const unroll_layer *g = &n->layer[index];
    l->sources = g->sources ? g->sources : 1;
    l->source[0] = index - 1;
    l->input = 0;
    for (int k = 0; k < l->sources; k++) {
        if (g->sources)
            l->source[k] = g->source[k];
        if (l->source[k] < SOURCE_INPUT || l->source[k] >= index)
            return fail(UNROLL_USAGE, "layer %d reads layer %d; it may read %d (the input) to %d", index, l->source[k],
                        SOURCE_INPUT, index - 1);
        l->input += l->source[k] == SOURCE_INPUT ? (uint32_t)(n->tokens && n->embed ? n->embed : n->input)
                                                 : layers[l->source[k]].outputs;
    }
    return UNROLL_OK;
}

static unroll_status take_activation(const unroll_layer *g, int index, struct layer *l)
{
    if (!g->activation)
        return UNROLL_OK;
    if (l->kind != LAYER_DENSE)
        return fail(UNROLL_UNSUPPORTED, "layer %d: activations are for dense layers; a cell has its own", index);
    if (!activation_parse(g->activation, &l->activation))
        return fail(UNROLL_USAGE, "layer %d: there is no activation '%.40s'", index, g->activation);
    if (g->alpha != 0)
        l->activation.alpha = g->alpha;
    if (g->beta != 0)
        l->activation.beta = g->beta;
    return check_activation(&l->activation, g->name);
}

static unroll_status take_recurrent(const unroll_layer *g, int index, struct layer *l)
{
    const struct cell_declaration *cell;
    struct cell_options options = { .clip = g->clip, .coupled = g->coupled != 0 };
    TRY(parse_functions(g->functions, g->name, &options));
    TRY(find_cell(g->kind, g->peephole, &options, &cell));
    if (g->reverse && g->bidirectional)
        return fail(UNROLL_USAGE, "layer %d: reverse is one direction, bidirectional is both", index);
    if (g->projection && strncmp(cell->name, "lstm", 4))
        return fail(UNROLL_UNSUPPORTED, "layer %d: a projection is for the lstm; '%s' reads its own h unit by unit",
                    index, g->kind);
    TRY(check_range("projection", g->projection, 0, g->width - 1));
    TRY(check_range("level", g->level, 0, MODEL_LAYERS_MAX - 1));
    *l = recurrent_layer(cell, g->name, g->level, 0, g->bidirectional ? 2 : 1, g->width, g->projection);
    l->options = options;
    l->first_direction = g->reverse != 0;
    return UNROLL_OK;
}

/* What only cells have. */
static unroll_status take_dense(const unroll_layer *g, int index, struct layer *l)
{
    const struct { const char *name; bool given; } options[] = {
        { "level", g->level }, { "bidirectional", g->bidirectional }, { "projection", g->projection },
        { "peephole", g->peephole }, { "clip", g->clip > 0 }, { "reverse", g->reverse }, { "coupled", g->coupled },
        { "functions", g->functions },
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].given)
            return fail(UNROLL_USAGE, "layer %d: '%s' is for recurrent layers", index, options[i].name);
    *l = dense_layer(g->name, 0, g->width);
    return UNROLL_OK;
}

static unroll_status take_layer(const unroll_network *n, struct layer *layers, int index)
{
    const unroll_layer *g = &n->layer[index];
    struct layer l;
    if (g->size != sizeof *g)
        return fail(UNROLL_USAGE, "layer %d was not begun with unroll_layer_default()", index);
    TRY(check_name(layers, index, g->name, g->level, n->embedding ? n->embedding : "embedding"));
    TRY(check_layer_sizes(g, index));
    const bool is_dense = g->kind && !strcmp(g->kind, "dense");
    TRY(is_dense ? take_dense(g, index, &l) : take_recurrent(g, index, &l));
    l.bias = g->bias != 0;
    l.dropout = g->dropout;
    l.is_output = g->output || index + 1 == n->layers;
    TRY(take_activation(g, index, &l));
    TRY(connect(n, layers, index, &l));
    layers[index] = l;
    return UNROLL_OK;
}

static unroll_status check_network(const unroll_network *n)
{
    enum { MOST = 1 << 20 };
    if (!n || n->size != sizeof *n || !n->layer)
        return fail(UNROLL_USAGE, "the network was not begun with unroll_network_default(), or has no layers");
    TRY(check_range("layers", n->layers, 1, MODEL_LAYERS_MAX));
    TRY(check_range("input", n->input, 1, MOST * 8));
    TRY(check_range("embed", n->embed, 0, MOST));
    if (n->embed && !n->tokens)
        return fail(UNROLL_USAGE, "embed is for networks of tokens (tokens = 1)");
    if (n->embedding && !is_name(n->embedding))
        return fail(UNROLL_USAGE, "the name of the embedding has 1 to %zu bytes of UTF-8",
                    sizeof ((struct layer *)0)->name - 1);
    if (n->loss < UNROLL_LOSS_NONE || n->loss > UNROLL_LOSS_MSE)
        return fail(UNROLL_USAGE, "loss = %d is none of the losses", (int)n->loss);
    return UNROLL_OK;
}

/* The specification says of a network what holds for all: its input, its results, its loss. */
static unroll_status summarize(const unroll_network *n, const struct layer *layers, unroll_spec *spec)
{
    const struct layer *last = &layers[n->layers - 1];
    *spec = unroll_spec_default();
    spec->cell = "network";
    spec->layers = n->layers;
    spec->hidden = (int)last->outputs;
    spec->bias = 0;
    spec->tokens = n->tokens != 0;
    spec->input = n->input;
    spec->embed = n->embed;
    spec->loss = n->loss;
    spec->output = last->kind == LAYER_DENSE ? (int)last->outputs : 0;
    if (last->dropout > 0)
        return fail(UNROLL_USAGE, "the last layer gives the results: it can't have a dropout");
    if (n->loss != UNROLL_LOSS_NONE && !spec->output)
        return fail(UNROLL_USAGE, "a loss needs a dense layer as the last");
    if (n->loss == UNROLL_LOSS_XENT && last->activation.kind != ACTIVATION_LINEAR)
        return fail(UNROLL_USAGE, "cross-entropy has a softmax of its own: the last layer must be linear");
    for (int i = 0; i < n->layers; i++)
        spec->bidirectional |= layers[i].kind == LAYER_RECURRENT && layer_end(&layers[i]) == 2;
    return UNROLL_OK;
}

unroll_status layers_of_network(const unroll_network *n, unroll_spec *spec, struct layer **layers)
{
    TRY(check_network(n));
    struct layer *made = allocate_zeroed((size_t)n->layers, sizeof *made);
    unroll_status status = made ? UNROLL_OK : fail(UNROLL_RESOURCE, "no memory for %d layers", n->layers);
    for (int i = 0; i < n->layers && status == UNROLL_OK; i++)
        status = take_layer(n, made, i);
    if (status == UNROLL_OK)
        status = summarize(n, made, spec);
    if (status != UNROLL_OK) {
        release(made);
        return status;
    }
    *layers = made;
    return UNROLL_OK;
}

/* ---- looking at layers ----------------------------------------------------------------- */

int unroll_model_layers(const unroll_model *m)
{
    return m->layers;
}

/* Its name alone, where alpha and beta are the usual ones. */
static const char *activation_for_users(const struct activation *f)
{
    static _Thread_local char text[64];
    activation_format(f, text, sizeof text);
    return strchr(text, '(') ? text : activation_name(f->kind);
}

unroll_status unroll_model_layer(const unroll_model *m, int index, unroll_layer *layer)
{
    if (index < 0 || index >= m->layers)
        return fail(UNROLL_USAGE, "the model has no layer %d; it has %d", index, m->layers);
    const struct layer *l = &m->layer[index];
    bool dense = l->kind == LAYER_DENSE;
    *layer = (unroll_layer){
        .size = sizeof *layer, .kind = dense ? "dense" : name_for_users(l->cell), .name = l->name,
        .level = l->level,
        .width = (int)(dense ? l->outputs : l->hidden), .sources = l->sources, .bidirectional = l->directions == 2,
        .reverse = l->first_direction, .coupled = l->options.coupled,
        .functions = dense ? NULL : functions_for_users(l->cell, &l->options),
        .projection = (int)l->projection, .peephole = !dense && l->cell->vectors > 0, .clip = l->options.clip,
        .bias = l->bias, .dropout = l->dropout, .activation = dense ? activation_for_users(&l->activation) : NULL,
        .alpha = l->activation.alpha, .beta = l->activation.beta, .output = l->is_output,
    };
    memcpy(layer->source, l->source, sizeof layer->source);
    return UNROLL_OK;
}

/* The layers of a network: checks the descriptions and converts them. No parameter gets a value here. */
#include "base/memory.h"
#include "base/sized.h"
#include "base/status.h"
#include "base/utf8.h"
#include "model/layer_kind.h"
#include <stdio.h>
#include <string.h>

void unroll_layer_begin(unroll_layer *config, size_t size)
{
    const unroll_layer standard = {.size = sizeof(unroll_layer), .kind = "dense", .bias = 1};
    sized_begin(&standard, sizeof standard, config, size);
}

void unroll_network_begin(unroll_network *config, size_t size)
{
    const unroll_network standard = {.size = sizeof(unroll_network)};
    sized_begin(&standard, sizeof standard, config, size);
}

/* ---- layers ---------------------------------------------------------------------------- */

unroll_status check_range(const char *name, int value, int min, int max)
{
    if (value < min || value > max)
        return fail(UNROLL_USAGE, "%s = %d is outside %d..%d; fix: use a value in this range", name, value, min, max);
    return UNROLL_OK;
}

static unroll_status check_layer_sizes(const unroll_layer *g, const struct layer_kind *kind, int index)
{
    char where[32];
    snprintf(where, sizeof where, "layer %d: width", index);
    if (kind->widest)
        TRY(check_range(where, g->width, 1, kind->widest));
    snprintf(where, sizeof where, "layer %d: sources", index);
    TRY(check_range(where, g->sources, 0, SOURCES_MAX));
    if (!(g->dropout >= 0 && g->dropout < 1))
        return fail(UNROLL_USAGE, "layer %d: `dropout` = %g is outside 0 <= p < 1; fix: choose a value from 0 to 0.95",
                    index, (double)g->dropout);
    return UNROLL_OK;
}

unroll_status refuse_options(const struct layer_option *option, size_t count, int index, const char *kinds)
{
    for (size_t i = 0; i < count; i++)
        if (option[i].given)
            return fail(UNROLL_USAGE, "layer %d: '%s' is supported only for %s layers; fix: leave it out", index,
                        option[i].name, kinds);
    return UNROLL_OK;
}

static bool is_name(const char *name)
{
    return name && *name && strlen(name) < sizeof((struct layer *)0)->name && utf8_is_valid(name);
}

/* Returns whether `name` is the name of an embedding: that of the network, with the column's name appended if there are
 * several columns. */
static bool is_embedding(const unroll_network *n, const char *name)
{
    const char *embedding = n->embedding ? n->embedding : "embedding";
    const size_t length = strlen(embedding);
    bool is = !strcmp(name, embedding);
    for (int i = 0; i < n->n_inputs && n->n_inputs > 1; i++)
        is |= n->inputs[i].tokens && !strncmp(name, embedding, length) && name[length] == '.' &&
              !strcmp(name + length + 1, n->inputs[i].name);
    return is;
}

/* Checks the name of a layer, which is part of the names of its parameters: short, valid UTF-8 and unique per level. */
static unroll_status check_name(const unroll_network *n, const struct layer *layers, int index, const char *name,
                                int level)
{
    if (!is_name(name) || is_embedding(n, name))
        return fail(
            UNROLL_USAGE,
            "layer %d needs a name of 1 to %zu bytes of UTF-8 other than that of an embedding, not '%.63s'; fix: use "
            "a short name of letters and digits",
            index, sizeof layers->name - 1, n->embedding ? n->embedding : "embedding");
    for (int i = 0; i < index; i++)
        if (!strcmp(layers[i].name, name) && layers[i].level == level)
            return fail(UNROLL_USAGE, "layers %d and %d are both named '%s'%s; fix: give each layer a name of its own",
                        i, index, name, level ? ", with the same level" : "");
    return UNROLL_OK;
}

static bool is_pooled(const struct layer *layers, int source)
{
    return source != SOURCE_INPUT && layers[source].pooled;
}

/* Connects the layer to the sources it names, or to the previous layer. `input` is the width of the network's input. */
static unroll_status connect_sources(const unroll_network *n, uint32_t input, const struct layer *layers, int index,
                                     struct layer *l)
{
    const unroll_layer *g = &n->layer[index];
    l->sources = g->sources ? g->sources : 1;
    l->source[0] = index - 1;
    l->input = 0;
    for (int k = 0; k < l->sources; k++) {
        if (g->sources)
            l->source[k] = g->source[k];
        if (l->source[k] < SOURCE_INPUT || l->source[k] >= index)
            return fail(UNROLL_USAGE,
                        "layer %d reads layer %d; it may read %d (the input) to %d; fix: use an earlier layer", index,
                        l->source[k], SOURCE_INPUT, index - 1);
        l->input += l->source[k] == SOURCE_INPUT ? input : layers[l->source[k]].outputs;
        if (k > 0 && is_pooled(layers, l->source[k]) != l->pooled)
            return fail(UNROLL_USAGE,
                        "layer %d reads every step of layer %d together with the single output of a pool; fix: pool "
                        "both inputs",
                        index, l->pooled ? l->source[k] : l->source[0]);
        l->pooled = is_pooled(layers, l->source[k]);
    }
    return UNROLL_OK;
}

static unroll_status take_layer(const unroll_network *n, uint32_t input, const struct cell_declaration *cell,
                                struct layer *layers, int index)
{
    const unroll_layer *g = &n->layer[index];
    const struct layer_kind *kind = layer_kind_find(g->kind ? g->kind : "");
    struct layer l = {
        .kind = kind, .bias = g->bias != 0, .dropout = g->dropout, .is_output = g->output || index + 1 == n->layers};
    TRY(check_name(n, layers, index, g->name, g->level));
    TRY(check_layer_sizes(g, kind, index));
    snprintf(l.name, sizeof l.name, "%s", g->name);
    TRY(connect_sources(n, input, layers, index, &l));
    TRY(kind->take(g, index, cell, &l));
    layers[index] = l;
    return UNROLL_OK;
}

unroll_status network_take(const unroll_network *given, struct network_copy *copy)
{
    unroll_network *n = &copy->network;
    *n = unroll_network_default();
    TRY(sized_take(SIZED(unroll_network, "unroll_network_default()"), given, n));
    if (!n->layer)
        return fail(UNROLL_USAGE, "the network has no layers; fix: set `layer` and `layers`");
    TRY(check_range("layers", n->layers, 1, MODEL_LAYERS_MAX));
    for (int i = 0; i < n->layers; i++) copy->layer[i] = unroll_layer_default();
    TRY(sized_take_all(SIZED(unroll_layer, "unroll_layer_default()"), n->layer, n->layers, copy->layer));
    n->layer = copy->layer;
    if (!n->n_inputs || !n->inputs)
        return UNROLL_OK;
    TRY(check_range("n_inputs", n->n_inputs, 1, UNROLL_INPUTS_MAX));
    memset(copy->input, 0, sizeof copy->input);
    TRY(sized_take_all(SIZED(unroll_input, "{ .size = sizeof(unroll_input) }"), n->inputs, n->n_inputs, copy->input));
    n->inputs = copy->input;
    return UNROLL_OK;
}

static unroll_status check_network(const unroll_network *n)
{
    if (n->embedding && !is_name(n->embedding))
        return fail(UNROLL_USAGE,
                    "the name of the embedding must have 1 to %zu bytes of UTF-8; fix: use a short name of letters "
                    "and digits",
                    sizeof((struct layer *)0)->name - 1);
    return UNROLL_OK;
}

/* Checks that the last layer is linear and has the shape of the embedding. */
static unroll_status check_tied(const unroll_input *column, const struct layer *last)
{
    if (!last->kind->is_affine || last->activation.kind != ACTIVATION_LINEAR)
        return fail(
            UNROLL_USAGE,
            "tied: the last layer must be dense and linear to share the weights of the embedding; fix: end with a "
            "dense layer without an activation, or set tied = 0");
    if ((uint32_t)column->width != last->input)
        return fail(UNROLL_USAGE, "a tied head needs an embedding as wide as its input; fix: set `embed` = %u, not %d",
                    (unsigned)last->input, column->width);
    if ((uint32_t)column->tokens != last->outputs)
        return fail(
            UNROLL_USAGE,
            "a tied head needs one output per token: output = %d, not %u; fix: set output to the number of tokens, "
            "or tied = 0",
            column->tokens, (unsigned)last->outputs);
    return UNROLL_OK;
}

/* Checks that the last layer fits the loss. */
static unroll_status check_last(const unroll_network *n, const unroll_input *column, const struct layer *last)
{
    struct loss_choice choice;
    TRY(loss_choose(n->loss, &choice));
    const struct loss *loss = loss_at(choice.index);
    if (last->dropout > 0)
        return fail(UNROLL_USAGE,
                    "the last layer computes the outputs and cannot have dropout; fix: set dropout = 0 for the last "
                    "layer");
    if (loss && last->kind->keeps_results)
        return fail(UNROLL_USAGE,
                    "a loss requires a dense last layer; fix: add a dense layer at the end, or leave the loss out");
    if (loss && loss->wants_linear && last->activation.kind != ACTIVATION_LINEAR)
        return fail(
            UNROLL_USAGE,
            "`loss` = '%s' includes an activation, so the last layer must be linear; fix: leave out the activation of "
            "the last layer",
            loss->name);
    if (last->outputs % (uint32_t)choice.results)
        return fail(UNROLL_USAGE, "`loss` = '%s' needs %d outputs per target; fix: set output = %u, not %u",
                    choice.text, choice.results,
                    (last->outputs / (uint32_t)choice.results + 1) * (unsigned)choice.results, (unsigned)last->outputs);
    return n->tied ? check_tied(column, last) : UNROLL_OK;
}

unroll_status layers_of_network(const unroll_network *n, const struct cell_declaration *cell, struct layer **layers)
{
    unroll_input inputs[UNROLL_INPUTS_MAX];
    int n_inputs;
    TRY(check_network(n));
    TRY(inputs_of_network(n, inputs, &n_inputs));
    const uint32_t input = inputs_width(inputs, n_inputs);
    struct layer *made = allocate_zeroed((size_t)n->layers, sizeof *made);
    unroll_status status = made ? UNROLL_OK : fail(UNROLL_RESOURCE, "no memory for %d layers", n->layers);
    for (int i = 0; i < n->layers && status == UNROLL_OK; i++) status = take_layer(n, input, cell, made, i);
    if (status == UNROLL_OK)
        status = check_last(n, inputs, &made[n->layers - 1]);
    if (status != UNROLL_OK) {
        release(made);
        return status;
    }
    *layers = made;
    return UNROLL_OK;
}

/* ---- looking at layers ----------------------------------------------------------------- */

const char *layer_pool_of(const struct layer *l)
{
    unroll_layer described = {.pool = NULL};
    l->kind->describe(l, &described);
    return described.pool;
}

int unroll_model_layers(const unroll_model *m) { return m->layers; }

unroll_status unroll_model_layer(const unroll_model *m, int index, unroll_layer *given)
{
    TRY(sized_check(SIZED(unroll_layer, "unroll_layer_default()"), given));
    if (index < 0 || index >= m->layers)
        return fail(UNROLL_USAGE, "the model has no layer %d; it has %d; fix: use a number below that", index,
                    m->layers);
    const struct layer *l = &m->layer[index];
    unroll_layer layer = {.size = sizeof layer,
                          .kind = l->kind->name,
                          .name = l->name,
                          .width = (int)l->outputs,
                          .sources = l->sources,
                          .bias = l->bias,
                          .dropout = l->dropout,
                          .output = l->is_output};
    memcpy(layer.source, l->source, sizeof layer.source);
    l->kind->describe(l, &layer);
    sized_give(&layer, sizeof layer, given);
    return UNROLL_OK;
}

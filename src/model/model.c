/* Models: built from layers (layers.c), with a list of parameters named as in PyTorch. convert/model_file.c reads and
 * writes their files. */
#include "model/initial.h"
#include "model/layer_kind.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/sized.h"
#include "base/status.h"
#include "base/utf8.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* ---- parameters ------------------------------------------------------------------------ */

uint32_t model_source(const struct unroll_model *m, int source)
{
    return source == SOURCE_INPUT ? model_input(m) : m->layer[source].outputs;
}

int model_find(const struct unroll_model *m, enum parameter_role role, int layer, int direction)
{
    for (int i = 0; i < m->parameters; i++) {
        const struct parameter *q = &m->parameter[i];
        if (q->role == role && q->layer == layer && q->direction == direction)
            return i;
    }
    return -1;
}

float *model_values(const struct unroll_model *m, enum parameter_role role, int layer, int direction)
{
    int i = model_find(m, role, layer, direction);
    return i < 0 ? NULL : m->values + m->parameter[i].first;
}

bool model_multiplies(const struct unroll_model *m, const struct parameter *q)
{
    return q->role == PARAM_W_IH || q->role == PARAM_W_HH || q->role == PARAM_W_DENSE ||
           (q->role == PARAM_EMBEDDING && m->tied);
}

/* Names the parameter as PyTorch does, or in its style. */
static void name_parameter(const struct unroll_model *m, struct parameter *q)
{
    static const char *const names[] = {
        [PARAM_EMBEDDING] = "weight",
        [PARAM_W_IH] = "weight_ih",
        [PARAM_W_HH] = "weight_hh",
        [PARAM_B_IH] = "bias_ih",
        [PARAM_B_HH] = "bias_hh",
        [PARAM_VECTOR] = "weight_vector",
        [PARAM_W_HR] = "weight_hr",
        [PARAM_W_DENSE] = "weight",
        [PARAM_B_DENSE] = "bias",
        [PARAM_MOVE] = "transitions",
        [PARAM_START] = "start_transitions",
        [PARAM_END] = "end_transitions",
    };
    const bool of_cell = q->role >= PARAM_W_IH && q->role <= PARAM_W_HR, of_column = q->role == PARAM_EMBEDDING;
    const struct layer *l = &m->layer[of_column ? 0 : q->layer];
    const char *name = q->role == PARAM_VECTOR && l->cell->peepholes ? "weight_peephole" : names[q->role];
    if (of_column && m->n_inputs > 1)
        snprintf(q->name, sizeof q->name, "%s.%s.%s", m->embedding, m->inputs[q->layer].name, name);
    else if (!of_cell)
        snprintf(q->name, sizeof q->name, "%s.%s",
                 of_column               ? m->embedding
                 : q->role >= PARAM_MOVE ? "crf"
                                         : l->name,
                 name);
    else
        snprintf(q->name, sizeof q->name, "%s.%s_l%d%s", l->name, name, l->level, q->direction ? "_reverse" : "");
}

void model_add_parameter(struct unroll_model *m, enum parameter_role role, int layer, int direction, int rank,
                         uint32_t first, uint32_t second, uint32_t third)
{
    struct parameter *q = &m->parameter[m->parameters];
    if (!first || (rank > 1 && !second) || (rank > 2 && !third))
        return; /* a cell without these rows */
    *q = (struct parameter){.role = role,
                            .layer = layer,
                            .direction = direction,
                            .rank = rank,
                            .size = {first, second, third},
                            .first = m->count,
                            .count = first};
    for (int i = 1; i < rank; i++) q->count *= q->size[i];
    name_parameter(m, q);
    m->count += q->count;
    m->parameters++;
}

static void add_parameters(struct unroll_model *m)
{
    for (int i = 0; i < m->n_inputs; i++) /* one-hot tokens have no width, numbers have no tokens */
        model_add_parameter(m, PARAM_EMBEDDING, i, 0, 2, (uint32_t)m->inputs[i].tokens, (uint32_t)m->inputs[i].width,
                            0);
    for (int layer = 0; layer < m->layers; layer++) m->layer[layer].kind->add_parameters(m, layer);
    if (model_has_chain(m)) {
        const uint32_t labels = m->layer[m->layers - 1].outputs;
        model_add_parameter(m, PARAM_MOVE, m->layers - 1, 0, 2, labels, labels, 0);
        model_add_parameter(m, PARAM_START, m->layers - 1, 0, 1, labels, 0, 0);
        model_add_parameter(m, PARAM_END, m->layers - 1, 0, 1, labels, 0, 0);
    }
}

/* ---- making and freeing ---------------------------------------------------------------- */

/* Checks the memory limit first: a system that overcommits memory would kill the process when the weights are
 * filled. */
static unroll_status allocate_weights(struct unroll_model *m)
{
    enum { SMALL = 1 << 20 }; /* bytes below any sensible limit, which takes 50 us to read */
    double needed = (double)m->count * sizeof *m->values,
           limit = needed < SMALL ? SMALL : (double)unroll_memory_limit();
    if (needed > limit)
        return fail(UNROLL_RESOURCE,
                    "the model's %zu weights need %.1f MB and the memory limit is %.1f MB; fix: use fewer layers, or "
                    "fewer units",
                    m->count, needed / 1e6, limit / 1e6);
    m->values = allocate_zeroed(m->count, sizeof *m->values);
    return m->values ? UNROLL_OK : fail(UNROLL_RESOURCE, "no memory for the weights of a model");
}

/* Sets the columns. A single column has no name, as in the short form. */
static void take_inputs(const unroll_network *n, struct unroll_model *m)
{
    (void)inputs_of_network(n, m->inputs, &m->n_inputs); /* layers_of_network has checked it */
    for (int i = 0; i < m->n_inputs; i++) {
        const char *name = m->n_inputs == 1 ? NULL : network_input_name(&m->inputs[i]);
        snprintf(m->input_name[i], sizeof *m->input_name, "%s", name ? name : "");
        m->inputs[i].name = name ? m->input_name[i] : NULL;
    }
    m->input_dropout = n->input_dropout;
    if (m->n_inputs > 1)
        return;
    const unroll_input *one = &m->inputs[0];
    m->tokens = one->tokens > 0;
    m->input = m->tokens ? one->tokens : one->width;
    m->embed = m->tokens ? one->width : 0;
}

/* Takes ownership of the layers, also if it fails. */
static unroll_status outline_of(const unroll_network *n, struct layer *layer, struct unroll_model **out)
{
    enum { PARAMETERS_OF_A_LAYER = 12, PARAMETERS_OF_A_LOSS = 3 }; /* six in each direction; those of crf */
    struct unroll_model *m = allocate_zeroed(1, sizeof *m);
    if (!m) {
        release(layer);
        return fail(UNROLL_RESOURCE, "no memory for a model");
    }
    take_inputs(n, m);
    m->tied = n->tied != 0;
    m->layer = layer;
    m->layers = n->layers;
    (void)loss_choose(n->loss, &m->loss); /* layers_of_network has checked it */
    snprintf(m->embedding, sizeof m->embedding, "%s", n->embedding ? n->embedding : "embedding");
    m->parameter = allocate_zeroed((size_t)n->layers * PARAMETERS_OF_A_LAYER + UNROLL_INPUTS_MAX + PARAMETERS_OF_A_LOSS,
                                   sizeof *m->parameter);
    if (!m->parameter) {
        unroll_model_free(m);
        return fail(UNROLL_RESOURCE, "no memory for a model");
    }
    add_parameters(m);
    *out = m;
    return UNROLL_OK;
}

static unroll_status outline_taken(const unroll_network *n, const struct cell_declaration *cell,
                                   struct unroll_model **model)
{
    struct layer *layer;
    TRY(layers_of_network(n, cell, &layer));
    return outline_of(n, layer, model);
}

unroll_status network_outline(const unroll_network *n, const struct cell_declaration *cell, struct unroll_model **model)
{
    struct network_copy copy;
    TRY(network_take(n, &copy));
    return outline_taken(&copy.network, cell, model);
}

unroll_status network_zeros(const unroll_network *n, struct unroll_model **model)
{
    struct unroll_model *m;
    TRY(network_outline(n, NULL, &m));
    unroll_status status = allocate_weights(m);
    if (status == UNROLL_OK)
        *model = m;
    else
        unroll_model_free(m);
    return status;
}

unroll_status network_build(const unroll_network *given, const struct cell_declaration *cell, uint64_t seed,
                            struct unroll_model **model)
{
    struct unroll_model *m;
    struct network_copy copy;
    const unroll_network *n = &copy.network;
    TRY(network_take(given, &copy));
    TRY(outline_taken(n, cell, &m));
    unroll_status status = allocate_weights(m);
    if (status == UNROLL_OK)
        status = initial_weights(m, n, seed);
    if (status != UNROLL_OK) {
        unroll_model_free(m);
        return status;
    }
    *model = m;
    return UNROLL_OK;
}

unroll_status unroll_model_from_network(const unroll_network *network, uint64_t seed, unroll_model **model)
{
    return network_build(network, NULL, seed, model);
}

static void free_symbols(struct unroll_model *m)
{
    for (int i = 0; m->symbol && i < m->input; i++) release(m->symbol[i]);
    release(m->symbol);
    m->symbol = NULL;
}

/* Returns NULL if there is no memory or nothing to copy. */
static void *copy_of(const void *from, size_t bytes)
{
    void *copy = from && bytes ? allocate_zeroed(1, bytes) : NULL;
    return copy ? memcpy(copy, from, bytes) : NULL;
}

static unroll_status copy_texts(const struct unroll_model *m, struct unroll_model *c)
{
    if (m->symbol)
        TRY(model_set_vocabulary(c, (const char *const *)m->symbol, m->input));
    c->symbol_kind = m->symbol_kind;
    for (int i = 0; i < m->signatures; i++) TRY(signature_add(c, &m->signature[i]));
    return model_set_schema(c, m->schema);
}

/* Copies the layers, parameters and their values. */
static unroll_status copy_network(const struct unroll_model *m, struct unroll_model *c)
{
    c->layer = copy_of(m->layer, (size_t)m->layers * sizeof *m->layer);
    c->parameter = copy_of(m->parameter, (size_t)m->parameters * sizeof *m->parameter);
    c->values = copy_of(m->values, m->count * sizeof *m->values);
    for (int i = 0; i < m->n_inputs; i++) c->inputs[i].name = m->inputs[i].name ? c->input_name[i] : NULL;
    if (!c->layer || (m->parameters && !c->parameter) || (m->count && !c->values))
        return fail(UNROLL_RESOURCE, "no memory for a copy of a model");
    return UNROLL_OK;
}

unroll_status model_copy(const struct unroll_model *m, bool texts, struct unroll_model **copy)
{
    struct unroll_model *c;
    TRY(ALLOCATE(c, 1, "for a copy of a model"));
    *c = *m;
    c->symbol = NULL, c->schema = NULL, c->tree = NULL, c->signature = NULL, c->signatures = 0;
    c->runtime = (struct model_runtime){NULL, NULL};
    unroll_status status = copy_network(m, c);
    if (status == UNROLL_OK && texts)
        status = copy_texts(m, c);
    if (status == UNROLL_OK)
        *copy = c;
    else
        unroll_model_free(c);
    return status;
}

void unroll_model_free(unroll_model *m)
{
    if (!m)
        return;
    free_symbols(m);
    signature_free(m);
    release(m->schema);
    json_decref(m->tree);
    release(m->values);
    release(m->parameter);
    release(m->layer);
    release(m);
}

/* ---- looking at a model ---------------------------------------------------------------- */

unroll_status unroll_model_network(const unroll_model *m, unroll_network *given)
{
    TRY(sized_check(SIZED(unroll_network, "{ .size = sizeof(unroll_network) }"), given));
    unroll_network described = unroll_network_default(), *network = &described;
    network->tokens = m->tokens;
    network->input = m->input;
    network->embed = m->embed;
    network->tied = m->tied;
    network->embedding = m->embedding;
    network->loss = m->loss.text;
    network->layers = m->layers;
    network->inputs = m->n_inputs > 1 ? m->inputs : NULL;
    network->n_inputs = m->n_inputs > 1 ? m->n_inputs : 0;
    network->input_dropout = m->input_dropout;
    sized_give(network, sizeof *network, given);
    return UNROLL_OK;
}

int unroll_model_outputs(const unroll_model *m) { return (int)m->layer[m->layers - 1].outputs; }

int unroll_model_targets(const unroll_model *m)
{
    const struct loss *loss = loss_at(m->loss.index);
    return loss && loss->of_classes ? 1 : unroll_model_outputs(m) / m->loss.results;
}

bool model_has_chain(const struct unroll_model *m)
{
    const struct loss *loss = loss_at(m->loss.index);
    return loss && !strcmp(loss->name, "crf");
}

const char *model_results(const struct unroll_model *m, char name[32])
{
    const bool kept = m->layer[m->layers - 1].kind->keeps_results;
    snprintf(name, 32, kept ? "y.l%d" : "z", m->layers - 1);
    return name;
}

bool model_looks_ahead(const struct unroll_model *m)
{
    for (int i = 0; i < m->layers; i++)
        if (layer_end(&m->layer[i]) > 1)
            return true;
    return false;
}

int unroll_model_parameters(const unroll_model *m) { return m->parameters; }

unroll_status unroll_model_parameter(unroll_model *m, int index, unroll_parameter *parameter)
{
    TRY(sized_check(SIZED_RESULT(unroll_parameter), parameter));
    if (index < 0 || index >= m->parameters)
        return fail(UNROLL_USAGE, "the model has no parameter %d; it has %d; fix: use a number below that", index,
                    m->parameters);
    const struct parameter *q = &m->parameter[index];
    int rows =
        (int)(q->rank == 3 || q->role == PARAM_B_IH || q->role == PARAM_B_HH ? q->size[0] * q->size[1] : q->size[0]);
    bool is_vector = q->rank == 1 || q->role == PARAM_B_IH || q->role == PARAM_B_HH;
    const unroll_parameter found = {.name = q->name,
                                    .rank = is_vector ? 1 : 2,
                                    .data = m->values + q->first,
                                    .shape = {rows, is_vector ? 0 : (int)q->size[q->rank - 1]}};
    sized_give(&found, sizeof found, parameter);
    return UNROLL_OK;
}

const char *const *unroll_model_vocabulary(const unroll_model *m) { return (const char *const *)m->symbol; }

const char *unroll_model_tokens(const unroll_model *m) { return token_kind_names[m->symbol_kind]; }

unroll_status model_set_vocabulary(unroll_model *m, const char *const *symbols, int count)
{
    if (!m->tokens || count != m->input)
        return fail(UNROLL_USAGE, "%d tokens were given, but the model has %d; fix: give one text for each token",
                    count, m->tokens ? m->input : 0);
    for (int i = 0; i < count; i++)
        if (!utf8_is_valid(symbols[i]))
            return fail(UNROLL_DATA, "token %d is not valid UTF-8; fix: encode tokens as UTF-8", i);
    char **copy = allocate_zeroed((size_t)count, sizeof *copy);
    bool enough = copy != NULL;
    for (int i = 0; i < count && enough; i++) {
        size_t size = strlen(symbols[i]) + 1;
        copy[i] = allocate_zeroed(1, size);
        enough = copy[i] != NULL;
        if (enough)
            memcpy(copy[i], symbols[i], size);
    }
    if (!enough) {
        for (int i = 0; copy && i < count; i++) release(copy[i]);
        release(copy);
        return fail(UNROLL_RESOURCE, "no memory for %d tokens", count);
    }
    free_symbols(m);
    m->symbol = copy;
    m->symbol_kind = CUT_CHARACTERS;
    return UNROLL_OK;
}

const char *unroll_model_schema(const unroll_model *m) { return m->schema; }

unroll_status model_set_schema(struct unroll_model *m, const char *json)
{
    const size_t size = json ? strlen(json) + 1 : 0;
    char *copy = NULL;
    if (json && m->schema && !strcmp(json, m->schema))
        return UNROLL_OK; /* as in most checkpoints */
    if (json) {
        TRY(ALLOCATE(copy, size, "for the schema of a model"));
        memcpy(copy, json, size);
    }
    release(m->schema);
    json_decref(m->tree);
    m->schema = copy;
    m->tree = NULL;
    if (json)
        (void)parse_json(json, size - 1, "the model's schema", &m->tree); /* those who need it report what is wrong */
    return UNROLL_OK;
}

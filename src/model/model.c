/* Models: the check of a specification, the list of parameters with PyTorch's names, their initial
 * values. Files of models are in model_file.c. */
#include "model/model.h"
#include "base/memory.h"
#include "base/philox.h"
#include "base/status.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

unroll_spec unroll_spec_default(void)
{
    return (unroll_spec){ .size = sizeof(unroll_spec), .cell = "lstm", .layers = 1, .hidden = 128, .bias = 1 };
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
    return check_range("projection", s->projection, 0, s->hidden - 1);
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
        return fail(UNROLL_UNSUPPORTED, "a projection is for the lstm; '%s' reads its own h unit by unit", s->cell);
    if (!s->tokens && (s->embed || s->tied))
        return fail(UNROLL_USAGE, "embed and tied are for models of tokens (tokens = 1)");
    if (s->tied && !s->embed)
        return fail(UNROLL_USAGE, "a tied head needs an embedding (embed > 0)");
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

/* Cells by the name users know: "gru-before" is gru_before. The variants of a cell are options, not names:
 * an lstm with peepholes and a clip is lstm_peephole_clip. */
static const char *const variants[] = { "_peephole", "_clip" };

static bool is_variant(const char *name)
{
    return strstr(name, variants[0]) || strstr(name, variants[1]);
}

const char *unroll_cell_name(int index)
{
    static _Thread_local char name[32];
    for (int i = 0, found = 0; cells_scalar[i]; i++) {
        if (is_variant(cells_scalar[i]->declaration->name) || found++ != index)
            continue;
        snprintf(name, sizeof name, "%s", cells_scalar[i]->declaration->name);
        for (char *c = name; *c; c++)
            *c = *c == '_' ? '-' : *c;
        return name;
    }
    return NULL;
}

/* In the table, with the options of s; NULL: there is none. */
static const struct cell_declaration *find_declaration(const char *cell, bool peephole, bool clip)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s%s", cell, peephole ? variants[0] : "", clip ? variants[1] : "");
    for (char *c = name; *c; c++)
        *c = *c == '-' ? '_' : *c;
    const struct cell_kernels *found = cell_find(cells_scalar, name);
    return found ? found->declaration : NULL;
}

static unroll_status refuse_cell(const char *cell)
{
    char known[256] = "";
    for (int i = 0; unroll_cell_name(i); i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", unroll_cell_name(i));
    }
    return fail(UNROLL_USAGE, "there is no cell '%s'; choose one of %s", cell ? cell : "", known);
}

static unroll_status find_cell(const unroll_spec *s, const struct cell_declaration **cell)
{
    if (!s->cell || is_variant(s->cell) || strchr(s->cell, '_') || !find_declaration(s->cell, false, false))
        return refuse_cell(s->cell);
    *cell = find_declaration(s->cell, s->peephole, s->clip > 0);
    if (!*cell)
        return fail(UNROLL_UNSUPPORTED, "the cell '%s' has no %s; the lstm has", s->cell,
                    s->peephole ? "peepholes" : "clip");
    return UNROLL_OK;
}

/* ---- parameters ------------------------------------------------------------------------ */

uint32_t model_layer_input(const struct unroll_model *m, int layer)
{
    if (layer > 0)
        return (uint32_t)m->directions * m->width;
    return (uint32_t)(m->spec.tokens && m->spec.embed ? m->spec.embed : m->spec.input);
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

static void add_parameter(struct unroll_model *m, enum parameter_role role, int layer, int direction, const char *name,
                          int rank, uint32_t first, uint32_t second, uint32_t third)
{
    struct parameter *q = &m->parameter[m->parameters];
    if (!first || (rank > 1 && !second) || (rank > 2 && !third))
        return;                                         /* a cell without such rows */
    *q = (struct parameter){ .role = role, .layer = layer, .direction = direction, .rank = rank,
                             .size = { first, second, third }, .first = m->count, .count = first };
    for (int i = 1; i < rank; i++)
        q->count *= q->size[i];
    bool recurrent = role != PARAM_EMBEDDING && role != PARAM_W_HEAD && role != PARAM_B_HEAD;
    if (recurrent)
        snprintf(q->name, sizeof q->name, "rnn.%s_l%d%s", name, layer, direction ? "_reverse" : "");
    else
        snprintf(q->name, sizeof q->name, "%s", name);
    m->count += q->count;
    m->parameters++;
}

static void add_layer_parameters(struct unroll_model *m, int layer, int direction)
{
    const unroll_spec *s = &m->spec;
    uint32_t U = (uint32_t)s->hidden, P = (uint32_t)s->projection;
    uint32_t from_x = (uint32_t)cell_inputs_from(m->declaration, FROM_X);
    uint32_t recurrent = (uint32_t)cell_inputs_from(m->declaration, FROM_H | FROM_LINK);
    uint32_t input = model_layer_input(m, layer), vectors = (uint32_t)m->declaration->vectors;
    add_parameter(m, PARAM_W_IH, layer, direction, "weight_ih", 3, from_x, U, input);
    add_parameter(m, PARAM_W_HH, layer, direction, "weight_hh", 3, recurrent, U, m->width);
    if (s->bias) {
        add_parameter(m, PARAM_B_IH, layer, direction, "bias_ih", 2, from_x, U, 0);
        add_parameter(m, PARAM_B_HH, layer, direction, "bias_hh", 2, recurrent, U, 0);
    }
    add_parameter(m, PARAM_VECTOR, layer, direction, "weight_peephole", 2, vectors, U, 0);
    add_parameter(m, PARAM_W_HR, layer, direction, "weight_hr", 2, P, U, 0);
}

static void add_parameters(struct unroll_model *m)
{
    const unroll_spec *s = &m->spec;
    uint32_t last = (uint32_t)m->directions * m->width, outputs = (uint32_t)s->output;
    if (s->tokens && s->embed)
        add_parameter(m, PARAM_EMBEDDING, 0, 0, "embedding.weight", 2, (uint32_t)s->input, (uint32_t)s->embed, 0);
    for (int layer = 0; layer < s->layers; layer++)
        for (int direction = 0; direction < m->directions; direction++)
            add_layer_parameters(m, layer, direction);
    if (!s->tied)
        add_parameter(m, PARAM_W_HEAD, 0, 0, "head.weight", 2, outputs, last, 0);
    add_parameter(m, PARAM_B_HEAD, 0, 0, "head.bias", 1, outputs, 0, 0);
}

/* PyTorch's bounds for recurrent layers; a linear layer's follow from its own width; an embedding that is
 * also the head starts as a head does, else with a spread near 1. */
static float initial_bound(const struct unroll_model *m, const struct parameter *q)
{
    float head = 1 / sqrtf((float)m->directions * (float)m->width);
    switch (q->role) {
    case PARAM_EMBEDDING:
        return m->spec.tied ? head : 1;
    case PARAM_W_HEAD: case PARAM_B_HEAD:
        return head;
    default:
        return 1 / sqrtf((float)m->spec.hidden);
    }
}

/* Number i of parameter q depends on the seed, q and i alone. */
static void fill_parameter(struct unroll_model *m, int index, uint64_t seed)
{
    const struct parameter *q = &m->parameter[index];
    const uint32_t key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
    float bound = initial_bound(m, q), *value = m->values + q->first;
    for (size_t i = 0; i < q->count; i += 4) {
        uint32_t bits[4];
        philox(key, (const uint32_t[4]){ (uint32_t)(i / 4), (uint32_t)(i / 4 >> 32), (uint32_t)index, 0x696e6974 },
               bits);
        for (size_t k = 0; k < 4 && i + k < q->count; k++)
            value[i + k] = (2 * philox_unit(bits[k]) - 1) * bound;
    }
}

/* ---- making and freeing ---------------------------------------------------------------- */

unroll_status model_build(const unroll_spec *spec, const struct cell_declaration *cell, uint64_t seed,
                          struct unroll_model **out)
{
    struct unroll_model *m = allocate_zeroed(1, sizeof *m);
    if (!m)
        return fail(UNROLL_RESOURCE, "no memory for a model");
    m->spec = *spec;
    snprintf(m->cell, sizeof m->cell, "%s", spec->cell);
    m->spec.cell = m->cell;
    m->declaration = cell;
    m->directions = spec->bidirectional ? 2 : 1;
    m->width = (uint32_t)(spec->projection ? spec->projection : spec->hidden);
    m->parameter = allocate_zeroed((size_t)spec->layers * (size_t)m->directions * 6 + 3, sizeof *m->parameter);
    if (m->parameter)
        add_parameters(m);
    m->values = m->parameter ? allocate_zeroed(m->count, sizeof *m->values) : NULL;
    if (!m->values) {
        unroll_model_free(m);
        return fail(UNROLL_RESOURCE, "no memory for the weights of a model");
    }
    for (int i = 0; i < m->parameters; i++)
        fill_parameter(m, i, seed);
    *out = m;
    return UNROLL_OK;
}

unroll_status unroll_model_new(const unroll_spec *given, uint64_t seed, unroll_model **model)
{
    if (!given || given->size != sizeof *given)
        return fail(UNROLL_USAGE, "the specification was not begun with unroll_spec_default()");
    unroll_spec spec = *given;
    const struct cell_declaration *cell;
    TRY(find_cell(&spec, &cell));
    TRY(check_sizes(&spec));
    TRY(check_numbers(&spec));
    TRY(check_combinations(&spec, cell));
    return model_build(&spec, cell, seed, model);
}

static void free_symbols(struct unroll_model *m)
{
    for (int i = 0; m->symbol && i < m->spec.input; i++)
        release(m->symbol[i]);
    release(m->symbol);
    m->symbol = NULL;
}

void unroll_model_free(unroll_model *m)
{
    if (!m)
        return;
    free_symbols(m);
    release(m->values);
    release(m->parameter);
    release(m);
}

/* ---- looking at a model ---------------------------------------------------------------- */

void unroll_model_spec(const unroll_model *m, unroll_spec *spec)
{
    *spec = m->spec;
}

int unroll_model_parameters(const unroll_model *m)
{
    return m->parameters;
}

unroll_status unroll_model_parameter(unroll_model *m, int index, unroll_parameter *parameter)
{
    if (index < 0 || index >= m->parameters)
        return fail(UNROLL_USAGE, "the model has no parameter %d; it has %d", index, m->parameters);
    const struct parameter *q = &m->parameter[index];
    int rows = (int)(q->rank == 3 || q->role == PARAM_B_IH || q->role == PARAM_B_HH ? q->size[0] * q->size[1]
                                                                                    : q->size[0]);
    bool is_vector = q->rank == 1 || q->role == PARAM_B_IH || q->role == PARAM_B_HH;
    *parameter = (unroll_parameter){ .name = q->name, .rank = is_vector ? 1 : 2, .data = m->values + q->first,
                                     .shape = { rows, is_vector ? 0 : (int)q->size[q->rank - 1] } };
    return UNROLL_OK;
}

const char *const *unroll_model_symbols(const unroll_model *m)
{
    return (const char *const *)m->symbol;
}

unroll_symbol_kind unroll_model_symbol_kind(const unroll_model *m)
{
    return m->symbol_kind;
}

unroll_status unroll_model_set_symbols(unroll_model *m, const char *const *symbols, int count)
{
    if (!m->spec.tokens || count != m->spec.input)
        return fail(UNROLL_USAGE, "%d symbols for a model of %d", count, m->spec.tokens ? m->spec.input : 0);
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
        for (int i = 0; copy && i < count; i++)
            release(copy[i]);
        release(copy);
        return fail(UNROLL_RESOURCE, "no memory for %d symbols", count);
    }
    free_symbols(m);
    m->symbol = copy;
    m->symbol_kind = UNROLL_CHARACTERS;
    return UNROLL_OK;
}

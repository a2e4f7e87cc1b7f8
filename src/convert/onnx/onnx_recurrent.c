/* Imports ONNX's LSTM, GRU and RNN: directions, layouts, activations, states, lengths
 * (onnx.ai/onnx/operators/onnx__LSTM.html, versions 7, 14 and 22). Weights are copied in onnx_network.c. */
#include "convert/onnx/onnx_network.h"

#include <stdio.h>
#include <string.h>

#include "model/model.h"

enum { X, W, R, B, LENGTHS, FIRST_H, FIRST_C, PEEPHOLES }; /* inputs of a node; the last ones may be missing */

struct recurrent {
    const struct cell_declaration *cell;
    int gates, activations, directions, first_direction;
    bool batch_first, has_c;
    int64_t hidden, inputs;
    const struct onnx_tensor *weight[PEEPHOLES + 1];
    struct activation function[2][3];
};

/* ---- weights --------------------------------------------------------------------------- */

static unroll_status take_array(struct onnx_import *im, struct recurrent *r, int k, int rank, int64_t second,
                                int64_t third)
{
    struct value *v = onnx_input(im, k);
    static const char *const names[] = {"X", "W", "R", "B", "", "", "", "P"};
    if (!v && (k == B || k == PEEPHOLES))
        return UNROLL_OK;
    TRY(onnx_operand(im, k, VALUE_CONSTANT, &v));
    const struct onnx_tensor *t = v->constant;
    if (!t->f || t->rank != rank || t->dim[0] != r->directions || t->dim[1] != second ||
        (rank == 3 && t->dim[2] != third))
        return refuse_node(im, "its %s does not have the shape [%d, %lld%s%.0lld]", names[k], r->directions,
                           (long long)second, rank == 3 ? ", " : "", (long long)(rank == 3 ? third : 0));
    r->weight[k] = t;
    return UNROLL_OK;
}

static unroll_status take_weights(struct onnx_import *im, struct recurrent *r)
{
    struct value *w, *h;
    TRY(onnx_operand(im, W, VALUE_CONSTANT, &w));
    TRY(onnx_operand(im, R, VALUE_CONSTANT, &h));
    if (w->constant->rank != 3 || h->constant->rank != 3)
        return refuse_node(im, "its weights have %d and %d dimensions, not 3", w->constant->rank, h->constant->rank);
    r->hidden = onnx_int(im, "hidden_size", h->constant->dim[2]);
    r->inputs = w->constant->dim[2];
    if (r->hidden < 1 || r->hidden > 1 << 20 || r->inputs < 1)
        return refuse_node(im, "%lld units with %lld inputs are not supported", (long long)r->hidden,
                           (long long)r->inputs);
    TRY(take_array(im, r, W, 3, r->gates * r->hidden, r->inputs));
    TRY(take_array(im, r, R, 3, r->gates * r->hidden, r->hidden));
    TRY(take_array(im, r, B, 2, 2 * r->gates * r->hidden, 0));
    return r->has_c ? take_array(im, r, PEEPHOLES, 2, 3 * r->hidden, 0) : UNROLL_OK;
}

/* ---- attributes ------------------------------------------------------------------------ */

static unroll_status take_direction(struct onnx_import *im, struct recurrent *r)
{
    const struct onnx_attribute *a = onnx_attribute(im->node, "direction");
    const char *name = a ? a->s : "forward";
    r->directions = 1;
    if (!strcmp(name, "bidirectional"))
        r->directions = 2;
    else if (!strcmp(name, "reverse"))
        r->first_direction = 1;
    else if (strcmp(name, "forward"))
        return refuse_node(im, "the direction '%.40s' is not supported", name);
    int64_t layout = onnx_int(im, "layout", 0);
    if (layout != 0 && layout != 1)
        return refuse_node(im, "layout = %lld is not supported", (long long)layout);
    r->batch_first = layout == 1;
    return UNROLL_OK;
}

/* Functions have the defaults of the ONNX operator with the same name. These two have no defaults: ONNX Runtime uses
 * zeros. */
static bool has_default(const struct activation *f)
{
    return f->kind != ACTIVATION_AFFINE && f->kind != ACTIVATION_SCALED_TANH;
}

/* Reads the activations. The lists of alpha and beta contain a value for each function that has this parameter, in the
 * order of the functions. */
static unroll_status take_activations(struct onnx_import *im, struct recurrent *r)
{
    const struct onnx_attribute *names = onnx_attribute(im->node, "activations");
    const struct onnx_attribute *alpha = onnx_attribute(im->node, "activation_alpha");
    const struct onnx_attribute *beta = onnx_attribute(im->node, "activation_beta");
    int alphas = alpha ? alpha->count : 0, betas = beta ? beta->count : 0, next_alpha = 0, next_beta = 0;
    if ((names && names->count && !names->strings) || (alphas && !alpha->floats) || (betas && !beta->floats))
        return refuse_node(im, "its activations or their parameters have the wrong type");
    if (names && names->count != r->activations * r->directions)
        return refuse_node(im, "it has %d activations, not %d", names->count, r->activations * r->directions);
    for (int d = 0; d < r->directions; d++)
        for (int k = 0; k < r->activations; k++) {
            struct activation *f = &r->function[d][k];
            *f = (struct activation){.kind = r->cell->function[k]};
            if (names && (!onnx_function(names->strings[d * r->activations + k], f) || f->kind == ACTIVATION_SOFTMAX))
                return refuse_node(im, "the activation '%.40s' is not supported in a recurrent layer",
                                   names->strings[d * r->activations + k]);
            if (!has_default(f) && (next_alpha == alphas || next_beta == betas))
                return refuse_node(im, "the activation '%s' needs an alpha or beta, for which ONNX has no defaults",
                                   names->strings[d * r->activations + k]);
            if (activation_numbers(f->kind) > 0 && next_alpha < alphas)
                f->alpha = alpha->floats[next_alpha++];
            if (activation_numbers(f->kind) > 1 && next_beta < betas)
                f->beta = beta->floats[next_beta++];
        }
    if (next_alpha < alphas || next_beta < betas)
        return refuse_node(im, "it has more values alpha or beta than functions that use one");
    return UNROLL_OK;
}

/* Formats the functions of a direction, or "" if they are the cell's defaults. */
static void write_activations(const struct recurrent *r, int direction, char *text, size_t size)
{
    bool own = true;
    text[0] = 0;
    for (int k = 0; k < r->activations; k++) {
        char word[64];
        activation_format(&r->function[direction][k], word, sizeof word);
        size_t used = strlen(text);
        snprintf(text + used, size - used, "%s%s", k ? " " : "", word);
        own &= r->function[direction][k].kind == r->cell->function[k];
    }
    if (own)
        text[0] = 0;
}

/* Selects among the cells of an operator by the value of their attribute. PyTorch's second exporter writes 0 for layers
 * that need 1, so its files are ambiguous. */
static unroll_status choose_cell(struct onnx_import *im, struct recurrent *r)
{
    const struct cell_foreign *first = &r->cell->foreign;
    int64_t value = onnx_int(im, first->onnx_attribute, 0);
    const char *chosen = im->config->gru_reset, *path = im->file->path;
    const struct onnx_node *n = im->node;
    if (chosen)
        r->cell = cell_of_module(first->name, chosen);
    else if (!value && !strcmp(im->file->producer, "pytorch"))
        return fail(UNROLL_DATA,
                    "GRU reset convention is doubtful in '%s'\n"
                    "  node '%.80s': %s=0, producer pytorch %.40s\n"
                    "  that exporter is known to write 0 while the model needs 1 (onnxscript#2852)\n"
                    "  fix: use `gru_reset` after, and `verify` with what that tool computed",
                    path, *n->name || !n->outputs ? n->name : n->output[0], first->onnx_attribute,
                    im->file->producer_version);
    for (int i = 0; cell_at(i) && !chosen; i++)
        if (cell_at(i)->foreign.name && !strcmp(cell_at(i)->foreign.name, first->name) &&
            cell_at(i)->foreign.onnx_value == (value != 0))
            r->cell = cell_at(i);
    return UNROLL_OK;
}

static unroll_status describe_recurrent(struct onnx_import *im, struct recurrent *r)
{
    r->cell = cell_of_module(im->node->op, NULL);
    if (!r->cell)
        return refuse_node(im, "there is no cell for a %.40s", im->node->op);
    if (r->cell->foreign.onnx_attribute)
        TRY(choose_cell(im, r));
    r->has_c = r->cell->states > 1;
    r->gates = cell_inputs_from(r->cell, FROM_X);
    r->activations = r->cell->activations;
    TRY(take_direction(im, r));
    TRY(take_activations(im, r));
    return take_weights(im, r);
}

/* ---- time, batch, lengths, states ------------------------------------------------------ */

static unroll_status bind_axes(struct onnx_import *im, const struct recurrent *r, const struct symbolic *x)
{
    if (x->rank != 3 || x->axis[0].second || x->axis[1].second)
        return refuse_node(im, "its input does not have the axes time, batch and features");
    int time = x->axis[r->batch_first].id, batch = x->axis[!r->batch_first].id;
    if (!im->bound) {
        im->bound = true;
        im->time = time;
        im->batch = batch;
    }
    bool good = time == im->time && batch == im->batch && x->reading == ALL_STEPS && time != AXIS_STACK &&
                batch != AXIS_STACK && time != AXIS_FEATURE && batch != AXIS_FEATURE;
    return good ? UNROLL_OK
                : refuse_node(im, "its axes of time and batch differ from those of an earlier recurrent node");
}

/* True if constant lengths cover all steps of the input. */
static bool are_all_steps(const struct value *v, int64_t steps)
{
    const struct onnx_tensor *t = v->constant;
    bool all = t && t->i && steps != SYMBOL_UNKNOWN;
    for (size_t i = 0; all && i < t->count; i++) all = t->i[i] == steps;
    return all;
}

static unroll_status take_lengths(struct onnx_import *im, const struct symbolic_axis *time)
{
    struct value *v = onnx_input(im, LENGTHS);
    im->recurrent++;
    if (!v || (v->kind != VALUE_SYMBOLIC && are_all_steps(v, onnx_axis_size(time))))
        return UNROLL_OK;
    if (v->kind != VALUE_SYMBOLIC)
        return refuse_node(im,
                           "its lengths are constants that differ from the number of steps; lengths must be given at "
                           "run time. fix: make them an input of the graph");
    if (v->symbolic.piece[0].kind != PIECE_INPUT || !v->symbolic.is_integer || v->symbolic.rank != 1)
        return refuse_node(im, "its sequence_lens must be an input of the graph");
    int input = v->symbolic.piece[0].index;
    if (im->lengths >= 0 && im->lengths != input)
        return refuse_node(im, "it reads different lengths than an earlier recurrent node");
    im->lengths = input;
    im->with_lengths++;
    return UNROLL_OK;
}

static bool is_zero(const struct value *v)
{
    if (v->kind == VALUE_FILL)
        return v->fill == 0;
    for (size_t i = 0; v->kind == VALUE_CONSTANT && v->constant->f && i < v->constant->count; i++)
        if (v->constant->f[i] != 0)
            return false;
    return v->kind == VALUE_CONSTANT && v->constant->f;
}

/* Returns the axis of the graph's input that axis k of a value comes from, or -1. */
static int axis_of_input(const struct symbolic *f, int k)
{
    int id = f->axis[k].id == AXIS_FEATURE ? f->piece[0].axis : f->axis[k].id;
    return id < AXIS_OF_INPUT ? -1 : (id - AXIS_OF_INPUT) % ONNX_RANK;
}

/* True if a part is an input of the graph, or a row of one, with all its `hidden` units. */
static bool is_whole_input(const struct onnx_import *im, const struct onnx_part *q, int features, int64_t hidden)
{
    if (q->kind != PIECE_INPUT || q->first)
        return false;
    int64_t said = features < 0 ? 1 : im->file->input[q->index].dim[features].size;
    return said < 0 || said == hidden;
}

/* All nodes must read the axes of an input in the same order. */
static unroll_status check_state_axes(struct onnx_import *im, int input, int batch, int features)
{
    for (int i = 0; i < im->states; i++)
        if (im->state[i].input == input && (im->state[i].batch != batch || im->state[i].features != features))
            return refuse_node(im,
                               "it reads the axes of the first states '%.60s' in a different order than an earlier "
                               "node",
                               im->file->input[input].name);
    return UNROLL_OK;
}

/* Records which entry of an input of the graph is the first state of each direction. */
static unroll_status take_state(struct onnx_import *im, const struct recurrent *r, int k, const int layer[2])
{
    struct value *v = onnx_input(im, k);
    if (!v || is_zero(v))
        return UNROLL_OK;
    if (v->kind != VALUE_SYMBOLIC)
        return refuse_node(im,
                           "its first state '%.60s' is a constant that is not zero; models start from zero states or "
                           "from states given at run time",
                           v->name);
    const struct symbolic *f = &v->symbolic;
    int axis = r->batch_first ? 1 : 0;
    bool opened = f->rank == 3 && f->pieces == 1 && f->axis[axis].id == AXIS_STACK && f->stacks == r->directions;
    bool whole = f->rank == 3 && f->pieces == 1 && f->stacks == 1 && f->piece[0].row < 0 &&
                 (f->axis[axis].id == AXIS_ONE || f->axis[axis].size == r->directions || f->axis[axis].size < 0);
    if (f->piece[0].kind != PIECE_INPUT || f->is_integer || (!opened && !whole))
        return refuse_node(im, "its first state '%.60s' is neither an input of the graph nor entries of one", v->name);
    const int batch = axis_of_input(f, 1 - axis), features = axis_of_input(f, 2);
    TRY(check_state_axes(im, f->piece[0].index, batch, features));
    for (int d = 0; d < r->directions; d++) {
        const struct onnx_part *q = &f->piece[opened ? d : 0];
        if (!is_whole_input(im, q, features, r->hidden))
            return refuse_node(im, "its first state '%.60s' is neither an input of the graph nor whole entries of one",
                               v->name);
        if (im->states == IMPORT_STATES)
            return refuse_node(im, "there are more than %d first states", IMPORT_STATES);
        im->state[im->states++] = (struct state_use){.input = q->index,
                                                     .row = opened && q->row >= 0 ? q->row : d,
                                                     .layer = layer[d],
                                                     .direction = r->first_direction + d,
                                                     .is_cell = k == FIRST_C,
                                                     .batch_first = r->batch_first,
                                                     .batch = batch,
                                                     .features = features};
    }
    return UNROLL_OK;
}

/* ---- outputs --------------------------------------------------------------------------- */

/* Sets an output of the node: all steps (PIECE_Y) or the last states, in the node's layout. */
static unroll_status give(struct onnx_import *im, const struct recurrent *r, const struct symbolic *x, int output,
                          enum piece_kind kind, const int layer[2])
{
    struct symbolic f = {.rank = kind == PIECE_Y ? 4 : 3};
    const struct symbolic_axis stack = {.id = AXIS_STACK, .size = r->directions},
                               features = {.id = AXIS_FEATURE, .size = r->hidden};
    const struct symbolic_axis *time = &x->axis[r->batch_first], *batch = &x->axis[!r->batch_first];
    int n = 0;
    if (r->batch_first)
        f.axis[n++] = *batch;
    if (kind == PIECE_Y)
        f.axis[n++] = *time;
    f.axis[n++] = stack;
    if (!r->batch_first)
        f.axis[n++] = *batch;
    f.axis[n] = features;
    if (kind != PIECE_Y)
        f.reading = im->lengths >= 0 ? LAST_VALID : LAST_STEP;
    TRY(onnx_new_pieces(im, &f, r->directions, 1));
    bool one_layer = layer[0] == layer[1];
    for (int d = 0; d < r->directions; d++)
        f.piece[d] = (struct onnx_part){.kind = kind,
                                        .index = layer[d],
                                        .direction = r->first_direction + d,
                                        .row = -1,
                                        .first = kind == PIECE_Y && one_layer ? d * r->hidden : 0,
                                        .width = r->hidden};
    struct value *v = onnx_output(im, output);
    v->kind = VALUE_SYMBOLIC;
    v->symbolic = f;
    return UNROLL_OK;
}

/* Names the layer. Similar layers become levels of one stack, "rnn", so that their states share an array; others get
 * their own names. */
static void name_layer(struct onnx_import *im, struct imported_layer *l)
{
    int levels = 0, index = (int)(l - im->layer);
    bool alike = true;
    for (int i = 0; i < index; i++) {
        const struct imported_layer *other = &im->layer[i];
        if (strcmp(other->name, "rnn"))
            continue;
        levels++;
        alike = alike && !strcmp(other->kind, l->kind) && other->layer.width == l->layer.width &&
                other->layer.bidirectional == l->layer.bidirectional && other->layer.reverse == l->layer.reverse;
    }
    snprintf(l->name, sizeof l->name, "rnn");
    if (!alike)
        snprintf(l->name, sizeof l->name, "rnn%d", index);
    l->layer.level = alike ? levels : 0;
}

/* Reads the clip. sigmoid(x) and tanh(x) do not change beyond |x| = 80, so a larger clip, such as 9999 in some tools,
 * has no effect on them. The output function of an LSTM is not clipped. */
static unroll_status take_clip(struct onnx_import *im, const struct recurrent *r, int direction, float *clip)
{
    bool bounded = true;
    for (int k = 0; k < r->activations && k < 2; k++)
        bounded = bounded && (r->function[direction][k].kind == ACTIVATION_SIGMOID ||
                              r->function[direction][k].kind == ACTIVATION_TANH);
    *clip = onnx_float(im, "clip", 0);
    if (*clip > 80 && bounded)
        *clip = 0;
    return *clip >= 0 && *clip <= 80
               ? UNROLL_OK
               : refuse_node(im, "clip = %g is above 80, which only sigmoid and tanh support", (double)*clip);
}

/* Adds a layer of `directions` directions, starting at direction `block` of the node. */
static unroll_status add_layer(struct onnx_import *im, const struct recurrent *r, struct symbolic *x, int block,
                               int directions)
{
    struct imported_layer *l;
    TRY(onnx_add_layer(im, r->cell->called, "", &l));
    l->W = r->weight[W];
    l->R = r->weight[R];
    l->B = r->weight[B];
    l->P = r->weight[PEEPHOLES];
    l->first_block = block;
    l->directions = directions;
    write_activations(r, block, l->activations, sizeof l->activations);
    TRY(take_clip(im, r, block, &l->layer.clip));
    l->layer.input_forget = onnx_int(im, "input_forget", 0) != 0;
    l->layer.peephole = l->P != NULL;
    l->layer.bias = l->B != NULL;
    l->layer.width = (int)r->hidden;
    l->layer.bidirectional = directions == 2;
    l->layer.reverse = r->first_direction + block == 1 && directions == 1;
    name_layer(im, l);
    return onnx_sources(im, x, r->inputs, l);
}

/* Adds one layer, or two if the directions have different functions. */
static unroll_status add_layers(struct onnx_import *im, const struct recurrent *r, struct symbolic *x, int layer[2])
{
    char first[192], second[192];
    write_activations(r, 0, first, sizeof first);
    write_activations(r, 1, second, sizeof second);
    bool alike = r->directions == 1 || !strcmp(first, second);
    layer[0] = layer[1] = im->layers;
    TRY(add_layer(im, r, x, 0, alike ? r->directions : 1));
    if (alike)
        return UNROLL_OK;
    layer[1] = im->layers;
    return add_layer(im, r, x, 1, 1);
}

/* Reads an LSTM, GRU or RNN node: adds its layers and sets its outputs. */
unroll_status onnx_recurrent(struct onnx_import *im)
{
    struct recurrent r = {.gates = 0};
    struct value *v;
    int layer[2];
    TRY(onnx_operand(im, X, VALUE_SYMBOLIC, &v));
    TRY(describe_recurrent(im, &r));
    struct symbolic x = v->symbolic;
    TRY(onnx_take_features(im, &x));
    TRY(bind_axes(im, &r, &x));
    TRY(take_lengths(im, &x.axis[r.batch_first]));
    TRY(add_layers(im, &r, &x, layer));
    TRY(take_state(im, &r, FIRST_H, layer));
    if (r.has_c)
        TRY(take_state(im, &r, FIRST_C, layer));
    TRY(give(im, &r, &x, 0, PIECE_Y, layer));
    TRY(give(im, &r, &x, 1, PIECE_H, layer));
    return r.has_c ? give(im, &r, &x, 2, PIECE_C, layer) : UNROLL_OK;
}

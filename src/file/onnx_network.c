/* The layers that were found in an ONNX graph become a model, with ONNX's weights in our order. Then what was found is said. */
#include "file/onnx_network.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "file/file_table.h"
#include "model/model.h"

/* ---- checks of the whole --------------------------------------------------------------- */

static unroll_status check_output(struct onnx_import *im, const struct onnx_value_info *info)
{
    const struct value *v = onnx_value(im, info->name);
    if (v->kind != VALUE_FLOW)
        return fail(UNROLL_UNSUPPORTED, "'%s': the output '%.80s' is a constant", im->file->path, info->name);
    for (int p = 0; p < v->flow.stacks * v->flow.pieces; p++) {
        const struct part *q = &v->flow.piece[p];
        if (q->kind == PIECE_INPUT)
            return fail(UNROLL_UNSUPPORTED, "'%s': the output '%.80s' is the input '%.80s'", im->file->path,
                        info->name,
                        im->file->input[q->index].name);
        if (q->kind == PIECE_Y)
            im->layer[q->index].layer.output = 1;
    }
    return UNROLL_OK;
}

static unroll_status check_graph(struct onnx_import *im)
{
    if (!im->layers || im->sequence < 0)
        return fail(UNROLL_UNSUPPORTED, "'%s' has no layers", im->file->path);
    if (im->with_lengths && im->with_lengths != im->recurrent)
        return fail(UNROLL_UNSUPPORTED,
                    "'%s': %d of %d recurrent nodes read lengths; in a network all do, or none",
                    im->file->path, im->with_lengths, im->recurrent);
    for (int i = 0; i < im->file->outputs; i++)
        TRY(check_output(im, &im->file->output[i]));
    return UNROLL_OK;
}

/* ---- the model ------------------------------------------------------------------------- */

static bool is_recurrent(const struct imported_layer *l)
{
    return strcmp(l->kind, "dense") != 0;
}

static unroll_status make_network(struct onnx_import *im)
{
    unroll_layer layer[IMPORT_LAYERS];
    unroll_network network = unroll_network_default();
    for (int i = 0; i < im->layers; i++) {
        struct imported_layer *l = &im->layer[i];
        if (l->is_unnamed && !is_recurrent(l) && i + 1 == im->layers)
            snprintf(l->name, sizeof l->name, "head");
        layer[i] = l->layer;
        layer[i].kind = l->kind;
        layer[i].name = l->name;
        layer[i].functions = *l->functions ? l->functions : NULL;
        layer[i].activation = *l->activation ? l->activation : NULL;
        layer[i].bias = is_recurrent(l) ? layer[i].bias : l->bias != NULL;
    }
    network.tokens = im->tokens;
    network.input = (int)im->input;
    network.embed = im->embedding ? (int)im->embedding->dim[1] : 0;
    network.layer = layer;
    network.layers = im->layers;
    return unroll_network_new(&network, 0, &im->model);
}

/* ---- weights --------------------------------------------------------------------------- */

static float *parameter_of(const struct onnx_import *im, enum parameter_role role, int layer, int direction)
{
    int i = model_find(im->model, role, layer, direction);
    return i < 0 ? NULL : im->model->values + im->model->parameter[i].first;
}

/* Blocks of `size` numbers in our order. */
static void copy_blocks(float *to, const float *from, const int *order, int count, size_t size)
{
    for (int k = 0; to && k < count; k++)
        memcpy(to + (size_t)k * size, from + (size_t)order[k] * size, size * sizeof *to);
}

static void fill_recurrent(const struct onnx_import *im, int index)
{
    const struct imported_layer *l = &im->layer[index];
    const size_t hidden = (size_t)l->layer.width, inputs = (size_t)l->W->dim[2];
    const struct cell_declaration *cell = im->model->layer[index].cell;
    const int *order = cell->foreign.onnx_gates, gates = cell_inputs_from(cell, FROM_X);
    for (int d = 0; d < l->directions; d++) {
        size_t block = (size_t)(l->first_block + d), rows = (size_t)gates * hidden;
        int direction = l->layer.reverse ? 1 : d;
        copy_blocks(parameter_of(im, PARAM_W_IH, index, direction), l->W->f + block * rows * inputs, order,
                    gates, hidden * inputs);
        copy_blocks(parameter_of(im, PARAM_W_HH, index, direction), l->R->f + block * rows * hidden, order,
                    gates, hidden * hidden);
        if (l->B) {
            copy_blocks(parameter_of(im, PARAM_B_IH, index, direction), l->B->f + block * 2 * rows, order,
                        gates, hidden);
            copy_blocks(parameter_of(im, PARAM_B_HH, index, direction), l->B->f + block * 2 * rows + rows,
                        order, gates, hidden);
        }
        if (l->P)
            copy_blocks(parameter_of(im, PARAM_VECTOR, index, direction), l->P->f + block * (size_t)cell->vectors * hidden,
                        cell->foreign.onnx_vectors, cell->vectors, hidden);
    }
}

static void fill_dense(const struct onnx_import *im, int index)
{
    const struct imported_layer *l = &im->layer[index];
    float *w = parameter_of(im, PARAM_W_DENSE, index, 0), *b = parameter_of(im, PARAM_B_DENSE, index, 0);
    size_t outputs = (size_t)l->layer.width, inputs = im->model->layer[index].input;
    for (size_t n = 0; n < outputs; n++)
        for (size_t k = 0; k < inputs; k++)
            w[n * inputs + k] = !l->weight ? (float)(n == k)
                : l->weight->f[l->transposed ? k * outputs + n : n * inputs + k];
    if (b)
        memcpy(b, l->bias->f, outputs * sizeof *b);
}

static unroll_status fill_weights(struct onnx_import *im)
{
    const struct unroll_model *m = im->model;
    if (im->embedding)
        memcpy(parameter_of(im, PARAM_EMBEDDING, 0, 0), im->embedding->f,
               im->embedding->count * sizeof(float));
    for (int i = 0; i < im->layers; i++)
        if (is_recurrent(&im->layer[i]))
            fill_recurrent(im, i);
        else
            fill_dense(im, i);
    for (int i = 0; i < m->parameters; i++)
        for (size_t k = 0; k < m->parameter[i].count; k++)
            if (!isfinite(m->values[m->parameter[i].first + k]))
                return fail(UNROLL_DATA, "'%s': what becomes '%s' holds NaN or infinity", im->file->path,
                            m->parameter[i].name);
    return UNROLL_OK;
}

unroll_status onnx_build(struct onnx_import *im)
{
    TRY(check_graph(im));
    if (im->input < 1 || im->input > 1 << 23)
        return fail(UNROLL_UNSUPPORTED, "'%s': an input of %lld numbers or symbols", im->file->path,
                    (long long)im->input);
    if (make_network(im) != UNROLL_OK)
        return fail(UNROLL_UNSUPPORTED, "'%s': %s", im->file->path, unroll_last_error());
    return fill_weights(im);
}

/* ---- what was found -------------------------------------------------------------------- */

static void report_layer(const struct onnx_import *im, int index)
{
    const struct imported_layer *l = &im->layer[index];
    const struct layer *made = &im->model->layer[index];
    char from[128] = "";
    for (int k = 0; k < made->sources; k++)
        snprintf(from + strlen(from), sizeof from - strlen(from), "%s%s", k ? " + " : "",
                 made->source[k] < 0 ? "input" : im->model->layer[made->source[k]].name);
    report_import(im->config, "layer %d: %s '%s', %u from %u (%s)%s%s%s%s%s%s%s%s", index, l->kind,
                  made->name, made->outputs,
                  made->input, from, l->layer.bidirectional ? ", bidirectional" : l->layer.reverse
                      ? ", reverse" : "",
                  l->layer.peephole ? ", peepholes" : "", l->layer.clip > 0 ? ", clip" : "",
                  l->layer.coupled ? ", coupled gates" : "", *l->functions || *l->activation ? ", " : "",
                  *l->functions ? l->functions : l->activation,
                  is_recurrent(l) || l->weight ? "" : ", weights: identity",
                  is_recurrent(l) ? l->B ? "" : ", no bias" : !l->weight || l->bias ? "" : ", no bias");
}

static void report_output(const struct onnx_import *im, const char *name)
{
    const struct flow *f = &onnx_value(im, name)->flow;
    const struct part *q = &f->piece[0];
    const char *layer = im->model->layer[q->index].name;
    const char *what = q->kind == PIECE_H ? "last h" : q->kind == PIECE_C ? "last c" : f->reading == ALL_STEPS
        ? "all steps"
                     : f->reading == LAST_STEP ? "the last step" : "each row's last step";
    report_import(im->config, "output '%s': %s of '%s'%s", name, what, layer,
                  f->stacks * f->pieces > 1 ? " and others" : "");
}

void onnx_report(const struct onnx_import *im)
{
    const struct onnx_file *o = im->file;
    report_import(im->config, "opset %lld, producer '%s' %s", (long long)o->opset, o->producer,
                  o->producer_version);
    for (int i = 0; i < o->inputs; i++) {
        const char *role = i == im->sequence ? im->tokens ? "symbols" : "the sequence" : i == im->lengths
            ? "lengths" : NULL;
        for (int s = 0; s < im->states && !role; s++)
            role = im->state[s].input == i ? im->state[s].is_cell ? "first c" : "first h" : NULL;
        if (role)
            report_import(im->config, "input '%s': %s", o->input[i].name, role);
    }
    for (int i = 0; i < im->layers; i++)
        report_layer(im, i);
    for (int i = 0; i < o->outputs; i++)
        report_output(im, o->output[i].name);
}

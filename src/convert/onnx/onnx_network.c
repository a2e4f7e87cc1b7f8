/* Builds a model from the layers found in an ONNX graph and converts the weights to our order. Inputs and outputs are
 * described in onnx_signature.c. */
#include "convert/onnx/onnx_network.h"

#include <stdio.h>
#include <string.h>

#include "base/finite.h"

#include "model/model.h"

/* ---- checks of the whole --------------------------------------------------------------- */

static unroll_status check_graph(struct onnx_import *im)
{
    if (!im->layers || im->sequence < 0)
        return fail(UNROLL_UNSUPPORTED, "'%s' has no layers; fix: " SIMPLIFY_MODEL, im->file->path);
    if (im->with_lengths && im->with_lengths != im->recurrent)
        return fail(UNROLL_UNSUPPORTED,
                    "'%s': %d of %d recurrent nodes read lengths; either all or none must; fix: " SIMPLIFY_MODEL,
                    im->file->path, im->with_lengths, im->recurrent);
    return onnx_settle_outputs(im);
}

/* ---- the model ------------------------------------------------------------------------- */

bool onnx_is_recurrent(const struct imported_layer *l) { return strcmp(l->kind, "dense") != 0; }

/* Creates the model with the layers found, without weights. */
static unroll_status make_network(struct onnx_import *im)
{
    unroll_layer layer[IMPORT_LAYERS];
    unroll_network network = unroll_network_default();
    for (int i = 0; i < im->layers; i++) {
        struct imported_layer *l = &im->layer[i];
        if (l->is_unnamed && !onnx_is_recurrent(l) && i + 1 == im->layers)
            snprintf(l->name, sizeof l->name, "head");
        layer[i] = l->layer;
        layer[i].kind = l->kind;
        layer[i].name = l->name;
        layer[i].activations = *l->activations ? l->activations : NULL;
        layer[i].activation = *l->activation ? l->activation : NULL;
        layer[i].bias = onnx_is_recurrent(l) ? layer[i].bias : l->bias != NULL;
    }
    network.tokens = im->tokens;
    network.input = (int)im->input;
    network.embed = im->embedding ? (int)im->embedding->dim[1] : 0;
    network.layer = layer;
    network.layers = im->layers;
    return unroll_model_from_network(&network, 0, &im->model);
}

/* ---- weights --------------------------------------------------------------------------- */

/* Copies blocks of `size` values in our order of gates. */
static void copy_blocks(float *to, const float *from, const int *order, int count, size_t size)
{
    for (int k = 0; to && k < count; k++)
        memcpy(to + (size_t)k * size, from + (size_t)order[k] * size, size * sizeof *to);
}

/* Stores weight k of a row in our row. Sources that the node does not read have zero weights. */
static void put_weight(const struct imported_layer *l, float *row, size_t k, float weight)
{
    if (l->column)
        row[l->column[k]] += weight;
    else
        row[k] = weight;
}

/* Copies the W of a gate. */
static void copy_columns(const struct imported_layer *l, float *to, const float *from, size_t rows, size_t width,
                         size_t inputs)
{
    memset(to, 0, rows * inputs * sizeof *to);
    for (size_t n = 0; n < rows; n++)
        for (size_t k = 0; k < width; k++) put_weight(l, to + n * inputs, k, from[n * width + k]);
}

/* Copies the weights of a recurrent layer, gate by gate. */
static void fill_recurrent(const struct onnx_import *im, int index)
{
    const struct imported_layer *l = &im->layer[index];
    const size_t hidden = (size_t)l->layer.width, width = (size_t)l->W->dim[2], inputs = im->model->layer[index].input;
    const struct cell_declaration *cell = im->model->layer[index].cell;
    const int *order = cell->foreign.onnx_gates, gates = cell_inputs_from(cell, FROM_X);
    for (int d = 0; d < l->directions; d++) {
        size_t block = (size_t)(l->first_block + d), rows = (size_t)gates * hidden;
        int direction = l->layer.reverse ? 1 : d;
        float *w = model_values(im->model, PARAM_W_IH, index, direction);
        for (int k = 0; k < gates; k++)
            copy_columns(l, w + (size_t)k * hidden * inputs,
                         l->W->f + (block * rows + (size_t)order[k] * hidden) * width, hidden, width, inputs);
        copy_blocks(model_values(im->model, PARAM_W_HH, index, direction), l->R->f + block * rows * hidden, order,
                    gates, hidden * hidden);
        if (l->B) {
            copy_blocks(model_values(im->model, PARAM_B_IH, index, direction), l->B->f + block * 2 * rows, order, gates,
                        hidden);
            copy_blocks(model_values(im->model, PARAM_B_HH, index, direction), l->B->f + block * 2 * rows + rows, order,
                        gates, hidden);
        }
        if (l->P)
            copy_blocks(model_values(im->model, PARAM_VECTOR, index, direction),
                        l->P->f + block * (size_t)cell->vectors * hidden, cell->foreign.onnx_vectors, cell->vectors,
                        hidden);
    }
}

static void fill_dense(const struct onnx_import *im, int index)
{
    const struct imported_layer *l = &im->layer[index];
    float *w = model_values(im->model, PARAM_W_DENSE, index, 0), *b = model_values(im->model, PARAM_B_DENSE, index, 0);
    size_t outputs = (size_t)l->layer.width, inputs = im->model->layer[index].input;
    size_t width = l->weight ? l->weight->count / outputs : outputs;
    memset(w, 0, outputs * inputs * sizeof *w);
    for (size_t n = 0; n < outputs; n++)
        for (size_t k = 0; k < width; k++)
            put_weight(l, w + n * inputs, k,
                       !l->weight ? (float)(n == k) : l->weight->f[l->transposed ? k * outputs + n : n * width + k]);
    if (b)
        memcpy(b, l->bias->f, outputs * sizeof *b);
}

static unroll_status fill_weights(struct onnx_import *im)
{
    const struct unroll_model *m = im->model;
    if (im->embedding)
        memcpy(model_values(im->model, PARAM_EMBEDDING, 0, 0), im->embedding->f, im->embedding->count * sizeof(float));
    for (int i = 0; i < im->layers; i++)
        if (onnx_is_recurrent(&im->layer[i]))
            fill_recurrent(im, i);
        else
            fill_dense(im, i);
    for (int i = 0; i < m->parameters; i++)
        if (first_not_finite(m->values + m->parameter[i].first, m->parameter[i].count) < m->parameter[i].count)
            return fail(
                UNROLL_DATA,
                "'%s': the tensor for '%s' contains NaN or infinity; fix: take another copy of the file, or train "
                "the model again",
                im->file->path, m->parameter[i].name);
    return UNROLL_OK;
}

unroll_status onnx_build(struct onnx_import *im)
{
    TRY(check_graph(im));
    if (im->input < 1 || im->input > 1 << 23)
        return fail(UNROLL_UNSUPPORTED,
                    "'%s': an input has %lld values or tokens, which is not supported; fix: " SIMPLIFY_MODEL,
                    im->file->path, (long long)im->input);
    if (make_network(im) != UNROLL_OK)
        return fail(UNROLL_UNSUPPORTED, "'%s': %s", im->file->path, unroll_last_error());
    TRY(fill_weights(im));
    return onnx_sign(im);
}

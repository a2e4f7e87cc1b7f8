/* Writes RTNeural's files (rtneural.c imports them), and those of AIDA-X, which are the same with "in_skip": 1 if the
 * input is added to the output. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "convert/amp/amp.h"
#include "convert/keras.h"

/* Returns the weights of a parameter in Keras' layout, [inputs][rows]; inputs 1: [rows]. */
static json_t *weights_of(const struct unroll_model *m, enum parameter_role role, int layer, size_t inputs)
{
    const struct parameter *q = &m->parameter[model_find(m, role, layer, 0)];
    const size_t rows = q->count / inputs;
    float *to = allocate_zeroed(q->count, sizeof *to);
    if (to == NULL)
        return NULL;
    keras_give(m, role, layer, inputs, to);
    json_t *array = amp_array(to, q->count, role == PARAM_B_IH || role == PARAM_B_HH ? 0 : rows);
    release(to);
    return array;
}

/* Returns [b_ih, b_hh] of a GRU, or their sum; without biases zeros. */
static json_t *biases_of(const struct unroll_model *m, int layer)
{
    const struct layer *l = &m->layer[layer];
    const size_t rows = (size_t)l->hidden * (size_t)cell_inputs_from(l->cell, FROM_X);
    const bool two = l->cell->foreign.keras_biases == 2;
    float *zeros = allocate_zeroed(rows, sizeof *zeros);
    json_t *array = NULL;
    if (zeros && two)
        array = l->bias ? json_pack("[o, o]", weights_of(m, PARAM_B_IH, layer, 1), weights_of(m, PARAM_B_HH, layer, 1))
                        : json_pack("[o, o]", amp_array(zeros, rows, 0), amp_array(zeros, rows, 0));
    release(zeros);
    if (two)
        return array;
    float *sum = amp_biases(m, layer, rows); /* of an LSTM, whose gates have Keras' order */
    array = sum ? amp_array(sum, rows, 0) : NULL;
    release(sum);
    return array;
}

static json_t *recurrent_of(const struct unroll_model *m, int layer)
{
    const struct layer *l = &m->layer[layer];
    return json_pack("{s:s, s:s, s:[n, n, i], s:[o, o, o]}", "type", l->cell->called, "activation", "", "shape",
                     (int)l->hidden, "weights", weights_of(m, PARAM_W_IH, layer, l->input),
                     weights_of(m, PARAM_W_HH, layer, l->hidden), biases_of(m, layer));
}

static json_t *dense_of(const struct unroll_model *m, int layer, bool skip)
{
    const struct layer *l = &m->layer[layer];
    const float *bias = model_values(m, PARAM_B_DENSE, layer, 0), zero = 0;
    json_t *kernel = skip ? amp_array(model_values(m, PARAM_W_DENSE, layer, 0), l->input - 1, 1)
                          : weights_of(m, PARAM_W_DENSE, layer, l->input);
    json_t *biases = json_array();
    for (size_t i = 0; i < l->outputs; i++) json_array_append_new(biases, json_real((double)(bias ? bias[i] : zero)));
    return json_pack("{s:s, s:s, s:[n, n, i], s:[o, o]}", "type", "dense", "activation", "", "shape", (int)l->outputs,
                     "weights", kernel, biases);
}

static unroll_status export_layers(const unroll_model *m, const char *path, const char *format, bool takes_skip)
{
    struct amp a;
    json_t *layers = json_array();
    unroll_status status = amp_of(m, format, &a);
    if (status == UNROLL_OK && m->layer->cell->foreign.keras_biases == 0)
        status = fail(UNROLL_UNSUPPORTED, "'%s' holds lstm and gru layers, not %s; fix: export to onnx or c99", format,
                      a.cell);
    if (status == UNROLL_OK && strcmp(a.cell, "gru-before") == 0)
        status = fail(UNROLL_UNSUPPORTED,
                      "'%s' applies the reset of a gru after the product; fix: train with the cell "
                      "gru",
                      format);
    if (status == UNROLL_OK && a.skip && !takes_skip)
        status = fail(UNROLL_UNSUPPORTED, "'%s' cannot add the input to the output; fix: export to aidax", format);
    if (status != UNROLL_OK) {
        json_decref(layers);
        return status;
    }
    for (int i = 0; i < a.layers; i++) json_array_append_new(layers, recurrent_of(m, i));
    json_array_append_new(layers, dense_of(m, a.layers, a.skip));
    json_t *json = json_pack("{s:[n, n, i], s:o}", "in_shape", a.input, "layers", layers);
    if (json && takes_skip)
        json_object_set_new(json, "in_skip", json_integer(a.skip));
    return amp_write(path, json);
}

unroll_status export_rtneural(const unroll_model *model, const char *path, const unroll_export_config *config)
{
    return (void)config, export_layers(model, path, "rtneural", false);
}

static unroll_status export_aidax(const unroll_model *model, const char *path, const unroll_export_config *config)
{
    return (void)config, export_layers(model, path, "aidax", true);
}

static bool is_aidax(const char *path, const char *head, size_t bytes)
{
    static const char mark[] = "\"in_skip\"";
    return path_ends_in(path, ".json") && memmem(head, bytes, mark, strlen(mark));
}

const struct file_format format_aidax = {
    .name = "aidax", .about = "AIDA-X JSON", .recognizes = is_aidax, .import = import_rtneural, .export = export_aidax};

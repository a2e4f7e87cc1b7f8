/* Neural Amp Modeler's files (github.com/sdatkinson/neural-amp-modeler): JSON with all weights of an LSTM in one array.
 * For each layer: the rows of [W_ih | W_hh], gates i f g o; the sum of the biases; h and c at the start. Then the
 * head's row and its bias. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "convert/amp/amp.h"
#include "convert/keras.h"

enum { DEFAULT_RATE = 48000, SILENCE = 48000, GATES = 4 };

static size_t layer_numbers(const struct amp *a, int layer)
{
    const size_t h = (size_t)a->hidden, input = layer ? h : (size_t)a->input;
    return GATES * h * (input + h + 1) + 2 * h;
}

static size_t all_numbers(const struct amp *a)
{
    size_t all = (size_t)a->hidden + 1;
    for (int i = 0; i < a->layers; i++) all += layer_numbers(a, i);
    return all;
}

/* ---- import ------------------------------------------------------------------------------ */

static void fill_layer(struct unroll_model *m, const struct amp *a, int layer, const float *from)
{
    const size_t h = (size_t)a->hidden, input = layer ? h : (size_t)a->input;
    float *x = model_values(m, PARAM_W_IH, layer, 0), *u = model_values(m, PARAM_W_HH, layer, 0);
    for (size_t row = 0; row < GATES * h; row++, from += input + h) {
        memcpy(x + row * input, from, input * sizeof *x);
        memcpy(u + row * h, from + input, h * sizeof *u);
    }
    memcpy(model_values(m, PARAM_B_IH, layer, 0), from, GATES * h * sizeof *from);
}

static unroll_status read_config(const json_t *json, struct amp *amp)
{
    const char *architecture;
    json_t *config;
    int64_t input, hidden, layers;
    TRY(json_field_string(json, "the model", "architecture", &architecture));
    if (strcmp(architecture, "LSTM") != 0)
        return fail(UNROLL_UNSUPPORTED, "the architecture is '%.40s'; fix: use a .nam file of the architecture LSTM",
                    architecture);
    TRY(json_field_object(json, "the model", "config", &config));
    TRY(json_field_integer(config, "config", "input_size", 1, AMP_WIDEST, &input));
    TRY(json_field_integer(config, "config", "hidden_size", 1, AMP_WIDEST, &hidden));
    TRY(json_field_integer(config, "config", "num_layers", 1, MODEL_LAYERS_MAX - 1, &layers));
    *amp = (struct amp){"lstm", (int)layers, (int)hidden, (int)input, false, true};
    return UNROLL_OK;
}

static unroll_status import_json(const json_t *json, const unroll_import_config *config, unroll_model **model)
{
    struct amp amp;
    struct unroll_model *made = NULL;
    float *numbers;
    const double rate = json_number_value(json_object_get(json, "sample_rate"));
    TRY(read_config(json, &amp));
    const size_t count = all_numbers(&amp);
    TRY(ALLOCATE(numbers, count, "for %zu weights", count));
    unroll_status status = amp_take(json_object_get(json, "weights"), "'weights'", count, numbers);
    if (status == UNROLL_OK)
        status = amp_new(&amp, rate >= 1 && rate <= 768000 ? (int)rate : 0, &made);
    if (status == UNROLL_OK) {
        const float *at = numbers;
        for (int i = 0; i < amp.layers; i++, at += layer_numbers(&amp, i - 1)) fill_layer(made, &amp, i, at);
        memcpy(model_values(made, PARAM_W_DENSE, amp.layers, 0), at, (size_t)amp.hidden * sizeof *at);
        *model_values(made, PARAM_B_DENSE, amp.layers, 0) = at[amp.hidden];
        report_import(config,
                      "lstm: %d x %d; states begin with zeros, not with those of the file, which are the ones "
                      "after silence",
                      amp.layers, amp.hidden);
        *model = made;
    } else
        unroll_model_free(made);
    release(numbers);
    return status;
}

static unroll_status import_nam(const char *path, const unroll_import_config *config, unroll_model **model)
{
    return amp_import(path, import_json, config, model);
}

static bool is_nam(const char *path, const char *head, size_t bytes)
{
    return (void)head, (void)bytes, path_ends_in(path, ".nam");
}

/* ---- export ------------------------------------------------------------------------------ */

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* Runs a layer for one step on x, in double; gate [4 hidden] is scratch memory. */
static void step_layer(const struct unroll_model *m, const struct amp *a, int layer, const float *bias, const double *x,
                       double *h, double *c, double *gate)
{
    const size_t n = (size_t)a->hidden, input = layer ? n : (size_t)a->input;
    const float *w = model_values(m, PARAM_W_IH, layer, 0), *u = model_values(m, PARAM_W_HH, layer, 0);
    for (size_t row = 0; row < GATES * n; row++) {
        gate[row] = (double)bias[row];
        for (size_t k = 0; layer && k < input; k++) gate[row] += (double)w[row * input + k] * x[k]; /* the input is 0 */
        for (size_t k = 0; k < n; k++) gate[row] += (double)u[row * n + k] * h[k];
    }
    for (size_t k = 0; k < n; k++) {
        c[k] = sigmoid(gate[n + k]) * c[k] + sigmoid(gate[k]) * tanh(gate[2 * n + k]);
        h[k] = sigmoid(gate[3 * n + k]) * tanh(c[k]);
    }
}

/* Computes the states after silence: state [layers, 2, hidden], h and c of each layer. */
static unroll_status settle_nam(const struct unroll_model *m, const struct amp *a, float *const *bias, double *state)
{
    const size_t n = (size_t)a->hidden;
    double *gate;
    TRY(ALLOCATE(gate, GATES * n, "for the states of a model"));
    for (int t = 0; t < SILENCE; t++)
        for (int i = 0; i < a->layers; i++) {
            double *h = state + 2 * n * (size_t)i;
            step_layer(m, a, i, bias[i], i ? h - 2 * n : NULL, h, h + n, gate);
        }
    release(gate);
    return UNROLL_OK;
}

static void append(json_t *array, const float *from, size_t count)
{
    for (size_t i = 0; i < count; i++) json_array_append_new(array, json_real((double)from[i]));
}

static void append_layer(json_t *array, const struct unroll_model *m, const struct amp *a, int layer, const float *bias,
                         const double *state)
{
    const size_t n = (size_t)a->hidden, input = layer ? n : (size_t)a->input;
    for (size_t row = 0; row < GATES * n; row++) {
        append(array, model_values(m, PARAM_W_IH, layer, 0) + row * input, input);
        append(array, model_values(m, PARAM_W_HH, layer, 0) + row * n, n);
    }
    append(array, bias, GATES * n);
    for (size_t k = 0; k < 2 * n; k++) json_array_append_new(array, json_real(state[k]));
}

static unroll_status make_weights(const struct unroll_model *m, const struct amp *a, json_t *array)
{
    const size_t n = (size_t)a->hidden;
    const float *head_bias = model_values(m, PARAM_B_DENSE, a->layers, 0);
    float *bias[MODEL_LAYERS_MAX] = {NULL};
    double *state;
    TRY(ALLOCATE(state, 2 * n * (size_t)a->layers, "for the states of a model"));
    unroll_status status = UNROLL_OK;
    for (int i = 0; i < a->layers; i++)
        if ((bias[i] = amp_biases(m, i, GATES * n)) == NULL)
            status = fail(UNROLL_RESOURCE, "no memory for the biases of a model");
    if (status == UNROLL_OK)
        status = settle_nam(m, a, bias, state);
    for (int i = 0; i < a->layers && status == UNROLL_OK; i++)
        append_layer(array, m, a, i, bias[i], state + 2 * n * (size_t)i);
    append(array, model_values(m, PARAM_W_DENSE, a->layers, 0), n);
    append(array, head_bias ? head_bias : (const float[]){0}, 1);
    for (int i = 0; i < a->layers; i++) release(bias[i]);
    release(state);
    return status;
}

static unroll_status export_nam(const unroll_model *model, const char *path, const unroll_export_config *config)
{
    struct amp a;
    const int rate = amp_rate(model);
    (void)config;
    TRY(amp_of(model, "nam", &a));
    if (strcmp(a.cell, "lstm") != 0 || a.skip)
        return fail(UNROLL_UNSUPPORTED,
                    "'nam' holds lstm layers without a skip, not %s%s; fix: export to aidax or "
                    "guitarml",
                    a.cell, a.skip ? " with the input added" : "");
    json_t *weights = json_array();
    unroll_status status = make_weights(model, &a, weights);
    if (status != UNROLL_OK) {
        json_decref(weights);
        return status;
    }
    return amp_write(path,
                     json_pack("{s:s, s:{}, s:s, s:{s:i, s:i, s:i}, s:o, s:i}", "version", "0.5.4", "metadata",
                               "architecture", "LSTM", "config", "input_size", a.input, "hidden_size", a.hidden,
                               "num_layers", a.layers, "weights", weights, "sample_rate", rate ? rate : DEFAULT_RATE));
}

const struct file_format format_nam = {.name = "nam",
                                       .about = "Neural Amp Modeler, LSTM",
                                       .recognizes = is_nam,
                                       .import = import_nam,
                                       .export = export_nam};

/* GuitarML's files (github.com/Alec-Wright/Automated-GuitarAmpModelling, and the plugins that read them): a description
 * of the network, and PyTorch's parameters as nested arrays. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "convert/amp/amp.h"
#include "convert/keras.h"

/* A parameter of the file: "rec.weight_ih_l0". */
static void name_of(const struct unroll_model *m, const struct parameter *q, char name[64])
{
    static const char *const names[] = {[PARAM_W_IH] = "weight_ih", [PARAM_W_HH] = "weight_hh",
                                        [PARAM_B_IH] = "bias_ih",   [PARAM_B_HH] = "bias_hh",
                                        [PARAM_W_DENSE] = "weight", [PARAM_B_DENSE] = "bias"};
    if (m->layer[q->layer].cell)
        snprintf(name, 64, "rec.%s_l%d", names[q->role], q->layer);
    else
        snprintf(name, 64, "lin.%s", names[q->role]);
}

/* ---- import ------------------------------------------------------------------------------ */

static unroll_status find_unit(const json_t *about, struct amp *amp)
{
    const char *unit;
    TRY(json_field_string(about, "model_data", "unit_type", &unit));
    amp->cell = strcmp(unit, "LSTM") == 0 ? "lstm" : strcmp(unit, "GRU") == 0 ? "gru" : NULL;
    return amp->cell
               ? UNROLL_OK
               : fail(UNROLL_UNSUPPORTED, "the unit_type is '%.40s'; fix: use a model of LSTM or GRU units", unit);
}

static unroll_status read_about(const json_t *json, struct amp *amp)
{
    json_t *about;
    int64_t input, output, hidden, layers = 1, skip = 0;
    *amp = (struct amp){.bias = true};
    TRY(json_field_object(json, "the model", "model_data", &about));
    TRY(find_unit(about, amp));
    TRY(json_field_integer(about, "model_data", "input_size", 1, AMP_WIDEST, &input));
    TRY(json_field_integer(about, "model_data", "output_size", 1, 1, &output));
    TRY(json_field_integer(about, "model_data", "hidden_size", 1, AMP_WIDEST, &hidden));
    if (json_object_get(about, "num_layers"))
        TRY(json_field_integer(about, "model_data", "num_layers", 1, MODEL_LAYERS_MAX - 1, &layers));
    if (json_object_get(about, "skip"))
        TRY(json_field_integer(about, "model_data", "skip", 0, 1, &skip));
    amp->input = (int)input;
    amp->hidden = (int)hidden;
    amp->layers = (int)layers;
    amp->skip = skip;
    if (skip && input > 1)
        return fail(UNROLL_UNSUPPORTED, "a skip of %d inputs is not supported; fix: use a model with input_size 1",
                    (int)input);
    return UNROLL_OK;
}

/* Checks that the file has the layers that it describes, before memory is allocated for them. */
static unroll_status check_layers(const struct amp *amp, const json_t *state)
{
    const size_t rows = (size_t)amp->hidden * (strcmp(amp->cell, "lstm") == 0 ? 4 : 3);
    char name[64];
    for (int i = 0; i < amp->layers; i++) {
        snprintf(name, sizeof name, "rec.weight_hh_l%d", i);
        if (json_array_size(json_object_get(state, name)) != rows)
            return fail(UNROLL_DATA, "'%s' is missing or does not have %zu rows; fix: " EXPORT_WEIGHTS, name, rows);
    }
    return UNROLL_OK;
}

static unroll_status fill_model(struct unroll_model *m, const struct amp *amp, const json_t *state)
{
    char name[64], where[80];
    for (int i = 0; i < m->parameters; i++) {
        const struct parameter *q = &m->parameter[i];
        name_of(m, q, name);
        snprintf(where, sizeof where, "'%s'", name);
        const size_t own = q->count - (q->role == PARAM_W_DENSE && amp->skip); /* the weight of the skip */
        const json_t *given = json_object_get(state, name);
        if (given || q->role != PARAM_B_DENSE) /* bias_fl false: a linear layer without a bias */
            TRY(amp_take(given, where, own, m->values + q->first));
    }
    return UNROLL_OK;
}

static unroll_status import_json(const json_t *json, const unroll_import_config *config, unroll_model **model)
{
    struct amp amp;
    struct unroll_model *made = NULL;
    json_t *state;
    TRY(read_about(json, &amp));
    TRY(json_field_object(json, "the model", "state_dict", &state));
    TRY(check_layers(&amp, state));
    unroll_status status = amp_new(&amp, 0, &made);
    if (status == UNROLL_OK)
        status = fill_model(made, &amp, state);
    if (status == UNROLL_OK) {
        report_import(config, "%s: %d x %d%s", amp.cell, amp.layers, amp.hidden, amp.skip ? ", input added" : "");
        *model = made;
    } else
        unroll_model_free(made);
    return status;
}

static unroll_status import_guitarml(const char *path, const unroll_import_config *config, unroll_model **model)
{
    return amp_import(path, import_json, config, model);
}

static bool is_guitarml(const char *path, const char *head, size_t bytes)
{
    static const char mark[] = "\"model_data\"";
    return path_ends_in(path, ".json") && memmem(head, bytes, mark, strlen(mark));
}

/* ---- export ------------------------------------------------------------------------------ */

static json_t *state_of(const struct unroll_model *m, const struct amp *amp)
{
    json_t *state = json_object();
    char name[64];
    for (int i = 0; i < m->parameters; i++) {
        const struct parameter *q = &m->parameter[i];
        const size_t own = q->count - (q->role == PARAM_W_DENSE && amp->skip);
        const size_t columns = q->role == PARAM_W_IH      ? m->layer[q->layer].input
                               : q->role == PARAM_W_HH    ? (size_t)amp->hidden
                               : q->role == PARAM_W_DENSE ? own
                                                          : 0;
        name_of(m, q, name);
        json_object_set_new(state, name, amp_array(m->values + q->first, own, columns));
    }
    return state;
}

static unroll_status export_guitarml(const unroll_model *model, const char *path, const unroll_export_config *config)
{
    struct amp a;
    (void)config;
    TRY(amp_of(model, "guitarml", &a));
    if ((strcmp(a.cell, "lstm") != 0 && strcmp(a.cell, "gru") != 0) || !a.bias)
        return fail(UNROLL_UNSUPPORTED,
                    "'guitarml' holds lstm and gru layers with biases, not %s%s; fix: export to "
                    "onnx or c99",
                    a.cell, a.bias ? "" : " without biases");
    return amp_write(path,
                     json_pack("{s:{s:s, s:i, s:i, s:i, s:s, s:i, s:i, s:b}, s:o}", "model_data", "model", "SimpleRNN",
                               "input_size", a.input, "skip", (int)a.skip, "output_size", 1, "unit_type",
                               strcmp(a.cell, "lstm") == 0 ? "LSTM" : "GRU", "num_layers", a.layers, "hidden_size",
                               a.hidden, "bias_fl", model_find(model, PARAM_B_DENSE, a.layers, 0) >= 0, "state_dict",
                               state_of(model, &a)));
}

const struct file_format format_guitarml = {.name = "guitarml",
                                            .about = "GuitarML JSON",
                                            .recognizes = is_guitarml,
                                            .import = import_guitarml,
                                            .export = export_guitarml};

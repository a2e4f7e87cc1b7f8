#include "convert/amp/amp.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "convert/keras.h"

/* ---- the network ------------------------------------------------------------------------ */

static bool reads_only(const struct layer *l, int source) { return l->sources == 1 && l->source[0] == source; }

bool amp_has_skip(const struct unroll_model *m)
{
    const int last = m->layers - 1;
    const struct layer *l = &m->layer[last];
    if (last < 1 || l->cell || l->sources != 2 || l->source[0] != last - 1 || l->source[1] != SOURCE_INPUT ||
        l->outputs != 1 || model_input(m) != 1)
        return false;
    return model_values(m, PARAM_W_DENSE, last, 0)[l->input - 1] == 1;
}

/* Returns what a plugin lacks of a recurrent layer; NULL: nothing. */
static const char *excess_of(const struct unroll_model *m, int i, const char *cell, uint32_t hidden)
{
    unroll_layer l = {.size = sizeof l};
    const struct layer *layer = &m->layer[i];
    if (unroll_model_layer(m, i, &l) != UNROLL_OK || !layer->cell || strcmp(layer->cell->called, cell) != 0)
        return "is not of the cell of the first layer";
    if (l.bidirectional || l.reverse)
        return "runs backward";
    if (l.projection || l.peephole || l.clip > 0 || l.activations || l.input_forget)
        return "has a projection, peepholes, a clip, coupled gates or other functions";
    if (layer->hidden != hidden)
        return "has another width than the first layer";
    return reads_only(layer, i - 1) ? NULL : "does not read the layer before it alone";
}

unroll_status amp_of(const unroll_model *m, const char *format, struct amp *amp)
{
    const int last = m->layers - 1;
    const struct layer *first = m->layer, *head = &m->layer[last];
    *amp = (struct amp){.layers = last, .skip = amp_has_skip(m), .input = (int)model_input(m)};
    if (last < 1 || m->tokens || model_token_columns(m) || !first->cell || head->cell || head->outputs != 1)
        return fail(UNROLL_UNSUPPORTED,
                    "'%s' holds recurrent layers that read numbers, and a dense layer with one output; fix: export "
                    "such a model, for example one of the task effect",
                    format);
    amp->cell = first->cell->called;
    amp->hidden = (int)first->hidden;
    amp->bias = first->bias;
    for (int i = 0; i < last; i++) {
        const char *excess = excess_of(m, i, amp->cell, first->hidden);
        if (excess)
            return fail(UNROLL_UNSUPPORTED, "layer %d, '%s', %s, which '%s' cannot hold; fix: export to onnx or c99", i,
                        m->layer[i].name, excess, format);
    }
    if (!amp->skip && !reads_only(head, last - 1))
        return fail(UNROLL_UNSUPPORTED,
                    "'%s' cannot hold a dense layer that reads the input with a weight other than 1; fix: export to "
                    "onnx or c99",
                    format);
    if (head->activation.kind != ACTIVATION_LINEAR)
        return fail(UNROLL_UNSUPPORTED, "'%s' needs a linear dense layer; fix: export to rtneural", format);
    return UNROLL_OK;
}

/* Marks the model as one of the task effect. */
static unroll_status mark(struct unroll_model *m, int rate)
{
    char schema[160];
    if (model_numbers(m) != 1 || unroll_model_outputs(m) != 1)
        return UNROLL_OK;
    int used = snprintf(schema, sizeof schema, "{\"version\":1,\"task\":{\"name\":\"effect\"");
    if (rate > 0)
        used += snprintf(schema + used, sizeof schema - (size_t)used, ",\"sample_rate\":%d", rate);
    snprintf(schema + used, sizeof schema - (size_t)used, "}}");
    snprintf(m->task, sizeof m->task, "effect");
    return model_set_schema(m, schema);
}

unroll_status amp_new(const struct amp *amp, int rate, struct unroll_model **model)
{
    unroll_layer layer[MODEL_LAYERS_MAX];
    unroll_network network = unroll_network_default();
    for (int i = 0; i <= amp->layers; i++) {
        layer[i] = unroll_layer_default();
        layer[i].kind = i < amp->layers ? amp->cell : "dense";
        layer[i].name = i < amp->layers ? "rnn" : "head";
        layer[i].level = i < amp->layers ? i : 0;
        layer[i].width = i < amp->layers ? amp->hidden : 1;
        layer[i].bias = i < amp->layers ? amp->bias : 1;
    }
    if (amp->skip) {
        layer[amp->layers].sources = 2;
        layer[amp->layers].source[0] = amp->layers - 1;
        layer[amp->layers].source[1] = SOURCE_INPUT;
    }
    network.input = amp->input;
    network.layer = layer;
    network.layers = amp->layers + 1;
    TRY(unroll_model_from_network(&network, 0, model));
    memset((*model)->values, 0, (*model)->count * sizeof *(*model)->values);
    if (amp->skip)
        model_values(*model, PARAM_W_DENSE, amp->layers, 0)[amp->hidden] = 1;
    return mark(*model, rate);
}

unroll_status amp_import(const char *path, amp_reader *read, const unroll_import_config *config, unroll_model **model)
{
    enum { LARGEST_FILE = 1 << 28 };
    json_t *json;
    TRY(read_json_file(path, LARGEST_FILE, &json));
    unroll_status status = read(json, config, model);
    if (status != UNROLL_OK)
        status = fail(status, "'%s': %s", path, unroll_last_error());
    json_decref(json);
    return status;
}

int amp_rate(const unroll_model *m)
{
    const json_t *task = json_object_get(m->tree, "task");
    const json_int_t rate = json_integer_value(json_object_get(task, "sample_rate"));
    return rate > 0 && rate <= INT_MAX ? (int)rate : 0;
}

/* ---- numbers ----------------------------------------------------------------------------- */

/* Copies up to `room` numbers of a nested array and returns how many it has; SIZE_MAX: one is not a finite number. */
static size_t flatten(const json_t *json, size_t room, float *to)
{
    size_t used = 0, i;
    const json_t *item;
    if (json_is_number(json)) {
        const float x = (float)json_number_value(json);
        if (room)
            *to = x;
        return isfinite(x) ? 1 : SIZE_MAX;
    }
    if (!json_is_array(json))
        return SIZE_MAX;
    json_array_foreach(json, i, item)
    {
        const size_t more = flatten(item, used < room ? room - used : 0, to + (used < room ? used : room));
        if (more == SIZE_MAX)
            return SIZE_MAX;
        used += more;
    }
    return used;
}

unroll_status amp_take(const json_t *array, const char *where, size_t count, float *to)
{
    const size_t found = flatten(array, count, to);
    if (found == count)
        return UNROLL_OK;
    if (found == SIZE_MAX)
        return fail(UNROLL_DATA, "%s is missing, or has values that are not finite numbers; fix: " EXPORT_WEIGHTS,
                    where);
    return fail(UNROLL_DATA, "%s has %zu numbers, not %zu; fix: " EXPORT_WEIGHTS, where, found, count);
}

json_t *amp_array(const float *from, size_t count, size_t columns)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i += columns ? columns : 1)
        json_array_append_new(array, columns ? amp_array(from + i, columns, 0) : json_real((double)from[i]));
    return array;
}

float *amp_biases(const struct unroll_model *m, int layer, size_t rows)
{
    const float *x = model_values(m, PARAM_B_IH, layer, 0), *h = model_values(m, PARAM_B_HH, layer, 0);
    float *sum = allocate_zeroed(rows, sizeof *sum);
    for (size_t i = 0; sum && x && i < rows; i++) sum[i] = x[i] + (h ? h[i] : 0);
    return sum;
}

unroll_status amp_write(const char *path, json_t *json)
{
    char *text = json ? json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    unroll_status status = text ? write_file_atomically(path, &(struct piece){text, strlen(text)}, 1)
                                : fail(UNROLL_RESOURCE, "no memory for a model as JSON");
    free(text);
    json_decref(json);
    return status;
}

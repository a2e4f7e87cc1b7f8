/* The scales of the data as a part of the weights, for what reads no schema: streams, exported programs. The first
 * layers take x = (number - shift) scale in: W' = W scale, b' = b - sum W scale shift; the head of a regression gives z
 * deviation + mean. Computed in double, rounded once: results differ in their last bits. The schema says so, too, so
 * that the model answers data as before. Not of forecasts and anomalies, which units_series.c has. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "model/model.h"
#include "tasks/units.h"

struct scales {
    double *shift, *scale; /* [numbers] of the numbers of a step, masks among them */
    size_t numbers;
};

static const char where[] = "the model's schema";

/* Of a step: those of each column, and a mask for each that may be missing. */
static size_t count_numbers(const json_t *inputs)
{
    size_t i, k, numbers = 0;
    const json_t *one, *masked;
    json_array_foreach(inputs, i, one) json_array_foreach(json_object_get(one, "masked"), k, masked) numbers +=
        json_number_value(masked) != 0 ? 2 : 1;
    return numbers;
}

/* Numbers of a column stand before its masks, which have no scale. What is taken is 0 and 1 in the schema from now on.
 */
static void take_scales(json_t *inputs, struct scales *s)
{
    size_t i, k, at = 0;
    json_t *one, *masked;
    json_array_foreach(inputs, i, one)
    {
        json_t *shift = json_object_get(one, "shift"), *scale = json_object_get(one, "scale"),
               *masks = json_object_get(one, "masked");
        json_array_foreach(shift, k, masked)
        {
            s->shift[at] = json_number_value(masked);
            s->scale[at++] = json_number_value(json_array_get(scale, k));
            json_array_set_new(shift, k, json_real(0));
            json_array_set_new(scale, k, json_real(1));
        }
        json_array_foreach(masks, k, masked) if (json_number_value(masked) != 0) s->scale[at++] = 1;
    }
}

/* One weight [G, U, I] of a layer that reads the network's input alone: its last columns are the numbers. */
static unroll_status fold_input(unroll_model *model, int layer, int direction, const struct scales *s)
{
    const struct layer *l = &model->layer[layer];
    const bool dense = l->cell == NULL;
    const int w = model_find(model, dense ? PARAM_W_DENSE : PARAM_W_IH, layer, direction),
              b = model_find(model, dense ? PARAM_B_DENSE : PARAM_B_IH, layer, direction);
    if (l->sources != 1 || w < 0 || b < 0 || l->input < s->numbers)
        return fail(UNROLL_UNSUPPORTED,
                    "the layer '%s' can't take the scales of the data into its weights: it has no bias, or reads more "
                    "than the input; fix: train with the network of the task",
                    l->name);
    float *weight = model->values + model->parameter[w].first, *bias = model->values + model->parameter[b].first;
    const size_t rows = model->parameter[w].count / l->input, before = l->input - s->numbers;
    for (size_t row = 0; row < rows; row++) {
        float *of_row = weight + row * l->input + before;
        double sum = (double)bias[row];
        for (size_t k = 0; k < s->numbers; k++) {
            const double scaled = (double)of_row[k] * s->scale[k];
            sum -= scaled * s->shift[k];
            of_row[k] = (float)scaled;
        }
        bias[row] = (float)sum;
    }
    return UNROLL_OK;
}

static unroll_status fold_inputs(unroll_model *model, const struct scales *s)
{
    for (int i = 0; i < model->layers; i++) {
        const struct layer *l = &model->layer[i];
        bool reads = false;
        for (int k = 0; k < l->sources; k++) reads |= l->source[k] == SOURCE_INPUT;
        for (int d = l->first_direction; reads && d < (l->cell ? layer_end(l) : 1); d++)
            TRY(fold_input(model, i, d, s));
    }
    return UNROLL_OK;
}

/* The answers of a regression: mean and deviation [outputs], which are 0 and 1 from now on. */
static unroll_status fold_output(unroll_model *model, json_t *mean, json_t *deviation)
{
    const int last = model->layers - 1, w = model_find(model, PARAM_W_DENSE, last, 0),
              b = model_find(model, PARAM_B_DENSE, last, 0);
    const struct layer *l = &model->layer[last];
    if (w < 0 || b < 0 || l->outputs != json_array_size(mean) || l->activation.kind != ACTIVATION_LINEAR)
        return fail(UNROLL_UNSUPPORTED, "the head can't take the scale of the target into its weights; fix: train with "
                                        "the network of the task");
    float *weight = model->values + model->parameter[w].first, *bias = model->values + model->parameter[b].first;
    for (size_t n = 0; n < l->outputs; n++) {
        const double by = json_number_value(json_array_get(deviation, n));
        for (size_t k = 0; k < l->input; k++) weight[n * l->input + k] = (float)((double)weight[n * l->input + k] * by);
        bias[n] = (float)((double)bias[n] * by + json_number_value(json_array_get(mean, n)));
        json_array_set_new(mean, n, json_real(0));
        json_array_set_new(deviation, n, json_real(1));
    }
    return UNROLL_OK;
}

static unroll_status fold(unroll_model *model, json_t *task)
{
    json_t *inputs = json_object_get(task, "inputs"), *mean = json_object_get(task, "mean");
    struct scales s = {.numbers = count_numbers(inputs)};
    if (s.numbers) {
        TRY(ALLOCATE(s.shift, 2 * s.numbers, "for %zu scales", s.numbers));
        s.scale = s.shift + s.numbers;
        take_scales(inputs, &s);
        unroll_status status = fold_inputs(model, &s);
        release(s.shift);
        TRY(status);
    }
    return mean ? fold_output(model, mean, json_object_get(task, "deviation")) : UNROLL_OK;
}

/* Schemas with inputs [..] have scales of columns, those with channels a recipe. */
static unroll_status into_weights(unroll_model *model, json_t *schema, const char *series)
{
    json_t *task = json_object_get(schema, "task");
    if (json_is_array(json_object_get(task, "channels")))
        return series_in_units(model, task, series);
    if (series)
        return fail(UNROLL_USAGE, "the model forecasts no series: there is none to choose; fix: leave `series` out");
    if (!json_is_array(json_object_get(task, "inputs")))
        return UNROLL_OK; /* the data have no such scales */
    TRY(fold(model, task));
    char *text = json_dumps(schema, JSON_COMPACT);
    unroll_status status = text ? model_set_schema(model, text) : fail(UNROLL_RESOURCE, "no memory for a schema");
    free(text);
    return status;
}

unroll_status unroll_model_in_units(unroll_model *model, const char *series)
{
    json_t *schema;
    if (model->shared)
        return fail(UNROLL_USAGE, "the model has sessions, which keep its weights; fix: free them first");
    if (model->schema == NULL && series)
        return fail(UNROLL_USAGE, "the model forecasts no series: there is none to choose; fix: leave `series` out");
    if (model->schema == NULL)
        return UNROLL_OK;
    TRY(parse_json(model->schema, strlen(model->schema), where, &schema));
    unroll_status status = into_weights(model, schema, series);
    json_decref(schema);
    return status;
}

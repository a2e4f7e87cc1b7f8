/* Merges the scales of the data into the weights, for streams and exported programs, which read no schema. The first
 * layers absorb x = (number - shift) scale: W' = W scale, b' = b - sum W scale shift. The head of a regression absorbs
 * z deviation + mean. The weights are computed in double and rounded once, so results differ only in their last bits.
 * The schema is updated, too: the model predicts as before. units_series.c does this for forecasts and anomalies. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "model/model.h"
#include "model/units.h"

struct scales {
    double *shift, *scale; /* [numbers] of a step's numbers, masks included */
    size_t numbers;
};

static const char where[] = "the model's schema";

/* Counts the numbers of a step: those of each column, and a mask for each one that may be missing. */
static size_t count_numbers(const json_t *inputs)
{
    size_t i, k, numbers = 0;
    const json_t *one, *masked;
    json_array_foreach(inputs, i, one) json_array_foreach(json_object_get(one, "masked"), k, masked) numbers +=
        json_number_value(masked) != 0 ? 2 : 1;
    return numbers;
}

/* The numbers of a column come before its masks, which have no scale. */
static void read_scales(const json_t *inputs, struct scales *s)
{
    size_t i, k, at = 0;
    const json_t *one, *number;
    json_array_foreach(inputs, i, one)
    {
        const json_t *scale = json_object_get(one, "scale");
        json_array_foreach(json_object_get(one, "shift"), k, number)
        {
            s->shift[at] = json_number_value(number);
            s->scale[at++] = json_number_value(json_array_get(scale, k));
        }
        json_array_foreach(json_object_get(one, "masked"), k, number) if (json_number_value(number) != 0)
            s->scale[at++] = 1;
    }
}

/* Scales one weight [G, U, I] of a layer that reads only the network's input; the numbers are its last columns. */
static unroll_status fold_input(unroll_model *model, int layer, int direction, const struct scales *s)
{
    const struct layer *l = &model->layer[layer];
    const bool dense = l->cell == NULL;
    const int w = model_find(model, dense ? PARAM_W_DENSE : PARAM_W_IH, layer, direction),
              b = model_find(model, dense ? PARAM_B_DENSE : PARAM_B_IH, layer, direction);
    if (l->sources != 1 || w < 0 || b < 0 || l->input < s->numbers)
        return fail(UNROLL_UNSUPPORTED,
                    "the scales of the data cannot be folded into the weights of layer '%s': it has no bias, or "
                    "reads more than the input; fix: train with the network of the task, or set `raw`",
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

/* Merges the mean and deviation [outputs] of a regression into the head. */
static unroll_status fold_output(unroll_model *model, const json_t *mean, const json_t *deviation)
{
    const int last = model->layers - 1, w = model_find(model, PARAM_W_DENSE, last, 0),
              b = model_find(model, PARAM_B_DENSE, last, 0);
    const struct layer *l = &model->layer[last];
    if (w < 0 || b < 0 || l->outputs != json_array_size(mean) || l->activation.kind != ACTIVATION_LINEAR)
        return fail(UNROLL_UNSUPPORTED,
                    "the scale of the target cannot be folded into the weights of the head; fix: train with the "
                    "network of the task, or set `raw`");
    float *weight = model->values + model->parameter[w].first, *bias = model->values + model->parameter[b].first;
    for (size_t n = 0; n < l->outputs; n++) {
        const double by = json_number_value(json_array_get(deviation, n));
        for (size_t k = 0; k < l->input; k++) weight[n * l->input + k] = (float)((double)weight[n * l->input + k] * by);
        bias[n] = (float)((double)bias[n] * by + json_number_value(json_array_get(mean, n)));
    }
    return UNROLL_OK;
}

static unroll_status fold(unroll_model *model, const json_t *task)
{
    const json_t *inputs = json_object_get(task, "inputs"), *mean = json_object_get(task, "mean");
    struct scales s = {.numbers = count_numbers(inputs)};
    if (s.numbers) {
        TRY(ALLOCATE(s.shift, 2 * s.numbers, "for %zu scales", s.numbers));
        s.scale = s.shift + s.numbers;
        read_scales(inputs, &s);
        unroll_status status = fold_inputs(model, &s);
        release(s.shift);
        TRY(status);
    }
    return mean ? fold_output(model, mean, json_object_get(task, "deviation")) : UNROLL_OK;
}

static bool differ_from(const json_t *numbers, double neutral)
{
    size_t i;
    const json_t *number;
    json_array_foreach(numbers, i, number) if (json_number_value(number) != neutral) return true;
    return false;
}

static bool task_is_scaled(const json_t *task)
{
    size_t i;
    const json_t *one;
    bool scaled = json_is_array(json_object_get(task, "channels")) || differ_from(json_object_get(task, "mean"), 0) ||
                  differ_from(json_object_get(task, "deviation"), 1);
    json_array_foreach(json_object_get(task, "inputs"), i, one) scaled |=
        differ_from(json_object_get(one, "shift"), 0) || differ_from(json_object_get(one, "scale"), 1);
    return scaled;
}

static void set_all(json_t *numbers, double value)
{
    size_t i;
    json_t *number;
    json_array_foreach(numbers, i, number) json_array_set_new(numbers, i, json_real(value));
}

/* Sets the schema of a model whose weights include the scales: theirs are 0 and 1. */
static unroll_status set_neutral_schema(unroll_model *model, const json_t *schema)
{
    size_t i;
    json_t *one, *neutral = json_deep_copy(schema), *task = json_object_get(neutral, "task");
    json_array_foreach(json_object_get(task, "inputs"), i, one)
    {
        set_all(json_object_get(one, "shift"), 0);
        set_all(json_object_get(one, "scale"), 1);
    }
    set_all(json_object_get(task, "mean"), 0);
    set_all(json_object_get(task, "deviation"), 1);
    char *text = neutral ? json_dumps(neutral, JSON_COMPACT) : NULL;
    unroll_status status = text ? model_set_schema(model, text) : fail(UNROLL_RESOURCE, "no memory for a schema");
    free(text);
    json_decref(neutral);
    return status;
}

/* Returns the parsed schema, which the model owns; NULL if it has none. */
static unroll_status schema_of(const unroll_model *model, const json_t **schema)
{
    json_t *parsed = NULL;
    *schema = model->tree;
    if (model->schema == NULL || model->tree)
        return UNROLL_OK;
    TRY(parse_json(model->schema, strlen(model->schema), where, &parsed));
    json_decref(parsed);
    return fail(UNROLL_RESOURCE, "no memory for a schema");
}

/* A schema with `inputs` has scales of columns, one with `channels` describes a series. `texts`: the result has a
 * vocabulary, a schema and a signature. */
static unroll_status in_units_of(const unroll_model *model, const char *series, bool texts, unroll_model **in_units)
{
    const json_t *schema;
    unroll_model *copy;
    TRY(schema_of(model, &schema));
    const json_t *task = json_object_get(schema, "task");
    if (json_is_array(json_object_get(task, "channels")))
        return series_in_units(model, task, series, in_units);
    if (series)
        return fail(UNROLL_USAGE, "the model does not forecast a series; fix: leave `series` out");
    TRY(model_copy(model, texts, &copy));
    const bool scales = json_is_array(json_object_get(task, "inputs"));
    unroll_status status = scales ? fold(copy, task) : UNROLL_OK;
    if (status == UNROLL_OK && scales && texts)
        status = set_neutral_schema(copy, schema);
    if (status == UNROLL_OK)
        *in_units = copy;
    else
        unroll_model_free(copy);
    return status;
}

unroll_status unroll_model_to_units(const unroll_model *model, const char *series, unroll_model **in_units)
{
    return in_units_of(model, series, true, in_units);
}

static unroll_status is_scaled(const unroll_model *model, bool *scaled)
{
    const json_t *schema;
    TRY(schema_of(model, &schema));
    *scaled = task_is_scaled(json_object_get(schema, "task"));
    return UNROLL_OK;
}

unroll_status units_check_raw(const unroll_model *model, bool raw)
{
    bool scaled;
    TRY(is_scaled(model, &scaled));
    return raw || !scaled
               ? UNROLL_OK
               : fail(UNROLL_USAGE, "the model was trained on data that its schema scales, but a training session does "
                                    "not scale its data; fix: scale the data and set `raw`, or use a model from "
                                    "unroll_model_to_units");
}

unroll_status units_take(unroll_model **model, bool raw, const char *series, bool texts, unroll_model **own)
{
    bool scaled;
    *own = NULL;
    if (raw && series)
        return fail(UNROLL_USAGE, "`raw` and `series` cannot be combined; fix: leave one of them out");
    TRY(is_scaled(*model, &scaled));
    if (raw || (!scaled && !series))
        return UNROLL_OK;
    TRY(in_units_of(*model, series, texts, own));
    *model = *own;
    return UNROLL_OK;
}

unroll_status units_check_dtype(const unroll_model *model, const char *dtype)
{
    return !model->differences || !dtype || strcmp(dtype, "fp32") == 0
               ? UNROLL_OK
               : fail(UNROLL_UNSUPPORTED,
                      "a forecast in units needs small differences of large values, for which weights in %s are too "
                      "coarse; fix: set `dtype` fp32, or `raw`",
                      dtype);
}

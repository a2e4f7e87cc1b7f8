/* Converts a forecast or anomaly model to one that reads and predicts in the units of the data, for streams and
 * exports. Two small layers before the network compute the inputs of a period (tasks/recipe.h): "memory" keeps the
 * level of this period and the previous one, "steps" computes the level's change and the limited level. Weights include
 * scales and differences, and the head adds the level back. They are computed in double and rounded once. Missing
 * numbers are not handled: a stream gets the last known number and the mask. */
#include "model/units.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "model/model.h"

/* The units of the two layers. Memory is a relu: a signed value is the difference of two units. */
enum { LEVEL, LEVEL_BELOW, ONE, BEFORE, BEFORE_BELOW, IS_FIRST, MEMORY };
enum { RISE, FALL, OVER_LEAST, OVER_MOST, STEPS };
enum { FRONT = 2 }; /* layers before the network */
static const float FAR =
    65536; /* standard deviations, more than any level's distance from the mean: hides the first change */

struct series_input {
    int patch, horizon, masks, others; /* others: numbers of a step after target and masks */
    struct scale scale;                /* of the streamed target */
    double *shift, *by;                /* [others] number = shift + by x */
    const json_t *moved;               /* of quantiles: units_interval_shift */
};

static const char where[] = "the model's schema";

struct scale scale_from_json(const json_t *json)
{
    return (struct scale){json_number_value(json_array_get(json, 0)), json_number_value(json_array_get(json, 1)),
                          json_number_value(json_array_get(json, 2))};
}

double units_interval_shift(const json_t *shifts, int pair, int step)
{
    const json_t *shift = json_array_get(shifts, (size_t)pair);
    return json_number_value(json_is_array(shift) ? json_array_get(shift, (size_t)step) : shift);
}

/* ---- which series ---- */

enum { TITLE = 2 * UNITS_NAME };

/* Formats the name of a series: "load"; in groups "north", or "north:load" with several targets. */
static void title_of(const char *group, const char *target, bool alone, char title[TITLE])
{
    if (group)
        snprintf(title, TITLE, alone ? "%s" : "%s:%s", group, target);
    else
        snprintf(title, TITLE, "%s", target);
}

/* Counts the series and sets *scale to that of the named one, by default the first; `first` gets the name of the
 * first. */
static int look_up(const json_t *task, int targets, const char *series, char first[TITLE], const json_t **scale)
{
    const json_t *channels = json_object_get(task, "channels"), *groups = json_object_get(task, "groups");
    void *at = groups ? json_object_iter((json_t *)groups) : NULL;
    int count = 0;
    do {
        const char *group = at ? json_object_iter_key(at) : NULL;
        for (int i = 0; i < targets; i++, count++) {
            const json_t *channel = json_array_get(channels, (size_t)i);
            const char *name = json_string_value(json_object_get(channel, "name"));
            char title[TITLE];
            title_of(group, name ? name : "", targets == 1, title);
            if (count == 0)
                snprintf(first, TITLE, "%s", title);
            if (series ? strcmp(title, series) == 0 : count == 0)
                *scale = at ? json_array_get(json_object_iter_value(at), (size_t)i) : json_object_get(channel, "scale");
        }
        at = at ? json_object_iter_next((json_t *)groups, at) : NULL;
    } while (at);
    return count;
}

static unroll_status choose_series(const json_t *task, int targets, const char *series, struct scale *chosen)
{
    const json_t *scale = NULL;
    char first[TITLE] = "";
    int count = look_up(task, targets, series, first, &scale);
    if (scale == NULL && series)
        return fail(UNROLL_USAGE,
                    "the model does not forecast the series '%s'; fix: choose one of its %d, such as '%s'", series,
                    count, first);
    if (count > 1 && series == NULL)
        return fail(UNROLL_USAGE,
                    "the model forecasts %d series with different scales, and a stream needs one of them; fix: set "
                    "`series`, for example '%s'",
                    count, first);
    *chosen = scale_from_json(scale);
    return UNROLL_OK;
}

/* ---- reading the schema ---- */

/* Reads the scales of the other channels, in the order of a step's numbers. */
static unroll_status read_others(const json_t *task, int targets, int past, int known, struct series_input *s)
{
    const json_t *channels = json_object_get(task, "channels");
    size_t at = 0;
    s->others = past * s->patch + known * (s->patch + s->horizon);
    TRY(ALLOCATE(s->shift, 2 * (size_t)s->others + 1, "for %d scales", s->others));
    s->by = s->shift + s->others;
    for (int c = 0; c < past + known; c++) {
        const json_t *channel = json_array_get(channels, (size_t)(targets + c));
        struct scale scale = scale_from_json(json_object_get(channel, "scale"));
        for (int k = 0; k < (c < past ? s->patch : s->patch + s->horizon); k++, at++)
            s->shift[at] = scale.mean, s->by[at] = scale.deviation;
    }
    return UNROLL_OK;
}

/* Reads the recipe of a forecast from the schema; release(s->shift). */
static unroll_status read_series(const json_t *task, const char *series, struct series_input *s)
{
    enum { MANY = 1 << 20 };
    int64_t patch, horizon, targets, past, known;
    TRY(json_field_integer(task, where, "patch", 1, MANY, &patch));
    TRY(json_field_integer(task, where, "horizon", 1, MANY, &horizon));
    TRY(json_field_integer(task, where, "forecast", 1, MANY, &targets));
    TRY(json_field_integer(task, where, "past", 0, MANY, &past));
    TRY(json_field_integer(task, where, "known", 0, MANY, &known));
    s->patch = (int)patch;
    s->horizon = (int)horizon;
    s->moved = json_object_get(task, "calibration");
    s->masks = json_is_true(json_object_get(task, "masks")) ? s->patch : 0;
    TRY(choose_series(task, (int)targets, series, &s->scale));
    return read_others(task, (int)targets, (int)past, (int)known, s);
}

/* ---- the network ---- */

/* Fails if the network cannot absorb the scales of the series. */
static unroll_status check_series(const unroll_model *model, const struct series_input *s)
{
    const struct layer *head = &model->layer[model->layers - 1];
    const char *loss = model->loss.text;
    if (strcmp(loss, "gaussian") == 0 || strcmp(loss, "student-t") == 0)
        return fail(UNROLL_UNSUPPORTED,
                    "the spread that the loss '%s' learns is not a linear output, so the scale cannot be folded into "
                    "the weights; fix: train with `loss` quantile, mse, mae or huber, or set `raw`",
                    loss);
    bool fits = model->n_inputs == 1 && !model->tokens && model->input == s->patch + 2 + s->masks + s->others &&
                head->cell == NULL && head->activation.kind == ACTIVATION_LINEAR && head->bias &&
                head->sources < SOURCES_MAX && model->layers + FRONT <= MODEL_LAYERS_MAX;
    for (int i = 0; i < model->layers; i++)
        for (int k = 0; k < model->layer[i].sources; k++)
            fits &= model->layer[i].source[k] != SOURCE_INPUT ||
                    (model->layer[i].sources == 1 && model->layer[i].bias && i < model->layers - 1);
    return fits ? UNROLL_OK
                : fail(UNROLL_UNSUPPORTED,
                       "the scales of a forecast cannot be folded into the weights of this network; fix: train with "
                       "the network of the task, or set `raw`");
}

enum { FUNCTIONS = 160 };

/* Describes the model's layers after the two new ones. Layers that read the input also read "steps", and the head reads
 * "memory". */
static unroll_status describe_layers(const unroll_model *model, unroll_layer *layer, char (*functions)[FUNCTIONS])
{
    layer[0] = layer[1] = unroll_layer_default();
    layer[0].kind = "rnn-relu", layer[0].name = "memory", layer[0].width = MEMORY;
    layer[1].kind = "dense", layer[1].name = "steps", layer[1].width = STEPS, layer[1].activation = "relu";
    layer[0].sources = layer[1].sources = 1;
    layer[0].source[0] = SOURCE_INPUT;
    for (int i = 0; i < model->layers; i++) {
        unroll_layer *l = &layer[FRONT + i];
        l->size = sizeof *l;
        TRY(unroll_model_layer(model, i, l));
        if (l->activations) {
            snprintf(functions[i], FUNCTIONS, "%s", l->activations);
            l->activations = functions[i];
        }
        bool reads = l->source[0] == SOURCE_INPUT;
        for (int k = 0; k < l->sources && !reads; k++) l->source[k] += FRONT;
        if (reads)
            l->source[l->sources++] = 1;
        if (i == model->layers - 1)
            l->source[l->sources++] = 0;
    }
    return UNROLL_OK;
}

/* Creates the network with the two additional layers; its weights are zeros. */
static unroll_status outline(const unroll_model *model, unroll_model **made)
{
    unroll_layer *layer;
    char (*functions)[FUNCTIONS];
    unroll_network network = {.size = sizeof network};
    unroll_model_network(model, &network);
    TRY(ALLOCATE(layer, (size_t)(model->layers + FRONT), "for %d layers", model->layers + FRONT));
    unroll_status status = ALLOCATE(functions, (size_t)model->layers, "for %d layers", model->layers);
    if (status == UNROLL_OK) {
        status = describe_layers(model, layer, functions);
        network.input = model->input - 2;
        network.layer = layer;
        network.layers = model->layers + FRONT;
        if (status == UNROLL_OK)
            status = network_zeros(&network, made);
    }
    release(functions);
    release(layer);
    return status;
}

/* ---- weights ---- */

/* level = (x - mean) / deviation of the patch's last number x. A step later it moves to BEFORE. */
static void fill_memory(const unroll_model *made, const struct series_input *s)
{
    const size_t inputs = made->layer[0].input, last = (size_t)s->patch - 1;
    const double by = 1 / s->scale.deviation, shift = s->scale.mean / s->scale.deviation;
    float *x = model_values(made, PARAM_W_IH, 0, 0), *h = model_values(made, PARAM_W_HH, 0, 0),
          *b = model_values(made, PARAM_B_IH, 0, 0);
    x[LEVEL * inputs + last] = (float)by, b[LEVEL] = (float)-shift;
    x[LEVEL_BELOW * inputs + last] = (float)-by, b[LEVEL_BELOW] = (float)shift;
    b[ONE] = b[IS_FIRST] = 1;
    h[BEFORE * MEMORY + LEVEL] = h[BEFORE_BELOW * MEMORY + LEVEL_BELOW] = 1;
    h[IS_FIRST * MEMORY + ONE] = -1;
}

/* The change of the level is RISE - FALL, 0 at the first step. The limited level is OVER_LEAST - OVER_MOST - LIMIT. */
static void fill_steps(const unroll_model *made)
{
    float (*w)[MEMORY] = (float (*)[MEMORY])model_values(made, PARAM_W_DENSE, 1, 0);
    float *b = model_values(made, PARAM_B_DENSE, 1, 0);
    for (int row = 0; row < STEPS; row++) {
        const float sign = row == FALL ? -1 : 1;
        w[row][LEVEL] = sign, w[row][LEVEL_BELOW] = -sign;
        if (row == RISE || row == FALL)
            w[row][BEFORE] = -sign, w[row][BEFORE_BELOW] = sign, w[row][IS_FIRST] = -FAR;
    }
    b[OVER_LEAST] = UNITS_LEVEL_LIMIT;
    b[OVER_MOST] = -UNITS_LEVEL_LIMIT;
}

/* Converts a row of weights for a step's inputs to weights for the new inputs and "steps". The bias absorbs the
 * shifts. */
static void fill_row(const struct series_input *s, const float *from, float *to, float *bias)
{
    const int patch = s->patch, behind = patch + s->masks;
    double sum = 0, shift = (double)*bias;
    for (int k = 0; k + 1 < patch; k++) {
        const double weight = (double)from[k] / s->scale.deviation;
        to[k] = (float)weight;
        sum += (double)to[k]; /* uses the rounded weights, so that equal numbers cancel */
    }
    to[patch - 1] = (float)-sum;
    for (int k = 0; k < s->masks; k++) to[patch + k] = from[patch + 2 + k];
    for (int k = 0; k < s->others; k++) {
        const double weight = (double)from[behind + 2 + k] / s->by[k];
        to[behind + k] = (float)weight;
        shift -= weight * s->shift[k];
    }
    to += behind + s->others;
    to[RISE] = from[patch], to[FALL] = -from[patch];
    to[OVER_LEAST] = from[patch + 1], to[OVER_MOST] = -from[patch + 1];
    *bias = (float)(shift - UNITS_LEVEL_LIMIT * (double)from[patch + 1]);
}

/* By the calibration of intervals (tasks/intervals.h), of a result that is a quantile. */
static double moved_by(const unroll_model *model, const struct series_input *s, size_t result)
{
    const int levels = model->loss.levels, i = levels ? (int)(result % (size_t)levels) : 0, pair = levels - 1 - i;
    if (i == pair || levels == 0)
        return 0;
    const int step = (int)(result / (size_t)levels);
    return i < pair ? -units_interval_shift(s->moved, i, step) : units_interval_shift(s->moved, pair, step);
}

/* The answer is (z + level) deviation + mean. */
static void fill_head(const unroll_model *model, const unroll_model *made, const struct series_input *s)
{
    const int from = model->layers - 1, to = made->layers - 1;
    const size_t wide = model->layer[from].input, outputs = model->layer[from].outputs;
    const float *w = model_values(model, PARAM_W_DENSE, from, 0), *b = model_values(model, PARAM_B_DENSE, from, 0);
    float *into = model_values(made, PARAM_W_DENSE, to, 0), *bias = model_values(made, PARAM_B_DENSE, to, 0);
    const double by = s->scale.deviation;
    for (size_t n = 0; n < outputs; n++, into += wide + MEMORY) {
        for (size_t k = 0; k < wide; k++) into[k] = (float)((double)w[n * wide + k] * by);
        into[wide + LEVEL] = (float)by, into[wide + LEVEL_BELOW] = (float)-by;
        bias[n] = (float)((double)b[n] * by + s->scale.mean + by * moved_by(model, s, n));
    }
}

/* Copies all weights except those of the network's input; their rows are added to the copied biases later. */
static void copy_weights(const unroll_model *model, const unroll_model *made)
{
    for (int i = 0; i < model->parameters; i++) {
        const struct parameter *p = &model->parameter[i];
        float *to = model_values(made, p->role, p->layer + FRONT, p->direction);
        if (made->layer[p->layer + FRONT].input == model->layer[p->layer].input ||
            (p->role != PARAM_W_IH && p->role != PARAM_W_DENSE))
            memcpy(to, model->values + p->first, p->count * sizeof *to);
    }
}

/* Sets all weights of the new network. */
static void fill_weights(const unroll_model *model, const unroll_model *made, const struct series_input *s)
{
    fill_memory(made, s);
    fill_steps(made);
    copy_weights(model, made);
    for (int i = 0; i < model->parameters; i++) {
        const struct parameter *p = &model->parameter[i];
        const struct layer *l = &model->layer[p->layer];
        const bool dense = p->role == PARAM_W_DENSE;
        if (l->source[0] != SOURCE_INPUT || (p->role != PARAM_W_IH && !dense))
            continue;
        const float *from = model->values + p->first;
        float *to = model_values(made, p->role, p->layer + FRONT, p->direction),
              *bias = model_values(made, dense ? PARAM_B_DENSE : PARAM_B_IH, p->layer + FRONT, p->direction);
        for (size_t row = 0; row < p->count / l->input; row++)
            fill_row(s, from + row * l->input, to + row * made->layer[p->layer + FRONT].input, bias + row);
    }
    fill_head(model, made, s);
}

unroll_status series_in_units(const unroll_model *model, const json_t *task, const char *series,
                              unroll_model **in_units)
{
    struct series_input s = {0};
    unroll_status status = read_series(task, series, &s);
    if (status == UNROLL_OK)
        status = check_series(model, &s);
    if (status == UNROLL_OK)
        status = outline(model, in_units);
    if (status == UNROLL_OK) {
        fill_weights(model, *in_units, &s);
        (*in_units)->differences = true;
    }
    release(s.shift);
    return status;
}

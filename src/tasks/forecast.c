/* The task forecast predicts the next steps of one or many series. recipe.h decides what is read and in which scale;
 * windows.h decides which windows are used for training and evaluation. This file contains the metrics and the format
 * of the answers.
 * Errors are those of the median of the quantiles, the mean of a distribution, or the result itself. mse and mae are of
 * numbers scaled by the training part, so that series and other papers are comparable. MASE (Hyndman and Koehler,
 * 2006): absolute errors, divided by the mean absolute error of repeating the last season in the training part. CRPS of
 * scaled numbers: twice the mean pinball loss over the quantiles. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "tasks/answer_text.h"
#include "tasks/intervals.h"
#include "tasks/quantiles.h"
#include "tasks/schema.h"
#include "tasks/task_table.h"
#include "tasks/examples/windows.h"

enum { SHOWN = 16, LEVELS = LOSS_LEVELS_MAX };

static const struct key forecast_keys[] = {RECIPE_NUMBER(horizon, 1, 1 << 16, "steps to forecast; default: a season"),
                                           RECIPE_CONTEXT,
                                           RECIPE_SEASON,
                                           RECIPE_TARGET,
                                           RECIPE_KNOWN,
                                           {0}};

static const struct accepts forecast_accepts[] = {{.losses = "quantile mse mae huber gaussian student-t ",
                                                   .loss = "quantile:0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9",
                                                   .unused = "stateful batch_tokens "},
                                                  {0}};
static const struct accepts_column forecast_columns[] = {ACCEPTS_TARGET, ACCEPTS_KNOWN, {0}};

/* Sums over all observed windows. */
struct errors {
    int64_t count, counted_mase, covered;
    double squared, absolute, squared_raw, absolute_raw, mase, crps;
};

struct forecast {
    struct windows w;
    struct errors errors;
    double floor;         /* mse of repeating the last season at the same windows */
    double level[LEVELS]; /* of the quantiles that are measured and answered */
    int levels;           /* 0: the loss learns none */
    struct calibration calibration;
    double *by_step; /* [2, horizon] absolute errors at each step ahead: their sum, their count */
    float *shown;    /* [SHOWN, horizon, 3] of the last origins of the first series: estimate, low, high */
    json_t *pending; /* the answer of a series with targets in later rows */
    int answered;    /* answered series before it */
};

/* Tells how well data suit a forecast: rows that are steps, with a column of numbers. */
static int suits_forecast(const unroll_dataset *data, char why[TASK_WHY])
{
    const struct column *number = dataset_column(data, COLUMN_NUMBERS, NULL);
    int more = -1;
    char others[56] = "";
    if (!data->rows_are_steps || number == NULL)
        return 0;
    for (int i = 0; i < data->columns; i++) more += data->column[i].type == COLUMN_NUMBERS;
    if (more)
        snprintf(others, sizeof others, " and %d more columns (`target` selects columns)", more);
    if (data->time >= 0)
        snprintf(why, TASK_WHY, "rows in the order of '%.60s', numbers in '%.60s'%s", data->column[data->time].name,
                 number->name, others);
    else
        snprintf(
            why, TASK_WHY,
            "numbers in '%.60s'%s, rows read as steps in the order of the file; to predict a column from others of the "
            "row, use `task` regress and a `target`",
            number->name, others);
    return data->time >= 0 ? SUITS_USUALLY : SUITS_ANY;
}

static const char *forecast_item(const unroll_dataset *data)
{
    (void)data;
    return "steps";
}

static unroll_status choose_recipe(const unroll_dataset *data, const char *options, struct recipe_options *read,
                                   struct recipe *recipe)
{
    *read = (struct recipe_options){0};
    TRY(key_values_read(options, "the task forecast", forecast_keys, read));
    return recipe_choose(data, read, recipe);
}

static unroll_status forecast_network(const unroll_dataset *data, const char *options, unroll_model_config *spec,
                                      unroll_task_defaults *defaults)
{
    struct recipe_options read;
    struct recipe recipe;
    TRY(choose_recipe(data, options, &read, &recipe));
    unroll_status status = windows_network(&task_forecast, &recipe, spec, defaults);
    recipe_end(&recipe);
    return status;
}

static unroll_status forecast_fit(const struct task_request *request, json_t **schema)
{
    struct recipe_options read;
    struct recipe recipe;
    TRY(choose_recipe(request->data, request->options, &read, &recipe));
    unroll_status status = recipe_measure(request, &read, &recipe);
    if (status == UNROLL_OK)
        *schema = recipe_to_json(&recipe);
    recipe_end(&recipe);
    return status != UNROLL_OK || *schema ? status : fail(UNROLL_RESOURCE, "no memory for a schema");
}

/* ---- parts ---- */

/* Computes the mse of repeating the last season over all windows. */
static double find_floor(const struct forecast *f)
{
    const struct recipe *recipe = &f->w.recipe;
    double sum = 0, count = 0;
    for (size_t i = 0; i < windows_count(&f->w); i++) {
        struct window window = windows_item(&f->w, i);
        const struct channel *channel = &recipe->channel[window.target].in;
        const struct scale *scale = recipe_scale(recipe, window.sequence, window.target);
        size_t begin = recipe->data->begin[window.sequence];
        for (int k = 0; k < recipe->horizon; k++) {
            int64_t from = seasonal_step(channel, recipe->data, window.sequence, window.origin, k, recipe->season);
            double truth = (double)channel_at(channel, window.sequence, begin + window.origin + (size_t)k);
            if (from < 0 || isnan(truth))
                continue;
            double error = (truth - (double)channel_at(channel, window.sequence, (size_t)from)) / scale->deviation;
            sum += error * error;
            count++;
        }
    }
    return count > 0 ? sum / count : (double)NAN;
}

static void choose_levels(struct forecast *f)
{
    const struct loss_choice *loss = &f->w.loss;
    if (!loss_at(loss->index)->quantile)
        return;
    f->levels = loss->levels ? loss->levels : 9;
    for (int i = 0; i < f->levels; i++) f->level[i] = loss->levels ? (double)loss->level[i] : (i + 1) / 10.0;
}

static void forecast_end(struct part *part)
{
    struct forecast *f = (struct forecast *)part;
    release(f->by_step);
    release(f->shown);
    json_decref(f->pending);
    calibration_end(&f->calibration);
    windows_end(part);
}

/* Reads the calibration; forecasts measured for a calibration are not calibrated themselves. */
static unroll_status read_calibration(struct forecast *f, const unroll_model *model)
{
    json_t *schema;
    const bool measures = f->w.which == PART_VALIDATION && f->levels > 1;
    TRY(schema_task(model, &schema));
    unroll_status status = calibration_begin(&f->calibration, f->level, f->levels, f->w.recipe.horizon,
                                             f->w.which == PART_VALIDATION ? NULL : schema);
    json_decref(schema);
    if (status == UNROLL_OK && measures)
        status = windows_add_partial(&f->w);
    if (status == UNROLL_OK && measures)
        status = calibration_measure(&f->calibration, windows_count(&f->w) + f->w.partials);
    return status;
}

/* Opens a part: the windows, the levels of its quantiles, and the memory for metrics. */
static unroll_status forecast_open(const struct task_request *request, enum part_of which, struct part **part)
{
    struct windows *windows = NULL;
    TRY(windows_open(request, which, false, sizeof(struct forecast), &windows));
    if (windows == NULL)
        return UNROLL_OK;
    struct forecast *f = (struct forecast *)windows;
    size_t horizon = (size_t)windows->recipe.horizon;
    f->w.part.end = forecast_end;
    choose_levels(f);
    unroll_status status = read_calibration(f, request->model);
    if (status == UNROLL_OK)
        status = ALLOCATE(f->by_step, 2 * horizon, "for errors");
    if (status == UNROLL_OK)
        status = ALLOCATE(f->shown, SHOWN * 3 * horizon, "for forecasts");
    if (status != UNROLL_OK) {
        part_free(&f->w.part);
        return status;
    }
    if (which != PART_TRAINING && which != PART_PREDICTED)
        f->floor = find_floor(f);
    *part = &f->w.part;
    return UNROLL_OK;
}

/* ---- metrics ---- */

double crps_of_quantiles(const double *quantile, const double *level, int levels, double truth)
{
    double sum = 0;
    for (int i = 0; i < levels; i++) {
        double below = truth - quantile[i];
        sum += below > 0 ? level[i] * below : (level[i] - 1) * below;
    }
    return 2 * sum / levels;
}

/* The network's prediction for one step ahead, in the scale of the target. */
struct said {
    double estimate, quantile[LEVELS];
};

/* Sorts the results: levels rise, but their learned results may not. */
static void sort_results(const float *results, int count, double level, double *sorted)
{
    for (int i = 0, at; i < count; i++) {
        double number = (double)results[i] + level;
        for (at = i; at > 0 && sorted[at - 1] > number; at--) sorted[at] = sorted[at - 1];
        sorted[at] = number;
    }
}

static struct said read_results(const struct forecast *f, const float *results, double level, int step)
{
    const struct loss_choice *loss = &f->w.loss;
    struct said said;
    bool has_median = loss->levels % 2 == 1 && loss->level[loss->levels / 2] == 0.5f;
    if (loss->levels)
        sort_results(results, loss->levels, level, said.quantile);
    for (int i = 0; loss->levels == 0 && i < f->levels; i++)
        said.quantile[i] = loss_quantile(loss, results, f->level[i]) + level;
    calibration_apply(&f->calibration, step, said.quantile, f->levels);
    said.estimate = has_median ? said.quantile[loss->levels / 2] : loss_estimate(loss, results) + level;
    return said;
}

/* Adds one predicted number to the sums, scaled and in units. */
static void add_error(struct forecast *f, const struct scale *scale, const struct said *said, double truth, int k)
{
    struct errors *e = &f->errors;
    double error = fabs(said->estimate - truth), raw = error * scale->deviation;
    e->count++;
    e->squared += error * error;
    e->absolute += error;
    e->squared_raw += raw * raw;
    e->absolute_raw += raw;
    if (scale->naive > 0)
        e->counted_mase++, e->mase += raw / scale->naive;
    if (f->levels) {
        e->crps += crps_of_quantiles(said->quantile, f->level, f->levels, truth);
        e->covered += truth >= said->quantile[0] && truth <= said->quantile[f->levels - 1];
    }
    f->by_step[k] += error;
    f->by_step[f->w.recipe.horizon + k]++;
}

static double in_units(const struct scale *scale, double number) { return number * scale->deviation + scale->mean; }

/* Returns where a forecast of the first series is stored for plots; only the last forecasts are. */
static float *shown_at(struct forecast *f, const struct window *window, int k)
{
    size_t s = window->sequence, targets = (size_t)f->w.recipe.targets, place = s * targets + (size_t)window->target;
    bool is_last = window->origin == f->w.first[s] + f->w.before[s + 1] - f->w.before[s] - 1;
    return is_last && place < SHOWN ? f->shown + (place * (size_t)f->w.recipe.horizon + (size_t)k) * 3 : NULL;
}

/* Returns the results of the last step of a row. */
static const float *last_results(const struct forecast *f, const float *results, const struct window *window, int row)
{
    size_t rows = (size_t)f->w.part.shape->rows, wide = (size_t)(f->w.recipe.horizon * f->w.loss.results);
    return results + ((size_t)(window->steps - 1) * rows + (size_t)row) * wide;
}

/* Adds the forecast of a window at k to the sums, and stores it if it is for plots. */
static void observe_step(struct forecast *f, const struct window *window, const struct said *said, double truth, int k)
{
    const struct scale *scale = recipe_scale(&f->w.recipe, window->sequence, window->target);
    float *shown = shown_at(f, window, k);
    if (!isnan(truth))
        add_error(f, scale, said, truth, k);
    if (shown) {
        shown[0] = (float)in_units(scale, said->estimate);
        shown[1] = f->levels ? (float)in_units(scale, said->quantile[0]) : NAN;
        shown[2] = f->levels ? (float)in_units(scale, said->quantile[f->levels - 1]) : NAN;
    }
}

/* Adds the predictions for a window to the sums and to the calibration. item: its number among all. */
static void observe_window(struct forecast *f, size_t item, const struct window *window, const float *z)
{
    const struct recipe *recipe = &f->w.recipe;
    const size_t s = window->sequence;
    const double level = recipe_level(recipe, window);
    for (int k = 0; k < recipe->horizon; k++) {
        const size_t step = window->origin + (size_t)k;
        if (step < f->w.from[s] || step >= f->w.limit[s])
            continue;
        const struct said said = read_results(f, z + k * f->w.loss.results, level, k);
        const double truth = scaled(recipe_scale(recipe, s, window->target),
                                    channel_at(&recipe->channel[window->target].in, s, recipe->data->begin[s] + step));
        if (!isnan(truth))
            calibration_observe(&f->calibration, item, k, said.quantile, f->levels, truth);
        if (!window->partial)
            observe_step(f, window, &said, truth, k);
    }
}

/* Adds the predictions of a batch. */
static void forecast_observe(struct part *part, int64_t number, const struct task_batch *batch, const float *results)
{
    struct forecast *f = (struct forecast *)part;
    const int rows = part->shape->rows;
    struct window window;
    (void)batch;
    if (number == 0) {
        f->errors = (struct errors){0};
        calibration_clear(&f->calibration);
        memset(f->by_step, 0, 2 * (size_t)f->w.recipe.horizon * sizeof *f->by_step);
    }
    for (int row = 0; row < rows && windows_at(&f->w, 0, number, row, &window); row++)
        observe_window(f, (size_t)(number * rows + row), &window, last_results(f, results, &window, row));
}

/* Adds a note if the coverage of an interval differs much from its nominal level. */
static void note_coverage(const struct forecast *f, double coverage)
{
    const double nominal = f->level[f->levels - 1] - f->level[0];
    if (f->w.which != PART_VALIDATION && fabs(coverage - nominal) > 0.1)
        add_note("the interval of %.0f%% covers %.0f%% of the truth here", 100 * nominal, 100 * coverage);
}

/* Returns " of 0.80" for printing after the coverage, valid until this thread's next call. */
static const char *nominal_text(const struct forecast *f)
{
    static _Thread_local char text[24];
    snprintf(text, sizeof text, " of %.2f", f->level[f->levels - 1] - f->level[0]);
    return text;
}

/* Computes mse, mae, MASE, CRPS and coverage from the sums; adds a note about bad coverage. */
static void forecast_score(const struct part *part, double loss, bool observed, unroll_evaluation *evaluation)
{
    const struct forecast *f = (const struct forecast *)part;
    const struct errors *e = &f->errors;
    double count = observed && e->count ? (double)e->count : (double)NAN;
    *evaluation = (unroll_evaluation){
        .loss = loss,
        .floor = f->floor,
        .naive = f->w.recipe.season > 1 ? "seasonal naive" : "persistence",
        .examples = (int64_t)windows_count(&f->w),
        .metrics = 5,
        .metric = {{"mse", "mse ", "", 4, e->squared / count},
                   {"mae", "mae ", "", 4, e->absolute / count},
                   {"mse_raw", "mse ", " in units", 4, e->squared_raw / count},
                   {"mae_raw", "mae ", " in units", 4, e->absolute_raw / count},
                   {"mase", "mase ", "", 3,
                    observed && e->counted_mase ? e->mase / (double)e->counted_mase : (double)NAN}},
    };
    if (f->levels == 0)
        return;
    evaluation->metric[evaluation->metrics++] = (unroll_metric){"crps", "crps ", "", 4, e->crps / count};
    evaluation->metric[evaluation->metrics++] =
        (unroll_metric){"coverage", "coverage ", nominal_text(f), 3, (double)e->covered / count};
    note_coverage(f, (double)e->covered / count);
}

static unroll_status forecast_learn(const struct part *part, json_t *schema)
{
    const struct forecast *f = (const struct forecast *)part;
    return calibration_learn(&f->calibration, f->level, schema);
}

/* ---- answers ---- */

static json_t *numbers_to_json(const float *number, int count, int stride)
{
    json_t *array = json_array();
    for (int k = 0; k < count; k++) {
        float x = number[k * stride];
        json_array_append_new(array, isnan(x) ? json_null() : json_real((double)x));
    }
    return array;
}

/* Writes the times of the horizon after an origin: those of the data where they exist, then extrapolated by the
 * interval. */
static json_t *times_to_json(const struct recipe *recipe, size_t sequence, size_t origin)
{
    const unroll_dataset *data = recipe->data;
    size_t begin = data->begin[sequence], length = data->begin[sequence + 1] - begin;
    const double *times = data->time < 0 ? NULL : data->column[data->time].times + begin;
    json_t *array = json_array();
    for (int k = 0; k < recipe->horizon; k++) {
        size_t at = origin + (size_t)k;
        char text[TIME_TEXT] = "";
        if (times && length)
            interval_format(&recipe->interval,
                            at < length ? times[at]
                                        : interval_after(&recipe->interval, times[length - 1], (int)(at - length) + 1),
                            text);
        json_array_append_new(array, times && length ? json_string(text) : json_integer((json_int_t)at + 1));
    }
    return array;
}

static json_t *begin_answer(const struct forecast *f, const struct window *window)
{
    const unroll_dataset *data = f->w.recipe.data;
    json_t *levels = json_array();
    json_t *answer = json_pack("{s:i, s:s, s:o, s:{}, s:{}}", "series", f->answered, "time_name",
                               data->time < 0 ? "step" : data->column[data->time].name, "time",
                               times_to_json(&f->w.recipe, window->sequence, window->origin), "forecast", "quantiles");
    if (data->group >= 0) {
        json_object_set_new(answer, "group_name", json_string(data->column[data->group].name));
        json_object_set_new(answer, "group", json_string(windows_series(&f->w, window->sequence)));
    }
    for (int i = 0; i < f->levels; i++) json_array_append_new(levels, json_real(f->level[i]));
    json_object_set_new(answer, "levels", levels);
    answer_keep_range(answer, data, window->sequence, window->origin, (size_t)f->w.recipe.horizon);
    return answer;
}

/* Adds the answer for one target: its forecast and its quantiles, an array for each level. */
static void add_target(const struct forecast *f, const struct window *window, const float *z, json_t *answer)
{
    const struct recipe *recipe = &f->w.recipe;
    const struct scale *scale = recipe_scale(recipe, window->sequence, window->target);
    const char *name = recipe->channel[window->target].name;
    double level = recipe_level(recipe, window);
    json_t *estimates = json_array(), *quantiles = json_array();
    for (int i = 0; i < f->levels; i++) json_array_append_new(quantiles, json_array());
    for (int k = 0; k < recipe->horizon; k++) {
        struct said said = read_results(f, z + k * f->w.loss.results, level, k);
        json_array_append_new(estimates, json_real(in_units(scale, said.estimate)));
        for (int i = 0; i < f->levels; i++)
            json_array_append_new(json_array_get(quantiles, (size_t)i), json_real(in_units(scale, said.quantile[i])));
    }
    json_object_set_new(json_object_get(answer, "forecast"), name, estimates);
    json_object_set_new(json_object_get(answer, "quantiles"), name, quantiles);
}

/* Answers the windows of a batch; the answer of a series is complete after its last target. */
static unroll_status forecast_answer(struct part *part, int64_t number, const struct task_batch *batch,
                                     const float *results, answer_taker *take, void *arg)
{
    struct forecast *f = (struct forecast *)part;
    struct window window;
    (void)batch;
    for (int row = 0; row < part->shape->rows && windows_at(&f->w, 0, number, row, &window); row++) {
        if (window.target == 0) {
            json_decref(f->pending);
            f->pending = begin_answer(f, &window);
        }
        if (f->pending == NULL)
            return fail(UNROLL_RESOURCE, "no memory for an answer");
        add_target(f, &window, last_results(f, results, &window, row), f->pending);
        if (window.target == f->w.recipe.targets - 1) {
            f->answered++;
            TRY(take(arg, f->pending));
        }
    }
    return UNROLL_OK;
}

static void print_cell(const json_t *value, FILE *to)
{
    if (json_is_string(value))
        fprintf(to, "%s", json_string_value(value));
    else if (json_is_integer(value))
        fprintf(to, "%lld", (long long)json_integer_value(value));
    else
        print_number(json_number_value(value), to);
}

/* Prints the name, then the names of the ends of its interval: load,load_0.1,load_0.9. */
static void print_header(const json_t *answer, FILE *to)
{
    const json_t *levels = json_object_get(answer, "levels");
    size_t count = json_array_size(levels);
    const char *name;
    json_t *value;
    fprintf(to, "%s", json_string_value(json_object_get(answer, "time_name")));
    if (json_object_get(answer, "group"))
        fprintf(to, ",%s", json_string_value(json_object_get(answer, "group_name")));
    json_object_foreach(json_object_get(answer, "forecast"), name, value)
    {
        fprintf(to, ",%s", name);
        if (count > 1)
            fprintf(to, ",%s_%g,%s_%g", name, json_real_value(json_array_get(levels, 0)), name,
                    json_real_value(json_array_get(levels, count - 1)));
    }
    fputc('\n', to);
}

/* Prints an answer as rows that could be appended to the file; names precede the first series. */
static void forecast_line(const json_t *answer, FILE *to)
{
    const json_t *times = json_object_get(answer, "time"), *group = json_object_get(answer, "group");
    const char *name;
    json_t *estimates;
    if (json_integer_value(json_object_get(answer, "series")) == 0)
        print_header(answer, to);
    for (size_t k = 0; k < json_array_size(times); k++) {
        print_cell(json_array_get(times, k), to);
        if (group)
            fprintf(to, ",%s", json_string_value(group));
        json_object_foreach(json_object_get(answer, "forecast"), name, estimates)
        {
            const json_t *quantiles = json_object_get(json_object_get(answer, "quantiles"), name);
            size_t levels = json_array_size(quantiles);
            fputc(',', to);
            print_cell(json_array_get(estimates, k), to);
            for (size_t i = 0; levels > 1 && i < levels; i += levels - 1) {
                fputc(',', to);
                print_cell(json_array_get(json_array_get(quantiles, i), k), to);
            }
        }
        fputc('\n', to);
    }
}

/* ---- details for people and plots ---- */

/* Writes the true numbers of a target from a step on, in units; none beyond the end of the sequence. */
static json_t *truth_to_json(const struct recipe *recipe, const struct window *window, size_t from, size_t count)
{
    size_t begin = recipe->data->begin[window->sequence], end = recipe->data->begin[window->sequence + 1];
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) {
        size_t at = begin + from + i;
        float number = at < end ? channel_at(&recipe->channel[window->target].in, window->sequence, at) : NAN;
        json_array_append_new(array, isnan(number) ? json_null() : json_real((double)number));
    }
    return array;
}

/* Writes the last forecast of a target of a series: the numbers before it, the true ones, the forecast. */
static json_t *shown_to_json(const struct forecast *f, size_t sequence, int target)
{
    const struct recipe *recipe = &f->w.recipe;
    size_t origins = f->w.before[sequence + 1] - f->w.before[sequence];
    struct window window = {.sequence = sequence, .target = target};
    if (origins == 0)
        return NULL;
    window.origin = f->w.first[sequence] + origins - 1;
    size_t past = window.origin < (size_t)recipe->horizon * 3 ? window.origin : (size_t)recipe->horizon * 3;
    const float *shown = f->shown + (sequence * (size_t)recipe->targets + (size_t)target) * (size_t)recipe->horizon * 3;
    json_t *json = json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "series", windows_series(&f->w, sequence), "target",
                             recipe->channel[target].name, "time", times_to_json(recipe, sequence, window.origin),
                             "past", truth_to_json(recipe, &window, window.origin - past, past), "truth",
                             truth_to_json(recipe, &window, window.origin, (size_t)recipe->horizon), "forecast",
                             numbers_to_json(shown, recipe->horizon, 3));
    json_t *times = times_to_json(recipe, sequence, window.origin - past);
    json_object_set(json, "past_from", json_array_get(times, 0));
    json_decref(times);
    if (f->levels > 1) {
        json_object_set_new(json, "low", numbers_to_json(shown + 1, recipe->horizon, 3));
        json_object_set_new(json, "high", numbers_to_json(shown + 2, recipe->horizon, 3));
        json_object_set_new(json, "interval", json_real(f->level[f->levels - 1] - f->level[0]));
    }
    return json;
}

static json_t *forecast_details(const struct part *part)
{
    const struct forecast *f = (const struct forecast *)part;
    const struct recipe *recipe = &f->w.recipe;
    json_t *forecasts = json_array(), *by_step = json_array();
    for (size_t i = 0; i < SHOWN && i < recipe->data->sequences * (size_t)recipe->targets; i++) {
        json_t *one = shown_to_json(f, i / (size_t)recipe->targets, (int)(i % (size_t)recipe->targets));
        if (one)
            json_array_append_new(forecasts, one);
    }
    for (int k = 0; k < recipe->horizon; k++)
        json_array_append_new(by_step, json_real(f->by_step[k] / fmax(1, f->by_step[recipe->horizon + k])));
    return json_pack("{s:o, s:o}", "forecasts", forecasts, "mae_by_step", by_step);
}

const struct task task_forecast = {.name = "forecast",
                                   .about = "the next steps of series",
                                   .keeps = true,
                                   .keys = forecast_keys,
                                   .item = forecast_item,
                                   .suits = suits_forecast,
                                   .network = forecast_network,
                                   .fit = forecast_fit,
                                   .accepts = forecast_accepts,
                                   .columns = forecast_columns,
                                   .open = forecast_open,
                                   .observe = forecast_observe,
                                   .score = forecast_score,
                                   .learn = forecast_learn,
                                   .details = forecast_details,
                                   .answer = forecast_answer,
                                   .line = forecast_line};

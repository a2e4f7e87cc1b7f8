/* The task anomaly: finds steps of series that differ from the training data. Trains a forecast of one step on normal
 * data, or nearly normal ones. The score of a step is the largest residual among the targets, in standard deviations of
 * the validation's residuals. Scores above a quantile of the validation's scores are anomalies. So a validation is
 * needed, whose results are stored in the model's schema. A column that labels anomalies is used only for comparison;
 * it is optional and not an input. The baseline is the residual of repeating the previous step. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tasks/answer_text.h"
#include "tasks/schema.h"
#include "tasks/task_table.h"
#include "tasks/examples/windows.h"

struct options {
    struct recipe_options of_series; /* `ignored` is the label */
    double quantile;
};

static const struct key anomaly_keys[] = {RECIPE_CONTEXT,
                                          RECIPE_SEASON,
                                          RECIPE_TARGET,
                                          RECIPE_KNOWN,
                                          RECIPE_TEXT("label", ignored, "column that marks anomalous steps"),
                                          {.name = "quantile",
                                           .min = 0.5,
                                           .max = 0.9999999,
                                           .offset = offsetof(struct options, quantile),
                                           .about = "share of the validation's steps below the threshold"},
                                          {0}};

static const struct accepts anomaly_accepts[] = {{.losses = "huber mse mae ", .unused = "stateful batch_tokens "}, {0}};
enum { LABEL_KINDS = STEP_NUMBERS | STEP_CATEGORY };
static const struct accepts_column anomaly_columns[] = {
    ACCEPTS_TARGET,
    ACCEPTS_KNOWN,
    {.option = "label", .kinds = LABEL_KINDS, .what = "a label or a number at each step", .type = "category"},
    {0}};

/* A step with its score. */
struct scored {
    double score;
    bool label;
};

struct anomaly {
    struct windows w;
    float *residual;   /* [windows] scaled truth - forecast; NaN: unknown */
    double floor;      /* mean squared residual of the previous step, scaled */
    double *deviation; /* [targets] of residuals; NULL: not learned from a validation yet */
    double threshold, quantile;
    const struct column *label; /* NULL: none */
    struct scored *scored;      /* [origins] sorted by score; scratch space for the metrics */
};

static int suits_anomaly(const unroll_dataset *data, char why[TASK_WHY])
{
    (void)data, (void)why; /* never chosen by itself: a table of numbers is rather a forecast */
    return 0;
}

static const char *anomaly_item(const unroll_dataset *data)
{
    (void)data;
    return "steps";
}

/* True if the label column marks the step as an anomaly: a number greater than 0, or a category other than "no" and the
 * like. */
static bool says_anomaly(const struct column *label, size_t step)
{
    static const char *const no[] = {"", "0", "no", "false", "normal", "ok", "n", "-"};
    if (label->type == COLUMN_NUMBERS)
        return label->numbers[step * (size_t)label->width] > 0;
    const int32_t id = column_id(label, step);
    for (size_t i = 0; id >= 0 && i < sizeof no / sizeof *no; i++)
        if (strcasecmp(label->vocabulary[id], no[i]) == 0)
            return false;
    return id >= 0;
}

/* Refuses a label column that marks every step: it labels something else. */
static unroll_status check_labels(const unroll_dataset *data, const struct column *label)
{
    for (size_t step = 0; label && step < data->steps; step++)
        if (!says_anomaly(label, step))
            return UNROLL_OK;
    if (label == NULL)
        return UNROLL_OK;
    return fail(
        UNROLL_DATA,
        "`label`: the column '%s' marks each step as an anomaly; fix: use a column with 0, no or normal at normal steps",
        label->name);
}

static unroll_status choose_recipe(const unroll_dataset *data, const char *options, struct options *read,
                                   struct recipe *recipe)
{
    *read = (struct options){.quantile = 0.999};
    TRY(key_values_read(options, "the task anomaly", anomaly_keys, read));
    read->of_series.horizon = 1;
    TRY(check_labels(data, dataset_named(data, read->of_series.ignored)));
    return recipe_choose(data, &read->of_series, recipe);
}

static unroll_status anomaly_network(const unroll_dataset *data, const char *options, unroll_model_config *spec,
                                     unroll_task_defaults *defaults)
{
    struct options read;
    struct recipe recipe;
    TRY(choose_recipe(data, options, &read, &recipe));
    unroll_status status = windows_network(&task_anomaly, &recipe, spec, defaults);
    recipe_end(&recipe);
    return status;
}

static unroll_status anomaly_fit(const struct task_request *request, json_t **schema)
{
    struct options read;
    struct recipe recipe;
    TRY(choose_recipe(request->data, request->options, &read, &recipe));
    unroll_status status = recipe_measure(request, &read.of_series, &recipe);
    if (status == UNROLL_OK)
        *schema = recipe_to_json(&recipe);
    recipe_end(&recipe);
    TRY(status);
    if (*schema == NULL || json_object_set_new(*schema, "quantile", json_real(read.quantile)) != 0 ||
        json_object_set_new(*schema, "label", json_string(read.of_series.ignored)) != 0)
        return fail(UNROLL_RESOURCE, "no memory for a schema");
    return UNROLL_OK;
}

/* ---- opening ---- */

static void anomaly_end(struct part *part)
{
    struct anomaly *a = (struct anomaly *)part;
    release(a->residual);
    release(a->deviation);
    release(a->scored);
    windows_end(part);
}

/* Reads the task's schema, including what validations have learned. */
static unroll_status read_schema(const unroll_model *model, struct anomaly *a)
{
    json_t *json;
    TRY(schema_task(model, &json));
    const json_t *deviations = json_object_get(json, "deviations");
    const char *label = json_string_value(json_object_get(json, "label"));
    unroll_status status = UNROLL_OK;
    a->quantile = json_number_value(json_object_get(json, "quantile"));
    a->threshold = json_number_value(json_object_get(json, "threshold"));
    a->label = label && *label ? dataset_named(a->w.recipe.data, label) : NULL;
    for (int i = 0; i < a->w.recipe.data->columns; i++)
        if (a->w.recipe.data->column[i].kept == KEPT_LABEL)
            a->label = &a->w.recipe.data->column[i];
    if (a->label && !(LABEL_KINDS & column_kind(a->label)))
        status = fail(
            UNROLL_DATA,
            "column '%s' of '%s' is not the model's label; fix: open the data with the model, and give it the same "
            "kind of column",
            a->label->name, a->w.recipe.data->name);
    if (status == UNROLL_OK && deviations)
        status = ALLOCATE(a->deviation, (size_t)a->w.recipe.targets, "for deviations");
    for (int i = 0; status == UNROLL_OK && deviations && i < a->w.recipe.targets; i++)
        a->deviation[i] = json_number_value(json_array_get(deviations, (size_t)i));
    json_decref(json);
    return status;
}

/* Returns the mean squared residual of repeating the previous step. */
static double find_floor(const struct anomaly *a)
{
    const struct recipe *recipe = &a->w.recipe;
    double sum = 0, count = 0;
    for (size_t i = 0; i < windows_count(&a->w); i++) {
        struct window window = windows_item(&a->w, i);
        const struct channel *channel = &recipe->channel[window.target].in;
        const struct scale *scale = recipe_scale(recipe, window.sequence, window.target);
        size_t at = recipe->data->begin[window.sequence] + window.origin;
        int64_t before = seasonal_step(channel, recipe->data, window.sequence, window.origin, 0, 1);
        double truth = scaled(scale, channel_at(channel, window.sequence, at));
        if (before < 0 || isnan(truth))
            continue;
        double error = truth - scaled(scale, channel_at(channel, window.sequence, (size_t)before));
        sum += error * error;
        count++;
    }
    return count > 0 ? sum / count : (double)NAN;
}

static unroll_status fill_in(const struct task_request *request, enum part_of which, struct anomaly *a)
{
    TRY(read_schema(request->model, a));
    if (which == PART_TRAINING)
        return UNROLL_OK;
    if (which == PART_PREDICTED && a->deviation == NULL)
        return fail(UNROLL_USAGE, "the model has no threshold; fix: train it with a validation");
    TRY(ALLOCATE(a->residual, windows_count(&a->w), "for %zu residuals", windows_count(&a->w)));
    TRY(ALLOCATE(a->scored, a->w.origins, "for %zu scores", a->w.origins));
    if (which != PART_PREDICTED)
        a->floor = find_floor(a);
    return UNROLL_OK;
}

/* Predicts all steps that follow at least one patch. */
static unroll_status anomaly_open(const struct task_request *request, enum part_of which, struct part **part)
{
    struct windows *windows = NULL;
    TRY(windows_open(request, which == PART_PREDICTED ? PART_ALL : which, part_is_all(which), sizeof(struct anomaly),
                     &windows));
    if (windows == NULL)
        return UNROLL_OK;
    windows->part.end = anomaly_end;
    unroll_status status = fill_in(request, which, (struct anomaly *)windows);
    if (status != UNROLL_OK) {
        part_free(&windows->part);
        return status;
    }
    *part = &windows->part;
    return UNROLL_OK;
}

/* ---- scores ---- */

static double forecast_of(const struct anomaly *a, const float *results, const struct window *window, int row)
{
    size_t at = (size_t)(window->steps - 1) * (size_t)a->w.part.shape->rows + (size_t)row;
    return loss_estimate(&a->w.loss, results + at) + recipe_level(&a->w.recipe, window);
}

static double truth_of(const struct anomaly *a, const struct window *window)
{
    const struct recipe *recipe = &a->w.recipe;
    return scaled(recipe_scale(recipe, window->sequence, window->target),
                  channel_at(&recipe->channel[window->target].in, window->sequence,
                             recipe->data->begin[window->sequence] + window->origin));
}

static void anomaly_observe(struct part *part, int64_t number, const struct task_batch *batch, const float *results)
{
    struct anomaly *a = (struct anomaly *)part;
    struct window window;
    (void)batch;
    for (int row = 0; row < part->shape->rows && windows_at(&a->w, 0, number, row, &window); row++)
        a->residual[number * part->shape->rows + row] =
            (float)(truth_of(a, &window) - forecast_of(a, results, &window, row));
}

static bool is_labelled(const struct anomaly *a, size_t origin)
{
    if (a->label == NULL)
        return false;
    struct window window = windows_item(&a->w, origin * (size_t)a->w.recipe.targets);
    return says_anomaly(a->label, a->w.recipe.data->begin[window.sequence] + window.origin);
}

/* Returns the largest residual of an origin in standard deviations, and its target; NaN if all are unknown. */
static double score_of(const float *residual, const double *deviation, int targets, int *which)
{
    double score = NAN;
    for (int i = 0; i < targets; i++) {
        double one = fabs((double)residual[i]) / deviation[i];
        if (isnan(one) || one <= score)
            continue;
        score = one;
        *which = i;
    }
    return score;
}

static int compare_scores(const void *a, const void *b)
{
    double x = ((const struct scored *)a)->score, y = ((const struct scored *)b)->score;
    return (x > y) - (x < y);
}

/* Collects the scores of all origins that have one, sorted; normal_alone: without labeled anomalies. */
static size_t collect(const struct anomaly *a, const double *deviation, bool normal_alone)
{
    size_t count = 0;
    int which;
    for (size_t i = 0; i < a->w.origins; i++) {
        size_t targets = (size_t)a->w.recipe.targets;
        double score = score_of(a->residual + i * targets, deviation, (int)targets, &which);
        bool label = is_labelled(a, i);
        if (!isnan(score) && !(normal_alone && label))
            a->scored[count++] = (struct scored){score, label};
    }
    qsort(a->scored, count, sizeof *a->scored, compare_scores);
    return count;
}

/* ---- learning from a validation ---- */

static void find_deviations(const struct anomaly *a, double *deviation)
{
    size_t targets = (size_t)a->w.recipe.targets;
    for (size_t i = 0; i < targets; i++) {
        double sum = 0, count = 0;
        for (size_t origin = 0; origin < a->w.origins; origin++) {
            double residual = (double)a->residual[origin * targets + i];
            if (!isnan(residual) && !is_labelled(a, origin))
                sum += residual * residual, count++;
        }
        deviation[i] = count > 0 && sum > 0 ? sqrt(sum / count) : 1;
    }
}

static unroll_status anomaly_learn(const struct part *part, json_t *schema)
{
    const struct anomaly *a = (const struct anomaly *)part;
    size_t targets = (size_t)a->w.recipe.targets;
    json_t *deviations = json_array();
    double *deviation;
    TRY(ALLOCATE(deviation, targets, "for deviations"));
    find_deviations(a, deviation);
    size_t count = collect(a, deviation, true);
    for (size_t i = 0; i < targets; i++) json_array_append_new(deviations, json_real(deviation[i]));
    release(deviation);
    size_t at = (size_t)(a->quantile * (double)count);
    double threshold = count ? a->scored[at < count ? at : count - 1].score : INFINITY;
    json_object_set_new(schema, "deviations", deviations);
    json_object_set_new(schema, "threshold", json_real(isfinite(threshold) ? threshold : 1e30));
    return UNROLL_OK;
}

/* ---- metrics ---- */

struct detection {
    double alarms, right, labels, count; /* above the threshold; correct ones; labeled; all steps */
    double auc;
};

/* Computes the detection metrics of sorted scored [count]. The area under the ROC curve is the probability that a
 * labeled step has the higher score; equal scores count half. */
static struct detection detect(const struct scored *scored, size_t count, double threshold)
{
    struct detection d = {.count = (double)count};
    double below = 0, wins = 0;
    for (size_t i = 0, end; i < count; i = end) {
        double labels = 0, others = 0;
        for (end = i; end < count && scored[end].score == scored[i].score; end++)
            scored[end].label ? labels++ : others++;
        wins += labels * (below + others / 2);
        below += others;
        d.labels += labels;
        if (scored[i].score > threshold)
            d.alarms += labels + others, d.right += labels;
    }
    d.auc = wins / (d.labels * (d.count - d.labels));
    return d;
}

/* Computes residual error and, if there are labels, precision, recall and AUC. */
static void anomaly_score(const struct part *part, double loss, bool observed, unroll_evaluation *evaluation)
{
    const struct anomaly *a = (const struct anomaly *)part;
    double sum = 0, count = 0;
    for (size_t i = 0; observed && i < windows_count(&a->w); i++)
        if (!isnan(a->residual[i]))
            sum += (double)a->residual[i] * (double)a->residual[i], count++;
    *evaluation = (unroll_evaluation){
        .loss = loss,
        .floor = a->floor,
        .naive = "persistence",
        .examples = (int64_t)a->w.origins,
        .metrics = 1,
        .metric = {{"mse", "mse ", "", 4, count > 0 ? sum / count : (double)NAN}},
    };
    if (a->deviation == NULL || !observed)
        return;
    struct detection d = detect(a->scored, collect(a, a->deviation, false), a->threshold);
    double precision = d.alarms > 0 ? d.right / d.alarms : 0, recall = d.right / d.labels;
    const unroll_metric more[] = {{"false_alarms", "", " false alarms", 5, (d.alarms - d.right) / (d.count - d.labels)},
                                  {"auc", "auc ", "", 4, d.auc},
                                  {"f1", "f1 ", "", 4, d.right > 0 ? 2 * precision * recall / (precision + recall) : 0},
                                  {"precision", "precision ", "", 4, precision},
                                  {"recall", "recall ", "", 4, recall}};
    for (size_t i = 0; i < (d.labels > 0 ? 5 : 1); i++) evaluation->metric[evaluation->metrics++] = more[i];
}

/* ---- predictions ---- */

/* Returns the prediction for a row of the file. Rows with too few predecessors have no score. */
static json_t *answer_row(const struct anomaly *a, size_t sequence, size_t row, double score, int which)
{
    const struct recipe *recipe = &a->w.recipe;
    const unroll_dataset *data = recipe->data;
    size_t step = data->begin[sequence] + row;
    char time[TIME_TEXT];
    json_t *answer = json_pack("{s:i}", "row", (int)step + 1);
    if (data->time >= 0) {
        interval_format(&recipe->interval, data->column[data->time].times[step], time);
        json_object_set_new(answer, "time_name", json_string(data->column[data->time].name));
        json_object_set_new(answer, "time", json_string(time));
    }
    if (data->group >= 0) {
        json_object_set_new(answer, "group_name", json_string(data->column[data->group].name));
        json_object_set_new(answer, "group", json_string(windows_series(&a->w, sequence)));
    }
    answer_keep(answer, data, sequence, step);
    json_object_set_new(answer, "score", isnan(score) ? json_null() : json_real(score));
    json_object_set_new(answer, "anomaly", isnan(score) ? json_null() : json_boolean(score > a->threshold));
    json_object_set_new(answer, "column", isnan(score) ? json_null() : json_string(recipe->channel[which].name));
    return answer;
}

static unroll_status anomaly_answer(struct part *part, int64_t number, const struct task_batch *batch,
                                    const float *results, answer_taker *take, void *arg)
{
    struct anomaly *a = (struct anomaly *)part;
    int targets = a->w.recipe.targets, which = 0;
    struct window window;
    anomaly_observe(part, number, batch, results);
    for (int row = 0; row < part->shape->rows && windows_at(&a->w, 0, number, row, &window); row++) {
        size_t item = (size_t)(number * part->shape->rows + row), first = a->w.first[window.sequence];
        for (size_t i = 0; window.target == 0 && window.origin == first && i < first; i++)
            TRY(answer_give(answer_row(a, window.sequence, i, NAN, 0), take, arg));
        if (window.target < targets - 1)
            continue;
        double score = score_of(a->residual + item + 1 - (size_t)targets, a->deviation, targets, &which);
        TRY(answer_give(answer_row(a, window.sequence, window.origin, score, which), take, arg));
    }
    return UNROLL_OK;
}

/* Prints "2020-01-03 11:00:00 4.21 anomaly load" or "2020-01-03 12:00:00 0.37 -". */
static void anomaly_line(const json_t *answer, FILE *to)
{
    const json_t *score = json_object_get(answer, "score"), *time = json_object_get(answer, "time");
    const json_t *group = json_object_get(answer, "group");
    if (time)
        fprintf(to, "%s\t", json_string_value(time));
    else
        fprintf(to, "%lld\t", (long long)json_integer_value(json_object_get(answer, "row")));
    if (group)
        fprintf(to, "%s\t", json_string_value(group));
    if (json_is_null(score))
        fprintf(to, "-\t-\n");
    else if (json_is_true(json_object_get(answer, "anomaly")))
        fprintf(to, "%.3f\tanomaly %s\n", json_real_value(score), json_string_value(json_object_get(answer, "column")));
    else
        fprintf(to, "%.3f\t-\n", json_real_value(score));
}

/* Returns the time of a window's step, or its row. */
static json_t *row_name(const struct anomaly *a, const struct window *window)
{
    const struct recipe *recipe = &a->w.recipe;
    const unroll_dataset *data = recipe->data;
    const size_t step = data->begin[window->sequence] + window->origin;
    char time[TIME_TEXT];
    if (data->time < 0)
        return json_sprintf("%zu", step + 1);
    interval_format(&recipe->interval, data->column[data->time].times[step], time);
    return json_string(time);
}

/* Returns truth and forecast, in units, for the last steps of the first target, for plots. */
static json_t *anomaly_details(const struct part *part)
{
    enum { STEPS = 2000 };
    const struct anomaly *a = (const struct anomaly *)part;
    size_t targets = (size_t)a->w.recipe.targets, steps = a->w.origins < STEPS ? a->w.origins : STEPS;
    json_t *truth = json_array(), *answer = json_array(), *scores = json_array(), *rows = json_array();
    int which = 0;
    for (size_t origin = a->w.origins - steps; origin < a->w.origins; origin++) {
        struct window window = windows_item(&a->w, origin * targets);
        const struct scale *scale = recipe_scale(&a->w.recipe, window.sequence, 0);
        double came = truth_of(a, &window), said = came - (double)a->residual[origin * targets];
        if (isnan(came) || isnan(said))
            continue;
        json_array_append_new(truth, json_real(came * scale->deviation + scale->mean));
        json_array_append_new(answer, json_real(said * scale->deviation + scale->mean));
        json_array_append_new(
            scores,
            json_real(a->deviation ? score_of(a->residual + origin * targets, a->deviation, (int)targets, &which) : 0));
        json_array_append_new(rows, row_name(a, &window));
    }
    return json_pack("{s:s, s:f, s:o, s:o, s:{s:o, s:o}}", "target", a->w.recipe.channel[0].name, "threshold",
                     a->threshold, "scores", scores, "rows", rows, "pairs", "truth", truth, "answer", answer);
}

const struct task task_anomaly = {.name = "anomaly",
                                  .about = "anomalous steps of series",
                                  .keeps = true,
                                  .keys = anomaly_keys,
                                  .item = anomaly_item,
                                  .suits = suits_anomaly,
                                  .network = anomaly_network,
                                  .fit = anomaly_fit,
                                  .accepts = anomaly_accepts,
                                  .columns = anomaly_columns,
                                  .open = anomaly_open,
                                  .observe = anomaly_observe,
                                  .score = anomaly_score,
                                  .learn = anomaly_learn,
                                  .details = anomaly_details,
                                  .answer = anomaly_answer,
                                  .line = anomaly_line};

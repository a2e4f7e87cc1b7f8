/* The task regress: predicts numbers from a sequence, either one for all of it, or, for a table whose rows are steps,
 * one for each row from its other columns and the rows before. Unlike a forecast, it does not read earlier values of
 * the target. The network learns the target with mean 0 and variance 1; answers are in its unit. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "model/model.h"
#include "tasks/answer_text.h"
#include "tasks/scores.h"
#include "tasks/examples/sequence_part.h"
#include "tasks/task_table.h"

static const struct windows of_series = {128, 128}, none;

enum { FEW_GROUPS = 5 }; /* from this number of groups on, whole groups are held out */
enum { PAIRS = 500 };    /* of truths and answers that are kept */

struct regress_part {
    struct sequence_part base;
    int width;
    double *mean, *deviation; /* [width] of the target, in the training part */
    struct errors *errors;    /* [width] */
    json_t *truth, *answer;   /* the first numbers of the first target, for people */
    double floor;
};

/* ---- the target ---- */

static bool is_number(const unroll_dataset *data, const struct column *column)
{
    (void)data;
    return column->type == COLUMN_NUMBERS && column->begin == NULL;
}

static bool is_named(const struct column *column)
{
    return strcmp(column->name, "target") == 0 || strcmp(column->name, "y") == 0;
}

static unroll_status find_target(const unroll_dataset *data, const char *options, const struct column **target)
{
    return target_find(data, "regress", window_keys, "a column of numbers", options, is_number, target);
}

/* True if the data have inputs: numbers of steps may be inputs, a number for a whole sequence hardly is one. */
static bool has_inputs(const unroll_dataset *data, const struct column *target)
{
    for (int i = 0; i < data->columns; i++)
        if (&data->column[i] != target && data->column[i].type != COLUMN_TIME)
            return true;
    return false;
}

enum { OF_SEQUENCES, OF_STEPS };
static const struct accepts regress_accepts[] = {
    [OF_SEQUENCES] = {.losses = "mse mae huber ", .pool = "mean+max", .backward = true, .unused = "stateful "},
    [OF_STEPS] = {.losses = "mse mae huber ", .backward = true, .unused = "stateful bptt "},
    {0}};
static const struct accepts_column regress_columns[] = {
    {.option = "target", .kinds = STEP_NUMBERS | SEQUENCE_NUMBERS, .what = "numbers to predict", .type = "number"},
    {0}};

static int regress_row(const unroll_dataset *data, const json_t *schema)
{
    (void)data;
    return json_is_true(json_object_get(schema, "pooled")) ? OF_SEQUENCES : OF_STEPS;
}

static int suits_regress(const unroll_dataset *data, char why[TASK_WHY])
{
    const struct column *target = target_of(data, is_number);
    if (target == NULL || !has_inputs(data, target) || !(target->of_sequence || is_named(target)))
        return 0;
    snprintf(why, TASK_WHY,
             target->of_sequence ? "a number for each sequence in '%s'" : "a number for each step in '%s'",
             target->name);
    return target->of_sequence ? SUITS_USUALLY : SUITS_ANY;
}

/* ---- the network ---- */

/* Sets the network: causal, because other networks would know the future of a series. */
static unroll_status regress_network(const unroll_dataset *data, const char *options, unroll_model_config *spec,
                                     unroll_task_defaults *defaults)
{
    const struct column *target;
    TRY(find_target(data, options, &target));
    const unroll_model_config standard = {
        .cell = "gru", .layers = 1, .hidden = 128, .bidirectional = target->of_sequence};
    TRY(sequence_network(data, target, NULL, &standard, spec));
    TRY(accepts_spec(&task_regress, &regress_accepts[target->of_sequence ? OF_SEQUENCES : OF_STEPS], spec));
    spec->output = target->width;
    struct windows windows;
    TRY(windows_read(options, "regress", target->of_sequence ? none : of_series, &windows));
    sequence_defaults(data, windows.window, defaults);
    if (!target->of_sequence && data->group >= 0 && data->sequences >= FEW_GROUPS)
        defaults->groups = 1, defaults->validation = 0.2;
    return UNROLL_OK;
}

/* ---- what the model stores ---- */

static unroll_status members_of(const struct task_request *request, enum part_of which, const struct column *target,
                                struct members *members)
{
    return target->of_sequence ? members_find(request, which, NULL, members)
                               : members_of_series(request, which, members);
}

/* Returns the entries of the target of a member. */
static struct step_range entries_of(const struct members *members, size_t i, const struct column *target)
{
    const size_t s = member_at(members, i);
    return target->of_sequence ? (struct step_range){s, s + 1} : member_steps(members, i);
}

/* Appends the mean and deviation of number k of the target in the training part. */
static unroll_status find_scale(const struct members *members, const struct column *target, int k, json_t *mean,
                                json_t *deviation)
{
    struct errors found = {0};
    for (size_t i = 0; i < members->count; i++) {
        const struct step_range entries = entries_of(members, i, target);
        for (size_t e = entries.from; e < entries.to; e++) {
            const float truth = target->numbers[e * (size_t)target->width + (size_t)k];
            if (!isnan(truth))
                errors_add(&found, (double)truth, (double)truth);
        }
    }
    if (found.count == 0)
        return fail(UNROLL_DATA, "column '%s' has no number in the part that is trained on; fix: use another `target`",
                    target->name);
    const double spread = sqrt(found.spread / (double)found.count);
    json_array_append_new(mean, json_real(found.mean));
    json_array_append_new(deviation, json_real(spread > DBL_MIN ? spread : 1));
    return UNROLL_OK;
}

/* Stores the target, its scales and windows, found in the training part. */
static unroll_status regress_fit(const struct task_request *request, json_t **schema)
{
    const struct column *target;
    struct windows windows;
    struct members members;
    TRY(find_target(request->data, request->options, &target));
    TRY(windows_read(request->options, "regress", target->of_sequence ? none : of_series, &windows));
    TRY(members_of(request, PART_TRAINING, target, &members));
    json_t *mean = json_array(), *deviation = json_array();
    unroll_status status = sequence_schema(&members, target, NULL, schema);
    for (int k = 0; status == UNROLL_OK && k < target->width; k++)
        status = find_scale(&members, target, k, mean, deviation);
    if (status == UNROLL_OK)
        json_object_update_new(*schema, json_pack("{s:O, s:O, s:b, s:o}", "mean", mean, "deviation", deviation,
                                                  "pooled", target->of_sequence, "windows", windows_to_json(&windows)));
    json_decref(mean);
    json_decref(deviation);
    members_end(&members);
    return status;
}

/* ---- batches ---- */

/* Returns the true value of an answer in the target's unit; NaN: missing. */
static float truth_of(const struct regress_part *p, const struct sequence_row *at, int t, int k)
{
    const struct column *target = p->base.target;
    if (target == NULL)
        return NAN;
    const size_t entry =
        target->of_sequence ? at->sequence : p->base.members.data->begin[at->sequence] + at->first + (size_t)t;
    return target->numbers[entry * (size_t)p->width + (size_t)k];
}

/* Returns the steps of a row that have an answer. */
static struct step_range answers_of(const struct regress_part *p, const struct sequence_row *at)
{
    return p->base.part.pooled ? (struct step_range){0, 1}
                               : (struct step_range){(size_t)at->context, (size_t)at->length};
}

/* Fills a batch with features, and with the target in its scaled unit. */
static void fill_numbers(const struct part *part, int64_t epoch, int64_t number, struct task_batch *batch)
{
    const struct regress_part *p = (const struct regress_part *)part;
    const struct batch_place place = sequence_place(&p->base, epoch, number);
    const size_t width = (size_t)p->width, steps = part->pooled ? 1 : (size_t)place.steps, rows = (size_t)place.rows;
    sequence_fill(&p->base, epoch, number, batch);
    for (size_t row = 0; row < rows; row++) {
        struct sequence_row at = {0};
        const bool is_there = sequence_row(&p->base, &place, (int)row, &at);
        const struct step_range counted = answers_of(p, &at);
        for (size_t t = 0; t < steps; t++)
            for (size_t k = 0; k < width; k++) {
                const bool counts = is_there && t >= counted.from && t < counted.to;
                const float truth = counts ? truth_of(p, &at, (int)t, (int)k) : NAN;
                batch->values[(t * rows + row) * width + k] =
                    (float)(((double)truth - p->mean[k]) / p->deviation[k]); /* NaN stays, and is not counted */
            }
    }
}

static void end_regress_part(struct part *part)
{
    struct regress_part *p = (struct regress_part *)part;
    release(p->mean);
    release(p->deviation);
    release(p->errors);
    json_decref(p->truth);
    json_decref(p->answer);
    sequence_part_end(&p->base);
}

/* Computes the mean absolute error of always predicting the training mean; counts the entries with a target. */
static double floor_of(struct regress_part *p)
{
    double sum = 0, counted = 0;
    for (size_t i = 0; i < p->base.members.count; i++) {
        const struct step_range entries = entries_of(&p->base.members, i, p->base.target);
        for (size_t e = entries.from * (size_t)p->width; e < entries.to * (size_t)p->width; e++) {
            const double truth = (double)p->base.target->numbers[e];
            counted += !isnan(truth);
            sum += isnan(truth) ? 0 : fabs(truth - p->mean[e % (size_t)p->width]);
        }
    }
    p->base.part.examples = (size_t)counted;
    return counted > 0 ? sum / counted : (double)NAN;
}

/* Reads the scales of the target from the schema; its width must match the data. */
static unroll_status read_scales(struct regress_part *p)
{
    static const char where[] = "the model's schema: task";
    json_t *mean, *deviation;
    TRY(json_field_array(p->base.schema, where, "mean", &mean));
    TRY(json_field_array(p->base.schema, where, "deviation", &deviation));
    p->width = (int)json_array_size(mean);
    TRY(ALLOCATE(p->mean, (size_t)p->width, "for %d targets", p->width));
    TRY(ALLOCATE(p->deviation, (size_t)p->width, "for %d targets", p->width));
    TRY(ALLOCATE(p->errors, (size_t)p->width, "for %d targets", p->width));
    for (int k = 0; k < p->width; k++) {
        p->mean[k] = json_number_value(json_array_get(mean, (size_t)k));
        p->deviation[k] = json_number_value(json_array_get(deviation, (size_t)k));
    }
    if (p->base.target && p->base.target->width != p->width)
        return fail(UNROLL_DATA,
                    "column '%s' has %d numbers and the model learned %d; fix: open the data for the model",
                    p->base.name, p->base.target->width, p->width);
    return UNROLL_OK;
}

static unroll_status open_regress_part(const struct task_request *request, enum part_of which, struct part *part)
{
    struct regress_part *p = (struct regress_part *)part;
    const bool pooled = model_is_pooled(request->model);
    TRY(sequence_part_open(request, which, pooled ? SEQUENCE_NUMBERS : STEP_NUMBERS,
                           windows_from_json(p->base.schema, pooled ? none : of_series), &p->base));
    if (p->base.members.count == 0)
        return UNROLL_OK;
    TRY(read_scales(p));
    p->base.part.pooled = pooled;
    p->base.part.fill = fill_numbers;
    p->floor = p->base.target ? floor_of(p) : (double)NAN;
    return UNROLL_OK;
}

static unroll_status regress_open(const struct task_request *request, enum part_of which, struct part **part)
{
    return sequence_open(request, which, sizeof(struct regress_part), open_regress_part, end_regress_part, part);
}

/* ---- scores ---- */

/* Returns an answer in the target's unit. */
static double answer_at(const struct regress_part *p, const float *results, int rows, size_t t, int row, int k)
{
    const size_t entry = (t * (size_t)rows + (size_t)row) * (size_t)p->width + (size_t)k;
    return (double)results[entry] * p->deviation[k] + p->mean[k];
}

/* Adds the answers of a batch to the errors, and stores the first ones for people. */
static void regress_observe(struct part *part, int64_t number, const struct task_batch *batch, const float *results)
{
    struct regress_part *p = (struct regress_part *)part;
    const struct batch_place place = sequence_place(&p->base, 0, number);
    const int rows = place.rows;
    (void)batch;
    if (number == 0) {
        memset(p->errors, 0, (size_t)p->width * sizeof *p->errors);
        json_decref(p->truth);
        json_decref(p->answer);
        p->truth = json_array();
        p->answer = json_array();
    }
    for (int row = 0; row < rows; row++) {
        struct sequence_row at;
        if (!sequence_row(&p->base, &place, row, &at))
            continue;
        const struct step_range counted = answers_of(p, &at);
        for (size_t t = counted.from; t < counted.to; t++)
            for (int k = 0; k < p->width; k++) {
                const double truth = (double)truth_of(p, &at, (int)t, k);
                if (isnan(truth))
                    continue;
                const double answer = answer_at(p, results, rows, t, row, k);
                errors_add(&p->errors[k], truth, answer);
                if (k == 0 && json_array_size(p->truth) < PAIRS) {
                    json_array_append_new(p->truth, json_real(truth));
                    json_array_append_new(p->answer, json_real(answer));
                }
            }
    }
}

/* Computes MAE, MSE and R2 over all numbers of the target. */
static void regress_score(const struct part *part, double loss, bool observed, unroll_evaluation *e)
{
    const struct regress_part *p = (const struct regress_part *)part;
    double absolute = 0, squares = 0, count = 0, r2 = 0;
    for (int k = 0; k < p->width; k++) {
        absolute += p->errors[k].absolute;
        squares += p->errors[k].squares;
        count += (double)p->errors[k].count;
        r2 += errors_r2(&p->errors[k]) / p->width;
    }
    const double none = (double)NAN, found = observed && count > 0 ? 1 : none;
    *e = (unroll_evaluation){.loss = loss,
                             .floor = p->floor,
                             .naive = "mean",
                             .examples = (int64_t)part->examples,
                             .metrics = 5,
                             .metric = {{"mae", "MAE ", "", 4, found * absolute / count},
                                        {"mse", "MSE ", "", 4, found * squares / count},
                                        {"r2", "R2 ", "", 4, found * r2},
                                        {"loss", "loss ", "", 4, loss},
                                        {"examples", "", " examples", 0, (double)part->examples}}};
}

static json_t *regress_details(const struct part *part)
{
    const struct regress_part *p = (const struct regress_part *)part;
    json_t *targets = json_array();
    for (int k = 0; k < p->width; k++) {
        const struct errors *e = &p->errors[k];
        json_array_append_new(targets, json_pack("{s:f, s:f, s:f, s:f, s:f}", "mean", p->mean[k], "deviation",
                                                 p->deviation[k], "mae", e->absolute / (double)e->count, "mse",
                                                 e->squares / (double)e->count, "r2", errors_r2(e)));
    }
    return json_pack("{s:s, s:o, s:{s:O, s:O}}", "target", p->base.name, "targets", targets, "pairs", "truth", p->truth,
                     "answer", p->answer);
}

/* ---- answers ---- */

static json_t *answer_step(const struct regress_part *p, const float *results, int rows, const struct sequence_row *at,
                           size_t t, int row)
{
    json_t *values = json_array(), *truths = json_array(), *answer;
    for (int k = 0; k < p->width; k++) {
        const double truth = (double)truth_of(p, at, (int)t, k);
        json_array_append_new(values, json_real(answer_at(p, results, rows, t, row, k)));
        json_array_append_new(truths, isnan(truth) ? json_null() : json_real(truth));
    }
    answer = json_object();
    json_object_set(answer, p->base.name, p->width == 1 ? json_array_get(values, 0) : values);
    if (p->base.target)
        json_object_set(answer, "truth", p->width == 1 ? json_array_get(truths, 0) : truths);
    json_decref(values);
    json_decref(truths);
    return answer;
}

static unroll_status regress_answer(struct part *part, int64_t number, const struct task_batch *batch,
                                    const float *results, answer_taker *take, void *arg)
{
    const struct regress_part *p = (const struct regress_part *)part;
    const struct batch_place place = sequence_place(&p->base, 0, number);
    const int rows = place.rows;
    (void)batch;
    for (int row = 0; row < rows; row++) {
        struct sequence_row at;
        if (!sequence_row(&p->base, &place, row, &at))
            continue;
        const struct step_range counted = answers_of(p, &at);
        for (size_t t = counted.from; t < counted.to; t++)
            TRY(sequence_give(&p->base, &at, p->base.part.pooled ? NO_STEP : (int64_t)t,
                              answer_step(p, results, rows, &at, t, row), take, arg));
    }
    return UNROLL_OK;
}

/* Prints "12.5"; several numbers as "12.5 3.25"; steps with a time as "2024-01-05<TAB>12.5". */
static void regress_line(const json_t *answer, FILE *file)
{
    const char *name;
    const json_t *value, *number;
    sequence_line_keys(answer, 0, file);
    json_object_foreach((json_t *)answer, name, value)
    {
        size_t i;
        if (strcmp(name, "truth") == 0)
            continue;
        if (json_is_real(value))
            print_number(json_real_value(value), file);
        json_array_foreach(value, i, number)
        {
            fputs(i ? " " : "", file);
            print_number(json_real_value(number), file);
        }
    }
    fputc('\n', file);
}

const struct task task_regress = {.name = "regress",
                                  .about = "numbers for each sequence or row",
                                  .keeps = true,
                                  .keys = window_keys,
                                  .augments = true,
                                  .divides = true,
                                  .item = sequence_item,
                                  .suits = suits_regress,
                                  .network = regress_network,
                                  .fit = regress_fit,
                                  .accepts = regress_accepts,
                                  .columns = regress_columns,
                                  .row = regress_row,
                                  .row_is_in_schema = true,
                                  .open = regress_open,
                                  .observe = regress_observe,
                                  .score = regress_score,
                                  .details = regress_details,
                                  .answer = regress_answer,
                                  .line = regress_line};

/* Fills batches: a step's ids are adjacent, and its numbers, with each feature's masks after its numbers. */
#include "tasks/examples/features.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/philox.h"
#include "model/model.h"

/* ---- which columns ---- */

static bool is_read(const unroll_dataset *data, int index, const struct column *const *targets, int count)
{
    const struct column *column = &data->column[index];
    for (int i = 0; i < count; i++)
        if (column == targets[i])
            return false;
    return index != data->group && index != data->time && column->type != COLUMN_TIME && column->begin == NULL;
}

static bool has_ids(const struct column *column)
{
    return column->type == COLUMN_TOKENS || column->type == COLUMN_CATEGORY;
}

static unroll_status allocate_scales(struct feature *f)
{
    TRY(ALLOCATE(f->shift, (size_t)f->width, "for the scales of '%s'", f->name));
    TRY(ALLOCATE(f->scale, (size_t)f->width, "for the scales of '%s'", f->name));
    TRY(ALLOCATE(f->masked, (size_t)f->width, "for the scales of '%s'", f->name));
    for (int i = 0; i < f->width; i++) f->scale[i] = 1;
    return UNROLL_OK;
}

static void find_missing(const unroll_dataset *data, struct feature *f)
{
    const size_t entries = column_entries(data, f->column), width = (size_t)f->width;
    for (size_t i = 0; i < entries; i++)
        for (size_t k = 0; k < width; k++)
            if (isnan(f->column->numbers[i * width + k]))
                f->masked[k] = 1;
}

static void count_inputs(struct features *features)
{
    features->tokens = features->numbers = 0;
    for (int i = 0; i < features->count; i++) {
        struct feature *f = &features->feature[i];
        f->masks = 0;
        for (int k = 0; k < f->width; k++) f->masks += f->masked[k];
        features->tokens += f->ids > 0;
        features->numbers += f->width + f->masks;
    }
}

static unroll_status take_column(const unroll_dataset *data, const struct column *column, struct feature *f)
{
    strcpy(f->name, column->name);
    f->column = column;
    if (has_ids(column)) {
        f->ids = column->vocabulary_size + 1;
        return UNROLL_OK;
    }
    f->width = column->width;
    TRY(allocate_scales(f));
    find_missing(data, f);
    return UNROLL_OK;
}

static unroll_status take_spelling(const struct column *column, const struct spelling *how, struct feature *f)
{
    strcpy(f->name, column->name);
    f->column = column;
    TRY(spelled_find(column, how, &f->spelled));
    f->ids = f->spelled.unknown + 1;
    return UNROLL_OK;
}

unroll_status features_find(const unroll_dataset *data, const struct column *const *targets, int count,
                            const struct column *spelled, struct features *features)
{
    unroll_status status;
    *features = (struct features){0};
    TRY(ALLOCATE(features->feature, (size_t)data->columns + SPELLINGS, "for %d columns", data->columns));
    status = UNROLL_OK;
    for (int i = 0; status == UNROLL_OK && i < data->columns; i++)
        if (is_read(data, i, targets, count) && &data->column[i] != spelled)
            status = take_column(data, &data->column[i], &features->feature[features->count++]);
    for (int i = 0; status == UNROLL_OK && spelled && i < SPELLINGS; i++)
        status = take_spelling(spelled, &spellings[i], &features->feature[features->count++]);
    count_inputs(features);
    if (status == UNROLL_OK && features->count == 0)
        status =
            fail(UNROLL_DATA, "the data have no input column, only the target; fix: add a column to predict it from");
    if (status != UNROLL_OK)
        features_end(features);
    return status;
}

void features_end(struct features *features)
{
    for (int i = 0; i < features->count; i++) {
        release(features->feature[i].shift);
        release(features->feature[i].scale);
        release(features->feature[i].masked);
        spelled_end(&features->feature[i].spelled);
    }
    release(features->feature);
    *features = (struct features){0};
}

/* ---- scales ---- */

struct moments {
    double count, sum, squares;
};

static void add_entry(const struct feature *f, size_t entry, struct moments *moments)
{
    for (int k = 0; k < f->width; k++) {
        const double x = (double)f->column->numbers[entry * (size_t)f->width + (size_t)k];
        if (isnan(x))
            continue;
        moments[k].count += 1;
        moments[k].sum += x;
        moments[k].squares += x * x;
    }
}

static double deviation(const struct moments *m)
{
    const double mean = m->count > 0 ? m->sum / m->count : 0, square = m->count > 0 ? m->squares / m->count : 0;
    const double variance = square - mean * mean;
    return variance > 1e-10 * square ? sqrt(variance) : 0;
}

/* Sets shift and scale. Numbers that hardly vary, like pixels at an image's edge, are not scaled up fully: otherwise
 * rare values would dominate. */
static void set_scales(struct feature *f, const struct moments *moments)
{
    static const double LEAST = 0.2; /* of the column's root mean square */
    double all = 0;
    for (int k = 0; k < f->width; k++) all += deviation(&moments[k]) * deviation(&moments[k]) / f->width;
    for (int k = 0; k < f->width; k++) {
        const double own = fmax(deviation(&moments[k]), LEAST * sqrt(all));
        f->shift[k] = moments[k].count > 0 ? (float)(moments[k].sum / moments[k].count) : 0;
        f->scale[k] = own > 0 ? (float)(1 / own) : 1;
    }
}

static unroll_status fit_feature(struct feature *f, const struct members *members)
{
    struct moments *moments;
    TRY(ALLOCATE(moments, (size_t)f->width, "for the scales of '%s'", f->name));
    for (size_t i = 0; i < members->count; i++) {
        const struct step_range steps = member_steps(members, i);
        if (f->column->of_sequence)
            add_entry(f, member_at(members, i), moments);
        else
            for (size_t step = steps.from; step < steps.to; step++) add_entry(f, step, moments);
    }
    set_scales(f, moments);
    release(moments);
    return UNROLL_OK;
}

unroll_status features_fit(struct features *features, const struct members *members)
{
    for (int i = 0; i < features->count; i++) {
        struct feature *f = &features->feature[i];
        if (f->spelled.how)
            TRY(spelled_fit(&f->spelled, f->column, members));
        else if (f->column->type == COLUMN_NUMBERS)
            TRY(fit_feature(f, members));
    }
    return UNROLL_OK;
}

/* ---- the schema ---- */

/* Describes the features with their scales for the schema. */
json_t *features_to_json(const struct features *features)
{
    json_t *list = json_array();
    for (int i = 0; i < features->count; i++) {
        const struct feature *f = &features->feature[i];
        json_t *one = json_pack("{s:s}", "column", f->name);
        if (f->spelled.how)
            spelled_to_json(&f->spelled, one);
        if (f->ids)
            json_object_set_new(one, "ids", json_integer(f->ids));
        else {
            json_t *shift = json_array(), *scale = json_array(), *masked = json_array();
            for (int k = 0; k < f->width; k++) {
                json_array_append_new(shift, json_real((double)f->shift[k]));
                json_array_append_new(scale, json_real((double)f->scale[k]));
                json_array_append_new(masked, json_integer(f->masked[k]));
            }
            json_object_set_new(one, "shift", shift);
            json_object_set_new(one, "scale", scale);
            json_object_set_new(one, "masked", masked);
        }
        json_array_append_new(list, one);
    }
    return list;
}

static const char where[] = "the model's schema: inputs";

/* Reads the scales and masks of a numeric feature. */
static unroll_status read_scales(const json_t *one, struct feature *f)
{
    json_t *shift, *scale, *masked;
    TRY(json_field_array(one, where, "shift", &shift));
    TRY(json_field_array(one, where, "scale", &scale));
    TRY(json_field_array(one, where, "masked", &masked));
    f->width = (int)json_array_size(shift);
    if (f->width < 1 || f->width != f->column->width || json_array_size(scale) != json_array_size(shift) ||
        json_array_size(masked) != json_array_size(shift))
        return fail(UNROLL_DATA,
                    "column '%s' has %d numbers and the model reads %d; fix: give the data it was trained on", f->name,
                    f->column->width, f->width);
    TRY(allocate_scales(f));
    for (int k = 0; k < f->width; k++) {
        f->shift[k] = (float)json_number_value(json_array_get(shift, (size_t)k));
        f->scale[k] = (float)json_number_value(json_array_get(scale, (size_t)k));
        f->masked[k] = json_integer_value(json_array_get(masked, (size_t)k)) != 0;
    }
    return UNROLL_OK;
}

/* Finds the column of a feature and checks its kind. */
static unroll_status read_feature(const json_t *one, const unroll_dataset *data, struct feature *f)
{
    const char *name;
    int64_t ids;
    TRY(json_field_string(one, where, "column", &name));
    snprintf(f->name, sizeof f->name, "%s", name);
    f->column = dataset_named(data, f->name);
    if (f->column == NULL)
        return fail(UNROLL_DATA, "the data have no column '%s', which the model reads; fix: add it", f->name);
    if (json_object_get(one, "ids") == NULL) {
        if (has_ids(f->column) || f->column->numbers == NULL)
            return fail(UNROLL_DATA, "column '%s' has no numbers, as the model reads; fix: give numbers", f->name);
        return read_scales(one, f);
    }
    TRY(json_field_integer(one, where, "ids", 1, INT32_MAX, &ids));
    f->ids = (int)ids;
    if (json_object_get(one, "spelling") && f->column->type == COLUMN_CATEGORY)
        return spelled_from_json(one, where, f->column, f->ids - 1, &f->spelled);
    if (!has_ids(f->column) || f->column->vocabulary_size + 1 != f->ids)
        return fail(UNROLL_DATA, "column '%s' is read differently by the model; fix: open the data for the model",
                    f->name);
    return UNROLL_OK;
}

unroll_status features_from_json(const json_t *json, const unroll_dataset *data, struct features *features)
{
    const size_t count = json_array_size(json);
    unroll_status status;
    *features = (struct features){0};
    if (count == 0)
        return fail(UNROLL_DATA, "the model does not contain its columns; fix: use a model trained by a task");
    TRY(ALLOCATE(features->feature, count, "for %zu columns", count));
    status = UNROLL_OK;
    for (size_t i = 0; status == UNROLL_OK && i < count; i++)
        status = read_feature(json_array_get(json, i), data, &features->feature[features->count++]);
    count_inputs(features);
    if (status != UNROLL_OK)
        features_end(features);
    return status;
}

/* ---- the network's input ---- */

static int embedding_width(int ids)
{
    const double width = ceil(1.6 * pow(ids, 0.56));
    return width > 50 ? 50 : (int)width;
}

/* Returns the embedding width of a column. Characters are few and words many; a text provides more training data for
 * them than for a category. */
static int width_of(const struct feature *f)
{
    enum { OF_CHARACTER = 32, OF_WORD = 64 };
    if (f->spelled.how)
        return f->spelled.how->width;
    if (f->column->type != COLUMN_TOKENS)
        return embedding_width(f->ids);
    return f->column->kind == CUT_CHARACTERS ? OF_CHARACTER : OF_WORD;
}

/* Lists one input for each id, and one for all numbers. */
static unroll_status list_inputs(const struct features *features, unroll_model_config *spec)
{
    static _Thread_local unroll_input input[UNROLL_INPUTS_MAX];
    static _Thread_local char name[UNROLL_INPUTS_MAX][32];
    const int wanted = features->tokens + (features->numbers > 0);
    int n = 0;
    if (wanted > UNROLL_INPUTS_MAX)
        return fail(UNROLL_UNSUPPORTED, "%d columns of categories are more than %d; fix: ignore some of them",
                    features->tokens, UNROLL_INPUTS_MAX - (features->numbers > 0));
    for (int i = 0; i < features->count; i++) {
        const struct feature *f = &features->feature[i];
        if (f->ids == 0)
            continue;
        snprintf(name[n], sizeof name[n], "c%d", n); /* columns may have any name */
        input[n] = (unroll_input){.size = sizeof *input, .name = name[n], .tokens = f->ids, .width = width_of(f)};
        n++;
    }
    if (features->numbers)
        input[n++] = (unroll_input){.size = sizeof *input, .width = features->numbers};
    spec->tokens = spec->input = spec->embed = 0;
    spec->inputs = input;
    spec->n_inputs = n;
    return UNROLL_OK;
}

unroll_status features_network(const struct features *features, unroll_model_config *spec)
{
    spec->inputs = NULL;
    spec->n_inputs = 0;
    if (features->tokens > 1 || (features->tokens && features->numbers))
        return list_inputs(features, spec);
    spec->tokens = features->tokens;
    spec->input = features->tokens ? 0 : features->numbers;
    for (int i = 0; features->tokens && i < features->count; i++) spec->input += features->feature[i].ids;
    if (spec->tokens == 0)
        spec->embed = 0;
    else if (spec->embed == UNROLL_AUTO)
        spec->embed = width_of(&features->feature[0]);
    return UNROLL_OK;
}

unroll_status features_check(const struct features *features, const unroll_model *model)
{
    const int tokens = model_token_columns(model), numbers = model_numbers(model);
    if (tokens == features->tokens && numbers == features->numbers)
        return UNROLL_OK;
    return fail(
        UNROLL_USAGE,
        "the model reads %d categories and %d numbers a step, and its data have %d and %d; fix: make the network with "
        "unroll_task_configure",
        tokens, numbers, features->tokens, features->numbers);
}

/* ---- batches ---- */

static void fill_ids(const struct features *features, const struct feature *f, size_t entry, bool repeats, int place,
                     int length, int row, int rows, struct task_batch *batch)
{
    for (int t = 0; t < length; t++) {
        const int32_t own = column_id(f->column, repeats ? entry : entry + (size_t)t);
        const int32_t id = own >= 0 && f->spelled.how ? f->spelled.map[own] : own;
        const size_t at = ((size_t)t * (size_t)rows + (size_t)row) * (size_t)features->tokens + (size_t)place;
        batch->tokens[at] = id < 0 ? f->ids - 1 : id;
    }
}

static void fill_numbers(const struct features *features, const struct feature *f, size_t entry, bool repeats,
                         int place, int length, int row, int rows, struct task_batch *batch)
{
    for (int t = 0; t < length; t++) {
        const float *from = f->column->numbers + (repeats ? entry : entry + (size_t)t) * (size_t)f->width;
        float *to = batch->inputs + ((size_t)t * (size_t)rows + (size_t)row) * (size_t)features->numbers + place;
        float *mask = to + f->width;
        for (int k = 0; k < f->width; k++) {
            const bool missing = isnan(from[k]);
            to[k] = missing ? 0 : (from[k] - f->shift[k]) * f->scale[k];
            if (f->masked[k])
                *mask++ = missing;
        }
    }
}

void features_fill(const struct features *features, const unroll_dataset *data, size_t sequence, size_t first,
                   int length, int row, int rows, struct task_batch *batch)
{
    int tokens = 0, numbers = 0;
    for (int i = 0; i < features->count; i++) {
        const struct feature *f = &features->feature[i];
        const bool repeats = f->column->of_sequence;
        const size_t entry = repeats ? sequence : data->begin[sequence] + first;
        if (f->ids)
            fill_ids(features, f, entry, repeats, tokens++, length, row, rows, batch);
        else
            fill_numbers(features, f, entry, repeats, numbers, length, row, rows, batch);
        numbers += f->width + f->masks;
    }
}

void features_forget(const struct features *features, uint64_t seed, int64_t epoch, size_t step, int length, int row,
                     int rows, struct task_batch *batch)
{
    enum { FORGET_STREAM = 0x666f7267 }; /* "forg" */
    const uint32_t key[2] = {(uint32_t)seed ^ FORGET_STREAM, (uint32_t)(seed >> 32)};
    int place = 0;
    for (int i = 0; i < features->count; i++) {
        const struct feature *f = &features->feature[i];
        for (int t = 0; t < length && f->spelled.how; t++) {
            const uint64_t at = step + (uint64_t)t;
            const uint32_t counter[4] = {(uint32_t)at, (uint32_t)(at >> 32), (uint32_t)epoch, (uint32_t)place};
            const size_t entry = ((size_t)t * (size_t)rows + (size_t)row) * (size_t)features->tokens + (size_t)place;
            uint32_t out[4];
            philox(key, counter, out);
            batch->tokens[entry] = spelled_forget(&f->spelled, batch->tokens[entry], philox_unit(out[0]));
        }
        place += f->ids > 0;
    }
}

void features_fill_missing(const struct features *features, int row, int rows, struct task_batch *batch)
{
    int tokens = 0, numbers = 0;
    (void)rows;
    for (int i = 0; i < features->count; i++) {
        const struct feature *f = &features->feature[i];
        if (f->ids)
            batch->tokens[row * features->tokens + tokens++] = f->ids - 1;
        for (int k = 0; k < f->width + f->masks; k++)
            batch->inputs[row * features->numbers + numbers++] = k >= f->width;
    }
}

/* Windows: a series of n steps is divided into n / window items. Each is preceded by `context` steps that set the
 * states and are not counted; these may belong to another part. */
#include "tasks/examples/sequence_part.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/philox.h"
#include "data/builder/table_cell.h"
#include "model/model.h"
#include "tasks/answer_text.h"
#include "tasks/schema.h"

/* ---- the target column ---- */

bool is_usual_name(const char *name)
{
    static const char *const names[] = {"label", "labels", "class", "target", "tag", "tags", "category", "y"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return false;
}

const struct column *target_of(const unroll_dataset *data, is_target *fits)
{
    const struct column *found = NULL;
    for (int i = 0; i < data->columns; i++) {
        const struct column *column = &data->column[i];
        if (i == data->group || i == data->time || !fits(data, column))
            continue;
        if (found == NULL || !is_usual_name(found->name) || is_usual_name(column->name))
            found = column;
    }
    return found;
}

struct target_options {
    char target[COLUMN_NAME];
    double window, context;
};

#define TARGET_KEY                                                                                                     \
    {.name = "target",                                                                                                 \
     .text = COLUMN_NAME,                                                                                              \
     .offset = offsetof(struct target_options, target),                                                                \
     .about = "target column"}

const struct key window_keys[] = {
    TARGET_KEY,
    {.name = "window",
     .min = 1,
     .max = 1 << 20,
     .offset = offsetof(struct target_options, window),
     .about = "steps of a series in a row of a batch; default 128"},
    {.name = "context",
     .min = 1,
     .max = 1 << 20,
     .offset = offsetof(struct target_options, context),
     .about = "steps before a window that set the states, uncounted; default 128, tag 32"},
    {0}};

unroll_status target_find(const unroll_dataset *data, const char *task, const struct key *keys, const char *what,
                          const char *options, is_target *fits, const struct column **target)
{
    struct target_options chosen = {0};
    char known[256], owner[64];
    const char *name = chosen.target;
    snprintf(owner, sizeof owner, "the task %s", task);
    TRY(key_values_read(options, owner, keys, &chosen));
    dataset_names(data, known, sizeof known);
    *target = *name ? dataset_named(data, name) : target_of(data, fits);
    if (*target == NULL)
        return fail(UNROLL_DATA,
                    "the task %s needs %s, and no column of the data has it: %s; fix: add one, or choose "
                    "another task",
                    task, what, known);
    if (!fits(data, *target))
        return fail(UNROLL_DATA,
                    "the task %s needs %s, which column '%s' is not; fix: use another `target`, another task, "
                    "or another type of the column",
                    task, what, (*target)->name);
    return UNROLL_OK;
}

bool is_constant(const unroll_dataset *data, const struct column *column)
{
    if (data->sequences < 2)
        return false;
    for (size_t s = 0; s < data->sequences; s++)
        for (size_t step = data->begin[s] + 1; step < data->begin[s + 1]; step++)
            if (column_id(column, step) != column_id(column, step - 1))
                return false;
    return true;
}

unroll_status sequence_schema(const struct members *members, const struct column *target, const struct column *spelled,
                              json_t **schema)
{
    struct features features;
    json_t *labels = json_array();
    for (int i = 0; i < target->vocabulary_size; i++) json_array_append_new(labels, json_string(target->vocabulary[i]));
    unroll_status status = features_find(members->data, &target, 1, spelled, &features);
    if (status == UNROLL_OK)
        status = features_fit(&features, members);
    if (status == UNROLL_OK) {
        *schema = json_pack("{s:[s], s:O, s:o}", "targets", target->name, "labels", labels, "inputs",
                            features_to_json(&features));
        status = *schema ? UNROLL_OK : fail(UNROLL_RESOURCE, "no memory for a schema");
    }
    if (status == UNROLL_OK && spelled)
        json_object_set_new(*schema, "spelled", json_string(spelled->name));
    json_decref(labels);
    features_end(&features);
    return status;
}

unroll_status sequence_network(const unroll_dataset *data, const struct column *target, const struct column *spelled,
                               const unroll_model_config *standard, unroll_model_config *spec)
{
    struct features features;
    TRY(features_find(data, &target, 1, spelled, &features));
    spec_settle(spec, standard);
    unroll_status status = features_network(&features, spec);
    features_end(&features);
    return status;
}

const char *sequence_item(const unroll_dataset *data)
{
    const struct column *text = dataset_column(data, COLUMN_TOKENS, NULL);
    return text == NULL ? "steps" : text->kind == CUT_CHARACTERS ? "char" : "words";
}

bool sequence_is_heard(const unroll_dataset *data, const char *kind)
{
    char features[KEY_VALUE_SIZE];
    return strcmp(data->reader, "audio") == 0 && key_value_find(data->options, "features", features) &&
           strncmp(features, kind, strlen(kind)) == 0;
}

/* Small data sets get small batches and many epochs, because training needs updates, and no validation part. */
void sequence_defaults(const unroll_dataset *data, int window, unroll_task_defaults *defaults)
{
    enum { UPDATES = 1500, FEW = 400 };
    const double n = window ? ceil((double)data->steps / window) : (double)data->sequences;
    *defaults = unroll_task_defaults_default();
    defaults->bptt = 0;
    if (n < FEW)
        defaults->learning_rate = 4e-3;
    defaults->batch = n < 128 ? 8 : n < 512 ? 16 : 32;
    defaults->epochs = UPDATES * defaults->batch / n;
    defaults->epochs = defaults->epochs < 10 ? 10 : defaults->epochs > 400 ? 400 : (int)defaults->epochs;
    defaults->validation = n < FEW && !window ? 0 : 0.1;
    defaults->patience = n < FEW ? 0 : 5;
}

/* ---- windows ---- */

unroll_status windows_read(const char *options, const char *task, struct windows standard, struct windows *windows)
{
    struct target_options chosen = {.window = standard.window, .context = standard.context};
    char owner[64];
    snprintf(owner, sizeof owner, "the task %s", task);
    TRY(key_values_read(options, owner, window_keys, &chosen));
    *windows = (struct windows){(int)chosen.window, (int)chosen.context};
    if (standard.window == 0 && (windows->window || windows->context))
        return fail(UNROLL_USAGE,
                    "`window` and `context` are for series, but these rows are examples; fix: leave them out");
    return UNROLL_OK;
}

json_t *windows_to_json(const struct windows *windows)
{
    return windows->window ? json_pack("[ii]", windows->window, windows->context) : json_null();
}

struct windows windows_from_json(const json_t *schema, struct windows standard)
{
    const json_t *both = json_object_get(schema, "windows");
    const json_int_t window = json_integer_value(json_array_get(both, 0)),
                     context = json_integer_value(json_array_get(both, 1));
    const bool usable = standard.window && window > 0 && window <= 1 << 20 && context > 0 && context <= 1 << 20;
    return usable ? (struct windows){(int)window, (int)context} : standard;
}

/* ---- a part ---- */

static const char where[] = "the model's schema: task";

static unroll_status read_schema(const unroll_model *model, struct sequence_part *p)
{
    json_t *labels, *targets;
    TRY(schema_task(model, &p->schema));
    if (p->schema == NULL)
        return fail(UNROLL_DATA, "the model does not describe its data; fix: use a model trained by a task");
    TRY(json_field_array(p->schema, where, "labels", &labels));
    TRY(json_field_array(p->schema, where, "targets", &targets));
    p->classes = (int)json_array_size(labels);
    p->blanks = json_is_true(json_object_get(p->schema, "blank"));
    snprintf(p->name, sizeof p->name, "%s", json_string_value(json_array_get(targets, 0)));
    TRY(ALLOCATE(p->label, (size_t)p->classes, "for %d labels", p->classes));
    for (int i = 0; i < p->classes; i++)
        if ((p->label[i] = json_string_value(json_array_get(labels, (size_t)i))) == NULL)
            return fail(UNROLL_DATA, "%s: labels: %d is not a string; fix: use another copy of the model", where, i);
    return UNROLL_OK;
}

/* Checks that a data set's target is of the same kind as the model's. */
static unroll_status check_target(const struct sequence_part *p, unsigned kinds, const unroll_dataset *data)
{
    const struct column *target = dataset_named(data, p->name);
    if (target == NULL || kinds & column_kind(target))
        return UNROLL_OK;
    return fail(
        UNROLL_DATA,
        "column '%s' of '%s' is not the model's target; fix: open the data with the model, and give it the same kind "
        "of column",
        p->name, data->name);
}

static unroll_status find_target(struct sequence_part *p, unsigned kinds, enum part_of which)
{
    p->target = dataset_named(p->members.data, p->name);
    TRY(check_target(p, kinds, p->members.data));
    if (p->target == NULL && !part_is_all(which))
        return fail(UNROLL_DATA, "the data have no column '%s', the target; fix: add it", p->name);
    if (p->target && p->classes && p->target->vocabulary_size != p->classes)
        return fail(UNROLL_DATA, "column '%s' has %d labels and the model %d; fix: open the data for the model",
                    p->name, p->target->vocabulary_size, p->classes);
    return UNROLL_OK;
}

/* Returns the counted steps of a member. */
static size_t count_of(const struct sequence_part *p, size_t member)
{
    const struct step_range steps = member_steps(&p->members, member);
    return steps.to - steps.from;
}

static size_t pieces_of(const struct sequence_part *p, size_t member)
{
    return p->windows.window ? (count_of(p, member) + (size_t)p->windows.window - 1) / (size_t)p->windows.window : 1;
}

/* Returns an item. An empty sequence is read as one step with all values missing. */
static struct sequence_row row_of(const struct sequence_part *p, size_t item)
{
    const size_t member = p->windows.window ? span_of(p->piece, p->members.count, item) : item,
                 s = member_at(&p->members, member);
    const size_t begin = p->members.data->begin[s];
    const struct step_range steps = member_steps(&p->members, member);
    size_t from = steps.from, to = steps.to, context = 0;
    if (p->windows.window) {
        from += (item - p->piece[member]) * (size_t)p->windows.window;
        to = to < from + (size_t)p->windows.window ? to : from + (size_t)p->windows.window;
        context = from - begin < (size_t)p->windows.context ? from - begin : (size_t)p->windows.context;
    }
    const size_t length = to - from + context;
    return (struct sequence_row){.sequence = s,
                                 .first = from - context - begin,
                                 .length = length > INT32_MAX ? INT32_MAX : (int)length,
                                 .context = (int)context};
}

/* Returns the values by which the items [items] of a part are divided: their labels, or a column; NULL: by length. */
static unroll_status find_classes(const struct task_request *request, const struct sequence_part *p, size_t items,
                                  int32_t **classes)
{
    const char *how = request->divide_by;
    const struct column *column = strcmp(how, "stratified") ? dataset_named(p->members.data, how) : p->target;
    if (strcmp(how, "length") == 0)
        return UNROLL_OK;
    if (column == NULL)
        return fail(UNROLL_DATA,
                    "`divide_by`: '%s' has no column '%s'; fix: use even, length, stratified or a column of it",
                    p->members.data->name, how);
    if (column->type != COLUMN_CATEGORY)
        return fail(
            UNROLL_DATA,
            "`divide_by` %s: column '%s' of '%s' has no categories; fix: use even, length, or a column that has", how,
            column->name, p->members.data->name);
    TRY(ALLOCATE(*classes, items, "for the classes of %zu sequences", items));
    for (size_t i = 0; i < items; i++) (*classes)[i] = category_of(p->members.data, column, row_of(p, i).sequence);
    return UNROLL_OK;
}

static unroll_status divide_items(const struct task_request *request, const int32_t *lengths, size_t items,
                                  struct sequence_part *p)
{
    int32_t *classes = NULL;
    if (!is_divided(request->divide_by) || !p->batches.shuffled)
        return UNROLL_OK;
    TRY(find_classes(request, p, items, &classes));
    unroll_status status = batches_divide(request, lengths, classes, &p->batches, &p->part);
    release(classes);
    return status;
}

/* Lists the items and their lengths, and plans the batches. */
static unroll_status open_items(const struct task_request *request, enum part_of which, struct sequence_part *p)
{
    const size_t members = p->members.count;
    size_t items = members;
    int32_t *lengths;
    p->part.items = 0;
    if (p->windows.window) {
        TRY(ALLOCATE(p->piece, members + 1, "for the windows of %zu sequences", members));
        for (size_t i = 0; i < members; i++) p->piece[i + 1] = p->piece[i] + pieces_of(p, i);
        items = p->piece[members];
    }
    TRY(ALLOCATE(lengths, items, "for the lengths of %zu sequences", items));
    for (size_t i = 0; i < items; i++) {
        lengths[i] = row_of(p, i).length;
        lengths[i] = (lengths[i] < 1 ? 1 : lengths[i]) + (p->leaders ? p->lead : 0);
        p->part.items += (size_t)lengths[i];
    }
    struct task_request whole = *request;
    if (p->windows.window)
        whole.steps = 0; /* windows are cut already */
    unroll_status status = batches_plan(&whole, which, lengths, 0, items, &p->batches, &p->part);
    if (status == UNROLL_OK)
        status = divide_items(request, lengths, items, p);
    release(lengths);
    return status;
}

struct batch_place sequence_place(const struct sequence_part *p, int64_t epoch, int64_t number)
{
    return batches_place(&p->batches, &p->part, epoch, number);
}

static int shape_of(const struct part *part, int64_t epoch, int64_t number)
{
    return sequence_place((const struct sequence_part *)part, epoch, number).shape;
}

/* Checks that the network has an output for each label, or each number of the target. */
static unroll_status check_outputs(const struct sequence_part *p, const unroll_model *model)
{
    const json_t *means = json_object_get(p->schema, "mean");
    const bool wakes = json_object_get(p->schema, "wake") != NULL; /* the word or none */
    const int wanted = wakes        ? 2
                       : p->classes ? p->classes + p->blanks
                                    : (int)json_array_size(means),
              has = unroll_model_outputs(model);
    if (has == wanted * model->loss.results)
        return UNROLL_OK;
    return fail(
        UNROLL_USAGE,
        "the model has %d outputs, and its target '%s' needs %d; fix: make the network with unroll_task_configure", has,
        p->name, wanted * model->loss.results);
}

/* True if the time of any step is not midnight. */
static bool have_clock(const unroll_dataset *data)
{
    const double *times = data->time >= 0 ? data->column[data->time].times : NULL;
    for (size_t i = 0; times && i < data->steps; i++)
        if (fmod(times[i], 86400) != 0) /* also if NaN, which does not matter */
            return true;
    return false;
}

/* Lists the sequences whose ends precede others. */
static unroll_status find_leaders(struct sequence_part *p)
{
    if (p->lead == 0 || p->target == NULL)
        return UNROLL_OK;
    TRY(ALLOCATE(p->leader, p->members.count, "for %zu sequences", p->members.count));
    for (size_t i = 0; i < p->members.count; i++) {
        const int32_t label = category_of(p->members.data, p->target, member_at(&p->members, i));
        if (label >= 0 && label != p->not_lead)
            p->leader[p->leaders++] = (uint32_t)member_at(&p->members, i);
    }
    return UNROLL_OK;
}

unroll_status sequence_part_open(const struct task_request *request, enum part_of which, unsigned kinds,
                                 struct windows windows, struct sequence_part *p)
{
    const bool labels = kinds & (SEQUENCE_CATEGORY | SEQUENCE_SET);
    TRY(check_outputs(p, request->model));
    TRY(check_target(p, kinds, request->data));
    p->windows = windows;
    if (which == PART_TRAINING)
        TRY(augment_read(request->augment, model_is_pooled(request->model), request->seed, &p->augment));
    p->part.shape_of = shape_of;
    if (windows.window)
        TRY(members_of_series(request, which, &p->members));
    else
        TRY(members_find(request, which, labels ? dataset_named(request->data, p->name) : NULL, &p->members));
    if (p->members.count == 0)
        return UNROLL_OK;
    if (which == PART_VALIDATION || which == PART_TEST)
        members_describe(&p->members, p->part.held);
    TRY(find_target(p, kinds, which));
    TRY(features_from_json(json_object_get(p->schema, "inputs"), p->members.data, &p->features));
    TRY(features_check(&p->features, request->model));
    if (which == PART_TRAINING && sequence_is_heard(request->data, "mfcc"))
        TRY(augment_cepstra(&p->features, &p->augment));
    p->clock = part_is_all(which) && have_clock(p->members.data);
    p->part.examples = p->target ? p->members.count : 0;
    TRY(find_leaders(p));
    return open_items(request, which, p);
}

unroll_status sequence_open(const struct task_request *request, enum part_of which, size_t bytes,
                            unroll_status (*open)(const struct task_request *, enum part_of, struct part *),
                            void (*end)(struct part *), struct part **part)
{
    struct sequence_part *p = allocate_zeroed(1, bytes);
    if (p == NULL)
        return fail(UNROLL_RESOURCE, "no memory for a part of the data");
    p->part.end = end;
    unroll_status status = read_schema(request->model, p);
    if (status == UNROLL_OK)
        status = open(request, which, &p->part);
    if (status != UNROLL_OK || p->members.count == 0)
        part_free(&p->part);
    else
        *part = &p->part;
    return status;
}

void sequence_part_end(struct sequence_part *p)
{
    features_end(&p->features);
    batches_end(&p->batches);
    members_end(&p->members);
    release(p->piece);
    release(p->leader);
    release(p->label);
    json_decref(p->schema);
}

static json_t *time_of(const struct sequence_part *p, const struct sequence_row *at, size_t step)
{
    const unroll_dataset *data = p->members.data;
    const struct column *time = &data->column[data->time];
    char text[TIME_TEXT];
    const double seconds = time->times[data->begin[at->sequence] + at->first + step];
    if (isnan(seconds))
        return json_null();
    time_text(seconds, &time->style, text);
    if (p->clock && strlen(text) == strlen("2016-07-01") && text[4] == '-')
        strcat(text, " 00:00:00");
    return json_string(text);
}

static bool has_times(const struct sequence_part *p)
{
    const unroll_dataset *data = p->members.data;
    return data->rows_are_steps && data->time >= 0;
}

/* Takes the value. */
static void put_times(json_t *answer, const unroll_dataset *data, json_t *value)
{
    json_object_set_new(answer, "time_name", json_string(data->column[data->time].name));
    json_object_set_new(answer, "time", value);
}

void sequence_put_times(const struct sequence_part *p, const struct sequence_row *at, json_t *answer)
{
    json_t *times = has_times(p) ? json_array() : NULL;
    for (int t = at->context; times && t < at->length; t++) json_array_append_new(times, time_of(p, at, (size_t)t));
    if (times)
        put_times(answer, p->members.data, times);
}

unroll_status sequence_give(const struct sequence_part *p, const struct sequence_row *at, int64_t step, json_t *answer,
                            answer_taker *take, void *arg)
{
    const unroll_dataset *data = p->members.data;
    if (answer && data->group >= 0) {
        json_object_set_new(answer, "group_name", json_string(data->column[data->group].name));
        json_object_set_new(answer, "group", json_string(dataset_group(data, at->sequence)));
    }
    if (answer && step != NO_STEP && has_times(p))
        put_times(answer, data, time_of(p, at, (size_t)step));
    if (step == NO_STEP && p->windows.window)
        answer_keep_range(answer, data, at->sequence, at->first + (size_t)at->context,
                          (size_t)(at->length - at->context));
    else
        answer_keep(answer, data, at->sequence,
                    step == NO_STEP ? (size_t)ALL_STEPS : data->begin[at->sequence] + at->first + (size_t)step);
    return answer_give(answer, take, arg);
}

void sequence_line_keys(const json_t *answer, size_t i, FILE *file)
{
    const json_t *group = json_object_get(answer, "group"), *time = json_object_get(answer, "time");
    if (json_is_array(time))
        time = json_array_get(time, i);
    if (group)
        fprintf(file, "%s\t", json_string_value(group));
    if (time)
        fprintf(file, "%s\t", json_is_string(time) ? json_string_value(time) : "");
}

/* Draws what precedes a row: in training another sequence in each epoch. */
static void draw_lead(const struct sequence_part *p, const struct batch_place *place, int64_t item,
                      struct sequence_row *at)
{
    enum { LEAD_STREAM = 0x6c656164 }; /* "lead" */
    const int64_t epoch = p->batches.shuffled ? place->epoch : 0;
    struct rng rng = rng_at(p->batches.seed ^ (uint64_t)item << 20, LEAD_STREAM + ((uint64_t)epoch << 32), 0);
    at->leader = p->leader[rng_below(&rng, p->leaders)];
    const size_t steps = steps_of(p->members.data, at->leader), most = (size_t)p->lead;
    at->lead = (int)rng_below(&rng, (steps < most ? steps : most) + 1);
}

bool sequence_row(const struct sequence_part *p, const struct batch_place *place, int row, struct sequence_row *found)
{
    const int64_t item = batches_item(&p->batches, place, row);
    if (item < 0)
        return false;
    *found = row_of(p, (size_t)item);
    if (p->leaders)
        draw_lead(p, place, item, found);
    found->length = found->length > place->steps - found->lead ? place->steps - found->lead : found->length;
    return true;
}

/* Fills a row of at least one step. Returns its steps in the batch, which augmentation may change. */
static int fill_row(const struct sequence_part *p, int64_t epoch, const struct sequence_row *at, int row,
                    const struct shape *shape, const struct task_batch *batch)
{
    const unroll_dataset *data = p->members.data;
    const size_t step = data->begin[at->sequence] + at->first, before = (size_t)at->lead * (size_t)shape->rows;
    struct task_batch own = *batch; /* from the row's own steps on */
    int length = at->length;
    if (at->lead)
        features_fill(&p->features, data, at->leader, steps_of(data, at->leader) - (size_t)at->lead, at->lead, row,
                      shape->rows, &own);
    own.inputs = own.inputs ? own.inputs + before * (size_t)p->features.numbers : NULL;
    own.tokens = own.tokens ? own.tokens + before * (size_t)p->features.tokens : NULL;
    features_fill(&p->features, data, at->sequence, at->first, length, row, shape->rows, &own);
    if (p->batches.shuffled)
        length = augment_row(&p->augment, &p->features, epoch, step, length, row,
                             &(struct shape){shape->steps - at->lead, shape->rows}, &own);
    if (p->batches.shuffled)
        features_forget(&p->features, p->batches.seed, epoch, step, length, row, shape->rows, &own);
    return at->lead + length;
}

/* See sequence_part.h. Rows without an item are left empty. */
void sequence_fill(const struct sequence_part *p, int64_t epoch, int64_t number, struct task_batch *batch)
{
    const struct batch_place place = sequence_place(p, epoch, number);
    const struct shape shape = {place.steps, place.rows};
    batch->begins = true;
    batch->items = 0;
    for (int row = 0; row < place.rows; row++) {
        struct sequence_row at;
        const bool is_there = sequence_row(p, &place, row, &at);
        int length = is_there;
        if (!is_there || at.length == 0)
            features_fill_missing(&p->features, row, place.rows, batch);
        else
            batch->items += length = fill_row(p, epoch, &at, row, &shape, batch);
        if (batch->lengths)
            batch->lengths[row] = length;
    }
}

/* Windows of series as batches. Training draws them at random from all origins: a quarter of them in an epoch, because
 * the steps of a window train at many origins, but at least SMALL_EPOCH batches, so that short series have epochs of
 * reasonable length. Evaluation uses every origin whose horizon is in the part; the context may reach into the part
 * before. */
#include "tasks/examples/windows.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "data/shuffle.h"
#include "tasks/schema.h"

enum { ORDER_STREAM = 0x77696e64 }; /* "wind" */
enum { ONE_OF = 4, SMALL_EPOCH = 32, EVALUATED_ROWS = 256 };

const char *windows_series(const struct windows *windows, size_t sequence)
{
    return dataset_group(windows->recipe.data, sequence);
}

/* ---- origins ---- */

size_t windows_count(const struct windows *windows) { return windows->origins * (size_t)windows->recipe.targets; }

static struct window window_at(const struct windows *w, size_t sequence, int target, size_t origin)
{
    const size_t steps = origin / (size_t)w->recipe.patch, most = (size_t)w->recipe.patches;
    return (struct window){
        .sequence = sequence, .target = target, .origin = origin, .steps = (int)(steps < most ? steps : most)};
}

struct window windows_item(const struct windows *w, size_t item)
{
    size_t targets = (size_t)w->recipe.targets, origin = item / targets;
    size_t sequence = span_of(w->before, w->recipe.data->sequences, origin);
    return window_at(w, sequence, (int)(item % targets), w->first[sequence] + origin - w->before[sequence]);
}

bool windows_at(const struct windows *w, int64_t epoch, int64_t batch, int row, struct window *window)
{
    uint64_t item = (uint64_t)(batch * w->part.shape->rows + row), count = windows_count(w);
    if (w->which == PART_TRAINING) {
        uint64_t rounds = (uint64_t)(w->part.batches * w->part.shape->rows - 1) / count + 1;
        item = shuffle_at(w->seed, ORDER_STREAM, (uint64_t)epoch * rounds + item / count, count, item % count);
    }
    if (item >= count + w->partials)
        return false;
    *window = item < count ? windows_item(w, (size_t)item) : w->partial[item - count];
    return true;
}

static void fill_windows(const struct part *part, int64_t epoch, int64_t number, struct task_batch *batch)
{
    const struct windows *w = (const struct windows *)part;
    size_t rows = (size_t)part->shape->rows, wide = (size_t)recipe_inputs(&w->recipe), most = (size_t)w->recipe.horizon;
    batch->begins = true;
    batch->items = 0;
    for (size_t row = 0; row < rows; row++) {
        struct window window = {0};
        batch->lengths[row] = 0;
        if (!windows_at(w, epoch, number, (int)row, &window))
            continue;
        batch->lengths[row] = window.steps;
        batch->items += window.steps;
        recipe_fill(&w->recipe, &window, window.partial ? 0 : w->limit[window.sequence], w->which != PART_TRAINING,
                    batch->inputs + row * wide, batch->values + row * most, rows);
    }
}

/* ---- opening ---- */

/* Finds the origins of a sequence: with a full context if it is long enough, otherwise with at least a patch. */
static size_t find_origins(struct windows *w, size_t sequence, struct step_range range)
{
    size_t patch = (size_t)w->recipe.patch, horizon = (size_t)w->recipe.horizon,
           whole = patch * (size_t)w->recipe.patches;
    size_t least = range.to >= whole + horizon && !w->short_ones ? whole : patch;
    size_t first = range.from > least ? range.from : least;
    if (w->which == PART_PREDICTED)
        first = range.to;
    w->first[sequence] = first;
    w->limit[sequence] = range.to;
    w->from[sequence] = range.from;
    if (w->which == PART_PREDICTED)
        return range.to >= patch;
    return range.to >= first + horizon ? range.to - horizon - first + 1 : 0;
}

enum { PLACE = 320, WHY = 640 };

/* Formats "'x.csv': series 'north'", or "'x.csv'" if there is only one. Returns place. */
static const char *series_place(const struct windows *w, size_t sequence, char place[PLACE])
{
    const char *series = windows_series(w, sequence);
    size_t length = (size_t)snprintf(place, PLACE, "'%s'", w->recipe.data->name);
    if (*series && length < PLACE)
        snprintf(place + length, PLACE - length, ": series '%s'", series);
    return place;
}

/* True if its future can be predicted; otherwise *why explains what is missing. */
static bool has_future(const struct windows *w, size_t sequence, char why[WHY])
{
    const unroll_dataset *data = w->recipe.data;
    const size_t length = data->begin[sequence + 1] - data->begin[sequence], past = w->limit[sequence];
    char place[PLACE];
    if (past < (size_t)w->recipe.patch)
        snprintf(why, WHY, "%s has %zu steps, fewer than the %d that a forecast needs; fix: give more of its past",
                 series_place(w, sequence, place), past, w->recipe.patch);
    else if (w->recipe.known && length - past < (size_t)w->recipe.horizon)
        snprintf(
            why, WHY,
            "%s has %zu rows after its last target, but the column '%s' is needed for %d; fix: add rows with empty "
            "targets",
            series_place(w, sequence, place), length - past, w->recipe.channel[w->recipe.targets + w->recipe.past].name,
            w->recipe.horizon);
    else
        return true;
    return false;
}

/* Names the first few series without a prediction; the others are still predicted. */
static void note_left_out(size_t count, const char *why)
{
    enum { NAMED = 3 };
    if (count <= NAMED)
        add_note("no prediction: %s", why);
    else if (count == NAMED + 1)
        add_note("there are more series without a prediction");
}

static unroll_status refuse_empty(const struct windows *w, const struct task_request *request)
{
    static const char *const part[] = {"training part", "validation", "test", "data", "data"};
    size_t longest = 0;
    for (size_t s = 0; s < w->recipe.data->sequences; s++) {
        struct step_range range = recipe_range(&w->recipe, request, w->which, s);
        longest = range.to - range.from > longest ? range.to - range.from : longest;
    }
    return fail(
        UNROLL_DATA,
        "'%s': the %s: no series has a horizon of %d steps after a period of %d (the longest has %zu steps); fix: use a "
        "longer part, or a smaller horizon or season",
        w->recipe.data->name, part[w->which], w->recipe.horizon, w->recipe.patch, longest);
}

/* Notes the number of series too short for training, if others are long enough. */
static void note_untrained(const struct windows *w)
{
    size_t count = 0;
    for (size_t s = 0; s < w->recipe.data->sequences; s++) count += w->before[s] == w->before[s + 1];
    if (w->which == PART_TRAINING && count && w->origins)
        add_note("%zu of %zu series are too short to be trained on: fewer than %d steps in the training part", count,
                 w->recipe.data->sequences, w->recipe.patch + w->recipe.horizon);
}

/* Finds the origins of all sequences. */
static unroll_status take_origins(const struct task_request *request, struct windows *w)
{
    size_t sequences = w->recipe.data->sequences, left_out = 0;
    char why[WHY];
    TRY(ALLOCATE(w->before, sequences + 1, "for the origins of %zu series", sequences));
    TRY(ALLOCATE(w->first, sequences + 1, "for the origins of %zu series", sequences));
    TRY(ALLOCATE(w->limit, sequences + 1, "for the origins of %zu series", sequences));
    TRY(ALLOCATE(w->from, sequences + 1, "for the origins of %zu series", sequences));
    for (size_t s = 0; s < sequences; s++) {
        w->before[s] = w->origins;
        const size_t origins = find_origins(w, s, recipe_range(&w->recipe, request, w->which, s));
        if (w->which != PART_PREDICTED || has_future(w, s, why))
            w->origins += origins;
        else
            note_left_out(++left_out, why);
    }
    w->before[sequences] = w->origins;
    if (w->origins == 0 && left_out)
        return fail(UNROLL_DATA, "%s", why);
    note_untrained(w);
    return w->origins ? UNROLL_OK : refuse_empty(w, request);
}

/* Adds the number of partial windows of a sequence to *seen; writes one of `every` after they are allocated. */
static void take_partial(struct windows *w, size_t sequence, size_t every, size_t *seen)
{
    const size_t patch = (size_t)w->recipe.patch, horizon = (size_t)w->recipe.horizon, from = w->from[sequence],
                 first = w->first[sequence], whole = w->before[sequence + 1] - w->before[sequence];
    const size_t least = from + 1 > patch + horizon ? from + 1 - horizon : patch;
    for (size_t origin = least; origin < w->limit[sequence]; origin++)
        for (int target = 0; target < w->recipe.targets; target++) {
            if (origin >= first && origin < first + whole)
                continue;
            if (w->partial && *seen % every == 0) {
                w->partial[w->partials] = window_at(w, sequence, target, origin);
                w->partial[w->partials++].partial = true;
            }
            ++*seen;
        }
}

unroll_status windows_add_partial(struct windows *w)
{
    enum { ENOUGH = 1024 }; /* windows in all */
    const size_t count = windows_count(w), rows = (size_t)w->part.shape->rows;
    size_t found = 0, seen = 0;
    for (size_t s = 0; s < w->recipe.data->sequences; s++) take_partial(w, s, 1, &found);
    if (count >= ENOUGH || found == 0)
        return UNROLL_OK;
    const size_t every = (found - 1) / (ENOUGH - count) + 1;
    TRY(ALLOCATE(w->partial, found / every + 1, "for %zu windows", found / every + 1));
    for (size_t s = 0; s < w->recipe.data->sequences; s++) take_partial(w, s, every, &seen);
    w->part.batches = (int64_t)((count + w->partials + rows - 1) / rows);
    return UNROLL_OK;
}

/* Sets rows and number of batches. */
static void plan_batches(const struct task_request *request, struct windows *w)
{
    size_t count = windows_count(w), ranks = (size_t)(request->ranks > 1 ? request->ranks : 1);
    size_t rows = (size_t)request->rows;
    bool training = w->which == PART_TRAINING;
    if (training)
        w->part.batches = (int64_t)(count / ONE_OF / rows);
    else
        rows = (EVALUATED_ROWS + ranks - 1) / ranks * ranks;
    if (training && w->part.batches < SMALL_EPOCH)
        w->part.batches = SMALL_EPOCH;
    if (!training)
        w->part.batches = (int64_t)((count + rows - 1) / rows);
    bool cut = training && request->steps > 0 && request->steps < w->recipe.patches;
    w->recipe.patches = cut ? request->steps : w->recipe.patches;
    w->part.shape[0] = (struct shape){w->recipe.patches, (int)rows};
    w->part.shapes = 1;
    w->part.items = w->part.examples = count;
    w->part.lengths = true;
    w->part.fill = fill_windows;
    w->part.end = windows_end;
}

void windows_end(struct part *part)
{
    struct windows *w = (struct windows *)part;
    release(w->before);
    release(w->first);
    release(w->limit);
    release(w->from);
    release(w->partial);
    recipe_end(&w->recipe);
}

/* Checks that the model has the inputs and outputs of its schema. */
static unroll_status check_model(const unroll_model *model, const struct recipe *recipe)
{
    if (model->tokens || model->input != recipe_inputs(recipe))
        return fail(UNROLL_USAGE,
                    "the model reads %d values a step, but its schema describes %d; fix: use a model of this task "
                    "(unroll_task_configure)",
                    model->input, recipe_inputs(recipe));
    if (unroll_model_outputs(model) != recipe->horizon * model->loss.results)
        return fail(UNROLL_USAGE,
                    "the model gives %d values a step instead of %d for %d steps ahead; fix: use a model of this task "
                    "(unroll_task_configure)",
                    unroll_model_outputs(model), recipe->horizon * model->loss.results, recipe->horizon);
    return UNROLL_OK;
}

static unroll_status fill_in(const struct task_request *request, enum part_of which, struct windows *w)
{
    const unroll_dataset *own = part_data(request, which);
    json_t *json;
    TRY(schema_task(request->model, &json));
    w->which = which;
    w->seed = request->seed;
    w->loss = request->model->loss;
    unroll_status status = recipe_from_json(json, own ? own : request->data, &w->recipe);
    json_decref(json);
    if (status == UNROLL_OK)
        status = check_model(request->model, &w->recipe);
    if (status == UNROLL_OK)
        status = take_origins(request, w);
    if (status == UNROLL_OK)
        plan_batches(request, w);
    return status;
}

unroll_status windows_open(const struct task_request *request, enum part_of which, bool short_ones, size_t bytes,
                           struct windows **windows)
{
    if ((which == PART_TEST && !is_held_out(&request->test)) ||
        (which == PART_VALIDATION && !is_held_out(&request->validation)))
        return UNROLL_OK;
    struct windows *made = allocate_zeroed(1, bytes);
    if (made == NULL)
        return fail(UNROLL_RESOURCE, "no memory for a part of a forecast");
    made->short_ones = short_ones;
    unroll_status status = fill_in(request, which, made);
    if (status != UNROLL_OK) {
        windows_end(&made->part);
        release(made);
        return status;
    }
    *windows = made;
    return UNROLL_OK;
}

/* ---- networks ---- */

unroll_status windows_network(const struct task *task, const struct recipe *recipe, unroll_model_config *spec,
                              unroll_task_defaults *defaults)
{
    enum { BATCH = 64, UPDATES = 1000, MIN_EPOCHS = 8, MAX_EPOCHS = 30 };
    static const unroll_model_config standard = {.cell = "gru", .layers = 1, .hidden = 64};
    struct loss_choice loss;
    spec_settle(spec, &standard);
    TRY(accepts_spec(task, task->accepts, spec));
    TRY(loss_choose(spec->loss, &loss));
    spec->tokens = spec->embed = 0;
    spec->input = recipe_inputs(recipe);
    spec->output = recipe->horizon * loss.results;
    double windows = (double)recipe->data->steps * recipe->targets / ONE_OF;
    double updates = windows / BATCH < SMALL_EPOCH ? SMALL_EPOCH : windows / BATCH;
    *defaults = unroll_task_defaults_default();
    defaults->batch = BATCH;
    defaults->bptt = 0;
    defaults->warmup = 50;
    defaults->epochs = fmin(MAX_EPOCHS, fmax(MIN_EPOCHS, floor(UPDATES / updates)));
    defaults->patience = 5;
    snprintf(defaults->note, sizeof defaults->note, "%s", recipe->notes);
    return UNROLL_OK;
}

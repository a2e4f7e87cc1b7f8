/* The task effect: an amplifier or another effect on sounds. A network predicts each sample of the target from the
 * samples of the input up to it.
 * Training uses truncated backpropagation, as for texts (lm.c): the recordings form one sound, `rows` contiguous pieces
 * of it run in parallel, one window of `steps` samples after another, with the states of the window before. The first
 * window begins at a random shift in each epoch. Evaluation: overlapping pieces run in parallel; each piece but the
 * first begins with CONTEXT samples that set the states and are not counted. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/philox.h"
#include "model/model.h"
#include "tasks/examples/examples.h"
#include "tasks/schema.h"
#include "tasks/task_table.h"

enum { SHIFT_STREAM = 0x73686666, WORDS_OF_A_BLOCK = 4 }; /* a separate stream, one block for each epoch */
enum { WINDOW = 1024, MAX_ROWS = 32, CONTEXT = 2048, SAMPLES_OF_A_ROW = 8 * CONTEXT };
enum { WARM_UP = 256 }; /* samples at the begin of an epoch that are not counted, at most a quarter of a window */

/* Sums over the counted samples of an evaluation. */
struct effect_sums {
    double error, energy, dry; /* of target - output, target, target - gain x input, squared */
};

struct effect_part {
    struct part part;
    const float *input, *target; /* target NULL: none */
    struct members members;
    size_t *start; /* [members + 1] samples of the part before each recording */
    uint64_t seed;
    size_t piece, context; /* distance of the rows in the part; samples of a row that are not counted */
    double gain;
    struct effect_sums sums;
};

/* ---- the data and the network ---- */

/* Returns a column of one number at each step; NULL: none. */
static const struct column *sound_of(const unroll_dataset *data, const char *name)
{
    const struct column *column = dataset_named(data, name);
    return column && column_kind(column) == STEP_NUMBERS && column->width == 1 ? column : NULL;
}

static int suits_effect(const unroll_dataset *data, char why[TASK_WHY])
{
    if (strcmp(data->reader, "pairs") != 0)
        return 0;
    snprintf(why, TASK_WHY, "pairs of sounds in 'input' and 'target'");
    return SUITS_SURELY;
}

static const struct accepts effect_accepts[] = {{.losses = "esr mse mae ", .unused = "batch_tokens "}, {0}};

static const char *effect_item(const unroll_dataset *data) { return (void)data, "samples"; }

static unroll_status need_sounds(const unroll_dataset *data)
{
    if (sound_of(data, "input") && sound_of(data, "target"))
        return UNROLL_OK;
    return fail(UNROLL_DATA, "the task effect needs the sounds 'input' and 'target'; fix: give a folder with input.wav "
                             "and target.wav");
}

static unroll_status effect_network(const unroll_dataset *data, const char *options, unroll_model_config *spec,
                                    unroll_task_defaults *defaults)
{
    static const struct key none[] = {{0}};
    static const unroll_model_config standard = {.cell = "lstm", .layers = 1, .hidden = 32};
    TRY(key_values_read(options, "the task effect", none, NULL));
    TRY(need_sounds(data));
    TRY(accepts_spec(&task_effect, effect_accepts, spec));
    spec_settle(spec, &standard);
    spec->tokens = spec->embed = 0;
    spec->input = spec->output = 1;
    *defaults = unroll_task_defaults_default();
    defaults->bptt = WINDOW;
    defaults->epochs = 30;
    defaults->learning_rate = 5e-3;
    return UNROLL_OK;
}

static unroll_status effect_check(const unroll_model *model, const unroll_dataset *data)
{
    (void)data;
    if (!model->tokens && model->input == 1 && model_numbers(model) == 1 && unroll_model_targets(model) == 1)
        return UNROLL_OK;
    return fail(UNROLL_USAGE, "the task effect needs a model with one input and one output; fix: set input = 1, "
                              "output = 1");
}

/* ---- what the model stores ---- */

/* Computes the gain with which the input is nearest to the target, in the training part. */
static double best_gain(const struct members *members, const float *x, const float *y)
{
    double both = 0, energy = 0;
    for (size_t i = 0; i < members->count; i++) {
        const struct step_range range = member_steps(members, i);
        for (size_t t = range.from; t < range.to; t++) {
            both += isnan(y[t]) ? 0 : (double)x[t] * (double)y[t];
            energy += isnan(y[t]) ? 0 : (double)x[t] * (double)x[t];
        }
    }
    return energy > 0 ? both / energy : 0;
}

static unroll_status effect_fit(const struct task_request *request, json_t **schema)
{
    struct members members;
    char text[KEY_VALUE_SIZE];
    int64_t rate;
    TRY(need_sounds(request->data));
    TRY(members_of_series(request, PART_TRAINING, &members));
    const double gain =
        best_gain(&members, sound_of(request->data, "input")->numbers, sound_of(request->data, "target")->numbers);
    members_end(&members);
    *schema = json_pack("{s:[s], s:f}", "targets", "target", "gain", gain);
    if (*schema && request->data->options && key_value_find(request->data->options, "sample-rate", text) &&
        number_whole_integer(text, 1, INT_MAX, &rate) == NUMBER_OK)
        json_object_set_new(*schema, "sample_rate", json_integer(rate));
    return *schema ? UNROLL_OK : fail(UNROLL_RESOURCE, "no memory for a schema");
}

/* ---- batches ---- */

/* Fills a row with the samples from `first` on; those from `end` on are zeros. `counted`: the first step that counts.
 * The first sample of a recording resets the states and is not counted, since losses compare it with the one before. */
static void fill_row(const struct effect_part *p, size_t first, size_t end, size_t counted, size_t row,
                     struct task_batch *batch)
{
    const size_t steps = (size_t)p->part.shape->steps, rows = (size_t)p->part.shape->rows;
    size_t member = first < end ? span_of(p->start, p->members.count, first) : 0;
    for (size_t t = 0; t < steps; t++) {
        const size_t at = first + t, entry = t * rows + row;
        const bool read = at < end;
        while (read && at >= p->start[member + 1]) member++;
        const bool begins = read && at == p->start[member];
        const size_t from = read ? member_steps(&p->members, member).from + at - p->start[member] : 0;
        batch->inputs[entry] = read ? p->input[from] : 0;
        batch->values[entry] = read && t >= counted && !begins && p->target ? p->target[from] : NAN;
        if (batch->reset)
            batch->reset[entry] = begins;
        batch->items += read && t >= counted;
    }
}

/* Draws the shift uniformly from all places at which the last row still ends inside the part. */
static size_t shift_of_epoch(const struct effect_part *p, int64_t epoch)
{
    const size_t used =
        (size_t)(p->part.shape->rows - 1) * p->piece + (size_t)p->part.batches * (size_t)p->part.shape->steps;
    struct rng rng = rng_at(p->seed, SHIFT_STREAM, (uint64_t)epoch * WORDS_OF_A_BLOCK);
    return (size_t)rng_below(&rng, p->part.items - used + 1);
}

static void fill_training(const struct part *part, int64_t epoch, int64_t number, struct task_batch *batch)
{
    const struct effect_part *p = (const struct effect_part *)part;
    const size_t steps = (size_t)part->shape->steps, first = shift_of_epoch(p, epoch) + (size_t)number * steps;
    const size_t warm_up = steps / 4 < WARM_UP ? steps / 4 : WARM_UP;
    batch->begins = number == 0; /* does not continue the last batch of the previous epoch */
    batch->items = 0;
    for (size_t row = 0; row < (size_t)part->shape->rows; row++)
        fill_row(p, row * p->piece + first, part->items, number == 0 ? warm_up : 0, row, batch);
}

static void fill_evaluation(const struct part *part, int64_t epoch, int64_t number, struct task_batch *batch)
{
    const struct effect_part *p = (const struct effect_part *)part;
    const size_t steps = (size_t)part->shape->steps, first = (size_t)number * steps, length = p->piece + p->context;
    (void)epoch;
    batch->begins = number == 0;
    batch->items = 0;
    for (size_t row = 0; row < (size_t)part->shape->rows; row++) {
        const size_t context = row ? p->context : 0, begin = row * p->piece, end = begin + length;
        fill_row(p, begin + first, end < part->items ? end : part->items, context > first ? context - first : 0, row,
                 batch);
    }
}

/* ---- parts ---- */

static unroll_status cut_training(const struct task_request *request, struct effect_part *p)
{
    const size_t rows = (size_t)request->rows, most = p->part.items / rows;
    p->piece = most;
    p->seed = request->seed;
    p->part.shape->rows = request->rows;
    p->part.shape->steps = request->steps ? request->steps : (int)(most < INT32_MAX ? most : INT32_MAX);
    p->part.batches = p->part.shape->steps ? (int64_t)(most / (size_t)p->part.shape->steps) : 0;
    p->part.fill = fill_training;
    if (p->part.batches > 0)
        return UNROLL_OK;
    return fail(UNROLL_DATA,
                "the training part has %zu samples, too few for batch %d x bptt %d; fix: use a smaller batch "
                "or bptt, or a longer sound",
                p->part.items, request->rows, request->steps);
}

static void cut_evaluation(const struct task_request *request, struct effect_part *p)
{
    const size_t items = p->part.items, ranks = request->ranks > 0 ? (size_t)request->ranks : 1;
    size_t rows = items / SAMPLES_OF_A_ROW;
    rows = rows < 1 ? 1 : rows > MAX_ROWS ? MAX_ROWS : rows;
    p->context = rows > 1 ? CONTEXT : 0;
    p->piece = (items - p->context + rows - 1) / rows;
    p->part.shape->rows = (int)((rows + ranks - 1) / ranks * ranks);
    p->part.shape->steps = WINDOW;
    p->part.batches = (int64_t)((p->piece + p->context + WINDOW - 1) / WINDOW);
    p->part.fill = fill_evaluation;
}

static void effect_end(struct part *part)
{
    struct effect_part *p = (struct effect_part *)part;
    members_end(&p->members);
    release(p->start);
}

static unroll_status read_gain(const unroll_model *model, double *gain)
{
    json_t *schema;
    TRY(schema_task(model, &schema));
    *gain = json_number_value(json_object_get(schema, "gain"));
    json_decref(schema);
    return UNROLL_OK;
}

static unroll_status open_part(const struct task_request *request, enum part_of which, struct effect_part *p)
{
    TRY(members_of_series(request, which, &p->members));
    const struct column *input = sound_of(p->members.data, "input"), *target = sound_of(p->members.data, "target");
    if (input == NULL)
        return need_sounds(p->members.data);
    p->input = input->numbers;
    p->target = target ? target->numbers : NULL;
    TRY(read_gain(request->model, &p->gain));
    TRY(ALLOCATE(p->start, p->members.count + 1, "for %zu sounds", p->members.count));
    for (size_t i = 0; i < p->members.count; i++) {
        const struct step_range range = member_steps(&p->members, i);
        p->start[i + 1] = p->start[i] + (range.to - range.from);
    }
    p->part.items = p->part.examples = p->start[p->members.count];
    p->part.shapes = 1;
    p->part.resets = p->members.count > 1;
    members_describe(&p->members, p->part.held);
    if (which == PART_TRAINING)
        return cut_training(request, p);
    cut_evaluation(request, p);
    return UNROLL_OK;
}

static unroll_status effect_open(const struct task_request *request, enum part_of which, struct part **part)
{
    struct effect_part *p = allocate_zeroed(1, sizeof *p);
    unroll_status status = p ? open_part(request, which, p) : fail(UNROLL_RESOURCE, "no memory for a part of sounds");
    if (p)
        p->part.end = effect_end;
    if (status == UNROLL_OK && p->part.items > 0)
        *part = &p->part;
    else if (p)
        part_free(&p->part);
    return status;
}

/* ---- scores ---- */

static void effect_observe(struct part *part, int64_t number, const struct task_batch *batch, const float *results)
{
    struct effect_part *p = (struct effect_part *)part;
    const size_t count = (size_t)part->shape->rows * (size_t)part->shape->steps;
    if (number == 0)
        p->sums = (struct effect_sums){0};
    for (size_t i = 0; i < count; i++) {
        const double y = (double)batch->values[i];
        if (isnan(y))
            continue;
        const double error = y - (double)results[i], dry = y - p->gain * (double)batch->inputs[i];
        p->sums.error += error * error;
        p->sums.energy += y * y;
        p->sums.dry += dry * dry;
    }
}

/* Computes the error to signal ratio of all samples. */
static void effect_score(const struct part *part, double loss, bool observed, unroll_evaluation *e)
{
    const struct effect_part *p = (const struct effect_part *)part;
    const double esr = observed && p->sums.energy > 0 ? p->sums.error / p->sums.energy : (double)NAN;
    *e = (unroll_evaluation){.loss = loss,
                             .floor = p->sums.energy > 0 ? p->sums.dry / p->sums.energy : (double)NAN,
                             .naive = "dry sound",
                             .examples = (int64_t)part->examples,
                             .metrics = 3,
                             .metric = {{"esr", "ESR ", "", 5, esr},
                                        {"loss", "loss ", "", 5, loss},
                                        {"samples", "", " samples", 0, (double)part->examples}}};
}

const struct task task_effect = {.name = "effect",
                                 .about = "an amplifier or another effect from pairs of sounds",
                                 .item = effect_item,
                                 .suits = suits_effect,
                                 .network = effect_network,
                                 .fit = effect_fit,
                                 .accepts = effect_accepts,
                                 .check = effect_check,
                                 .open = effect_open,
                                 .observe = effect_observe,
                                 .score = effect_score};

/* lm for sets, such as piano rolls. Sequences are examples; long ones are cut in training. Their steps are vectors of 0
 * and 1, and each step predicts the next one, each member separately (Boulanger-Lewandowski et al., "Modeling Temporal
 * Dependencies in High-Dimensional Sequences", 2012). The loss is in nats per step, summed over the members. The
 * baseline predicts each member's frequency. */
#include "tasks/examples/lm_sets.h"

#include <math.h>

#include "base/memory.h"
#include "nn/losses/loss.h"
#include "model/model.h"
#include "tasks/examples/examples.h"

enum { LONGEST = 512 }; /* default for pairs of a training piece */

/* Steps of the data, each of which except the last predicts the next. */
struct set_piece {
    size_t first, pairs;
};

struct sets_part {
    struct part part;
    struct members members;
    struct batches batches;
    struct set_piece *piece; /* [pieces] */
    size_t pieces;
    const struct column *sets;
    double floor;
};

const struct column *sets_of(const unroll_dataset *data) { return dataset_column(data, COLUMN_SET, NULL); }

unroll_status sets_network(const unroll_dataset *data, unroll_model_config *spec, unroll_task_defaults *defaults)
{
    static const unroll_model_config standard = {.cell = "lstm", .layers = 1, .hidden = 200};
    spec_settle(spec, &standard);
    spec->tokens = spec->embed = 0;
    spec->input = spec->output = sets_of(data)->width;
    *defaults = unroll_task_defaults_default();
    defaults->batch = 8;
    defaults->bptt = 0;
    defaults->learning_rate = 5e-3;
    defaults->epochs = 100;
    defaults->patience = 10;
    return UNROLL_OK;
}

unroll_status sets_check(const unroll_model *model, const unroll_dataset *data)
{
    const struct column *sets = sets_of(data);
    if (model->tokens || unroll_model_outputs(model) != model->input)
        return fail(UNROLL_USAGE, "the model does not predict sets; fix: set tokens = 0, output = input, loss = bce");
    if (model->input != sets->width)
        return fail(UNROLL_DATA, "the model has sets of %d and the data of %d; fix: open the data with the model",
                    model->input, sets->width);
    return UNROLL_OK;
}

/* ---- batches ---- */

static void fill_row(const struct sets_part *p, const struct set_piece *piece, size_t row, size_t rows,
                     struct task_batch *batch)
{
    size_t width = (size_t)p->sets->width;
    const float *from = p->sets->numbers + piece->first * width;
    for (size_t t = 0; t < piece->pairs; t++, from += width) {
        float *x = batch->inputs + (t * rows + row) * width, *y = batch->values + (t * rows + row) * width;
        for (size_t k = 0; k < width; k++) {
            x[k] = isnan(from[k]) ? 0 : from[k];
            y[k] = from[width + k];
        }
    }
}

static void fill_sets(const struct part *part, int64_t epoch, int64_t number, struct task_batch *batch)
{
    const struct sets_part *p = (const struct sets_part *)part;
    const struct batch_place place = batches_place(&p->batches, part, epoch, number);
    batch->begins = true;
    batch->items = 0;
    for (int row = 0; row < place.rows; row++) {
        int64_t item = batches_item(&p->batches, &place, row);
        batch->lengths[row] = item < 0 ? 0 : (int32_t)p->piece[item].pairs;
        batch->items += batch->lengths[row];
        if (item >= 0)
            fill_row(p, &p->piece[item], (size_t)row, (size_t)place.rows, batch);
    }
}

bool part_is_of_sets(const struct part *part) { return part->fill == fill_sets; }

static int sets_shape_of(const struct part *part, int64_t epoch, int64_t number)
{
    return batches_place(&((const struct sets_part *)part)->batches, part, epoch, number).shape;
}

static void sets_end(struct part *part)
{
    struct sets_part *p = (struct sets_part *)part;
    release(p->piece);
    batches_end(&p->batches);
    members_end(&p->members);
}

/* ---- opening ---- */

/* Computes the baseline: the sum of the entropies of the members' frequencies in the predicted steps. */
static unroll_status find_floor(struct sets_part *p)
{
    size_t width = (size_t)p->sets->width;
    double *count, steps = (double)p->part.examples;
    TRY(ALLOCATE(count, width, "to count %zu members", width));
    for (size_t i = 0; i < p->pieces; i++)
        for (size_t t = 1; t <= p->piece[i].pairs; t++)
            for (size_t k = 0; k < width; k++)
                count[k] += (double)p->sets->numbers[(p->piece[i].first + t) * width + k];
    for (size_t k = 0; k < width; k++) {
        double share = count[k] / steps;
        if (share > 0 && share < 1)
            p->floor -= share * log(share) + (1 - share) * log1p(-share);
    }
    release(count);
    return UNROLL_OK;
}

/* Divides each sequence into pieces of up to `longest` pairs. */
static unroll_status cut_pieces(struct sets_part *p, size_t longest)
{
    size_t most = 0;
    for (size_t i = 0; i < p->members.count; i++) {
        struct step_range steps = member_steps(&p->members, i);
        most += (steps.to - steps.from) / longest + 1;
    }
    TRY(ALLOCATE(p->piece, most, "for %zu pieces of sequences", most));
    for (size_t i = 0; i < p->members.count; i++) {
        struct step_range steps = member_steps(&p->members, i);
        while (steps.from + 1 < steps.to) {
            size_t pairs = steps.to - steps.from - 1 < longest ? steps.to - steps.from - 1 : longest;
            p->piece[p->pieces++] = (struct set_piece){steps.from, pairs};
            p->part.examples += pairs;
            steps.from += pairs;
        }
    }
    if (p->pieces == 0)
        return fail(UNROLL_DATA,
                    "'%s': no sequence has two steps, so there is nothing to predict; fix: use longer ones",
                    p->members.data->name);
    return UNROLL_OK;
}

static unroll_status plan_sets(const struct task_request *request, enum part_of which, struct sets_part *p)
{
    struct task_request whole = *request;
    int32_t *lengths;
    whole.steps = 0; /* pieces are cut already */
    TRY(cut_pieces(p, which != PART_TRAINING ? INT32_MAX : request->steps ? (size_t)request->steps : LONGEST));
    TRY(ALLOCATE(lengths, p->pieces, "for the lengths of %zu sequences", p->pieces));
    for (size_t i = 0; i < p->pieces; i++) lengths[i] = (int32_t)p->piece[i].pairs;
    unroll_status status = batches_plan(&whole, which, lengths, 0, p->pieces, &p->batches, &p->part);
    release(lengths);
    p->part.items = p->part.examples;
    p->part.lengths = true;
    p->part.loss_unit = p->sets->width;
    p->part.shape_of = sets_shape_of;
    return status != UNROLL_OK || which == PART_TRAINING ? status : find_floor(p);
}

/* Holds out the last steps of a single sequence, or some of several sequences. */
unroll_status sets_open(const struct task_request *request, enum part_of which, struct part **part)
{
    struct sets_part *p;
    TRY(ALLOCATE(p, 1, "for a part of sets"));
    p->part.fill = fill_sets;
    p->part.end = sets_end;
    unroll_status status = request->data->sequences > 1 ? members_find(request, which, NULL, &p->members)
                                                        : members_of_series(request, which, &p->members);
    if (status == UNROLL_OK && p->members.count) {
        p->sets = sets_of(p->members.data);
        status = plan_sets(request, which, p);
    }
    if (status != UNROLL_OK || p->members.count == 0) {
        part_free(&p->part);
        return status;
    }
    *part = &p->part;
    return UNROLL_OK;
}

void sets_score(const struct part *part, double loss, unroll_evaluation *evaluation)
{
    const struct sets_part *p = (const struct sets_part *)part;
    double nats = loss * part->loss_unit;
    *evaluation = (unroll_evaluation){
        .loss = nats,
        .floor = p->floor,
        .naive = "frequencies",
        .examples = (int64_t)part->examples,
        .metrics = 2,
        .metric = {{"nats", "", " nats a step", 3, nats}, {"steps", "", " steps", 0, (double)part->examples}},
    };
}

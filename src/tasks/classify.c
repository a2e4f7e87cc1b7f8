/* The task classify: one of several labels for each sequence, or any number of them. Sequences are texts, series, or
 * images read row by row. The network reads the whole sequence, and a pool reduces its steps to one prediction. With a
 * wake word (wake.h) it has a prediction at each step. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "tasks/schema.h"
#include "tasks/scores.h"
#include "tasks/examples/sequence_part.h"
#include "tasks/task_table.h"
#include "tasks/wake.h"

struct classify_part {
    struct sequence_part base;
    bool several; /* several labels for each example */
    struct confusion confusion;
    int64_t exact; /* with several labels: number of examples whose labels are all right */
    double floor;
};

/* ---- the target ---- */

static bool is_label(const unroll_dataset *data, const struct column *column)
{
    if (column->type == COLUMN_SET)
        return column->of_sequence;
    return column->type == COLUMN_CATEGORY && column->begin == NULL &&
           (column->of_sequence || is_constant(data, column));
}

static unroll_status find_target(const unroll_dataset *data, const char *options, const struct column **target)
{
    return target_find(data, "classify", wake_keys, "a label for each sequence", options, is_label, target);
}

enum { ONE, SEVERAL, WAKE };
static const struct accepts classify_accepts[] = {
    [ONE] = {.losses = "xent ", .pool = "mean+max", .backward = true, .unused = "stateful "},
    [SEVERAL] = {.losses = "bce ", .pool = "mean+max", .backward = true, .unused = "stateful "},
    [WAKE] = {.losses = "xent ", .backward = true, .unused = "stateful "},
    {0}};
static const struct accepts_column classify_columns[] = {{.option = "target",
                                                          .kinds = SEQUENCE_CATEGORY | SEQUENCE_SET | STEP_CATEGORY,
                                                          .what = "a label for each sequence",
                                                          .type = "category"},
                                                         {0}};

static int classify_row(const unroll_dataset *data, const json_t *schema)
{
    (void)data;
    return wake_is_in(schema) ? WAKE : json_is_true(json_object_get(schema, "several")) ? SEVERAL : ONE;
}

static int suits_classify(const unroll_dataset *data, char why[TASK_WHY])
{
    const struct column *target = target_of(data, is_label);
    if (target == NULL || target->vocabulary_size < 2)
        return 0;
    snprintf(why, TASK_WHY, "labels in '%s', one for each of %zu sequences", target->name, data->sequences);
    return SUITS_SURELY;
}

/* ---- the network ---- */

/* Suggests balanced classes if some are rare, because these tend to be never predicted. */
static unroll_status note_balance(const unroll_dataset *data, const struct column *target, char *note, size_t size)
{
    enum { OUT_OF_BALANCE = 10 };
    const int classes = target->vocabulary_size;
    int rarest = -1, most = 0;
    int64_t *count;
    TRY(ALLOCATE(count, (size_t)classes, "to count %d labels", classes));
    for (size_t s = 0; s < data->sequences; s++) {
        const int32_t label = category_of(data, target, s);
        if (label >= 0)
            count[label]++;
    }
    for (int i = 0; i < classes; i++) {
        most = count[i] > count[most] ? i : most;
        rarest = count[i] && (rarest < 0 || count[i] < count[rarest]) ? i : rarest;
    }
    if (rarest >= 0 && count[most] > OUT_OF_BALANCE * count[rarest])
        snprintf(note, size,
                 "there are %" PRId64 " of '%.40s' and %" PRId64
                 " of '%.40s'; `class_weights` auto weighs rare labels more",
                 count[most], target->vocabulary[most], count[rarest], target->vocabulary[rarest]);
    release(count);
    return UNROLL_OK;
}

static unroll_status classify_network(const unroll_dataset *data, const char *options, unroll_model_config *spec,
                                      unroll_task_defaults *defaults)
{
    static const unroll_model_config standard = {.cell = "gru", .layers = 1, .hidden = 128, .bidirectional = 1};
    static const unroll_model_config listener = {.cell = "gru", .layers = 2, .hidden = 64};
    const struct column *target;
    char wake[COLUMN_NAME];
    TRY(find_target(data, options, &target));
    if (target->vocabulary_size < 2)
        return fail(UNROLL_DATA, "column '%s' has only the label '%s'; fix: give data of at least two", target->name,
                    target->vocabulary_size ? target->vocabulary[0] : "");
    TRY(wake_read(options, wake));
    if (*wake)
        TRY(wake_check(data, target, wake));
    TRY(sequence_network(data, target, NULL, *wake ? &listener : &standard, spec));
    TRY(accepts_spec(&task_classify,
                     &classify_accepts[*wake                        ? WAKE
                                       : target->type == COLUMN_SET ? SEVERAL
                                                                    : ONE],
                     spec));
    spec->output = *wake ? WAKE_OUTPUTS : target->vocabulary_size;
    sequence_defaults(data, 0, defaults);
    if (sequence_is_heard(data, "mfcc"))
        defaults->augment = *wake ? augment_of_steps : augment_of_bands;
    if (*wake) {
        defaults->patience = 0; /* the word is rare: misses improve in steps */
        return UNROLL_OK;
    }
    return target->type == COLUMN_SET ? UNROLL_OK : note_balance(data, target, defaults->note, sizeof defaults->note);
}

/* ---- the schema ---- */

static unroll_status classify_fit(const struct task_request *request, json_t **schema)
{
    const struct column *target;
    struct members members;
    char wake[COLUMN_NAME];
    TRY(find_target(request->data, request->options, &target));
    TRY(wake_read(request->options, wake));
    TRY(members_find(request, PART_TRAINING, target, &members));
    unroll_status status = sequence_schema(&members, target, NULL, schema);
    members_end(&members);
    if (status == UNROLL_OK && *wake)
        return wake_fit(request->data, wake, *schema);
    if (status == UNROLL_OK)
        json_object_set_new(*schema, "several", json_boolean(target->type == COLUMN_SET));
    return status;
}

/* ---- batches ---- */

static void fill_labels(const struct part *part, int64_t epoch, int64_t number, struct task_batch *batch)
{
    const struct classify_part *p = (const struct classify_part *)part;
    const struct column *target = p->base.target;
    const struct batch_place place = sequence_place(&p->base, epoch, number);
    const size_t classes = (size_t)p->base.classes;
    sequence_fill(&p->base, epoch, number, batch);
    for (int row = 0; row < place.rows; row++) {
        struct sequence_row at;
        const bool has_target = sequence_row(&p->base, &place, row, &at) && target;
        if (!p->several)
            batch->classes[row] = has_target ? category_of(p->base.members.data, target, at.sequence) : -1;
        else
            for (size_t k = 0; k < classes; k++)
                batch->values[(size_t)row * classes + k] = has_target ? target->numbers[at.sequence * classes + k] : 0;
    }
}

static void end_classify_part(struct part *part)
{
    struct classify_part *p = (struct classify_part *)part;
    confusion_end(&p->confusion);
    sequence_part_end(&p->base);
}

/* Returns the baseline of the most frequent prediction: the majority class, or each label of most examples. Counts only
 * examples with labels. */
static double floor_of(struct sequence_part *base, bool several, int64_t *support)
{
    const struct members *members = &base->members;
    const size_t classes = (size_t)base->classes;
    int64_t most = 0, counted = 0, right = 0, answered = 0, all = 0;
    for (size_t i = 0; i < members->count; i++) {
        const size_t s = member_at(members, i);
        const int32_t label = !several                                    ? category_of(members->data, base->target, s)
                              : isnan(base->target->numbers[s * classes]) ? -1
                                                                          : 0;
        counted += label >= 0;
        for (size_t k = 0; several && k < classes; k++) support[k] += base->target->numbers[s * classes + k] > 0.5f;
        if (!several && label >= 0)
            support[label]++;
    }
    base->part.examples = (size_t)counted;
    for (size_t k = 0; k < classes; k++) {
        const bool is_frequent = 2 * support[k] > counted;
        most = support[k] > most ? support[k] : most;
        all += support[k];
        right += is_frequent ? support[k] : 0;
        answered += is_frequent ? counted : 0;
    }
    return several ? f1_of(right, answered, all) : counted ? (double)most / (double)counted : (double)NAN;
}

/* Refuses held-out classes that do not occur in training. */
static unroll_status check_classes(const struct task_request *request, const struct sequence_part *held,
                                   const char *part)
{
    const struct column *target = dataset_named(request->data, held->name);
    struct members training;
    uint8_t *seen;
    TRY(members_find(request, PART_TRAINING, target, &training));
    unroll_status status = ALLOCATE(seen, (size_t)held->classes + 1, "to look for %d classes", held->classes);
    for (size_t i = 0; status == UNROLL_OK && i < training.count; i++)
        seen[category_of(request->data, target, member_at(&training, i)) + 1] = 1;
    for (size_t i = 0; status == UNROLL_OK && i < held->members.count; i++) {
        const int32_t label = category_of(held->members.data, held->target, member_at(&held->members, i));
        if (label >= 0 && !seen[label + 1])
            status = fail(
                UNROLL_DATA,
                "the label '%s' is only in the %s part, so it can't be learned; fix: hold out a share, which is drawn "
                "from all labels, or add examples to train on",
                held->label[label], part);
    }
    release(seen);
    members_end(&training);
    return status;
}

/* Sets up the part with its target, baseline and metrics. */
static unroll_status open_classify_part(const struct task_request *request, enum part_of which, struct part *part)
{
    struct classify_part *p = (struct classify_part *)part;
    p->several = classify_row(request->data, p->base.schema) == SEVERAL;
    TRY(sequence_part_open(request, which, p->several ? SEQUENCE_SET : SEQUENCE_CATEGORY | STEP_CATEGORY,
                           (struct windows){0}, &p->base));
    if (p->base.members.count == 0)
        return UNROLL_OK;
    TRY(confusion_new(p->base.classes, &p->confusion));
    p->base.part.pooled = true;
    p->base.part.fill = fill_labels;
    if (p->base.target)
        p->floor = floor_of(&p->base, p->several, p->confusion.support);
    confusion_clear(&p->confusion);
    if (p->base.target && which != PART_PREDICTED && p->base.part.examples < p->base.members.count)
        add_note("%zu of %zu examples%s have no '%s' and do not count", p->base.members.count - p->base.part.examples,
                 p->base.members.count, part_words(which), p->base.name);
    if ((which == PART_VALIDATION || which == PART_TEST) && !p->several)
        TRY(check_classes(request, &p->base, which == PART_TEST ? "test" : "validation"));
    return UNROLL_OK;
}

static bool wakes(const struct part *part) { return wake_is_in(((const struct sequence_part *)part)->schema); }

static unroll_status classify_open(const struct task_request *request, enum part_of which, struct part **part)
{
    json_t *schema;
    TRY(schema_task(request->model, &schema));
    const bool is_wake = wake_is_in(schema);
    json_decref(schema);
    if (is_wake)
        return wake_open(request, which, part);
    return sequence_open(request, which, sizeof(struct classify_part), open_classify_part, end_classify_part, part);
}

/* ---- scores ---- */

/* Counts labels with a probability above one half. */
static void observe_several(struct classify_part *p, const float *z, const float *truth)
{
    bool exact = true;
    for (int k = 0; k < p->base.classes; k++) {
        const bool is = truth[k] > 0.5f, said = z[k] > 0;
        exact = exact && is == said;
        p->confusion.support[k] += is;
        p->confusion.answered[k] += said;
        p->confusion.right[k] += is && said;
    }
    p->confusion.count++;
    p->exact += exact;
}

/* Updates the confusion counts with the predictions for a batch. */
static void classify_observe(struct part *part, int64_t number, const struct task_batch *batch, const float *results)
{
    struct classify_part *p = (struct classify_part *)part;
    if (wakes(part)) {
        wake_observe(part, number, batch, results);
        return;
    }
    const struct batch_place place = sequence_place(&p->base, 0, number);
    if (number == 0) {
        confusion_clear(&p->confusion);
        p->exact = 0;
    }
    for (int row = 0; row < place.rows; row++) {
        const float *z = results + row * p->base.classes;
        struct sequence_row at;
        if (!sequence_row(&p->base, &place, row, &at))
            continue;
        const float *truth = batch->values + row * p->base.classes;
        if (p->several && !isnan(*truth))
            observe_several(p, z, truth);
        else if (!p->several && batch->classes[row] >= 0)
            confusion_add(&p->confusion, batch->classes[row], largest_of(z, p->base.classes));
    }
}

/* Computes the metrics of one or several labels. */
static void classify_score(const struct part *part, double loss, bool observed, unroll_evaluation *e)
{
    const struct classify_part *p = (const struct classify_part *)part;
    if (wakes(part)) {
        wake_score(part, loss, observed, e);
        return;
    }
    const struct confusion *c = &p->confusion;
    const double none = (double)NAN, exact = c->count ? (double)p->exact / (double)c->count : none;
    const double macro = observed ? confusion_macro_f1(c) : none;
    *e = (unroll_evaluation){.loss = loss,
                             .floor = p->floor,
                             .naive = p->several ? "frequent labels" : "majority",
                             .higher = 1,
                             .examples = (int64_t)part->examples,
                             .metrics = p->several ? 5 : 4};
    const unroll_metric of_one[] = {{"accuracy", "accuracy ", "", 4, observed ? confusion_accuracy(c) : none},
                                    {"macro_f1", "macro F1 ", "", 4, macro},
                                    {"loss", "loss ", "", 4, loss},
                                    {"examples", "", " examples", 0, (double)part->examples}};
    const unroll_metric of_several[] = {{"micro_f1", "micro F1 ", "", 4, observed ? confusion_micro_f1(c) : none},
                                        {"macro_f1", "macro F1 ", "", 4, macro},
                                        {"accuracy", "all labels right ", "", 4, observed ? exact : none},
                                        {"loss", "loss ", "", 4, loss},
                                        {"examples", "", " examples", 0, (double)part->examples}};
    memcpy(e->metric, p->several ? of_several : of_one, (size_t)e->metrics * sizeof *e->metric);
}

static unroll_status classify_learn(const struct part *part, json_t *schema)
{
    return wakes(part) ? wake_learn(part, schema) : UNROLL_OK;
}

static json_t *classify_details(const struct part *part)
{
    const struct classify_part *p = (const struct classify_part *)part;
    return wakes(part) ? NULL : confusion_to_json(&p->confusion, p->base.label);
}

/* ---- predictions ---- */

/* Returns {"label": "spam", "probability": .98, "probabilities": {..}}. */
static json_t *answer_one(const struct classify_part *p, const float *z, double *probability)
{
    json_t *all = json_object();
    const int best = largest_of(z, p->base.classes);
    softmax_of(z, p->base.classes, probability);
    for (int k = 0; k < p->base.classes; k++) json_object_set_new(all, p->base.label[k], json_real(probability[k]));
    return json_pack("{s:s, s:f, s:o}", "label", p->base.label[best], "probability", probability[best], "probabilities",
                     all);
}

static json_t *answer_several(const struct classify_part *p, const float *z)
{
    json_t *all = json_object(), *labels = json_array();
    for (int k = 0; k < p->base.classes; k++) {
        json_object_set_new(all, p->base.label[k], json_real(1 / (1 + exp(-(double)z[k]))));
        if (z[k] > 0)
            json_array_append_new(labels, json_string(p->base.label[k]));
    }
    return json_pack("{s:o, s:o}", "labels", labels, "probabilities", all);
}

/* Passes on the predictions for a batch, with the truth if the data contain it. */
static unroll_status classify_answer(struct part *part, int64_t number, const struct task_batch *batch,
                                     const float *results, answer_taker *take, void *arg)
{
    const struct classify_part *p = (const struct classify_part *)part;
    if (wakes(part))
        return wake_answer(part, number, batch, results, take, arg);
    const struct batch_place place = sequence_place(&p->base, 0, number);
    double *probability;
    unroll_status status = UNROLL_OK;
    TRY(ALLOCATE(probability, (size_t)p->base.classes, "for an answer"));
    for (int row = 0; status == UNROLL_OK && row < place.rows; row++) {
        const float *z = results + row * p->base.classes;
        struct sequence_row at;
        if (!sequence_row(&p->base, &place, row, &at))
            continue;
        json_t *answer = p->several ? answer_several(p, z) : answer_one(p, z, probability);
        if (answer && !p->several && p->base.target)
            json_object_set_new(answer, "truth",
                                batch->classes[row] < 0 ? json_null()
                                                        : json_string(p->base.label[batch->classes[row]]));
        status = sequence_give(&p->base, &at, NO_STEP, answer, take, arg);
    }
    release(probability);
    return status;
}

/* Prints "spam 0.9812", or "comedy drama" for several labels. */
static void classify_line(const json_t *answer, FILE *file)
{
    const json_t *labels = json_object_get(answer, "labels");
    sequence_line_keys(answer, 0, file);
    for (size_t i = 0; i < json_array_size(labels); i++)
        fprintf(file, "%s%s", i ? " " : "", json_string_value(json_array_get(labels, i)));
    if (labels)
        fputc('\n', file);
    else
        fprintf(file, "%s %.4f\n", json_string_value(json_object_get(answer, "label")),
                json_number_value(json_object_get(answer, "probability")));
}

const struct task task_classify = {.name = "classify",
                                   .about = "a label, or several, for each sequence",
                                   .keeps = true,
                                   .keys = wake_keys,
                                   .augments = true,
                                   .divides = true,
                                   .item = sequence_item,
                                   .suits = suits_classify,
                                   .network = classify_network,
                                   .fit = classify_fit,
                                   .accepts = classify_accepts,
                                   .columns = classify_columns,
                                   .row = classify_row,
                                   .row_is_in_schema = true,
                                   .open = classify_open,
                                   .observe = classify_observe,
                                   .score = classify_score,
                                   .learn = classify_learn,
                                   .details = classify_details,
                                   .answer = classify_answer,
                                   .line = classify_line};

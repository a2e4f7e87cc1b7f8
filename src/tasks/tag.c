/* The task tag: a label for each step, such as the part of speech of each word or the state of a machine at each
 * sample. For words, the network reads their spelling as well as their identity. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "tasks/label_chain.h"
#include "tasks/scores.h"
#include "tasks/examples/sequence_part.h"
#include "tasks/task_table.h"

static const struct windows of_series = {128, 32}, none;

struct tag_part {
    struct sequence_part base;
    bool has_spans;
    const struct column *words; /* NULL: the steps are not words */
    struct confusion confusion;
    struct spans spans;
    int event; /* of two classes the one that is not "none"; -1: other classes */
    struct ranking ranking;
    int32_t *truth, *answer; /* [steps] of a row */
    double *likely;          /* [steps] probability of each answer */
    double *probability;     /* [classes] of a step */
    struct label_chain chain;
    json_t *sentences; /* the first ones with their answers, for people */
    double floor;
};

/* ---- the columns ---- */

static bool is_tag(const unroll_dataset *data, const struct column *column)
{
    return column->type == COLUMN_CATEGORY && !column->of_sequence && column->begin == NULL &&
           column->vocabulary_size > 1 && !is_constant(data, column);
}

/* Finds the category that is spelled: in sentences, the first one that is not the target. */
static const struct column *words_of(const unroll_dataset *data, const struct column *target)
{
    for (int i = 0; i < data->columns && !data->rows_are_steps; i++) {
        const struct column *column = &data->column[i];
        if (column != target && column->type == COLUMN_CATEGORY && !column->of_sequence && column->begin == NULL)
            return column;
    }
    return NULL;
}

static unroll_status find_target(const unroll_dataset *data, const char *options, const struct column **target)
{
    return target_find(data, "tag", window_keys, "a label for each step", options, is_tag, target);
}

enum { OF_SENTENCES, OF_SERIES };
static const struct accepts tag_accepts[] = {
    [OF_SENTENCES] = {.losses = "xent crf ", .backward = true, .unused = "stateful "},
    [OF_SERIES] = {.losses = "xent ", .backward = true, .unused = "stateful bptt "},
    {0}};
static const struct accepts_column tag_columns[] = {
    {.option = "target", .kinds = STEP_CATEGORY, .what = "a label for each step", .type = "category"}, {0}};

static int tag_row(const unroll_dataset *data, const json_t *schema)
{
    (void)schema;
    return data->rows_are_steps ? OF_SERIES : OF_SENTENCES;
}

static int suits_tag(const unroll_dataset *data, char why[TASK_WHY])
{
    const struct column *target = target_of(data, is_tag), *words = target ? words_of(data, target) : NULL;
    if (target == NULL || data->columns < 2)
        return 0;
    /* a category among numbers, such as the wind in a weather table, is more likely an input */
    if (!words && !is_usual_name(target->name) && dataset_column(data, COLUMN_NUMBERS, NULL))
        return 0;
    if (words)
        snprintf(why, TASK_WHY, "words in '%s', a tag for each in '%s'", words->name, target->name);
    else
        snprintf(why, TASK_WHY, "a label for each step in '%s'", target->name);
    return words ? SUITS_SURELY : SUITS_ANY;
}

static const char *item_steps(const unroll_dataset *data)
{
    const struct column *target = target_of(data, is_tag);
    return target && words_of(data, target) ? "words" : "steps";
}

/* ---- the network ---- */

static unroll_status tag_network(const unroll_dataset *data, const char *options, unroll_model_config *spec,
                                 unroll_task_defaults *defaults)
{
    static const unroll_model_config standard = {.cell = "lstm", .layers = 1, .hidden = 128, .bidirectional = 1};
    const struct column *target;
    TRY(find_target(data, options, &target));
    TRY(sequence_network(data, target, words_of(data, target), &standard, spec));
    TRY(accepts_spec(&task_tag, &tag_accepts[tag_row(data, NULL)], spec));
    spec->output = target->vocabulary_size;
    struct windows windows;
    TRY(windows_read(options, "tag", data->rows_are_steps ? of_series : none, &windows));
    sequence_defaults(data, windows.window, defaults);
    return UNROLL_OK;
}

/* ---- what the model stores ---- */

/* Finds the most frequent tag of each known word, then the most frequent of all: the baseline. */
static unroll_status find_usual(const struct members *members, const struct column *words, const struct column *target,
                                const struct spelled *spelled, json_t **usual)
{
    const size_t tags = (size_t)target->vocabulary_size, known = spelled ? (size_t)spelled->known : 0;
    uint32_t *count;
    *usual = json_array();
    TRY(ALLOCATE(count, (known + 1) * tags, "for the tags of %zu words", known));
    for (size_t i = 0; i < members->count; i++) {
        const struct step_range steps = member_steps(members, i);
        for (size_t step = steps.from; step < steps.to; step++) {
            const int32_t tag = column_id(target, step), word = spelled ? column_id(words, step) : -1;
            const size_t id = word >= 0 ? (size_t)spelled->map[word] : known;
            if (tag >= 0 && id < known)
                count[id * tags + (size_t)tag]++;
            if (tag >= 0)
                count[known * tags + (size_t)tag]++;
        }
    }
    for (size_t id = 0; id <= known; id++) {
        size_t best = 0;
        for (size_t tag = 1; tag < tags; tag++)
            if (count[id * tags + tag] > count[id * tags + best])
                best = tag;
        json_array_append_new(*usual, json_integer((json_int_t)best));
    }
    release(count);
    return UNROLL_OK;
}

/* Finds the first of the schema's features that is derived from words. */
static const struct spelled *first_spelled(const struct features *features)
{
    for (int i = 0; i < features->count; i++)
        if (features->feature[i].spelled.how)
            return &features->feature[i].spelled;
    return NULL;
}

static unroll_status members_of(const struct task_request *request, enum part_of which, struct members *members)
{
    return request->data->rows_are_steps ? members_of_series(request, which, members)
                                         : members_find(request, which, NULL, members);
}

/* Stores the target, features, usual tags and windows, found in the training part. */
static unroll_status tag_fit(const struct task_request *request, json_t **schema)
{
    const struct column *target, *words;
    struct features features = {0};
    struct members members;
    struct windows windows;
    json_t *usual = NULL;
    TRY(find_target(request->data, request->options, &target));
    TRY(windows_read(request->options, "tag", request->data->rows_are_steps ? of_series : none, &windows));
    words = words_of(request->data, target);
    TRY(members_of(request, PART_TRAINING, &members));
    unroll_status status = sequence_schema(&members, target, words, schema);
    if (status == UNROLL_OK)
        status = features_from_json(json_object_get(*schema, "inputs"), request->data, &features);
    if (status == UNROLL_OK)
        status = find_usual(&members, words, target, first_spelled(&features), &usual);
    if (status == UNROLL_OK)
        json_object_update_new(*schema, json_pack("{so so}", "usual", usual, "windows", windows_to_json(&windows)));
    features_end(&features);
    members_end(&members);
    return status;
}

static unroll_status tag_start(unroll_model *model, const struct task_request *request)
{
    const struct column *target;
    struct members members;
    TRY(find_target(request->data, request->options, &target));
    TRY(members_of(request, PART_TRAINING, &members));
    const unroll_status status = label_chain_start(model, &members, target);
    members_end(&members);
    return status;
}

/* ---- batches ---- */

static void fill_tags(const struct part *part, int64_t epoch, int64_t number, struct task_batch *batch)
{
    const struct tag_part *p = (const struct tag_part *)part;
    const struct batch_place place = sequence_place(&p->base, epoch, number);
    const unroll_dataset *data = p->base.members.data;
    sequence_fill(&p->base, epoch, number, batch);
    for (int row = 0; row < place.rows; row++) {
        struct sequence_row at = {0};
        const bool is_there = sequence_row(&p->base, &place, row, &at) && p->base.target;
        for (int t = 0; t < place.steps; t++) {
            const bool counts = is_there && t >= at.context && t < at.length;
            batch->classes[(size_t)t * (size_t)place.rows + (size_t)row] =
                counts ? column_id(p->base.target, data->begin[at.sequence] + at.first + (size_t)t) : -1;
        }
    }
}

static void end_tag_part(struct part *part)
{
    struct tag_part *p = (struct tag_part *)part;
    confusion_end(&p->confusion);
    ranking_end(&p->ranking);
    json_decref(p->sentences);
    label_chain_end(&p->chain);
    release(p->truth);
    release(p->answer);
    release(p->likely);
    release(p->probability);
    sequence_part_end(&p->base);
}

/* Computes the accuracy of the usual tags; counts the steps with a tag. */
static double floor_of(struct tag_part *p)
{
    const struct spelled *spelled = first_spelled(&p->base.features);
    const json_t *usual = json_object_get(p->base.schema, "usual");
    const size_t last = json_array_size(usual) - 1;
    int64_t counted = 0, right = 0;
    for (size_t i = 0; i < p->base.members.count; i++) {
        const struct step_range steps = member_steps(&p->base.members, i);
        for (size_t step = steps.from; step < steps.to; step++) {
            const int32_t tag = column_id(p->base.target, step), word = p->words ? column_id(p->words, step) : -1;
            const size_t id = word >= 0 && spelled->map[word] < spelled->known ? (size_t)spelled->map[word] : last;
            counted += tag >= 0;
            right += tag >= 0 && json_integer_value(json_array_get(usual, id)) == tag;
        }
    }
    p->base.part.examples = (size_t)counted;
    return counted ? (double)right / (double)counted : (double)NAN;
}

/* Returns the class next to "none" if there are two classes; -1: other classes. */
static int event_of(const char *const *label, int classes)
{
    for (int i = 0; classes == 2 && i < 2; i++)
        if (strcmp(label[i], "none") == 0)
            return 1 - i;
    return -1;
}

/* Opens a part: its sequences, memory for scores, and the floor. */
static unroll_status open_tag_part(const struct task_request *request, enum part_of which, struct part *part)
{
    struct tag_part *p = (struct tag_part *)part;
    const bool is_series = request->data->rows_are_steps;
    size_t longest = 1;
    TRY(sequence_part_open(request, which, STEP_CATEGORY,
                           windows_from_json(p->base.schema, is_series ? of_series : none), &p->base));
    if (p->base.members.count == 0)
        return UNROLL_OK;
    const json_t *words = json_object_get(p->base.schema, "spelled");
    p->words = words ? dataset_named(p->base.members.data, json_string_value(words)) : NULL;
    p->has_spans = tags_are_spans(p->base.label, p->base.classes);
    for (int s = 0; s < p->base.part.shapes; s++)
        longest = (size_t)p->base.part.shape[s].steps > longest ? (size_t)p->base.part.shape[s].steps : longest;
    TRY(ALLOCATE(p->truth, longest, "for the tags of %zu steps", longest));
    TRY(ALLOCATE(p->answer, longest, "for the tags of %zu steps", longest));
    TRY(ALLOCATE(p->likely, longest, "for the tags of %zu steps", longest));
    TRY(ALLOCATE(p->probability, (size_t)p->base.classes, "for the tags of a step"));
    TRY(label_chain_open(request->model, longest, &p->chain));
    TRY(label_chain_check(request, &p->base.members, p->base.target, which));
    TRY(confusion_new(p->base.classes, &p->confusion));
    p->event = event_of(p->base.label, p->base.classes);
    if (p->event >= 0)
        TRY(ranking_new(&p->ranking));
    p->base.part.fill = fill_tags;
    p->floor = p->base.target ? floor_of(p) : (double)NAN;
    return UNROLL_OK;
}

static unroll_status tag_open(const struct task_request *request, enum part_of which, struct part **part)
{
    return sequence_open(request, which, sizeof(struct tag_part), open_tag_part, end_tag_part, part);
}

/* ---- scores ---- */

static const float *result_at(const struct tag_part *p, const float *results, int rows, int t, int row)
{
    return results + ((size_t)t * (size_t)rows + (size_t)row) * (size_t)p->base.classes;
}

/* Finds the tags of the counted steps of a row, each by itself or all together; and the probability of each. */
static void find_tags(struct tag_part *p, const float *results, int rows, int row, const struct sequence_row *at,
                      bool likely)
{
    const size_t classes = (size_t)p->base.classes;
    for (int t = at->context; t < at->length; t++) {
        const float *z = result_at(p, results, rows, t, row);
        p->answer[t] = largest_of(z, p->base.classes);
        for (size_t k = 0; p->chain.z && k < classes; k++)
            p->chain.z[(size_t)(t - at->context) * classes + k] = (double)z[k];
        if (likely && !p->chain.z) {
            softmax_of(z, p->base.classes, p->probability);
            p->likely[t] = p->probability[p->answer[t]];
        }
    }
    if (p->chain.z)
        label_chain_find(&p->chain, (size_t)(at->length - at->context), p->answer + at->context,
                         likely ? p->likely + at->context : NULL);
}

/* Writes {"words": [..], "tags": [..], "probabilities": [..]}, with "truth" if the data have it. */
static json_t *answer_row(struct tag_part *p, const struct task_batch *batch, const float *results, int rows, int row,
                          const struct sequence_row *at)
{
    json_t *words = json_array(), *tags = json_array(), *likely = json_array(), *truth = json_array();
    find_tags(p, results, rows, row, at, true);
    for (int t = at->context; t < at->length; t++) {
        const int32_t is = batch->classes[(size_t)t * (size_t)rows + (size_t)row];
        const size_t step = p->base.members.data->begin[at->sequence] + at->first + (size_t)t;
        const int32_t word = p->words ? column_id(p->words, step) : -1;
        json_array_append_new(tags, json_string(p->base.label[p->answer[t]]));
        json_array_append_new(likely, json_real(p->likely[t]));
        json_array_append_new(truth, is >= 0 ? json_string(p->base.label[is]) : json_null());
        if (p->words)
            json_array_append_new(words, word >= 0 ? json_string(p->words->vocabulary[word]) : json_null());
    }
    json_t *answer = json_pack("{s:o, s:o}", "tags", tags, "probabilities", likely);
    sequence_put_times(&p->base, at, answer);
    if (p->words)
        json_object_set(answer, "words", words);
    if (p->base.target)
        json_object_set(answer, "truth", truth);
    json_decref(words);
    json_decref(truth);
    return answer;
}

/* Keeps some sentences of the first batch. */
static void keep_sentences(struct tag_part *p, const struct batch_place *place, const struct task_batch *batch,
                           const float *results)
{
    enum { KEPT = 8 };
    struct sequence_row at;
    json_decref(p->sentences);
    p->sentences = json_array();
    for (int row = 0; row < place->rows && json_array_size(p->sentences) < KEPT; row++)
        if (sequence_row(&p->base, place, row, &at) && at.context == 0)
            json_array_append_new(p->sentences, answer_row(p, batch, results, place->rows, row, &at));
}

static unroll_status tag_read(struct part *part, unroll_session *session)
{
    return label_chain_read(&((struct tag_part *)part)->chain, session);
}

/* Adds the tags of a batch to the scores. */
static void tag_observe(struct part *part, int64_t number, const struct task_batch *batch, const float *results)
{
    struct tag_part *p = (struct tag_part *)part;
    const struct batch_place place = sequence_place(&p->base, 0, number);
    const int rows = place.rows;
    if (number == 0) {
        confusion_clear(&p->confusion);
        p->spans = (struct spans){0};
        if (p->ranking.negative)
            ranking_clear(&p->ranking);
        keep_sentences(p, &place, batch, results);
    }
    for (int row = 0; row < rows; row++) {
        struct sequence_row at;
        if (!sequence_row(&p->base, &place, row, &at))
            continue;
        find_tags(p, results, rows, row, &at, false);
        for (int t = at.context; t < at.length; t++) {
            p->truth[t] = batch->classes[(size_t)t * (size_t)rows + (size_t)row];
            if (p->truth[t] >= 0)
                confusion_add(&p->confusion, p->truth[t], p->answer[t]);
            if (p->truth[t] >= 0 && p->ranking.negative) {
                double probability[2];
                softmax_of(result_at(p, results, rows, t, row), 2, probability);
                ranking_add(&p->ranking, p->truth[t] == p->event, probability[p->event]);
            }
        }
        if (p->has_spans)
            spans_add(&p->spans, p->base.label, p->truth + at.context, p->answer + at.context, at.length - at.context);
    }
}

/* Computes the accuracy and the F1 scores of spans and classes. */
static void tag_score(const struct part *part, double loss, bool observed, unroll_evaluation *e)
{
    const struct tag_part *p = (const struct tag_part *)part;
    const double none = (double)NAN, count = (double)part->examples;
    const double f1 = f1_of(p->spans.right, p->spans.answered, p->spans.support);
    *e = (unroll_evaluation){
        .loss = loss,
        .floor = p->floor,
        .naive = p->words ? "most frequent tag of each word" : "most frequent tag",
        .compared = p->has_spans ? 1 : 0,
        .higher = 1,
        .examples = (int64_t)part->examples,
        .metric = {{"accuracy", "accuracy ", "", 4, observed ? confusion_accuracy(&p->confusion) : none}}};
    e->metrics = 1;
    if (p->ranking.negative) {
        const struct confusion *c = &p->confusion;
        const double event = f1_of(c->right[p->event], c->answered[p->event], c->support[p->event]);
        e->metric[e->metrics++] = (unroll_metric){"frame_f1", "frame F1 ", "", 4, observed ? event : none};
        e->metric[e->metrics++] = (unroll_metric){"auc", "AUC ", "", 4, observed ? ranking_auc(&p->ranking) : none};
    }
    if (p->has_spans)
        e->metric[e->metrics++] = (unroll_metric){"span_f1", "span F1 ", "", 4, observed ? f1 : none};
    e->metric[e->metrics++] =
        (unroll_metric){"macro_f1", "macro F1 ", "", 4, observed ? confusion_macro_f1(&p->confusion) : none};
    e->metric[e->metrics++] = (unroll_metric){"loss", "loss ", "", 4, loss};
    e->metric[e->metrics++] =
        p->words ? (unroll_metric){"words", "", " words", 0, count} : (unroll_metric){"steps", "", " steps", 0, count};
}

static json_t *tag_details(const struct part *part)
{
    const struct tag_part *p = (const struct tag_part *)part;
    json_t *details = confusion_to_json(&p->confusion, p->base.label);
    if (details && p->sentences)
        json_object_set(details, "sentences", p->sentences);
    return details;
}

/* ---- answers ---- */

static unroll_status tag_answer(struct part *part, int64_t number, const struct task_batch *batch, const float *results,
                                answer_taker *take, void *arg)
{
    struct tag_part *p = (struct tag_part *)part;
    const struct batch_place place = sequence_place(&p->base, 0, number);
    const int rows = place.rows;
    unroll_status status = UNROLL_OK;
    for (int row = 0; status == UNROLL_OK && row < rows; row++) {
        struct sequence_row at;
        if (!sequence_row(&p->base, &place, row, &at))
            continue;
        json_t *answer = answer_row(p, batch, results, rows, row, &at);
        status = sequence_give(&p->base, &at, NO_STEP, answer, take, arg);
    }
    return status;
}

/* Prints "word<TAB>tag" per line and an empty line after a sentence; for steps without words only the tag. */
static void tag_line(const json_t *answer, FILE *file)
{
    const json_t *words = json_object_get(answer, "words"), *tags = json_object_get(answer, "tags");
    for (size_t i = 0; i < json_array_size(tags); i++) {
        const char *word = json_string_value(json_array_get(words, i));
        sequence_line_keys(answer, i, file);
        fprintf(file, "%s%s%s\n", word ? word : "", words ? "\t" : "", json_string_value(json_array_get(tags, i)));
    }
    if (words)
        fputc('\n', file);
}

const struct task task_tag = {.name = "tag",
                              .about = "a label for each step",
                              .keeps = true,
                              .keys = window_keys,
                              .augments = true,
                              .divides = true,
                              .item = item_steps,
                              .suits = suits_tag,
                              .network = tag_network,
                              .fit = tag_fit,
                              .start = tag_start,
                              .accepts = tag_accepts,
                              .columns = tag_columns,
                              .row = tag_row,
                              .open = tag_open,
                              .read = tag_read,
                              .observe = tag_observe,
                              .score = tag_score,
                              .details = tag_details,
                              .answer = tag_answer,
                              .line = tag_line};

/* Wake words, for the task classify. In training each sound follows the end of another one that is not the word,
 * because a stream does not begin with the word. Scores are log odds. A sound with the word is missed if no step
 * exceeds the threshold. In other sounds, each second (or the rest of one) with such a step is a false accept. */
#include "tasks/wake.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "unroll_stream.h"

enum {
    LEAD_SECONDS = 1,
    ONE_OF = 3,
    LOSS = 3
}; /* LOSS: index of the metric. ONE_OF: this part of a word, its end, should be heard */
static const double accepts_an_hour = 0.5;

struct wake_part {
    struct sequence_part base;
    const char *name;
    enum part_of which;
    int32_t word;       /* its class */
    int second;         /* steps */
    double threshold;   /* of log odds, from a validation */
    float *hit, *other; /* [hits] highest scores of sounds with the word; [others] of seconds of other sounds */
    size_t hits, others;
    double hours; /* of other sounds */
};

struct wake_options {
    char target[COLUMN_NAME], wake[COLUMN_NAME];
};

const struct key wake_keys[] = {
    {.name = "target", .text = COLUMN_NAME, .offset = offsetof(struct wake_options, target), .about = "target column"},
    {.name = "wake",
     .text = COLUMN_NAME,
     .offset = offsetof(struct wake_options, wake),
     .about = "class of sounds that is a wake word"},
    {0}};

unroll_status wake_read(const char *options, char name[COLUMN_NAME])
{
    struct wake_options chosen = {0};
    TRY(key_values_read(options, "the task classify", wake_keys, &chosen));
    strcpy(name, chosen.wake);
    return UNROLL_OK;
}

static int32_t class_named(const char *const *vocabulary, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(vocabulary[i], name) == 0)
            return i;
    return -1;
}

/* Finds the samples of a step and of a second from the options with which the sounds are read. */
static unroll_status find_second(const unroll_dataset *data, double *steps)
{
    char features[KEY_VALUE_SIZE], rate[KEY_VALUE_SIZE];
    unroll_features *made;
    int64_t samples;
    if (strcmp(data->reader, "audio") || !key_value_find(data->options, "features", features) ||
        !key_value_find(data->options, "sample-rate", rate) ||
        number_whole_integer(rate, 1, INT_MAX, &samples) != NUMBER_OK)
        return fail(UNROLL_DATA, "`wake`: '%s' has no sounds; fix: give a folder of sounds, a folder for each class",
                    data->name);
    const size_t bytes = unroll_features_bytes(features, (int)samples, 1);
    void *memory = bytes ? allocate_zeroed(bytes, 1) : NULL;
    if (memory == NULL)
        return bytes ? fail(UNROLL_RESOURCE, "no memory for features") : UNROLL_USAGE;
    const unroll_status status = unroll_features_init(memory, bytes, features, (int)samples, 1, &made);
    if (status == UNROLL_OK)
        *steps = (double)samples / unroll_features_hop(made);
    release(memory);
    return status;
}

unroll_status wake_check(const unroll_dataset *data, const struct column *target, const char *name)
{
    double steps;
    if (class_named((const char *const *)target->vocabulary, target->vocabulary_size, name) < 0)
        return fail(UNROLL_DATA, "`wake`: no class is named '%s'; fix: use one of the labels in '%s', such as '%s'",
                    name, target->name, target->vocabulary[0]);
    return find_second(data, &steps);
}

unroll_status wake_fit(const unroll_dataset *data, const char *name, json_t *schema)
{
    double steps;
    TRY(find_second(data, &steps));
    return json_object_set_new(schema, "wake", json_pack("{s:s, s:f}", "name", name, "second", steps)) == 0
               ? UNROLL_OK
               : fail(UNROLL_RESOURCE, "no memory for a schema");
}

bool wake_is_in(const json_t *schema) { return json_is_object(json_object_get(schema, "wake")); }

/* ---- parts ---- */

/* Sets the targets of a row: of the word its end, where it is known. */
static void fill_wake_row(const struct wake_part *p, const struct sequence_row *at, int rows, int row,
                          struct task_batch *batch)
{
    const int32_t label = category_of(p->base.members.data, p->base.target, at->sequence);
    const int length = batch->lengths ? batch->lengths[row] - at->lead : at->length;
    for (int t = 0; t < length; t++) {
        const bool is_end = t >= length - 1 - length / ONE_OF;
        const int32_t target = label != p->word ? 0 : is_end ? 1 : -1;
        batch->classes[(size_t)(at->lead + t) * (size_t)rows + (size_t)row] = label < 0 ? -1 : target;
    }
}

static void fill_wake_batch(const struct part *part, int64_t epoch, int64_t number, struct task_batch *batch)
{
    const struct wake_part *p = (const struct wake_part *)part;
    const struct batch_place place = sequence_place(&p->base, epoch, number);
    sequence_fill(&p->base, epoch, number, batch);
    for (size_t i = 0; i < (size_t)place.steps * (size_t)place.rows; i++) batch->classes[i] = -1;
    for (int row = 0; row < place.rows; row++) {
        struct sequence_row at;
        if (sequence_row(&p->base, &place, row, &at) && p->base.target)
            fill_wake_row(p, &at, place.rows, row, batch);
    }
}

static void end_wake_part(struct part *part)
{
    struct wake_part *p = (struct wake_part *)part;
    release(p->hit);
    release(p->other);
    sequence_part_end(&p->base);
}

/* Counts sounds with a label, and the time of those without the word. */
static unroll_status open_scores(struct wake_part *p)
{
    const struct members *members = &p->base.members;
    size_t words = 0, counted = 0, seconds = 0, steps = 0;
    for (size_t i = 0; i < members->count; i++) {
        const size_t s = member_at(members, i), length = steps_of(members->data, s);
        const int32_t label = category_of(members->data, p->base.target, s);
        counted += label >= 0;
        words += label == p->word;
        if (label >= 0 && label != p->word) {
            seconds += (length + (size_t)p->second - 1) / (size_t)p->second;
            steps += length;
        }
    }
    p->base.part.examples = counted;
    p->hours = (double)steps / p->second / 3600;
    if (p->which != PART_TRAINING && (steps == 0 || words == 0))
        return fail(UNROLL_DATA, "`wake`: %zu sounds%s are '%s' and %zu others; fix: hold out some of both", words,
                    part_words(p->which), p->name, counted - words);
    if (p->which != PART_TRAINING && p->hours < 1)
        add_note("%.3f hours of other sounds%s are less than one: up to %.0f false accepts an hour may remain (95%%)",
                 p->hours, part_words(p->which), 3 / p->hours);
    TRY(ALLOCATE(p->hit, words + 1, "for %zu scores", words));
    return ALLOCATE(p->other, seconds + 1, "for %zu scores", seconds);
}

static unroll_status open_wake_part(const struct task_request *request, enum part_of which, struct part *part)
{
    struct wake_part *p = (struct wake_part *)part;
    const json_t *wake = json_object_get(p->base.schema, "wake");
    p->name = json_string_value(json_object_get(wake, "name"));
    p->second = (int)ceil(json_number_value(json_object_get(wake, "second")));
    p->threshold = json_number_value(json_object_get(p->base.schema, "threshold"));
    p->which = which;
    p->word = p->name ? class_named(p->base.label, p->base.classes, p->name) : -1;
    if (p->word < 0 || p->second < 1)
        return fail(UNROLL_DATA, "the model's schema: task: wake is damaged; fix: use another copy of the model");
    p->base.lead = which == PART_PREDICTED ? 0 : LEAD_SECONDS * p->second;
    p->base.not_lead = p->word;
    TRY(sequence_part_open(request, which, SEQUENCE_CATEGORY | STEP_CATEGORY, (struct windows){0}, &p->base));
    if (p->base.members.count == 0)
        return UNROLL_OK;
    p->base.part.fill = fill_wake_batch;
    return p->base.target && which != PART_PREDICTED ? open_scores(p) : UNROLL_OK;
}

unroll_status wake_open(const struct task_request *request, enum part_of which, struct part **part)
{
    return sequence_open(request, which, sizeof(struct wake_part), open_wake_part, end_wake_part, part);
}

/* ---- scores ---- */

/* Returns the highest log odds of the word in steps from .. to - 1 of a row. */
static float highest(const float *results, int rows, int row, int from, int to)
{
    float most = -INFINITY;
    for (int t = from; t < to; t++) {
        const float *z = results + ((size_t)t * (size_t)rows + (size_t)row) * WAKE_OUTPUTS;
        most = fmaxf(most, z[1] - z[0]);
    }
    return most;
}

void wake_observe(struct part *part, int64_t number, const struct task_batch *batch, const float *results)
{
    struct wake_part *p = (struct wake_part *)part;
    const struct batch_place place = sequence_place(&p->base, 0, number);
    (void)batch;
    if (number == 0)
        p->hits = p->others = 0;
    for (int row = 0; row < place.rows; row++) {
        struct sequence_row at;
        if (!sequence_row(&p->base, &place, row, &at))
            continue;
        const int32_t label = category_of(p->base.members.data, p->base.target, at.sequence);
        const int end_at = at.lead + at.length;
        if (label == p->word)
            p->hit[p->hits++] = highest(results, place.rows, row, at.lead, end_at);
        for (int t = at.lead; label >= 0 && label != p->word && t < end_at; t += p->second)
            p->other[p->others++] =
                highest(results, place.rows, row, t, t + p->second < end_at ? t + p->second : end_at);
    }
}

static int descending(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

/* Returns a threshold with at most this number of false accepts an hour in what was observed, and as few misses as
 * possible: in the middle between the other sounds below it and the sounds with the word above it. */
static double find_threshold(const struct wake_part *p)
{
    const size_t allowed = (size_t)(accepts_an_hour * p->hours);
    qsort(p->other, p->others, sizeof *p->other, descending);
    const float below = allowed < p->others ? p->other[allowed] : p->other[p->others - 1];
    float above = allowed && allowed <= p->others ? p->other[allowed - 1] : INFINITY;
    for (size_t i = 0; i < p->hits; i++)
        if (p->hit[i] > below)
            above = fminf(above, p->hit[i]);
    return isfinite(above) ? ((double)below + (double)above) / 2 : (double)below;
}

static size_t count_above(const float *score, size_t count, double threshold)
{
    size_t above = 0;
    for (size_t i = 0; i < count; i++) above += (double)score[i] > threshold;
    return above;
}

void wake_score(const struct part *part, double loss, bool observed, unroll_evaluation *e)
{
    const struct wake_part *p = (const struct wake_part *)part;
    const double none = (double)NAN;
    double misses = none, accepts = none;
    if (observed && p->hits && p->others) {
        const double threshold = p->which == PART_VALIDATION ? find_threshold(p) : p->threshold;
        misses = 1 - (double)count_above(p->hit, p->hits, threshold) / (double)p->hits;
        accepts = (double)count_above(p->other, p->others, threshold) / p->hours;
    }
    *e = (unroll_evaluation){.loss = loss,
                             .floor = 1,
                             .naive = "never fires",
                             .compared = LOSS, /* a few missed words say less */
                             .examples = (int64_t)part->examples,
                             .metrics = 5,
                             .metric = {{"misses", "misses ", "", 4, misses},
                                        {"false_accepts", "false accepts ", " an hour", 2, accepts},
                                        {"hours", "in ", " hours", 3, p->hours},
                                        {"loss", "loss ", "", 4, loss},
                                        {"examples", "", " sounds", 0, (double)part->examples}}};
}

unroll_status wake_learn(const struct part *part, json_t *schema)
{
    const struct wake_part *p = (const struct wake_part *)part;
    return json_object_set_new(schema, "threshold", json_real(find_threshold(p))) == 0
               ? UNROLL_OK
               : fail(UNROLL_RESOURCE, "no memory for a threshold");
}

/* ---- predictions ---- */

/* Passes on {"label": "none", "probability": .02}: whether the word is heard, and its highest probability. */
unroll_status wake_answer(struct part *part, int64_t number, const struct task_batch *batch, const float *results,
                          answer_taker *take, void *arg)
{
    const struct wake_part *p = (const struct wake_part *)part;
    const struct batch_place place = sequence_place(&p->base, 0, number);
    unroll_status status = UNROLL_OK;
    (void)batch;
    for (int row = 0; status == UNROLL_OK && row < place.rows; row++) {
        struct sequence_row at;
        if (!sequence_row(&p->base, &place, row, &at))
            continue;
        const double odds = (double)highest(results, place.rows, row, at.lead, at.lead + (at.length ? at.length : 1));
        json_t *answer = json_pack("{s:s, s:f}", "label", odds > p->threshold ? p->name : "none", "probability",
                                   1 / (1 + exp(-odds)));
        const int32_t label = p->base.target ? category_of(p->base.members.data, p->base.target, at.sequence) : -1;
        if (answer && label >= 0)
            json_object_set_new(answer, "truth", json_string(label == p->word ? p->name : "none"));
        status = sequence_give(&p->base, &at, NO_STEP, answer, take, arg);
    }
    return status;
}

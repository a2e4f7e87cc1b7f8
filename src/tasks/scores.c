/* All counts are integers, so scores do not depend on the order of the answers. */
#include "tasks/scores.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

/* ---- classes ---- */

unroll_status confusion_new(int classes, struct confusion *c)
{
    const size_t n = (size_t)classes;
    *c = (struct confusion){.classes = classes};
    TRY(ALLOCATE(c->support, n, "to count %d classes", classes));
    TRY(ALLOCATE(c->answered, n, "to count %d classes", classes));
    TRY(ALLOCATE(c->right, n, "to count %d classes", classes));
    if (classes <= CONFUSION_CLASSES)
        TRY(ALLOCATE(c->cell, n * n, "to count %d classes", classes));
    return UNROLL_OK;
}

void confusion_end(struct confusion *c)
{
    release(c->support);
    release(c->answered);
    release(c->right);
    release(c->cell);
    *c = (struct confusion){0};
}

void confusion_clear(struct confusion *c)
{
    const size_t n = (size_t)c->classes;
    memset(c->support, 0, n * sizeof *c->support);
    memset(c->answered, 0, n * sizeof *c->answered);
    memset(c->right, 0, n * sizeof *c->right);
    if (c->cell)
        memset(c->cell, 0, n * n * sizeof *c->cell);
    c->count = 0;
}

void confusion_add(struct confusion *c, int truth, int answer)
{
    c->count++;
    c->support[truth]++;
    c->answered[answer]++;
    c->right[truth] += truth == answer;
    if (c->cell)
        c->cell[(size_t)truth * (size_t)c->classes + (size_t)answer]++;
}

static int64_t sum_of(const int64_t *counts, int n)
{
    int64_t sum = 0;
    for (int i = 0; i < n; i++) sum += counts[i];
    return sum;
}

double confusion_accuracy(const struct confusion *c)
{
    return c->count ? (double)sum_of(c->right, c->classes) / (double)c->count : (double)NAN;
}

double f1_of(int64_t right, int64_t answered, int64_t support)
{
    return answered + support ? 2 * (double)right / (double)(answered + support) : 0;
}

double confusion_macro_f1(const struct confusion *c)
{
    double sum = 0;
    int there = 0;
    for (int i = 0; i < c->classes; i++) {
        there += c->support[i] + c->answered[i] > 0;
        sum += f1_of(c->right[i], c->answered[i], c->support[i]);
    }
    return there ? sum / there : (double)NAN;
}

double confusion_micro_f1(const struct confusion *c)
{
    return f1_of(sum_of(c->right, c->classes), sum_of(c->answered, c->classes), sum_of(c->support, c->classes));
}

static double ratio(int64_t part, int64_t of) { return of ? (double)part / (double)of : 0; }

json_t *confusion_to_json(const struct confusion *c, const char *const *labels)
{
    json_t *names = json_array(), *matrix = json_array(), *classes = json_array();
    for (int i = 0; i < c->classes; i++) {
        json_array_append_new(names, json_string(labels[i]));
        json_array_append_new(classes,
                              json_pack("{s:s, s:f, s:f, s:f, s:I}", "label", labels[i], "precision",
                                        ratio(c->right[i], c->answered[i]), "recall", ratio(c->right[i], c->support[i]),
                                        "f1", f1_of(c->right[i], c->answered[i], c->support[i]), "support",
                                        (json_int_t)c->support[i]));
        json_t *row = c->cell ? json_array() : NULL;
        for (int k = 0; row && k < c->classes; k++)
            json_array_append_new(row, json_integer((json_int_t)c->cell[(size_t)i * (size_t)c->classes + (size_t)k]));
        if (row)
            json_array_append_new(matrix, row);
    }
    json_t *found = json_pack("{s:o, s:o}", "labels", names, "classes", classes);
    if (c->cell)
        json_object_set_new(found, "confusion", matrix);
    else
        json_decref(matrix);
    return found;
}

int largest_of(const float *numbers, int count)
{
    int best = 0;
    for (int i = 1; i < count; i++)
        if (numbers[i] > numbers[best])
            best = i;
    return best;
}

void softmax_of(const float *logits, int count, double *probabilities)
{
    const double max = (double)logits[largest_of(logits, count)];
    double sum = 0;
    for (int i = 0; i < count; i++) sum += probabilities[i] = exp((double)logits[i] - max);
    for (int i = 0; i < count; i++) probabilities[i] /= sum;
}

/* ---- one class against none ---- */

unroll_status ranking_new(struct ranking *r)
{
    TRY(ALLOCATE(r->negative, 2 * RANKING_BINS, "for a ranking"));
    r->positive = r->negative + RANKING_BINS;
    return UNROLL_OK;
}

void ranking_end(struct ranking *r)
{
    release(r->negative);
    *r = (struct ranking){0};
}

void ranking_clear(struct ranking *r) { memset(r->negative, 0, 2 * RANKING_BINS * sizeof *r->negative); }

void ranking_add(struct ranking *r, bool truth, double probability)
{
    const int bin = (int)(probability * RANKING_BINS);
    ++(truth ? r->positive : r->negative)[bin < 0 ? 0 : bin < RANKING_BINS ? bin : RANKING_BINS - 1];
}

double ranking_auc(const struct ranking *r)
{
    double below = 0, positives = 0, area = 0;
    for (int bin = 0; bin < RANKING_BINS; bin++) {
        area += (double)r->positive[bin] * (below + .5 * (double)r->negative[bin]);
        below += (double)r->negative[bin];
        positives += (double)r->positive[bin];
    }
    return below > 0 && positives > 0 ? area / (below * positives) : (double)NAN;
}

/* ---- spans ---- */

/* Returns the kind of a tag. "B-PER": 'B', *type is "PER"; "O" and tags of other forms: 'O' and "". */
static char kind_of(const char *tag, const char **type)
{
    const bool is_span = *tag && strchr("BIES", *tag) && tag[1] == '-';
    *type = is_span ? tag + 2 : "";
    return is_span ? *tag : 'O';
}

int tags_are_spans(const char *const *tags, int count)
{
    bool begins = false;
    for (int i = 0; i < count; i++) {
        const char *type;
        const char kind = kind_of(tags[i], &type);
        if (kind == 'O' && strcmp(tags[i], "O") != 0 && tags[i][0] != '<') /* "<unk>", "<missing>" */
            return 0;
        begins |= kind == 'B';
    }
    return begins;
}

int spans_close(const char *const *tags, int count)
{
    const char *type;
    bool closes = false;
    for (int i = 0; i < count; i++) closes |= strchr("ES", kind_of(tags[i], &type)) != NULL;
    return closes;
}

int spans_allow(const char *const *tags, int count, int before, int after)
{
    const char *type_before, *type;
    const char first = kind_of(before < 0 ? "O" : tags[before], &type_before),
               second = kind_of(after < 0 ? "O" : tags[after], &type);
    const bool continues = second == 'I' || second == 'E', is_open = first == 'B' || first == 'I';
    if (continues)
        return is_open && strcmp(type_before, type) == 0;
    return !(is_open && spans_close(tags, count));
}

/* True if a span ends between the previous tag and this one, as in conlleval's endOfChunk. */
static bool ends_between(char before, const char *type_before, char now, const char *type)
{
    if (before == 'O')
        return false;
    return before == 'E' || before == 'S' || now == 'B' || now == 'S' || now == 'O' || strcmp(type_before, type) != 0;
}

static bool begins_between(char before, const char *type_before, char now, const char *type)
{
    if (now == 'O')
        return false;
    return now == 'B' || now == 'S' || before == 'E' || before == 'S' || before == 'O' ||
           strcmp(type_before, type) != 0;
}

/* Adds the spans of a sequence: a span is correct if a true span has the same begin, end and type. */
void spans_add(struct spans *spans, const char *const *tags, const int32_t *truth, const int32_t *answer, int length)
{
    const char *type[2] = {"", ""};
    char kind[2] = {'O', 'O'};
    bool same = false; /* both are in a span that began at the same place with the same type */
    for (int t = 0; t <= length; t++) {
        const int32_t *tag[2] = {truth, answer};
        bool ends[2], begins[2];
        for (int i = 0; i < 2; i++) {
            const char *next_type = "",
                       next = t < length && tag[i][t] >= 0 ? kind_of(tags[tag[i][t]], &next_type) : 'O';
            ends[i] = ends_between(kind[i], type[i], next, next_type);
            begins[i] = begins_between(kind[i], type[i], next, next_type);
            kind[i] = next;
            type[i] = next_type;
        }
        if (same && ends[0] && ends[1])
            spans->right++;
        if (ends[0] || ends[1])
            same = false;
        spans->support += begins[0];
        spans->answered += begins[1];
        if (begins[0] || begins[1])
            same = begins[0] && begins[1] && strcmp(type[0], type[1]) == 0;
    }
}

/* ---- numbers ---- */

/* Adds an error; computes the spread by Welford's algorithm, which stays exact for a large mean. */
void errors_add(struct errors *e, double truth, double answer)
{
    const double error = answer - truth, distance = truth - e->mean;
    e->count++;
    e->absolute += fabs(error);
    e->squares += error * error;
    e->mean += distance / (double)e->count;
    e->spread += distance * (truth - e->mean);
}

double errors_r2(const struct errors *e)
{
    if (e->spread > 0)
        return 1 - e->squares / e->spread;
    return e->squares > 0 ? 0 : 1;
}

/* Segments in order, the rows that end their sums, groups, and the weights in the order of the lanes. Segments that
 * read only x are early, those that need older states are late, and the head is a separate list (rtl/unroll_core.v). */
#include "base/memory.h"
#include "base/status.h"
#include "extensions/hardware/hardware.h"
#include <stdlib.h>
#include <string.h>

/* Tables are counted in a first pass and filled in a second. */
struct maker {
    struct hardware *h;
    bool counts;
    size_t words;
    int all_groups; /* per step; known when filling */
};

static int lanes_of(const struct stage *s, const struct source *from, int group)
{
    const uint32_t first = (uint32_t)group * from->unit_count, left = s->units - first;
    return from->gates * (int)(left < from->unit_count ? left : from->unit_count);
}

/* Finds the sources that contribute the first and the last part of a gate's sum. */
static void parts_of(const struct stage *s, int gate, int *first, int *last)
{
    *first = *last = -1;
    for (int i = 0; i < s->sources; i++)
        for (int k = 0; k < s->source[i].gates; k++)
            if (s->source[i].gate[k] == gate) {
                *first = *first < 0 ? i : *first;
                *last = i;
            }
}

/* Fills the row of lane n of a segment: gate by gate, with the units of the group adjacent. */
static unroll_status fill_row(struct hardware *h, const struct stage *s, int source, int group, int lane, struct row *r)
{
    const struct source *from = &s->source[source];
    const int units = lanes_of(s, from, group) / from->gates, k = lane / units, gate = from->gate[k];
    const uint32_t unit = (uint32_t)group * from->unit_count + (uint32_t)(lane % units);
    const struct act *a = &h->program->act[from->act[k]];
    const uint32_t at = from->row[k] - a->row + unit; /* in the act */
    int first, last;
    parts_of(s, gate, &first, &last);
    *r = (struct row){.multiplier = a->multiplier[at],
                      .bias = a->bias_q ? a->bias_q[at] : 0,
                      .format = s->format[gate],
                      .slot = (uint32_t)s->slot + (uint32_t)gate * s->units + unit,
                      .adds = source != first,
                      .is_final = source == last && !s->is_head,
                      .is_head = source == last && s->is_head};
    const bool ends = source == s->sources - 1 && lane + 1 == lanes_of(s, from, group);
    r->is_last = ends && (!s->is_head || group + 1 == from->segments);
    return shift_index(&h->row_shifts, a->shift, &r->shift);
}

/* Adds a matrix column for each token, with zeros for an invalid one, or the vector's columns in order. */
static void fill_weights(struct maker *m, const struct stage *s, const struct source *from, int group)
{
    const struct hardware *h = m->h;
    const int lanes = lanes_of(s, from, group), units = lanes / from->gates;
    const size_t words = from->vector == ABSENT_VECTOR ? (size_t)h->tokens + 1 : from->length;
    for (int lane = 0; lane < lanes && !m->counts; lane++) {
        const int k = lane / units;
        const struct matrix *w = &h->program->matrix[h->program->act[from->act[k]].matrix];
        const size_t row = from->row[k] + (size_t)group * from->unit_count + (size_t)(lane % units);
        for (size_t i = 0; i < words && i < w->width; i++)
            h->weights[(m->words + i) * (size_t)h->lanes + (size_t)lane] = (uint8_t)w->q[row * w->width + i];
    }
    m->words += words;
}

/* Fills a segment: the products of one source for the units of a group. */
static void fill_segment(const struct maker *m, enum list list, const struct stage *s, int source, int group,
                         struct segment *g)
{
    const struct hardware *h = m->h;
    const struct source *from = &s->source[source];
    const bool is_old = from->kind == SOURCE_OLD, is_x = from->kind == SOURCE_X;
    const struct stage *writer = is_x ? NULL : &h->stage[h->writer[from->vector]];
    *g = (struct segment){.list = list,
                          .stage = (int)(s - h->stage),
                          .source = source,
                          .vector = from->vector == ABSENT_VECTOR ? ABSENT_VECTOR : h->program->act[from->act[0]].from,
                          .first = (uint32_t)group * from->unit_count,
                          .length = from->length,
                          .rows = (uint32_t)lanes_of(s, from, group),
                          .waits_x = is_x,
                          .is_zero = is_old && list != LIST_HEAD,
                          .is_token = from->vector == ABSENT_VECTOR,
                          .is_head = list == LIST_HEAD};
    if (from->vector != ABSENT_VECTOR) {
        const uint32_t base = (uint32_t)h->x_base[from->vector], size = h->program->vector[from->vector].size;
        const bool swaps = is_old || list == LIST_HEAD; /* the head's step has ended */
        g->even = swaps ? base + size : base;
        g->odd = swaps ? base : base + size;
    }
    g->units = writer ? writer->unit_count : 0;
    const int last =
        (int)((g->first + g->rows / (uint32_t)from->gates - 1) / s->unit_count); /* the group whose slots it fills */
    g->need = is_x ? s->first_group + last - m->all_groups
                   : writer->first_group - (is_old || list == LIST_HEAD ? m->all_groups : 0);
    if (h->skips && writer) { /* a list is read when it is complete */
        g->need += writer->groups - 1;
        g->units = 0;
    }
}

/* Adds a segment with its rows and weights, and a group after its last source. Without rows while counting. */
static unroll_status add_segment(struct maker *m, enum list list, struct stage *s, int source, int group)
{
    struct hardware *h = m->h;
    const int rows = lanes_of(s, &s->source[source], group);
    if (!m->counts) {
        fill_segment(m, list, s, source, group, &h->segment[h->segments]);
        for (int lane = 0; lane < rows; lane++) TRY(fill_row(h, s, source, group, lane, &h->row[h->rows + lane]));
    }
    fill_weights(m, s, &s->source[source], group);
    h->segments++;
    h->rows += rows;
    if (s->is_head || source != s->sources - 1)
        return UNROLL_OK;
    if (group == 0 && m->counts)
        s->first_group = h->groups;
    if (!m->counts) {
        const uint32_t first = (uint32_t)group * s->unit_count, left = s->units - first;
        h->group[h->groups] = (struct group){
            .stage = (int)(s - h->stage), .first = first, .units = left < s->unit_count ? left : s->unit_count};
    }
    h->groups++;
    return UNROLL_OK;
}

int hardware_x_segments(const struct hardware *h)
{
    int count = 0;
    for (int i = 0; i < h->stages; i++)
        for (int k = 0; k < h->stage[i].sources; k++)
            count += h->stage[i].source[k].kind == SOURCE_X ? h->stage[i].source[k].segments : 0;
    return count;
}

/* Adds a stage's segments to one list: all of a source, then those of the next, so that the newest values are read
 * last. If only some x segments are early, segments of the same units are adjacent instead, those of the last source
 * after the others. */
struct segment_walk {
    struct maker *m;
    enum list list;
    int skipped; /* segments of x in the early list */
};

static unroll_status visit_segment(struct segment_walk *w, struct stage *s, int source, int segment)
{
    const bool is_x = s->source[source].kind == SOURCE_X;
    if (w->list == LIST_EARLY ? !is_x || w->skipped-- <= 0 : w->list == LIST_LATE && is_x && w->skipped-- > 0)
        return UNROLL_OK;
    return add_segment(w->m, w->list, s, source, segment);
}

static unroll_status visit_stage(struct segment_walk *w, struct stage *s)
{
    const bool mixes = w->list == LIST_LATE && s->source[0].kind == SOURCE_X && w->skipped < s->source[0].segments;
    for (int k = 0; k < s->sources && !mixes; k++)
        for (int g = 0; g < s->source[k].segments; g++) TRY(visit_segment(w, s, k, g));
    int done[MAX_SOURCES] = {0};
    for (int g = 0; g < s->groups && mixes; g++)
        for (int k = 0; k < s->sources; k++) /* all that group g needs */
            for (; done[k] < s->source[k].segments &&
                   (uint32_t)done[k] * s->source[k].unit_count < (uint32_t)(g + 1) * s->unit_count;
                 done[k]++)
                TRY(visit_segment(w, s, k, done[k]));
    return UNROLL_OK;
}

static unroll_status add_list(struct maker *m, enum list list)
{
    struct hardware *h = m->h;
    struct segment_walk w = {.m = m, .list = list, .skipped = h->early};
    h->first_segment[list] = h->segments;
    h->first_row[list] = h->rows;
    h->first_word[list] = (int)m->words;
    for (int i = 0; i < h->stages; i++)
        if (h->stage[i].is_head == (list == LIST_HEAD) && h->stage[i].sources)
            TRY(visit_stage(&w, &h->stage[i]));
    return UNROLL_OK;
}

static unroll_status add_lists(struct maker *m)
{
    struct hardware *h = m->h;
    h->segments = h->rows = h->groups = 0;
    m->words = 0;
    TRY(add_list(m, LIST_EARLY));
    TRY(add_list(m, LIST_HEAD));
    return add_list(m, LIST_LATE);
}

static void mark_ends(struct hardware *h)
{
    int last_x = -1;
    for (int i = 0; i < h->segments; i++) {
        struct segment *s = &h->segment[i];
        s->ends_list = i + 1 == h->segments || h->segment[i + 1].list != s->list;
        if (s->waits_x)
            last_x = i;
        h->macs += (uint64_t)s->length * s->rows;
    }
    h->segment[last_x].frees_x = true;
    const bool late = h->first_segment[LIST_LATE] < h->segments;
    h->segment[late ? h->segments - 1 : h->first_segment[LIST_HEAD] - 1].flips = true;
    h->group[h->groups - 1].is_last = true;
}

/* Computes the bits of the values, for sums with any input. */
static void measure(struct hardware *h)
{
    const int64_t operand = 1 << (h->program->operand_bits - 1);
    int64_t sum = 1, multiplier = 1, bias = 1;
    for (int i = 0; i < h->program->matrices; i++) {
        const struct matrix *m = &h->program->matrix[i];
        for (size_t r = 0; r < m->rows; r++) {
            int64_t row = 0;
            for (size_t k = 0; k < m->width; k++) row += abs(m->q[r * m->width + k]);
            sum = row * operand > sum ? row * operand : sum;
        }
    }
    for (int i = 0; i < h->rows; i++) {
        const int64_t m = h->row[i].multiplier, b = llabs((long long)h->row[i].bias);
        multiplier = m > multiplier ? m : multiplier;
        bias = b > bias ? b : bias;
    }
    h->accumulator_bits = bits_of((uint64_t)sum) + 1;
    const int product = h->program->operand_bits + h->skips + 9;
    if (h->accumulator_bits < product)
        h->accumulator_bits = product;
    h->multiplier_bits = bits_of((uint64_t)multiplier);
    h->bias_bits = bits_of((uint64_t)bias) + 1;
}

static void forget(struct hardware *h)
{
    release(h->segment);
    release(h->row);
    release(h->group);
    release(h->weights);
    h->segment = NULL;
    h->row = NULL;
    h->group = NULL;
    h->weights = NULL;
    h->macs = 0;
    h->row_shifts.count = 0;
}

unroll_status hardware_segments(struct hardware *h)
{
    forget(h);
    struct maker m = {.h = h, .counts = true};
    TRY(add_lists(&m));
    if (m.words > 1u << 24)
        return fail(
            UNROLL_UNSUPPORTED,
            "the model's weights are %zu words of %d lanes; hardware is written for at most %d; fix: use a smaller or simpler network, or another format (`to` c99)",
            m.words, h->lanes, 1 << 24);
    TRY(ALLOCATE(h->segment, (size_t)h->segments, "for %d segments", h->segments));
    TRY(ALLOCATE(h->row, (size_t)h->rows, "for %d rows", h->rows));
    TRY(ALLOCATE(h->group, (size_t)h->groups + 1, "for %d groups", h->groups));
    TRY(ALLOCATE(h->weights, m.words * (size_t)h->lanes, "for %zu words of weights", m.words));
    h->weight_words = m.words;
    m.all_groups = h->groups;
    m.counts = false;
    TRY(add_lists(&m));
    mark_ends(h);
    measure(h);
    h->holds = 1;
    for (int i = 0; i < h->segments; i++)
        if (h->segment[i].length < h->segment[i].rows)
            h->holds = 2;
    return UNROLL_OK;
}

/* ---- hardware --------------------------------------------------------------------------- */

static size_t vector_numbers(const struct program *p)
{
    size_t numbers = 0;
    for (int i = 0; i < p->acts; i++)
        for (int k = 0; p->act[i].pointwise && k < p->act[i].pointwise->inputs; k++)
            numbers += p->act[i].pointwise->input[k].weights ? p->act[i].pointwise->units : 0;
    return numbers;
}

static unroll_status make(struct hardware *h)
{
    const size_t numbers = vector_numbers(h->program);
    TRY(ALLOCATE(h->vectors, numbers ? numbers : 1, "for the vectors of cells"));
    TRY(hardware_stages(h));
    TRY(hardware_words(h));
    return hardware_choose_early(h);
}

unroll_status hardware_new(struct program *program, int lanes, bool is_class, struct hardware **hardware)
{
    struct hardware *h;
    TRY(ALLOCATE(h, 1, "for tables of hardware"));
    h->program = program;
    h->lanes = lanes;
    h->is_class = is_class;
    h->skips = program->delta >= 0;
    unroll_status status = make(h);
    if (status != UNROLL_OK) {
        hardware_free(h);
        return status;
    }
    *hardware = h;
    return UNROLL_OK;
}

void hardware_free(struct hardware *h)
{
    if (h) {
        forget(h);
        release(h->vectors);
        release(h->moved);
    }
    release(h);
}

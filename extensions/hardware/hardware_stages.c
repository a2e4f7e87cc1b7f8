/* Stages: each pointwise act, copy of sums, and the output, with the products that it reads; the addresses of
 * vectors in the core's memories; and checks for unsupported networks. The order of products is in
 * hardware_segments.c. */
#include "base/status.h"
#include "extensions/hardware/hardware.h"

/* ---- unsupported acts ------------------------------------------------------------------ */

static unroll_status refuse_act(const struct program *p, const struct act *a)
{
    static const char *const names[] = {
        [ACT_SOFTMAX] = "a softmax; fix: use `head` class, whose index of the largest needs none, or a linear head",
        [ACT_POOL] = "a pool 'max'; fix: use the pool 'last'",
        [ACT_EMBED] = "an embedding next to other inputs; fix: use a model of tokens alone or of numbers alone",
        [ACT_COLUMN] = "tokens of several columns; fix: use a model of one token a step or of numbers alone",
        [ACT_ENTER] = "inputs next to tokens; fix: use a model of tokens alone or of numbers alone",
        [ACT_COPY] = "vectors side by side; fix: use a stack of layers"};
    const int layer = a->layer < 0 ? 0 : a->layer;
    return fail(
        UNROLL_UNSUPPORTED,
        "layer %d ('%s'): hardware has no form of %s; fix: use a smaller or simpler network, or another format (`to` c99)",
        layer, p->model->layer[layer].name, names[a->kind] ? names[a->kind] : "such an act");
}

/* Returns the vector of which this one is a copy. */
static int origin(const struct hardware *h, int vector)
{
    while (vector >= 0 && h->alias[vector] >= 0) vector = h->alias[vector];
    return vector;
}

/* Checks the inputs and outputs of the program, and resolves copies. */
static unroll_status check_ends(struct hardware *h)
{
    struct program *p = h->program;
    int enters = 0;
    for (int i = 0; i < p->acts; i++) {
        const struct act *a = &p->act[i];
        const struct vector *to = a->to >= 0 ? &p->vector[a->to] : NULL;
        const bool whole = to && a->to_first == 0 && a->count == to->size;
        if ((a->kind == ACT_EMBED || a->kind == ACT_ENTER) && (!whole || enters++))
            return refuse_act(p, a);
        if ((a->kind == ACT_COLUMN || a->kind == ACT_EMBED) && p->tokens > 1)
            return refuse_act(p, &(struct act){.kind = ACT_COLUMN, .layer = a->layer});
        if (a->kind == ACT_POOL)
            return refuse_act(p, a);
        if (a->kind == ACT_SOFTMAX && !(h->is_class && i + 1 < p->acts && p->act[i + 1].kind == ACT_LEAVE))
            return refuse_act(p, a);
        if (a->kind != ACT_COPY || p->vector[a->from].is_sum)
            continue;
        if (!whole || p->vector[a->from].fraction != to->fraction || p->vector[a->from].size != to->size)
            return refuse_act(p, a);
        h->alias[a->to] = a->from;
    }
    return UNROLL_OK;
}

/* ---- sources --------------------------------------------------------------------------- */

static bool makes(const struct act *a, int sums, uint32_t first, uint32_t units)
{
    return (a->kind == ACT_PRODUCT || a->kind == ACT_COLUMN) && a->to == sums && a->to_first <= first &&
           first + units <= a->to_first + a->count;
}

static enum source_kind kind_of(const struct hardware *h, int stage, int vector)
{
    if (vector == ABSENT_VECTOR || h->writer[vector] < 0)
        return SOURCE_X;
    return h->writer[vector] < stage ? SOURCE_NEW : SOURCE_OLD;
}

/* Adds a product to the source of its vector. */
static unroll_status add_source(struct hardware *h, struct stage *s, int gate, int index)
{
    const struct program *p = h->program;
    const struct act *a = &p->act[index];
    const int vector = a->kind == ACT_COLUMN ? ABSENT_VECTOR : origin(h, a->from);
    int at = 0;
    while (at < s->sources && s->source[at].vector != vector) at++;
    if (at == MAX_SOURCES)
        return fail(UNROLL_UNSUPPORTED,
                    "layer %d: hardware adds products of at most %d vectors; fix: use a stack of layers", a->layer,
                    MAX_SOURCES);
    struct source *from = &s->source[at];
    if (at == s->sources) {
        *from = (struct source){.kind = kind_of(h, (int)(s - h->stage), vector),
                                .vector = vector,
                                .length = vector == ABSENT_VECTOR ? 1 : p->vector[vector].size};
        s->sources++;
    }
    from->gate[from->gates] = gate;
    from->act[from->gates] = index;
    from->row[from->gates++] = a->row + s->first[gate] - a->to_first;
    return UNROLL_OK;
}

/* Orders sources: x first, then old states, then results of this step, the latest last. */
static void order_sources(const struct hardware *h, struct stage *s)
{
    for (int i = 1; i < s->sources; i++)
        for (int k = i; k > 0; k--) {
            struct source *a = &s->source[k - 1], *b = &s->source[k];
            const bool late =
                a->kind == SOURCE_NEW && b->kind == SOURCE_NEW && h->writer[a->vector] > h->writer[b->vector];
            if (a->kind <= b->kind && !late)
                break;
            struct source swap = *a;
            *a = *b;
            *b = swap;
        }
}

/* Finds the products of a stage, and how many units each source computes at a time. */
static unroll_status find_sources(struct hardware *h, struct stage *s)
{
    int most = 1, units = 1;
    for (int g = 0; g < s->gates; g++)
        for (int i = 0; i < s->act; i++)
            if (makes(&h->program->act[i], s->sums[g], s->first[g], s->units))
                TRY(add_source(h, s, g, i));
    order_sources(h, s);
    for (int i = 0; i < s->sources; i++) {
        most = s->source[i].gates > most ? s->source[i].gates : most;
        if (s->is_head && s->source[i].kind == SOURCE_X)
            return fail(UNROLL_UNSUPPORTED,
                        "hardware has no form of a head that reads the inputs; fix: add a hidden layer");
    }
    if (most > h->lanes)
        return fail(UNROLL_USAGE, "`lanes` = %d: a unit of layer %d has %d sums at a time; fix: use at least %d lanes",
                    h->lanes, h->program->act[s->act].layer, most, most);
    for (int i = 0; i < s->sources; i++) {
        struct source *from = &s->source[i];
        units = h->lanes / from->gates;
        from->unit_count = (uint32_t)units < s->units ? (uint32_t)units : s->units;
        from->segments = (int)((s->units + from->unit_count - 1) / from->unit_count);
        s->unit_count = from->unit_count;
        s->groups = from->segments;
    }
    return UNROLL_OK;
}

/* ---- stages ---------------------------------------------------------------------------- */

static unroll_status add_gate(struct hardware *h, struct stage *s, int sums, uint32_t first, int fraction)
{
    if (s->gates == MAX_GATES)
        return fail(
            UNROLL_UNSUPPORTED,
            "layer %d: hardware has room for %d sums of a unit; fix: use a smaller or simpler network, or another format (`to` c99)",
            h->program->act[s->act].layer, MAX_GATES);
    s->sums[s->gates] = sums;
    s->first[s->gates] = first;
    TRY(shift_index(&h->formats, h->program->vector[sums].fraction - fraction, &s->format[s->gates]));
    s->gates++;
    return UNROLL_OK;
}

/* A field that two acts read has one slot per stage. */
static unroll_status find_gates(struct hardware *h, struct stage *s)
{
    const struct program *p = h->program;
    const struct act *a = &p->act[s->act];
    s->units = a->count;
    if (s->is_head)
        return add_gate(h, s, a->kind == ACT_SOFTMAX ? a->from : a->from, 0, p->vector[a->from].fraction);
    if (a->kind == ACT_COPY)
        return add_gate(h, s, a->from, 0, p->vector[a->to].fraction);
    for (int i = 0; i < a->pointwise->inputs; i++) {
        const struct binding *b = &a->pointwise->input[i];
        if (b->vector != ABSENT_VECTOR && p->vector[b->vector].is_sum)
            TRY(add_gate(h, s, b->vector, b->first, a->pointwise->node[b->node->number].fraction));
    }
    return UNROLL_OK;
}

static void set_writers(struct hardware *h, const struct act *a, int stage)
{
    if (a->kind == ACT_COPY)
        h->writer[a->to] = stage;
    for (int i = 0; a->pointwise && i < a->pointwise->results; i++) h->writer[a->pointwise->result[i].vector] = stage;
}

/* Returns which kind of stage an act ends: 0 none, 1 a layer, 2 the head. */
static int ending(const struct program *p, int i)
{
    const struct act *a = &p->act[i];
    if (a->kind == ACT_POINTWISE || (a->kind == ACT_COPY && p->vector[a->from].is_sum))
        return 1;
    if (a->kind == ACT_SOFTMAX)
        return 2;
    return a->kind == ACT_LEAVE && (i == 0 || p->act[i - 1].kind != ACT_SOFTMAX) ? 2 : 0;
}

/* Lists the layers and the head, with their gates and sources. */
static unroll_status list_stages(struct hardware *h)
{
    const struct program *p = h->program;
    for (int i = 0; i < p->acts; i++) {
        const int kind = ending(p, i);
        if (!kind)
            continue;
        if (h->stages == MAX_STAGES)
            return fail(
                UNROLL_UNSUPPORTED,
                "hardware has room for %d layers; fix: use a smaller or simpler network, or another format (`to` c99)",
                MAX_STAGES);
        if (kind == 2 && !p->vector[p->act[i].from].is_sum)
            return fail(UNROLL_UNSUPPORTED,
                        "hardware has no form of a head with an activation of its own; fix: use a linear last layer");
        set_writers(h, &p->act[i], h->stages);
        h->stage[h->stages++] = (struct stage){.act = i, .is_head = kind == 2};
    }
    for (int i = 0; i < h->stages; i++) {
        TRY(find_gates(h, &h->stage[i]));
        TRY(find_sources(h, &h->stage[i]));
    }
    return UNROLL_OK;
}

/* ---- memories -------------------------------------------------------------------------- */

static unroll_status place_operand(struct hardware *h, int vector)
{
    if (vector == ABSENT_VECTOR || h->x_base[vector] >= 0)
        return UNROLL_OK;
    h->x_base[vector] = (int)h->x_words;
    h->x_words += 2 * h->program->vector[vector].size;
    if (!h->skips)
        return UNROLL_OK;
    if (h->lists == MAX_LISTS || h->x_words > 65535)
        return fail(UNROLL_UNSUPPORTED,
                    "hardware skips products of at most %d vectors of 65535 numbers in all; fix: no `delta`",
                    MAX_LISTS);
    h->list[h->lists++] = vector;
    return UNROLL_OK;
}

int hardware_list(const struct hardware *h, int vector)
{
    int i = 0;
    while (i < h->lists && h->list[i] != vector) i++;
    return i < h->lists ? i : 0;
}

/* Assigns addresses to operands, slots and states. */
static unroll_status place(struct hardware *h)
{
    const struct program *p = h->program;
    for (int pass = 0; pass < 2; pass++) /* x is at address 0 */
        for (int i = 0; i < h->stages; i++)
            for (int k = 0; k < h->stage[i].sources; k++)
                if (pass || h->stage[i].source[k].kind == SOURCE_X)
                    TRY(place_operand(h, h->stage[i].source[k].vector));
    for (int i = 0; i < h->stages; i++) {
        struct stage *s = &h->stage[i];
        s->slot = (int)h->slots;
        if (!s->is_head || s->sources > 1)
            h->slots += (uint32_t)s->gates * s->units;
        const struct pointwise *f = p->act[s->act].pointwise;
        for (int k = 0; f && !s->is_head && k < f->inputs; k++) {
            const int v = f->input[k].vector;
            if (v == ABSENT_VECTOR || p->vector[v].is_sum || h->state_base[v] >= 0)
                continue;
            h->state_base[v] = (int)h->states;
            h->states += p->vector[v].size;
        }
    }
    return UNROLL_OK;
}

/* Sets the sizes of inputs and outputs. */
static unroll_status set_ends(struct hardware *h)
{
    const struct program *p = h->program;
    h->tokens = p->tokens ? model_categories(p->model, 0) : 0;
    h->x_width = 1;
    for (int i = 0; i < p->acts; i++) {
        const struct act *a = &p->act[i];
        if (a->kind == ACT_EMBED)
            h->embeds = (int)a->count;
        if (a->kind == ACT_EMBED || a->kind == ACT_ENTER)
            h->x_width = (int)a->count;
        if (a->kind == ACT_LEAVE)
            h->outputs = (int)a->count;
    }
    if (h->tokens > 65534 || h->outputs > 65535)
        return fail(
            UNROLL_UNSUPPORTED,
            "hardware has room for 65534 tokens and outputs, the model has %d and %d; fix: use a smaller or simpler network, or another format (`to` c99)",
            h->tokens, h->outputs);
    return UNROLL_OK;
}

unroll_status hardware_stages(struct hardware *h)
{
    for (int i = 0; i < h->program->vectors; i++) h->alias[i] = h->x_base[i] = h->state_base[i] = h->writer[i] = -1;
    TRY(check_ends(h));
    TRY(list_stages(h));
    TRY(place(h));
    return set_ends(h);
}

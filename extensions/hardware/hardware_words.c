/* The pointwise part: the nodes of a record become words of a unit's program. A modulo schedule assigns each a clock
 * of a round, so that a unit begins every `interval` clocks. Bits are encoded in verilog_tables.c. */
#include "base/status.h"
#include "extensions/hardware/hardware.h"

static const struct word_operand one = {FROM_ONE, 0}, zero = {FROM_ZERO, 0};

/* State of lowering: the operand of each node, and the word that computed it. */
struct word_lowering {
    struct hardware *h;
    struct stage *s;
    const struct pointwise *f;
    struct word_operand of[RECORD_NODES];
    int made_by[RECORD_NODES];
};

static int limited(int value) { return value < -15 ? -15 : value > 63 ? 63 : value; }

unroll_status shift_index(struct shift_list *list, int shift, int *index)
{
    for (*index = 0; *index < list->count; ++*index)
        if (list->shift[*index] == shift)
            return UNROLL_OK;
    if (list->count == MAX_SHIFTS)
        return fail(UNROLL_UNSUPPORTED,
                    "hardware has room for %d formats of a kind, the model has more; fix: use fewer layers",
                    MAX_SHIFTS);
    list->shift[list->count++] = (int8_t)limited(shift);
    return UNROLL_OK;
}

/* ---- words ----------------------------------------------------------------------------- */

static unroll_status push(struct word_lowering *l, const struct word *word, int *index)
{
    struct stage *s = l->s;
    if (s->words == MAX_OPERATIONS)
        return fail(
            UNROLL_UNSUPPORTED,
            "layer %d: a unit takes more than %d operations, too many for hardware; fix: use a smaller or simpler network, or another format (`to` c99)",
            l->h->program->act[s->act].layer, MAX_OPERATIONS);
    *index = s->words;
    s->word[s->words] = *word;
    s->word[s->words].temp = s->temps++;
    s->word[s->words++].state = -1;
    s->word[*index].even = s->word[*index].odd = -1;
    return UNROLL_OK;
}

static unroll_status set_shifts(struct word_lowering *l, struct word *w, int p, int c, int out)
{
    TRY(shift_index(&l->h->p_shifts, p, &w->p_shift));
    TRY(shift_index(&l->h->c_shifts, c, &w->c_shift));
    return shift_index(&l->h->out_shifts, out, &w->out_shift);
}

static void need(struct word *w, const struct word_lowering *l, const struct word_operand *operand)
{
    for (int i = 0; operand->from == FROM_TEMP && i < l->s->words; i++)
        if (l->s->word[i].temp == operand->at)
            w->needs[w->needed++] = i;
}

/* Moves a value that the a port cannot read to a temporary. */
static unroll_status to_temp(struct word_lowering *l, struct word_operand *operand)
{
    int index;
    struct word move = {.a = one, .b = *operand, .c = zero};
    if (operand->from == FROM_TEMP)
        return UNROLL_OK;
    TRY(set_shifts(l, &move, 0, 0, 0));
    need(&move, l, operand);
    TRY(push(l, &move, &index));
    *operand = (struct word_operand){FROM_TEMP, l->s->word[index].temp};
    return UNROLL_OK;
}

static bool reads_a(const struct word_operand *o)
{
    return o->from == FROM_TEMP || o->from == FROM_WEIGHTS || o->from == FROM_IMMEDIATE || o->from == FROM_ONE;
}

static bool reads_bc(const struct word_operand *o)
{
    return o->from == FROM_SLOT || o->from == FROM_TEMP || o->from == FROM_STATE;
}

/* Fits a b + c to the ports: a reads temporaries, weights and the immediate; b and c read slots, temporaries and one
 * state. */
static unroll_status finish(struct word_lowering *l, struct word *w, int *index)
{
    if (!reads_a(&w->a) || (!reads_bc(&w->b) && w->b.from != FROM_ONE)) {
        const struct word_operand swap = w->a;
        w->a = w->b;
        w->b = swap;
    }
    if (!reads_a(&w->a))
        TRY(to_temp(l, &w->a));
    if (!reads_bc(&w->b) && w->b.from != FROM_ONE)
        TRY(to_temp(l, &w->b));
    if (w->c.from == FROM_WEIGHTS || (w->c.from == FROM_IMMEDIATE && w->a.from == FROM_IMMEDIATE))
        TRY(to_temp(l, &w->c));
    if (w->b.from == FROM_STATE && w->c.from == FROM_STATE && w->b.at != w->c.at)
        TRY(to_temp(l, &w->c));
    need(w, l, &w->a);
    need(w, l, &w->b);
    need(w, l, &w->c);
    return push(l, w, index);
}

/* ---- nodes ----------------------------------------------------------------------------- */

static struct word_operand operand(const struct word_lowering *l, const struct node *node, int k, struct word *w)
{
    const int number = node->operand[k]->number;
    if (!l->f->node[number].is_constant)
        return l->of[number];
    w->immediate = l->f->node[node->number].constant[k];
    return (struct word_operand){FROM_IMMEDIATE, 0};
}

static unroll_status lower_limit(struct word_lowering *l, const struct node *node, struct word *w)
{
    const struct fixed_node *n = &l->f->node[node->number];
    const int constant = l->f->node[node->operand[0]->number].is_constant ? 0 : 1;
    if (!l->f->node[node->operand[constant]->number].is_constant)
        return fail(
            UNROLL_UNSUPPORTED,
            "layer %d: hardware has a limit of constants alone; fix: use a smaller or simpler network, or another format (`to` c99)",
            l->h->program->act[l->s->act].layer);
    w->a = one;
    w->b = operand(l, node, 1 - constant, w);
    w->c = operand(l, node, constant, w);
    w->limit = node->kind == NODE_MIN ? LIMIT_LEAST : LIMIT_MOST;
    return set_shifts(l, w, 0, 0, n->shift[1 - constant]);
}

static unroll_status lower_function(struct word_lowering *l, const struct node *node, struct word *w)
{
    const struct fixed_node *n = &l->f->node[node->number];
    w->kind = node->kind == NODE_TANH ? WORD_TANH : WORD_SIGMOID;
    w->a = w->b = one;
    w->c = operand(l, node, 0, w);
    w->left = (node->kind == NODE_TANH ? SIGMOID_MAX + 1 : SIGMOID_MAX) - n->shift[1];
    return set_shifts(l, w, 0, n->shift[0], 0);
}

/* Lowers a node of the cell to a word of the unit's program. */
static unroll_status lower_node(struct word_lowering *l, const struct node *node)
{
    const struct fixed_node *n = &l->f->node[node->number];
    struct word w = {.a = one, .b = one, .c = zero};
    int index;
    switch (node->kind) {
    case NODE_SIGMOID:
    case NODE_TANH: TRY(lower_function(l, node, &w)); break;
    case NODE_MIN:
    case NODE_MAX: TRY(lower_limit(l, node, &w)); break;
    case NODE_ADD:
    case NODE_SUB:
        w.a = operand(l, node, 0, &w);
        w.c = operand(l, node, 1, &w);
        w.minus = node->kind == NODE_SUB;
        TRY(set_shifts(l, &w, -n->shift[0], -n->shift[1], n->out));
        break;
    case NODE_MUL:
        w.a = operand(l, node, 0, &w);
        w.b = operand(l, node, 1, &w);
        TRY(set_shifts(l, &w, 0, 0, n->out));
        break;
    case NODE_FMA:
        w.a = operand(l, node, 0, &w);
        w.b = operand(l, node, 1, &w);
        w.c = operand(l, node, 2, &w);
        TRY(set_shifts(l, &w, -n->shift[0], -n->shift[2], n->out));
        break;
    default:
        return fail(UNROLL_UNSUPPORTED,
                    "layer %d: hardware has sums, products, limits, sigmoid and tanh; an exponential, a logarithm, a "
                    "root, a division or a comparison has no form there; fix: use a cell or an activation without",
                    l->h->program->act[l->s->act].layer);
    }
    TRY(finish(l, &w, &index));
    l->of[node->number] = (struct word_operand){FROM_TEMP, l->s->word[index].temp};
    l->made_by[node->number] = index;
    return UNROLL_OK;
}

/* Returns the operand of a field: a slot of the stage, a state, or weights, which are copied to the memory. */
static struct word_operand lower_input(struct word_lowering *l, const struct node *node)
{
    const struct binding *b = l->f->node[node->number].field;
    struct hardware *h = l->h;
    if (b->weights) {
        const uint32_t at = h->vector_count;
        const float *values = parameter_values(h->program, b->weights) + b->first;
        for (uint32_t u = 0; u < l->f->units; u++)
            h->vectors[h->vector_count++] =
                (int16_t)quantize_number((double)values[u], l->f->node[node->number].fraction);
        return (struct word_operand){FROM_WEIGHTS, (int)at};
    }
    if (!h->program->vector[b->vector].is_sum)
        return (struct word_operand){FROM_STATE, h->state_base[b->vector] + (int)b->first};
    int gate = 0;
    while (l->s->sums[gate] != b->vector || l->s->first[gate] != b->first) gate++;
    return (struct word_operand){FROM_SLOT, l->s->slot + gate * (int)l->s->units};
}

/* ---- results --------------------------------------------------------------------------- */

static void goes_to(const struct hardware *h, struct word *w, int vector, uint32_t first)
{
    if (h->state_base[vector] >= 0)
        w->state = h->state_base[vector] + (int)first;
    if (h->x_base[vector] >= 0) {
        w->even = h->x_base[vector] + (int)first;
        w->odd = h->skips ? hardware_list(h, vector) : w->even + (int)h->program->vector[vector].size;
    }
}

static unroll_status lower_result(struct word_lowering *l, const struct binding *b)
{
    const int number = b->node->number;
    const int shift = l->f->node[number].fraction - l->h->program->vector[b->vector].fraction;
    int index = l->made_by[number];
    if (shift || index < 0 || l->s->word[index].state >= 0 || l->s->word[index].even >= 0) {
        struct word w = {.a = one, .b = l->of[number], .c = zero};
        TRY(set_shifts(l, &w, 0, 0, shift));
        TRY(finish(l, &w, &index));
    }
    goes_to(l->h, &l->s->word[index], b->vector, b->first);
    return UNROLL_OK;
}

/* Lowers all nodes of a cell, then its results. */
static unroll_status lower_pointwise(struct word_lowering *l)
{
    const struct record *record = l->f->record;
    for (int i = 0; i < record->nodes; i++) {
        const struct fixed_node *n = &l->f->node[i];
        l->made_by[i] = -1;
        if (!n->is_needed || n->is_constant)
            continue;
        if (record->node[i].kind == NODE_INPUT)
            l->of[i] = lower_input(l, &record->node[i]);
        else
            TRY(lower_node(l, &record->node[i]));
    }
    for (int i = 0; i < l->f->results; i++) {
        if (l->f->node[l->f->result[i].node->number].is_constant)
            return fail(
                UNROLL_UNSUPPORTED,
                "layer %d: its results are constants; hardware has no form of that; fix: use a smaller or simpler network, or another format (`to` c99)",
                l->h->program->act[l->s->act].layer);
        TRY(lower_result(l, &l->f->result[i]));
    }
    return UNROLL_OK;
}

/* ---- the schedule ---------------------------------------------------------------------- */

/* A state may be read until OPERATION_CLOCKS - 1 after the word that writes it. Returns true if no word had to be
 * delayed. */
static bool spare_states(struct stage *s, int *earliest)
{
    bool spared = true;
    for (int w = 0; w < s->words; w++)
        for (int r = 0; s->word[w].state >= 0 && r < s->words; r++) {
            const struct word *reader = &s->word[r];
            const bool reads = (reader->b.from == FROM_STATE && reader->b.at == s->word[w].state) ||
                               (reader->c.from == FROM_STATE && reader->c.at == s->word[w].state);
            const int wanted = reader->clock - OPERATION_CLOCKS + 1;
            if (reads && r != w && s->word[w].clock < wanted) {
                earliest[w] = wanted;
                spared = false;
            }
        }
    return spared;
}

/* Words are ordered so that none needs a later one. */
static int place_words(struct stage *s, const int *earliest)
{
    bool taken[MAX_ROUNDS * 64] = {false};
    int last = 0;
    for (int i = 0; i < s->words; i++) {
        struct word *w = &s->word[i];
        int clock = earliest[i];
        for (int k = 0; k < w->needed; k++) {
            const int ready = s->word[w->needs[k]].clock + OPERATION_CLOCKS;
            clock = ready > clock ? ready : clock;
        }
        while (taken[clock % s->interval]) clock++;
        taken[clock % s->interval] = true;
        w->clock = clock;
        last = clock > last ? clock : last;
    }
    return last;
}

static unroll_status schedule(struct hardware *h, struct stage *s)
{
    for (s->interval = s->words; s->interval < 64; s->interval++) {
        int earliest[MAX_OPERATIONS] = {0}, last = 0, tries = 0;
        do {
            last = place_words(s, earliest);
        } while (!spare_states(s, earliest) && ++tries < 2 * MAX_OPERATIONS);
        if (tries < 2 * MAX_OPERATIONS && last / s->interval < MAX_ROUNDS)
            return UNROLL_OK;
    }
    return fail(
        UNROLL_UNSUPPORTED,
        "layer %d: hardware found no schedule of a unit's %d operations; fix: use a smaller or simpler network, or another format (`to` c99)",
        h->program->act[s->act].layer, s->words);
}

static unroll_status lower_stage(struct hardware *h, struct stage *s)
{
    const struct act *a = &h->program->act[s->act];
    struct word_lowering l = {.h = h, .s = s, .f = a->pointwise};
    if (a->kind == ACT_COPY) {
        int index;
        struct word w = {.a = one, .b = {FROM_SLOT, s->slot}, .c = zero};
        TRY(set_shifts(&l, &w, 0, 0, 0));
        TRY(finish(&l, &w, &index));
        goes_to(h, &s->word[index], a->to, a->to_first);
    } else
        TRY(lower_pointwise(&l));
    TRY(schedule(h, s));
    for (int i = 0; i < s->words; i++) h->uses_limits |= s->word[i].limit != LIMIT_NONE;
    s->base = h->words;
    h->words += s->interval;
    return UNROLL_OK;
}

unroll_status hardware_words(struct hardware *h)
{
    for (int i = 0; i < h->stages; i++)
        if (!h->stage[i].is_head)
            TRY(lower_stage(h, &h->stage[i]));
    return UNROLL_OK;
}

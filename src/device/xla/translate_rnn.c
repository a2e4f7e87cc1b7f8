/* The recurrence and its backward as loops: a turn does the products with h, the cell's record, and keeps
 * what later operations read. Everything over all steps at once is outside (translate_products.c).
 *
 * What a loop reads or changes is carried by it; `struct places` says at which number. */
#include "device/xla/translate.h"
#include "base/memory.h"
#include <stdio.h>
#include <string.h>

enum { INPUTS = 16, STATES = 4, BLOCKS = 4, ABSENT_PLACE = -1 };

/* Gates whose sums have the same operand in the same phase: rows
 * [row, row + count) of the recurrent weights. */
struct block { unsigned source; int phase, row, count, input[INPUTS], w, bias; };

/* Numbers in loop.carried; ABSENT_PLACE: the layer has none. */
struct places {
    int g, s, y, link, m, projection, vector, lengths, reset;       /* arrays over all steps, and weights */
    int state[STATES];                      /* what goes from step to step, h first; or the gradients */
    int whole;                              /* h of all devices, where each has some units */
    int before[STATES], dy, dv, dp, dg;     /* backward: states entering, what is given and made */
};

struct recurrence {
    struct translation *t;
    const struct op *op;
    const struct cell_declaration *cell;
    struct cell_record record;
    struct cell_options options;
    struct block block[BLOCKS];
    int blocks;
    int64_t steps, rows, units, width;      /* width: of the whole h */
    bool projected, keeps;
    bool cut;                               /* units are divided among devices, which exchange inside the loop: */
    bool gathers;                           /* h and links are gathered, their gradients added and divided; else h is
                                               projected: it and its gradient are sums of all */
    struct devices group;
    int members[RANKS_MAX];
    struct loop loop;
    struct places at;
    struct value step, lasts;               /* inside: number of the step; [B] or id -1 */
};

/* ---- the loop's values ----------------------------------------------------------------- */

static int carry(struct recurrence *r, struct value v)
{
    r->loop.carried[r->loop.values] = v;
    return r->loop.values++;
}

static int carry_view(struct recurrence *r, int slot)
{
    return has(r->op, slot) ? carry(r, view_get(r->t, &r->op->view[slot])) : ABSENT_PLACE;
}

static int carry_zeros(struct recurrence *r, bool wanted, struct shape shape)
{
    return wanted ? carry(r, zeros(r->t, shape)) : ABSENT_PLACE;
}

static struct value *carried(struct recurrence *r, int place)
{
    return &r->loop.carried[place];
}

static struct value now(struct recurrence *r, int place)
{
    return hlo_step(&r->t->h, *carried(r, place), r->step);
}

static void keep(struct recurrence *r, int place, struct value step)
{
    if (place == ABSENT_PLACE)
        return;
    struct value whole = *carried(r, place), shaped;
    struct shape shape = whole.shape;
    shaped = hlo_reshape(&r->t->h, step, shape_of(shape.rank - 1, shape.dim + 1));
    *carried(r, place) = hlo_put_step(&r->t->h, whole, shaped, r->step);
}

/* Rows that take part have `yes`, the others `no`. */
static struct value of_rows(struct recurrence *r, struct value mask, struct value yes, struct value no)
{
    if (mask.id < 0)
        return yes;
    mask = hlo_spread(&r->t->h, mask, yes.shape, (int[]){ 0 });
    return hlo_select(&r->t->h, mask, yes, no);
}

static struct value or_zeros(struct recurrence *r, struct value mask, struct value x)
{
    return mask.id < 0 ? x : of_rows(r, mask, x, zeros(r->t, x.shape));
}

/* Field i of [B, F, U] or [F, B, U], as [B, U]. */
static struct value field(struct recurrence *r, struct value x, int axis, int i)
{
    int64_t first[HLO_AXES] = { 0 };
    struct shape shape = x.shape;
    first[axis] = i;
    shape.dim[axis] = 1;
    x = hlo_slice(&r->t->h, x, first, shape);
    return hlo_reshape(&r->t->h, x, SHAPE(shape_count(shape) / shape.dim[2], shape.dim[2]));
}

/* Fields side by side: [B, count, U], zeros after those that are given. */
static struct value fields(struct recurrence *r, const struct value *x, int given, int64_t count)
{
    struct value all = { .id = -1 };
    struct shape one = SHAPE(r->rows, 1, r->units);
    for (int i = 0; i < given; i++) {
        struct value next = hlo_reshape(&r->t->h, x[i], one);
        all = all.id < 0 ? next : hlo_join(&r->t->h, all, next, 1);
    }
    if (given < count) {
        struct value rest = zeros(r->t, SHAPE(r->rows, count - given, r->units));
        all = all.id < 0 ? rest : hlo_join(&r->t->h, all, rest, 1);
    }
    return all;
}

/* ---- units of other devices ------------------------------------------------------------ */

/* This device's units of what all have; a projected h is whole on all. */
static struct value own(struct recurrence *r, struct value whole, int axis)
{
    if (!r->gathers || whole.id < 0)
        return whole;
    struct value first = origin_of(r->t, r->op->view[RNN_G].buffer, 3);
    return hlo_part(&r->t->h, whole, axis, first, r->units);
}

static struct value summed(struct recurrence *r, struct value x)
{
    return r->cut && x.id >= 0 ? hlo_sum_over(&r->t->h, x, &r->group) : x;
}

/* [B, units] of each as the [B, width] of all; and the sum of all [B, width], of which each has its units. */
static struct value gathered(struct recurrence *r, struct value x)
{
    return r->gathers ? hlo_gather_over(&r->t->h, x, 1, &r->group) : summed(r, x);
}

static struct value scattered(struct recurrence *r, struct value x)
{
    return r->gathers && x.id >= 0 ? hlo_scatter_over(&r->t->h, x, 1, &r->group) : summed(r, x);
}

/* ---- the cell's record ----------------------------------------------------------------- */

struct inputs { struct named named[64]; int count; };

static void give(struct inputs *in, const char *group, const char *name, struct value value)
{
    struct named *n = &in->named[in->count++];
    snprintf(n->name, sizeof n->name, "%s_%s", group, name);
    n->value = value;
}

static void give_options(struct recurrence *r, struct inputs *in)
{
    for (int i = 0; i < r->cell->options; i++)
        give(in, "option", r->cell->option[i],
             hlo_constant(&r->t->h, HLO_F32, SHAPE(r->rows, r->units), r->options.clip));
}

static void give_vectors(struct recurrence *r, struct inputs *in)
{
    for (int i = 0; i < r->cell->vectors; i++) {
        struct value all = *carried(r, r->at.vector);
        all = hlo_slice(&r->t->h, all, (int64_t[]){ i, 0 }, SHAPE(1, r->units));
        all = hlo_reshape(&r->t->h, all, SHAPE(r->units));
        give(in, "vector", r->cell->vector[i],
             hlo_spread(&r->t->h, all, SHAPE(r->rows, r->units), (int[]){ 1 }));
    }
}

static struct value result_of(const struct evaluation *e, const char *group, const char *name)
{
    char full[40];
    snprintf(full, sizeof full, "%s_%s", group, name);
    return evaluated(e, full);
}

/* ---- what a layer has ------------------------------------------------------------------ */

static void find_blocks(struct recurrence *r)
{
    int row = 0;
    for (int i = 0; i < r->cell->inputs; i++) {
        unsigned source = r->cell->input[i].from & (FROM_H | FROM_LINK);
        struct block *last = r->blocks ? &r->block[r->blocks - 1] : NULL;
        if (!source)
            continue;
        if (!last || last->source != source || last->phase != r->cell->input[i].phase) {
            last = &r->block[r->blocks++];
            *last = (struct block){ .source = source, .phase = r->cell->input[i].phase, .row = row };
        }
        last->input[last->count++] = i;
        row++;
    }
}

/* Rows of the recurrent weights [G', U, K], as [n U, K], or of the biases [G', U]. */
static struct value rows_of(struct recurrence *r, int slot, const struct block *b)
{
    struct value all = view_get(r->t, &r->op->view[slot]);
    struct shape shape = all.shape;
    int64_t first[HLO_AXES] = { b->row };
    shape.dim[0] = b->count;
    all = hlo_slice(&r->t->h, all, first, shape);
    return hlo_reshape(&r->t->h, all,
                       slot == RNN_W ? SHAPE(b->count * r->units, r->width) : SHAPE(b->count * r->units));
}

static void carry_weights(struct recurrence *r, bool biases)
{
    for (int i = 0; i < r->blocks; i++) {
        struct block *b = &r->block[i];
        struct value w = rows_of(r, RNN_W, b);
        b->w = carry(r, hlo_narrowed(&r->t->h, w));
        b->bias = biases && has(r->op, RNN_BIAS) ? carry(r, rows_of(r, RNN_BIAS, b)) : ABSENT_PLACE;
    }
    r->at.projection = carry_view(r, RNN_PROJ);
    r->at.vector = carry_view(r, RNN_VECTOR);
    r->at.lengths = carry_view(r, RNN_LENGTHS);
    r->at.reset = carry_view(r, RNN_RESET);
}

static unroll_status describe(struct recurrence *r, struct translation *t, const struct op *op)
{
    const struct layer *layer = &t->plan->model->layer[op->depth - 1];
    const struct view *g = &op->view[RNN_G];
    if (!cell_record_named(cell_recorders, layer->cell->name, &r->record))
        return fail(UNROLL_UNSUPPORTED, "the cell '%s' has no record that could be made an XLA program",
                    layer->cell->name);
    const char *refusal = cell_record_refusal(&r->record);
    if (refusal)
        return fail(UNROLL_UNSUPPORTED, "%s", refusal);
    if (layer->cell->states > STATES || layer->cell->links > 1 || layer->cell->inputs > INPUTS)
        return fail(UNROLL_UNSUPPORTED,
                    "the cell '%s' has more states, links or gates than XLA programs are made for",
                    layer->cell->name);
    r->t = t;
    r->op = op;
    r->cell = layer->cell;
    r->options = layer->options;
    r->steps = g->count[0];
    r->rows = g->count[1];
    r->units = g->count[3];
    r->width = op->view[RNN_Y].count[2];
    r->projected = has(op, RNN_PROJ);
    r->cut = op->group >= 0;
    r->gathers = r->cut && !r->projected;
    if (r->cut)
        r->group = devices_of(t, op->group, r->members);
    r->keeps = t->plan->config.mode >= MODE_TRAIN;
    memset(&r->at, ABSENT_PLACE, sizeof r->at);
    find_blocks(r);
    return UNROLL_OK;
}

/* [B, U] of state k that enters or leaves the whole; id -1: the view is absent. */
static struct value state_view(struct recurrence *r, int output, int others, int k)
{
    if (!has(r->op, k ? others : output))
        return (struct value){ .id = -1 };
    struct value all = view_get(r->t, &r->op->view[k ? others : output]);
    return k ? field(r, all, 0, k - 1) : all;
}

static void put_states(struct recurrence *r, int output, int others, const struct value *state)
{
    struct value all = { .id = -1 };
    if (has(r->op, output))
        view_put(r->t, &r->op->view[output], state[0]);
    for (int k = 1; k < r->cell->states; k++) {
        struct value next = hlo_reshape(&r->t->h, state[k], SHAPE(1, r->rows, r->units));
        all = all.id < 0 ? next : hlo_join(&r->t->h, all, next, 0);
    }
    if (all.id >= 0 && has(r->op, others))
        view_put(r->t, &r->op->view[others], all);
}

/* Step `number` of the loop: which it is in time, and the rows that take part in it. */
static void begin_step(struct recurrence *r, bool falling, struct value number)
{
    struct hlo *h = &r->t->h;
    r->step = number;
    if (falling) {
        struct value last = hlo_constant(h, HLO_I32, SCALAR, (double)(r->steps - 1));
        r->step = hlo_binary(h, "subtract", last, number);
    }
    r->lasts.id = -1;
    if (r->at.lengths == ABSENT_PLACE)
        return;
    struct value origin = hlo_constant(h, HLO_I32, SCALAR, first_step(r->t->plan, &r->op->view[RNN_G]));
    struct value global = hlo_binary(h, "add", r->step, origin);
    global = hlo_spread(h, global, SHAPE(r->rows), NULL);
    r->lasts = hlo_compare(h, "LT", global, *carried(r, r->at.lengths));
}

typedef unroll_status step_writer(struct recurrence *);

/* A loop whose turn does some steps, each the first of the turn and k more. */
static unroll_status write_turns(struct recurrence *r, bool falling, int64_t turns, step_writer *write)
{
    struct hlo *h = &r->t->h;
    hlo_loop(h, &r->loop, turns);
    struct value counter = r->loop.counter, first = counter;
    if (r->t->unroll > 1) {
        struct value steps = hlo_constant(h, HLO_I32, SCALAR, r->t->unroll);
        first = hlo_binary(h, "multiply", counter, steps);
    }
    for (int k = 0; k < r->t->unroll; k++) {
        struct value number = first;
        if (k) {
            struct value more = hlo_constant(h, HLO_I32, SCALAR, k);
            number = hlo_binary(h, "add", first, more);
        }
        begin_step(r, falling, number);
        TRY(write(r));
    }
    r->loop.counter = counter;
    hlo_loop_end(h, &r->loop);
    return UNROLL_OK;
}

/* All steps: in turns, then those that fill no turn; a lone turn is no loop. */
static unroll_status write_steps(struct recurrence *r, bool falling, step_writer *write)
{
    int64_t turns = r->steps / r->t->unroll, done = turns > 1 ? turns * r->t->unroll : 0;
    if (turns > 1)
        TRY(write_turns(r, falling, turns, write));
    for (; done < r->steps; done++) {
        begin_step(r, falling, hlo_constant(&r->t->h, HLO_I32, SCALAR, (double)done));
        TRY(write(r));
    }
    return UNROLL_OK;
}

/* [B] true where the row does not start anew in this step; id -1: none ever does. */
static struct value goes_on(struct recurrence *r)
{
    if (r->at.reset == ABSENT_PLACE)
        return (struct value){ .id = -1 };
    struct value anew = now(r, r->at.reset);
    struct value zero = hlo_constant(&r->t->h, HLO_U8, anew.shape, 0);
    return hlo_compare(&r->t->h, "EQ", anew, zero);
}

/* ---- forward --------------------------------------------------------------------------- */

/* in[i] += bias + W operand, for the inputs of a phase. */
static void add_products(struct recurrence *r, int phase, struct value h, struct value link, struct value *in)
{
    struct hlo *out = &r->t->h;
    for (int i = 0; i < r->blocks; i++) {
        const struct block *b = &r->block[i];
        if (b->phase != phase)
            continue;
        struct value sum = hlo_dot(out, b->source == FROM_H ? h : link, 1, *carried(r, b->w), 1);
        if (b->bias != ABSENT_PLACE) {
            struct value bias = hlo_spread(out, *carried(r, b->bias), sum.shape, (int[]){ 1 });
            sum = hlo_binary(out, "add", sum, bias);
        }
        sum = hlo_reshape(out, sum, SHAPE(r->rows, b->count, r->units));
        for (int k = 0; k < b->count; k++) {
            struct value gate = field(r, sum, 1, k), *to = &in[b->input[k]];
            *to = to->id < 0 ? gate : hlo_binary(out, "add", *to, gate);
        }
    }
}

/* What the product with x left for each input; id -1: nothing. */
static void take_input_sums(struct recurrence *r, struct value *in)
{
    struct value g = now(r, r->at.g);
    for (int i = 0; i < r->cell->inputs; i++)
        in[i] = r->cell->input[i].from & FROM_X ? field(r, g, 1, i) : (struct value){ .id = -1 };
}

static unroll_status forward_phase(struct recurrence *r, int phase, const struct value *in,
                                   const struct value *state, struct evaluation *e)
{
    struct inputs given = { .count = 0 };
    give_options(r, &given);
    for (int i = 0; i < r->cell->inputs; i++)
        if (r->cell->input[i].phase == phase)
            give(&given, "in", r->cell->input[i].name, in[i]);
    for (int k = 0; k < r->cell->states; k++)
        if (k || !r->projected)                         /* no projected cell reads its h */
            give(&given, "state", r->cell->state[k], state[k]);
    if (phase == 0)
        give_vectors(r, &given);
    return evaluate_record(r->t, &r->record.forward[phase], given.named, given.count,
                           SHAPE(r->rows, r->units), e);
}

/* By what of the phases it is: a saved value belongs to one of them. */
static void take_saved(struct recurrence *r, const struct evaluation *e, struct value *saved)
{
    for (int i = 0; i < r->cell->saved; i++) {
        struct value v = result_of(e, "saved", r->cell->saved_value[i]);
        if (v.id >= 0)
            saved[i] = v;
    }
}

static void keep_step(struct recurrence *r, struct value y, const struct value *next, struct value m,
                      struct value link, struct value *saved)
{
    keep(r, r->at.y, or_zeros(r, r->lasts, y));
    if (r->at.m != ABSENT_PLACE)
        keep(r, r->at.m, or_zeros(r, r->lasts, m));
    if (r->at.link != ABSENT_PLACE)
        keep(r, r->at.link, or_zeros(r, r->lasts, link));
    if (r->at.s != ABSENT_PLACE)
        keep(r, r->at.s,
             or_zeros(r, r->lasts, fields(r, next + 1, r->cell->states - 1, r->cell->states - 1)));
    if (r->keeps)
        keep(r, r->at.g, or_zeros(r, r->lasts, fields(r, saved, r->cell->saved, r->cell->inputs)));
}

static unroll_status forward_turn(struct recurrence *r)
{
    struct value state[STATES], in[INPUTS], next[STATES], saved[INPUTS];
    struct value link = { .id = -1 }, m = { .id = -1 };
    struct evaluation e;
    struct value fresh = goes_on(r);
    for (int k = 0; k < r->cell->states; k++)
        state[k] = or_zeros(r, fresh, *carried(r, r->at.state[k]));
    struct value h = r->gathers ? or_zeros(r, fresh, *carried(r, r->at.whole)) : state[0];
    take_input_sums(r, in);
    for (int phase = 0; phase < r->cell->phases; phase++) {
        add_products(r, phase, h, link, in);
        TRY(forward_phase(r, phase, in, state, &e));
        take_saved(r, &e, saved);
        if (phase + 1 < r->cell->phases)
            link = gathered(r, result_of(&e, "link", r->cell->link[0]));
    }
    for (int k = 0; k < r->cell->states; k++)
        next[k] = result_of(&e, "next", r->cell->state[k]);
    if (r->projected) {
        m = next[0];
        next[0] = hlo_dot(&r->t->h, m, 1, *carried(r, r->at.projection), 1);
    }
    h = gathered(r, next[0]);
    next[0] = r->gathers ? next[0] : h;
    keep_step(r, h, next, m, link, saved);
    if (r->gathers)
        *carried(r, r->at.whole) = of_rows(r, r->lasts, h, *carried(r, r->at.whole));
    for (int k = 0; k < r->cell->states; k++)
        *carried(r, r->at.state[k]) = of_rows(r, r->lasts, next[k], *carried(r, r->at.state[k]));
    return UNROLL_OK;
}

static unroll_status write_forward(struct recurrence *r, struct translation *t, const struct op *op)
{
    TRY(describe(r, t, op));
    r->at.g = carry_view(r, RNN_G);
    for (int k = 0; k < r->cell->states; k++) {
        struct value entering = state_view(r, RNN_H0, RNN_S0, k);
        r->at.whole = !k && r->gathers ? carry(r, entering) : r->at.whole;
        r->at.state[k] = carry(r, k ? entering : own(r, entering, 1));
    }
    carry_weights(r, true);
    r->at.y = carry_zeros(r, true, SHAPE(r->steps, r->rows, r->width));
    r->at.s = carry_zeros(r, has(op, RNN_S), SHAPE(r->steps, r->rows, r->cell->states - 1, r->units));
    r->at.link = carry_zeros(r, has(op, RNN_LINK), SHAPE(r->steps, r->rows, 1, r->width));
    r->at.m = carry_zeros(r, has(op, RNN_M), SHAPE(r->steps, r->rows, r->units));
    TRY(write_steps(r, op->direction, forward_turn));
    static const struct { int slot; size_t place; } made[] = {
        { RNN_Y, offsetof(struct places, y) }, { RNN_S, offsetof(struct places, s) },
        { RNN_LINK, offsetof(struct places, link) }, { RNN_M, offsetof(struct places, m) },
    };
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        if (has(op, made[i].slot))
            view_put(t, &op->view[made[i].slot],
                     *carried(r, *(const int *)((const char *)&r->at + made[i].place)));
    if (r->keeps)
        view_put(t, &op->view[RNN_G], *carried(r, r->at.g));
    struct value last[STATES];
    for (int k = 0; k < r->cell->states; k++)
        last[k] = *carried(r, !k && r->gathers ? r->at.whole : r->at.state[k]);
    put_states(r, RNN_HN, RNN_SN, last);
    return UNROLL_OK;
}

/* ---- backward -------------------------------------------------------------------------- */

/* The values of a step: what entered and left it, and what forward saved. */
static void give_values(struct recurrence *r, struct inputs *given, const struct value *saved, bool vectors)
{
    struct value others = r->at.s == ABSENT_PLACE ? (struct value){ .id = -1 } : now(r, r->at.s);
    give_options(r, given);
    for (int k = 0; k < r->cell->states; k++) {
        if (k || !r->projected)
            give(given, "state", r->cell->state[k], now(r, r->at.before[k]));
        if (k)
            give(given, "next", r->cell->state[k], field(r, others, 1, k - 1));
        else
            give(given, "next", r->cell->state[0], now(r, r->projected ? r->at.m : r->at.y));
    }
    for (int i = 0; i < r->cell->saved; i++)
        give(given, "saved", r->cell->saved_value[i], saved[i]);
    if (vectors)
        give_vectors(r, given);
}

/* Gradient of the operand that `source` multiplied: [B, width], or id -1 where nothing did. */
static struct value operand_gradient(struct recurrence *r, unsigned source, const struct value *d_in)
{
    struct value sum = { .id = -1 };
    for (int i = 0; i < r->blocks; i++) {
        const struct block *b = &r->block[i];
        struct value d[INPUTS];
        if (b->source != source)
            continue;
        for (int k = 0; k < b->count; k++)
            d[k] = d_in[b->input[k]];
        struct value side = fields(r, d, b->count, b->count);
        side = hlo_reshape(&r->t->h, side, SHAPE(r->rows, b->count * r->units));
        side = hlo_dot(&r->t->h, side, 1, *carried(r, b->w), 0);
        sum = sum.id < 0 ? side : hlo_binary(&r->t->h, "add", sum, side);
    }
    return sum;
}

/* What a step's outputs were given: d_next of all states. */
static void receive(struct recurrence *r, struct value *d_next)
{
    struct hlo *h = &r->t->h;
    struct value d = *carried(r, r->at.state[0]);
    if (r->at.dy != ABSENT_PLACE)
        d = hlo_binary(h, "add", d, or_zeros(r, r->lasts, now(r, r->at.dy)));
    if (r->projected) {
        if (r->at.dp != ABSENT_PLACE)
            keep(r, r->at.dp, or_zeros(r, r->lasts, d));
        d = hlo_dot(h, d, 1, *carried(r, r->at.projection), 0);
    }
    d_next[0] = d;
    for (int k = 1; k < r->cell->states; k++)
        d_next[k] = *carried(r, r->at.state[k]);
}

struct gradients { struct value in[INPUTS], state[STATES], vector[INPUTS]; };

static unroll_status backward_phase(struct recurrence *r, int phase, const struct value *saved,
                                    const struct value *d_next, struct gradients *d)
{
    struct inputs given = { .count = 0 };
    struct evaluation e;
    bool is_last = phase + 1 == r->cell->phases;
    give_values(r, &given, saved, phase == 0);
    for (int k = 0; k < r->cell->states; k++) {
        if (is_last)
            give(&given, "d_next", r->cell->state[k], d_next[k]);
        give(&given, "d_state", r->cell->state[k],
             is_last ? zeros(r->t, SHAPE(r->rows, r->units)) : d->state[k]);
    }
    if (!is_last)
        give(&given, "d_link", r->cell->link[0], scattered(r, operand_gradient(r, FROM_LINK, d->in)));
    TRY(evaluate_record(r->t, &r->record.backward[phase], given.named, given.count, SHAPE(r->rows, r->units),
                        &e));
    for (int i = 0; i < r->cell->inputs; i++)
        if (r->cell->input[i].phase == phase)
            d->in[i] = result_of(&e, "d_in", r->cell->input[i].name);
    for (int k = 0; k < r->cell->states; k++)
        d->state[k] = result_of(&e, "d_state", r->cell->state[k]);
    for (int i = 0; phase == 0 && i < r->cell->vectors; i++)
        d->vector[i] = result_of(&e, "d_vector", r->cell->vector[i]);
    return UNROLL_OK;
}

static unroll_status backward_turn(struct recurrence *r)
{
    struct hlo *h = &r->t->h;
    struct value saved[INPUTS], d_next[STATES], g = now(r, r->at.g);
    struct gradients d = { 0 };
    for (int i = 0; i < r->cell->saved; i++)
        saved[i] = field(r, g, 1, i);
    receive(r, d_next);
    for (int phase = r->cell->phases; phase-- > 0;)
        TRY(backward_phase(r, phase, saved, d_next, &d));
    keep(r, r->at.dg, or_zeros(r, r->lasts, fields(r, d.in, r->cell->inputs, r->cell->inputs)));
    if (r->at.dv != ABSENT_PLACE)
        keep(r, r->at.dv, or_zeros(r, r->lasts, fields(r, d.vector, r->cell->vectors, r->cell->vectors)));
    struct value through = scattered(r, operand_gradient(r, FROM_H, d.in));
    if (r->projected)
        d.state[0] = through.id < 0 ? zeros(r->t, SHAPE(r->rows, r->width)) : through;
    else if (through.id >= 0)
        d.state[0] = hlo_binary(h, "add", d.state[0], through);
    struct value fresh = goes_on(r);
    for (int k = 0; k < r->cell->states; k++) {
        struct value leaves = or_zeros(r, fresh, d.state[k]);
        *carried(r, r->at.state[k]) = of_rows(r, r->lasts, leaves, *carried(r, r->at.state[k]));
    }
    return UNROLL_OK;
}

/* States k as they entered each step. */
static struct value states_before(struct recurrence *r, int k)
{
    const struct op *op = r->op;
    struct value first = state_view(r, RNN_H0, RNN_S0, k), all = view_get(r->t, &op->view[k ? RNN_S : RNN_Y]);
    if (!k) {
        first = own(r, first, 1);
        all = own(r, all, 2);
    } else {
        int64_t from[HLO_AXES] = { 0, 0, k - 1 };
        all = hlo_slice(&r->t->h, all, from, SHAPE(r->steps, r->rows, 1, r->units));
        all = hlo_reshape(&r->t->h, all, SHAPE(r->steps, r->rows, r->units));
    }
    return entering(r->t, op, all, first, &op->view[RNN_G], &op->view[RNN_LENGTHS], &op->view[RNN_RESET]);
}

static unroll_status write_backward(struct recurrence *r, struct translation *t, const struct op *op)
{
    TRY(describe(r, t, op));
    r->at.g = carry_view(r, RNN_G);
    r->at.y = carry(r, own(r, view_get(t, &op->view[RNN_Y]), 2));
    r->at.s = carry_view(r, RNN_S);
    r->at.m = carry_view(r, RNN_M);
    r->at.dy = has(op, RNN_DY) ? carry(r, own(r, view_get(t, &op->view[RNN_DY]), 2)) : ABSENT_PLACE;
    for (int k = 0; k < r->cell->states; k++) {
        struct value given = state_view(r, RNN_DHN, RNN_DSN, k);
        struct shape shape = SHAPE(r->rows, k || r->gathers ? r->units : r->width);
        if (k || !r->projected)
            r->at.before[k] = carry(r, states_before(r, k));
        r->at.state[k] = given.id < 0 ? carry_zeros(r, true, shape) : carry(r, given);
    }
    carry_weights(r, false);
    r->at.dg = carry_zeros(r, true, SHAPE(r->steps, r->rows, r->cell->inputs, r->units));
    r->at.dv = carry_zeros(r, has(op, RNN_DV), SHAPE(r->steps, r->rows, r->cell->vectors, r->units));
    r->at.dp = carry_zeros(r, has(op, RNN_DP), SHAPE(r->steps, r->rows, r->width));
    TRY(write_steps(r, !op->direction, backward_turn));
    view_put(t, &op->view[RNN_G], *carried(r, r->at.dg));
    if (has(op, RNN_DV))
        view_put(t, &op->view[RNN_DV], *carried(r, r->at.dv));
    if (has(op, RNN_DP))
        view_put(t, &op->view[RNN_DP], *carried(r, r->at.dp));
    struct value first[STATES];
    for (int k = 0; k < r->cell->states; k++)
        first[k] = *carried(r, r->at.state[k]);
    put_states(r, RNN_DH0, RNN_DS0, first);
    return UNROLL_OK;
}

/* ---- both ------------------------------------------------------------------------------ */

/* Records are large: not for the stack. */
static unroll_status write_loop(unroll_status (*write)(struct recurrence *, struct translation *,
                                                       const struct op *),
                                struct translation *t, const struct op *op)
{
    struct recurrence *r = allocate_zeroed(1, sizeof *r);
    if (!r)
        return fail(UNROLL_RESOURCE, "no memory to translate a recurrence");
    unroll_status status = write(r, t, op);
    release(r);
    return status;
}

unroll_status translate_rnn(struct translation *t, const struct op *op)
{
    return write_loop(write_forward, t, op);
}

unroll_status translate_rnn_back(struct translation *t, const struct op *op)
{
    return write_loop(write_backward, t, op);
}

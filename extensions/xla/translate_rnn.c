/* The recurrence as a loop: a turn computes the products with h and the cell's record, and keeps values for later
 * operations. The product with x is computed over all steps at once, outside the loop (translate_products.c).
 * Backward is in translate_rnn_back.c. */
#include "extensions/xla/recurrence.h"
#include <stddef.h>

/* in[i] += bias + W operand, for the inputs of a phase. */
static void add_products(struct recurrence *r, int phase, struct value h, struct value intermediate, struct value *in)
{
    struct hlo *out = &r->t->h;
    for (int i = 0; i < r->blocks; i++) {
        const struct block *b = &r->block[i];
        if (b->phase != phase)
            continue;
        struct value sum = hlo_dot(out, b->source == FROM_H ? h : intermediate, 1, *rnn_carried(r, b->w), 0);
        if (b->bias != ABSENT_LOCATION) {
            struct value bias = hlo_spread(out, *rnn_carried(r, b->bias), sum.shape, (int[]){1});
            sum = hlo_binary(out, "add", sum, bias);
        }
        sum = hlo_reshape(out, sum, SHAPE(r->rows, b->count, r->units));
        for (int k = 0; k < b->count; k++) {
            struct value gate = rnn_field(r, sum, 1, k), *to = &in[b->input[k]];
            *to = to->id < 0 ? gate : hlo_binary(out, "add", *to, gate);
        }
    }
}

/* Returns the product with x for each input; id -1: none. */
static void take_input_sums(struct recurrence *r, struct value *in)
{
    struct value g = rnn_now(r, r->at.g);
    for (int i = 0; i < r->cell->inputs; i++)
        in[i] = r->cell->input[i].from & FROM_X ? rnn_field(r, g, 1, i) : (struct value){.id = -1};
}

static unroll_status forward_phase(struct recurrence *r, int phase, const struct value *in, const struct value *state,
                                   struct evaluation *e)
{
    struct inputs given = {.count = 0};
    rnn_give_options(r, &given);
    for (int i = 0; i < r->cell->inputs; i++)
        if (r->cell->input[i].phase == phase)
            rnn_give(&given, "in", r->cell->input[i].name, in[i]);
    for (int k = 0; k < r->cell->states; k++)
        if (k || !r->projected) /* no projected cell reads its h */
            rnn_give(&given, "state", r->cell->state[k], state[k]);
    if (phase == 0)
        rnn_give_vectors(r, &given);
    return evaluate_record(r->t, &r->record.forward[phase], given.named, given.count, SHAPE(r->rows, r->units), e);
}

/* Takes the saved values that this phase computes; each belongs to one phase. */
static void take_saved(struct recurrence *r, const struct evaluation *e, struct value *saved)
{
    for (int i = 0; i < r->cell->saved; i++) {
        struct value v = rnn_result(e, "saved", r->cell->saved_value[i]);
        if (v.id >= 0)
            saved[i] = v;
    }
}

static void keep_step(struct recurrence *r, struct value y, const struct value *next, struct value m,
                      struct value intermediate, struct value *saved)
{
    rnn_keep(r, r->at.y, rnn_or_zeros(r, r->lasts, y));
    if (r->at.m != ABSENT_LOCATION)
        rnn_keep(r, r->at.m, rnn_or_zeros(r, r->lasts, m));
    if (r->at.intermediate != ABSENT_LOCATION)
        rnn_keep(r, r->at.intermediate, rnn_or_zeros(r, r->lasts, intermediate));
    if (r->at.s != ABSENT_LOCATION)
        rnn_keep(r, r->at.s,
                 rnn_or_zeros(r, r->lasts, rnn_fields(r, next + 1, r->cell->states - 1, r->cell->states - 1)));
    if (r->keeps)
        rnn_keep(r, r->at.g, rnn_or_zeros(r, r->lasts, rnn_fields(r, saved, r->cell->saved, r->cell->inputs)));
}

/* Translates one forward step of the loop. */
static unroll_status forward_turn(struct recurrence *r)
{
    struct value state[STATES], in[INPUTS], next[STATES], saved[INPUTS];
    struct value intermediate = {.id = -1}, m = {.id = -1};
    struct evaluation *e = r->t->evaluation;
    struct value fresh = rnn_goes_on(r);
    for (int k = 0; k < r->cell->states; k++) state[k] = rnn_or_zeros(r, fresh, *rnn_carried(r, r->at.state[k]));
    struct value h = r->gathers ? rnn_or_zeros(r, fresh, *rnn_carried(r, r->at.whole)) : state[0];
    take_input_sums(r, in);
    for (int phase = 0; phase < r->cell->phases; phase++) {
        add_products(r, phase, h, intermediate, in);
        TRY(forward_phase(r, phase, in, state, e));
        take_saved(r, e, saved);
        if (phase + 1 < r->cell->phases)
            intermediate = rnn_gathered(r, rnn_result(e, "intermediate", r->cell->intermediate[0]));
    }
    for (int k = 0; k < r->cell->states; k++) next[k] = rnn_result(e, "next", r->cell->state[k]);
    if (r->projected) {
        m = next[0];
        next[0] = hlo_dot(&r->t->h, m, 1, *rnn_carried(r, r->at.projection), 0);
    }
    h = rnn_gathered(r, next[0]);
    next[0] = r->gathers ? next[0] : h;
    keep_step(r, h, next, m, intermediate, saved);
    if (r->gathers)
        *rnn_carried(r, r->at.whole) = rnn_of_rows(r, r->lasts, h, *rnn_carried(r, r->at.whole));
    for (int k = 0; k < r->cell->states; k++)
        *rnn_carried(r, r->at.state[k]) = rnn_of_rows(r, r->lasts, next[k], *rnn_carried(r, r->at.state[k]));
    return UNROLL_OK;
}

/* Writes the forward loop: carries the arrays, runs the steps, and stores the results. */
static unroll_status write_forward(struct recurrence *r)
{
    struct translation *t = r->t;
    const struct op *op = r->op;
    r->at.g = rnn_carry_view(r, RNN_G);
    for (int k = 0; k < r->cell->states; k++) {
        struct value entering = rnn_state_view(r, RNN_H0, RNN_S0, k);
        r->at.whole = !k && r->gathers ? rnn_carry(r, entering) : r->at.whole;
        r->at.state[k] = rnn_carry(r, k ? entering : rnn_own(r, entering, 1));
    }
    rnn_carry_weights(r, true);
    r->at.y = rnn_carry_zeros(r, true, SHAPE(r->steps, r->rows, r->width));
    r->at.s = rnn_carry_zeros(r, has(op, RNN_S), SHAPE(r->steps, r->rows, r->cell->states - 1, r->units));
    r->at.intermediate = rnn_carry_zeros(r, has(op, RNN_INTERMEDIATE), SHAPE(r->steps, r->rows, 1, r->width));
    r->at.m = rnn_carry_zeros(r, has(op, RNN_M), SHAPE(r->steps, r->rows, r->units));
    TRY(rnn_write_steps(r, op->direction, forward_turn));
    static const struct {
        int slot;
        size_t location;
    } made[] = {{RNN_Y, offsetof(struct locations, y)},
                {RNN_S, offsetof(struct locations, s)},
                {RNN_INTERMEDIATE, offsetof(struct locations, intermediate)},
                {RNN_M, offsetof(struct locations, m)}};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        if (has(op, made[i].slot))
            view_put(t, &op->view[made[i].slot],
                     *rnn_carried(r, *(const int *)((const char *)&r->at + made[i].location)));
    if (r->keeps)
        view_put(t, &op->view[RNN_G], *rnn_carried(r, r->at.g));
    struct value last[STATES];
    for (int k = 0; k < r->cell->states; k++)
        last[k] = *rnn_carried(r, !k && r->gathers ? r->at.whole : r->at.state[k]);
    rnn_put_states(r, RNN_HN, RNN_SN, last);
    return UNROLL_OK;
}

unroll_status translate_rnn(struct translation *t, const struct op *op) { return rnn_translate(t, op, write_forward); }

/* The backward of a recurrence as a loop: a turn computes the gradient of a step's outputs, the cell's record, and
 * the products through time. Gradients of weights are computed over all steps at once, outside the loop
 * (translate_products.c). */
#include "extensions/xla/recurrence.h"

/* Gives the record the values of a step: states that entered and left it, and values saved by forward. */
static void give_values(struct recurrence *r, struct inputs *given, const struct value *saved, bool vectors)
{
    struct value others = r->at.s == ABSENT_LOCATION ? (struct value){.id = -1} : rnn_now(r, r->at.s);
    rnn_give_options(r, given);
    for (int k = 0; k < r->cell->states; k++) {
        if (k || !r->projected)
            rnn_give(given, "state", r->cell->state[k], rnn_now(r, r->at.before[k]));
        if (k)
            rnn_give(given, "next", r->cell->state[k], rnn_field(r, others, 1, k - 1));
        else
            rnn_give(given, "next", r->cell->state[0], rnn_now(r, r->projected ? r->at.m : r->at.y));
    }
    for (int i = 0; i < r->cell->saved; i++) rnn_give(given, "saved", r->cell->saved_value[i], saved[i]);
    if (vectors)
        rnn_give_vectors(r, given);
}

/* Returns the gradient of the operand of products from `source`: [B, width], or id -1 if there are none. */
static struct value operand_gradient(struct recurrence *r, unsigned source, const struct value *d_in)
{
    struct value sum = {.id = -1};
    for (int i = 0; i < r->blocks; i++) {
        const struct block *b = &r->block[i];
        struct value d[INPUTS];
        if (b->source != source)
            continue;
        for (int k = 0; k < b->count; k++) d[k] = d_in[b->input[k]];
        struct value side = rnn_fields(r, d, b->count, b->count);
        side = hlo_reshape(&r->t->h, side, SHAPE(r->rows, b->count * r->units));
        side = hlo_dot(&r->t->h, side, 1, *rnn_carried(r, b->w), 0);
        sum = sum.id < 0 ? side : hlo_binary(&r->t->h, "add", sum, side);
    }
    return sum;
}

/* Completes the gradients of a step's outputs: d_next of all states. */
static void receive(struct recurrence *r, struct value *d_next)
{
    struct hlo *h = &r->t->h;
    struct value d = *rnn_carried(r, r->at.state[0]);
    if (r->at.dy != ABSENT_LOCATION)
        d = hlo_binary(h, "add", d, rnn_or_zeros(r, r->lasts, rnn_now(r, r->at.dy)));
    if (r->projected) {
        if (r->at.dp != ABSENT_LOCATION)
            rnn_keep(r, r->at.dp, rnn_or_zeros(r, r->lasts, d));
        d = hlo_dot(h, d, 1, *rnn_carried(r, r->at.projection), 0);
    }
    d_next[0] = d;
    for (int k = 1; k < r->cell->states; k++) d_next[k] = *rnn_carried(r, r->at.state[k]);
}

struct gradients {
    struct value in[INPUTS], state[STATES], vector[INPUTS];
};

/* Translates the backward of one phase of the cell. */
static unroll_status backward_phase(struct recurrence *r, int phase, const struct value *saved,
                                    const struct value *d_next, struct gradients *d)
{
    struct inputs given = {.count = 0};
    struct evaluation *e = r->t->evaluation;
    bool is_last = phase + 1 == r->cell->phases;
    give_values(r, &given, saved, phase == 0);
    for (int k = 0; k < r->cell->states; k++) {
        if (is_last)
            rnn_give(&given, "d_next", r->cell->state[k], d_next[k]);
        rnn_give(&given, "d_state", r->cell->state[k], is_last ? zeros(r->t, SHAPE(r->rows, r->units)) : d->state[k]);
    }
    if (!is_last)
        rnn_give(&given, "d_intermediate", r->cell->intermediate[0],
                 rnn_scattered(r, operand_gradient(r, FROM_INTERMEDIATE, d->in)));
    TRY(evaluate_record(r->t, &r->record.backward[phase], given.named, given.count, SHAPE(r->rows, r->units), e));
    for (int i = 0; i < r->cell->inputs; i++)
        if (r->cell->input[i].phase == phase)
            d->in[i] = rnn_result(e, "d_in", r->cell->input[i].name);
    for (int k = 0; k < r->cell->states; k++) d->state[k] = rnn_result(e, "d_state", r->cell->state[k]);
    for (int i = 0; phase == 0 && i < r->cell->vectors; i++)
        d->vector[i] = rnn_result(e, "d_vector", r->cell->vector[i]);
    return UNROLL_OK;
}

/* Translates one backward step of the loop. */
static unroll_status backward_turn(struct recurrence *r)
{
    struct hlo *h = &r->t->h;
    struct value saved[INPUTS], d_next[STATES], g = rnn_now(r, r->at.g);
    struct gradients d = {0};
    for (int i = 0; i < r->cell->saved; i++) saved[i] = rnn_field(r, g, 1, i);
    receive(r, d_next);
    for (int phase = r->cell->phases; phase-- > 0;) TRY(backward_phase(r, phase, saved, d_next, &d));
    const int inputs = r->cell->inputs, vectors = r->cell->vectors;
    rnn_keep(r, r->at.dg, rnn_or_zeros(r, r->lasts, rnn_fields(r, d.in, inputs, inputs)));
    if (r->at.dv != ABSENT_LOCATION)
        rnn_keep(r, r->at.dv, rnn_or_zeros(r, r->lasts, rnn_fields(r, d.vector, vectors, vectors)));
    struct value through = rnn_scattered(r, operand_gradient(r, FROM_H, d.in));
    if (r->projected)
        d.state[0] = through.id < 0 ? zeros(r->t, SHAPE(r->rows, r->width)) : through;
    else if (through.id >= 0)
        d.state[0] = hlo_binary(h, "add", d.state[0], through);
    struct value fresh = rnn_goes_on(r);
    for (int k = 0; k < r->cell->states; k++) {
        struct value acc_blocks = rnn_or_zeros(r, fresh, d.state[k]);
        *rnn_carried(r, r->at.state[k]) = rnn_of_rows(r, r->lasts, acc_blocks, *rnn_carried(r, r->at.state[k]));
    }
    return UNROLL_OK;
}

/* Returns state k as it entered each step. */
static struct value states_before(struct recurrence *r, int k)
{
    const struct op *op = r->op;
    struct value first = rnn_state_view(r, RNN_H0, RNN_S0, k);
    struct value all = view_get(r->t, &op->view[k ? RNN_S : RNN_Y]);
    if (!k) {
        first = rnn_own(r, first, 1);
        all = rnn_own(r, all, 2);
    } else {
        int64_t from[HLO_AXES] = {0, 0, k - 1};
        all = hlo_slice(&r->t->h, all, from, SHAPE(r->steps, r->rows, 1, r->units));
        all = hlo_reshape(&r->t->h, all, SHAPE(r->steps, r->rows, r->units));
    }
    return entering(r->t, op, all, first, &op->view[RNN_G], &op->view[RNN_LENGTHS], &op->view[RNN_RESET]);
}

/* Writes the backward loop: carries the arrays, runs the steps, and stores the gradients. */
static unroll_status write_backward(struct recurrence *r)
{
    struct translation *t = r->t;
    const struct op *op = r->op;
    r->at.g = rnn_carry_view(r, RNN_G);
    r->at.y = rnn_carry(r, rnn_own(r, view_get(t, &op->view[RNN_Y]), 2));
    r->at.s = rnn_carry_view(r, RNN_S);
    r->at.m = rnn_carry_view(r, RNN_M);
    r->at.dy = has(op, RNN_DY) ? rnn_carry(r, rnn_own(r, view_get(t, &op->view[RNN_DY]), 2)) : ABSENT_LOCATION;
    for (int k = 0; k < r->cell->states; k++) {
        struct value given = rnn_state_view(r, RNN_DHN, RNN_DSN, k);
        struct shape shape = SHAPE(r->rows, k || r->gathers ? r->units : r->width);
        if (k || !r->projected)
            r->at.before[k] = rnn_carry(r, states_before(r, k));
        r->at.state[k] = given.id < 0 ? rnn_carry_zeros(r, true, shape) : rnn_carry(r, given);
    }
    rnn_carry_weights(r, false);
    r->at.dg = rnn_carry_zeros(r, true, SHAPE(r->steps, r->rows, r->cell->inputs, r->units));
    r->at.dv = rnn_carry_zeros(r, has(op, RNN_DV), SHAPE(r->steps, r->rows, r->cell->vectors, r->units));
    r->at.dp = rnn_carry_zeros(r, has(op, RNN_DP), SHAPE(r->steps, r->rows, r->width));
    TRY(rnn_write_steps(r, !op->direction, backward_turn));
    view_put(t, &op->view[RNN_G], *rnn_carried(r, r->at.dg));
    if (has(op, RNN_DV))
        view_put(t, &op->view[RNN_DV], *rnn_carried(r, r->at.dv));
    if (has(op, RNN_DP))
        view_put(t, &op->view[RNN_DP], *rnn_carried(r, r->at.dp));
    struct value first[STATES];
    for (int k = 0; k < r->cell->states; k++) first[k] = *rnn_carried(r, r->at.state[k]);
    rnn_put_states(r, RNN_DH0, RNN_DS0, first);
    return UNROLL_OK;
}

unroll_status translate_rnn_back(struct translation *t, const struct op *op)
{
    return rnn_translate(t, op, write_backward);
}

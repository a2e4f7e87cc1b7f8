/* Shared by the loops of a recurrence and of its backward (recurrence.h). No cell is named here, and no turn is
 * written: that is done in translate_rnn*.c. */
#include "extensions/xla/recurrence.h"
#include "base/memory.h"
#include <stdio.h>
#include <string.h>

/* ---- the loop's values ----------------------------------------------------------------- */

int rnn_carry(struct recurrence *r, struct value v)
{
    r->loop.carried[r->loop.values] = v;
    return r->loop.values++;
}

int rnn_carry_view(struct recurrence *r, int slot)
{
    return has(r->op, slot) ? rnn_carry(r, view_get(r->t, &r->op->view[slot])) : ABSENT_LOCATION;
}

int rnn_carry_zeros(struct recurrence *r, bool wanted, struct shape shape)
{
    return wanted ? rnn_carry(r, zeros(r->t, shape)) : ABSENT_LOCATION;
}

struct value *rnn_carried(struct recurrence *r, int location) { return &r->loop.carried[location]; }

struct value rnn_now(struct recurrence *r, int location)
{
    return hlo_step(&r->t->h, *rnn_carried(r, location), r->step);
}

void rnn_keep(struct recurrence *r, int location, struct value step)
{
    if (location == ABSENT_LOCATION)
        return;
    struct value whole = *rnn_carried(r, location), shaped;
    struct shape shape = whole.shape;
    shaped = hlo_reshape(&r->t->h, step, shape_of(shape.rank - 1, shape.dim + 1));
    *rnn_carried(r, location) = hlo_put_step(&r->t->h, whole, shaped, r->step);
}

struct value rnn_of_rows(struct recurrence *r, struct value mask, struct value yes, struct value no)
{
    if (mask.id < 0)
        return yes;
    mask = hlo_spread(&r->t->h, mask, yes.shape, (int[]){0});
    return hlo_select(&r->t->h, mask, yes, no);
}

struct value rnn_or_zeros(struct recurrence *r, struct value mask, struct value x)
{
    return mask.id < 0 ? x : rnn_of_rows(r, mask, x, zeros(r->t, x.shape));
}

struct value rnn_field(struct recurrence *r, struct value x, int axis, int i)
{
    int64_t first[HLO_AXES] = {0};
    struct shape shape = x.shape;
    first[axis] = i;
    shape.dim[axis] = 1;
    x = hlo_slice(&r->t->h, x, first, shape);
    return hlo_reshape(&r->t->h, x, SHAPE(shape_count(shape) / shape.dim[2], shape.dim[2]));
}

struct value rnn_fields(struct recurrence *r, const struct value *x, int given, int64_t count)
{
    struct value all = {.id = -1};
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

struct value rnn_own(struct recurrence *r, struct value whole, int axis)
{
    if (!r->gathers || whole.id < 0)
        return whole;
    struct value first = origin_of(r->t, r->op->view[RNN_G].buffer, 3);
    return hlo_slice_at(&r->t->h, whole, axis, first, r->units);
}

static struct value summed(struct recurrence *r, struct value x)
{
    return r->cut && x.id >= 0 ? hlo_sum_over(&r->t->h, x, &r->group) : x;
}

struct value rnn_gathered(struct recurrence *r, struct value x)
{
    return r->gathers ? hlo_gather_over(&r->t->h, x, 1, &r->group) : summed(r, x);
}

struct value rnn_scattered(struct recurrence *r, struct value x)
{
    return r->gathers && x.id >= 0 ? hlo_scatter_over(&r->t->h, x, 1, &r->group) : summed(r, x);
}

/* ---- the cell's record ----------------------------------------------------------------- */

void rnn_give(struct inputs *in, const char *group, const char *name, struct value value)
{
    struct named *n = &in->named[in->count++];
    snprintf(n->name, sizeof n->name, "%s_%s", group, name);
    n->value = value;
}

void rnn_give_options(struct recurrence *r, struct inputs *in)
{
    for (int i = 0; i < r->cell->options; i++)
        rnn_give(in, "option", r->cell->option[i],
                 hlo_constant(&r->t->h, HLO_F32, SHAPE(r->rows, r->units), r->options.clip));
}

void rnn_give_vectors(struct recurrence *r, struct inputs *in)
{
    for (int i = 0; i < r->cell->vectors; i++) {
        struct value all = *rnn_carried(r, r->at.vector);
        all = hlo_slice(&r->t->h, all, (int64_t[]){i, 0}, SHAPE(1, r->units));
        all = hlo_reshape(&r->t->h, all, SHAPE(r->units));
        rnn_give(in, "vector", r->cell->vector[i], hlo_spread(&r->t->h, all, SHAPE(r->rows, r->units), (int[]){1}));
    }
}

struct value rnn_result(const struct evaluation *e, const char *group, const char *name)
{
    char full[40];
    snprintf(full, sizeof full, "%s_%s", group, name);
    return evaluated(e, full);
}

/* ---- description of a layer --------------------------------------------------------------- */

static void find_blocks(struct recurrence *r)
{
    int row = 0;
    for (int i = 0; i < r->cell->inputs; i++) {
        unsigned source = r->cell->input[i].from & (FROM_H | FROM_INTERMEDIATE);
        struct block *last = r->blocks ? &r->block[r->blocks - 1] : NULL;
        if (!source)
            continue;
        if (!last || last->source != source || last->phase != r->cell->input[i].phase) {
            last = &r->block[r->blocks++];
            *last = (struct block){.source = source, .phase = r->cell->input[i].phase, .row = row};
        }
        last->input[last->count++] = i;
        row++;
    }
}

/* Returns rows of the recurrent weights [G', U, K], as [n U, K], or of the biases [G', U]. */
static struct value rows_of(struct recurrence *r, int slot, const struct block *b)
{
    struct value all = view_get(r->t, &r->op->view[slot]);
    struct shape shape = all.shape;
    int64_t first[HLO_AXES] = {b->row};
    shape.dim[0] = b->count;
    all = hlo_slice(&r->t->h, all, first, shape);
    return hlo_reshape(&r->t->h, all,
                       slot == RNN_W ? SHAPE(b->count * r->units, r->width) : SHAPE(b->count * r->units));
}

/* Carries weights [N, K], which backward multiplies with the gradients of N and forward with h, of K. */
static int carry_product(struct recurrence *r, struct value w, bool forward)
{
    w = hlo_narrowed(&r->t->h, w);
    return rnn_carry(r, forward ? hlo_transpose(&r->t->h, w) : w);
}

void rnn_carry_weights(struct recurrence *r, bool forward)
{
    for (int i = 0; i < r->blocks; i++) {
        struct block *b = &r->block[i];
        struct value w = rows_of(r, RNN_W, b);
        b->w = carry_product(r, w, forward);
        b->bias = forward && has(r->op, RNN_BIAS) ? rnn_carry(r, rows_of(r, RNN_BIAS, b)) : ABSENT_LOCATION;
    }
    if (has(r->op, RNN_PROJ)) {
        struct value w = view_get(r->t, &r->op->view[RNN_PROJ]);
        r->at.projection = carry_product(r, w, forward);
    }
    r->at.vector = rnn_carry_view(r, RNN_VECTOR);
    r->at.lengths = rnn_carry_view(r, RNN_LENGTHS);
    r->at.reset = rnn_carry_view(r, RNN_RESET);
}

/* Describes a recurrence; refuses cells that XLA programs cannot express. */
static unroll_status describe_recurrence(struct recurrence *r, struct translation *t, const struct op *op)
{
    const struct layer *layer = &t->plan->model->layer[op->depth - 1];
    const struct view *g = &op->view[RNN_G];
    if (!cell_record_named(cell_recorders, layer->cell->name, &r->record))
        return fail(UNROLL_UNSUPPORTED,
                    "the cell '%s' has no record that could be made an XLA program; fix: use another cell or device",
                    layer->cell->name);
    const char *refusal = cell_record_refusal(&r->record);
    if (refusal)
        return fail(UNROLL_UNSUPPORTED, "%s; fix: use another cell or device", refusal);
    if (layer->cell->states > STATES || layer->cell->intermediates > 1 || layer->cell->inputs > INPUTS)
        return fail(
            UNROLL_UNSUPPORTED,
            "the cell '%s' has more states, intermediates or gates than XLA programs are made for; fix: use another cell or device",
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
    memset(&r->at, ABSENT_LOCATION, sizeof r->at);
    find_blocks(r);
    return UNROLL_OK;
}

struct value rnn_state_view(struct recurrence *r, int output, int others, int k)
{
    if (!has(r->op, k ? others : output))
        return (struct value){.id = -1};
    struct value all = view_get(r->t, &r->op->view[k ? others : output]);
    return k ? rnn_field(r, all, 0, k - 1) : all;
}

void rnn_put_states(struct recurrence *r, int output, int others, const struct value *state)
{
    struct value all = {.id = -1};
    if (has(r->op, output))
        view_put(r->t, &r->op->view[output], state[0]);
    for (int k = 1; k < r->cell->states; k++) {
        struct value next = hlo_reshape(&r->t->h, state[k], SHAPE(1, r->rows, r->units));
        all = all.id < 0 ? next : hlo_join(&r->t->h, all, next, 0);
    }
    if (all.id >= 0 && has(r->op, others))
        view_put(r->t, &r->op->view[others], all);
}

/* Begins step `number` of the loop: finds its time, and the rows that take part in it. */
static void begin_step(struct recurrence *r, bool falling, struct value number)
{
    struct hlo *h = &r->t->h;
    r->step = number;
    if (falling) {
        struct value last = hlo_constant(h, HLO_I32, SCALAR, (double)(r->steps - 1));
        r->step = hlo_binary(h, "subtract", last, number);
    }
    r->lasts.id = -1;
    if (r->at.lengths == ABSENT_LOCATION)
        return;
    struct value origin = hlo_constant(h, HLO_I32, SCALAR, first_step(r->t->plan, &r->op->view[RNN_G]));
    struct value global = hlo_binary(h, "add", r->step, origin);
    global = hlo_spread(h, global, SHAPE(r->rows), NULL);
    r->lasts = hlo_compare(h, "LT", global, *rnn_carried(r, r->at.lengths));
}

/* Writes a loop of several steps per turn: step k of a turn is k after the first. */
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

unroll_status rnn_write_steps(struct recurrence *r, bool falling, step_writer *write)
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

struct value rnn_goes_on(struct recurrence *r)
{
    if (r->at.reset == ABSENT_LOCATION)
        return (struct value){.id = -1};
    struct value reset = rnn_now(r, r->at.reset);
    struct value zero = hlo_constant(&r->t->h, HLO_U8, reset.shape, 0);
    return hlo_compare(&r->t->h, "EQ", reset, zero);
}

/* The struct is large: not for the stack. */
unroll_status rnn_translate(struct translation *t, const struct op *op, step_writer *write)
{
    struct recurrence *r;
    TRY(ALLOCATE(r, 1, "to translate a recurrence"));
    unroll_status status = describe_recurrence(r, t, op);
    if (status == UNROLL_OK)
        status = write(r);
    release(r);
    return status;
}

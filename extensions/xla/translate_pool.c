/* Pools over time and their backward: all steps of a row at once, as arrays with masks. A later chunk continues from
 * the result of the previous one in y. Sums are in XLA's order. */
#include "extensions/xla/translate.h"

/* Returns [T, B] of i32: the index of each step in the whole sequence. */
static struct value step_numbers(struct translation *t, const struct view *x)
{
    struct shape rows = SHAPE(x->count[0], x->count[1]);
    struct value step = hlo_iota(&t->h, HLO_I32, rows, 0);
    struct value from = hlo_constant(&t->h, HLO_I32, rows, first_step(t->plan, x));
    return hlo_binary(&t->h, "add", step, from);
}

/* [B] of i32. */
static struct value lengths_of(struct translation *t, const struct view *x, const struct view *lengths)
{
    if (lengths->buffer >= 0)
        return view_get(t, lengths);
    return hlo_constant(&t->h, HLO_I32, SHAPE(x->count[1]), t->plan->config.T);
}

/* Returns [T, B]: whether it is the selected step of its row. */
static struct value wanted_step(struct translation *t, int pool, const struct view *x, const struct view *lengths)
{
    struct value step = step_numbers(t, x), length = lengths_of(t, x, lengths);
    struct value wanted = hlo_constant(&t->h, HLO_I32, step.shape, pool == POOL_FIRST ? 0 : 1);
    struct value none = hlo_constant(&t->h, HLO_I32, step.shape, 0);
    length = hlo_spread(&t->h, length, step.shape, (int[]){1});
    struct value some = hlo_compare(&t->h, "GT", length, none);
    if (pool != POOL_FIRST)
        wanted = hlo_binary(&t->h, "subtract", length, wanted);
    wanted = hlo_compare(&t->h, "EQ", step, wanted);
    return hlo_binary(&t->h, "and", wanted, some);
}

/* Returns [B, K] / length of each row; / 1 for length 0. */
static struct value divided(struct translation *t, struct value x, struct value length)
{
    struct value one = hlo_constant(&t->h, HLO_F32, length.shape, 1);
    length = hlo_binary(&t->h, "maximum", length, one);
    length = hlo_spread(&t->h, length, x.shape, (int[]){0});
    return hlo_binary(&t->h, "divide", x, length);
}

static bool begins(const struct op *op) { return op->view[POOL_Y].access == WRITE; }

/* Returns the result of previous chunks, [B, K]. */
static struct value so_far(struct translation *t, const struct view *y)
{
    struct value before = view_get(t, y);
    return hlo_reshape(&t->h, before, SHAPE(y->count[1], y->count[2]));
}

/* Sums the steps of the mask; divides in the chunk in which a row ends. */
static void pool_sum(struct translation *t, const struct op *op, struct value mask)
{
    const struct view *x = &op->view[POOL_X], *lengths = &op->view[POOL_LENGTHS];
    struct value all = view_get(t, x);
    all = masked(t, mask, all);
    struct value sum = hlo_reduce(&t->h, "add", all, 0, 1);
    if (!begins(op)) {
        struct value before = so_far(t, &op->view[POOL_Y]);
        sum = hlo_binary(&t->h, "add", before, sum);
    }
    if (op->choice == POOL_MEAN) {
        struct value ends = wanted_step(t, POOL_LAST, x, lengths), length = lengths_of(t, x, lengths);
        ends = hlo_convert(&t->h, ends, HLO_F32);
        ends = hlo_reduce(&t->h, "add", ends, 0, 1);
        length = hlo_convert(&t->h, length, HLO_F32);
        length = hlo_binary(&t->h, "multiply", ends, length);
        sum = divided(t, sum, length);
    }
    view_put(t, &op->view[POOL_Y], sum);
}

/* Returns [B, K] of i32: the first step at which x is max; negative: none. */
static struct value find_first(struct translation *t, const struct view *x, struct value all, struct value max)
{
    const int32_t T = (int32_t)t->plan->config.T;
    struct value step = step_numbers(t, x), end = hlo_constant(&t->h, HLO_I32, step.shape, T);
    struct value steps = hlo_constant(&t->h, HLO_F32, max.shape, T);
    struct value left = hlo_binary(&t->h, "subtract", end, step); /* maximal at the first step */
    left = hlo_convert(&t->h, left, HLO_F32);
    left = hlo_spread(&t->h, left, all.shape, (int[]){0, 1});
    max = hlo_spread(&t->h, max, all.shape, (int[]){1, 2});
    struct value equal = hlo_compare(&t->h, "EQ", all, max);
    left = masked(t, equal, left);
    left = hlo_reduce(&t->h, "maximum", left, 0, 1);
    left = hlo_binary(&t->h, "subtract", steps, left);
    return hlo_convert(&t->h, left, HLO_I32);
}

/* Returns [B]: whether the row has a step in this chunk. */
static struct value some_last(struct translation *t, struct value lasts)
{
    lasts = hlo_convert(&t->h, lasts, HLO_F32);
    lasts = hlo_reduce(&t->h, "maximum", lasts, 0, 1);
    struct value none = zeros(t, lasts.shape);
    return hlo_compare(&t->h, "GT", lasts, none);
}

/* A row of length 0 has the result 0, and no step. */
static void pool_max(struct translation *t, const struct op *op, struct value lasts)
{
    const struct view *x = &op->view[POOL_X], *y = &op->view[POOL_Y];
    struct value all = view_get(t, x);
    if (lasts.id < 0)
        lasts = hlo_constant(&t->h, HLO_I1, SHAPE(all.shape.dim[0], all.shape.dim[1]), 1);
    struct value lowest = hlo_constant(&t->h, HLO_F32, all.shape, -3.4028234e38);
    struct value counts = hlo_spread(&t->h, lasts, all.shape, (int[]){0, 1});
    all = hlo_select(&t->h, counts, all, lowest);
    struct value max = hlo_reduce(&t->h, "maximum", all, 0, 1), at = find_first(t, x, all, max);
    struct value larger = some_last(t, lasts), before = begins(op) ? zeros(t, max.shape) : so_far(t, y);
    larger = hlo_spread(&t->h, larger, max.shape, (int[]){0});
    if (!begins(op)) {
        struct value exceeds = hlo_compare(&t->h, "GT", max, before);
        larger = hlo_binary(&t->h, "and", larger, exceeds);
    }
    max = hlo_select(&t->h, larger, max, before);
    view_put(t, y, max);
    if (!has(op, POOL_AT))
        return;
    before = begins(op) ? hlo_constant(&t->h, HLO_I32, at.shape, -1) : so_far(t, &op->view[POOL_AT]);
    at = hlo_select(&t->h, larger, at, before);
    view_put(t, &op->view[POOL_AT], at);
}

unroll_status translate_pool(struct translation *t, const struct op *op)
{
    const struct view *x = &op->view[POOL_X], *lengths = &op->view[POOL_LENGTHS];
    if (op->choice == POOL_MAX)
        pool_max(t, op, rows_lasting(t, x, lengths));
    else if (op->choice == POOL_MEAN)
        pool_sum(t, op, rows_lasting(t, x, lengths));
    else
        pool_sum(t, op, wanted_step(t, op->choice, x, lengths));
    return UNROLL_OK;
}

unroll_status translate_pool_back(struct translation *t, const struct op *op)
{
    const struct view *dx = &op->view[POOL_BACK_DX], *lengths = &op->view[POOL_BACK_LENGTHS];
    struct shape all = shape_of_view(dx, t->plan);
    struct value d = view_get(t, &op->view[POOL_BACK_DY]);
    d = hlo_reshape(&t->h, d, SHAPE(all.dim[1], all.dim[2]));
    if (op->choice == POOL_MEAN) {
        struct value length = lengths_of(t, dx, lengths);
        length = hlo_convert(&t->h, length, HLO_F32);
        d = divided(t, d, length);
    }
    d = hlo_spread(&t->h, d, all, (int[]){1, 2});
    if (op->choice == POOL_MAX) {
        struct value at = view_get(t, &op->view[POOL_BACK_AT]), step = step_numbers(t, dx);
        at = hlo_reshape(&t->h, at, SHAPE(all.dim[1], all.dim[2]));
        at = hlo_spread(&t->h, at, all, (int[]){1, 2});
        step = hlo_spread(&t->h, step, all, (int[]){0, 1});
        d = masked(t, hlo_compare(&t->h, "EQ", at, step), d);
    } else {
        d = masked(t, op->choice == POOL_MEAN ? rows_lasting(t, dx, lengths) : wanted_step(t, op->choice, dx, lengths),
                   d);
    }
    view_put(t, dx, d);
    return UNROLL_OK;
}

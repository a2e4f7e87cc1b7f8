/* Shared code of cells with configurable functions: function k of the cell's options, its clipped input, and the slope
 * from the value. These cells are the reference for all combinations. The cells with fixed functions (lstm.h, gru.h,
 * ..) are the fast versions of common choices and give the same bits. Not inlined: a cell has up to ten calls, each a
 * switch of a dozen formulas. */
#pragma once
#include "nn/cells/cell.h"
#include "nn/vector/v_chosen.h"

#define ANY_CODE static __attribute__((noinline, unused))

ANY_CODE V any_value(const struct activation *f, V x)
{
    return v_chosen(f->kind, x, v_const(f->alpha), v_const(f->beta));
}

ANY_CODE V any_slope(const struct activation *f, V y)
{
    return v_chosen_slope(f->kind, y, v_const(f->alpha), v_const(f->beta));
}

/* Function k of a sum, clipped if a clip is set. */
CELL_CODE V any_gate(const struct cell_options *o, int k, V sum)
{
    return any_value(&o->function[k], o->clip > 0 ? v_clip(sum, v_const(o->clip)) : sum);
}

/* Returns 0 if the sum was clipped: the value then equals the function's value at a limit. All functions are
 * monotonic. */
CELL_CODE V any_gate_slope(const struct cell_options *o, int k, V y)
{
    V slope = any_slope(&o->function[k], y);
    if (!(o->clip > 0))
        return slope;
    V one = any_value(&o->function[k], v_const(-o->clip)), other = any_value(&o->function[k], v_const(o->clip));
    return v_mul(slope, v_inside(y, v_min(one, other), v_max(one, other)));
}

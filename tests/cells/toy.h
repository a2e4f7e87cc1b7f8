/* A test cell with every part that a cell can declare. Since it runs everywhere, no code outside the cell's own file
 * depends on a cell's name.
 *
 *     l  = tanh(clip(W_u x + U_u h + b_u + p m))
 *     s  = sigmoid(W_s x + U_s l + b_s),  e = U_e h + b_e
 *     h' = s e + m
 *     m' = s m */
#define CELL                  toy
#define STATES(STATE)         STATE(h) STATE(m)
#define OPTIONS(OPTION)       OPTION(clip)
#define VECTORS(VECTOR)       VECTOR(p)
#define GATE_INPUTS(INPUT)    INPUT(u, FROM_X | FROM_H)
#define SAVED(VALUE)          VALUE(l)
#define INTERMEDIATES(INTERMEDIATE)           INTERMEDIATE(l)
#define GATE_INPUTS_2(INPUT)  INPUT(s, FROM_X | FROM_INTERMEDIATE) INPUT(e, FROM_H)
#define SAVED_2(VALUE)        VALUE(s) VALUE(e)
#include "nn/cells/cell_begin.h"

FORWARD(v)
{
    V sum = v_fma(v->vector.p, v->state.m, v->in.u);
    v->intermediate.l = v_tanh(v_clip(sum, v->option.clip));
    v->saved.l = v->intermediate.l;
}

FORWARD_2(v)
{
    V s = v_sigmoid(v->in.s);
    v->next.h = v_fma(s, v->in.e, v->state.m);
    v->next.m = v_mul(s, v->state.m);
    v->saved.s = s;
    v->saved.e = v->in.e;
}

BACKWARD_2(v, d)
{
    V s = v->saved.s;
    V d_s = v_fma(d->next.h, v->saved.e, v_mul(d->next.m, v->state.m));
    d->in.s = v_mul(d_s, v_sigmoid_slope(s));
    d->in.e = v_mul(d->next.h, s);
    d->state.m = v_add(d->state.m, v_fma(d->next.m, s, d->next.h));
}

BACKWARD(v, d)
{
    V d_u = v_mul(d->intermediate.l, v_clipped_tanh_slope(v->saved.l, v->option.clip));
    d->in.u = d_u;
    d->vector.p = v_mul(d_u, v->state.m);
    d->state.m = v_fma(d_u, v->vector.p, d->state.m);
}

#include "nn/cells/cell_end.h"

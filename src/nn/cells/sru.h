/* SRU, simple recurrent unit: gates read only their own unit's state, and a highway adds x to the output.
 *
 *     f  = sigmoid(W_f x + b_f + v_f c)                forget gate
 *     r  = sigmoid(W_r x + b_r + v_r c)                output gate: r weights c', 1 - r the highway
 *     c' = f c + (1 - f) (W_n x + b_n)
 *     h' = r c' + (1 - r) (W_s x + b_s)
 *
 * Lei et al. 2018 (arXiv 1709.02755), the highway with its own product, as if x and h differed in width.
 */
#define CELL                sru
#define GATE_INPUTS(INPUT)  INPUT(f, FROM_X) INPUT(r, FROM_X) INPUT(n, FROM_X) INPUT(s, FROM_X)
#define STATES(STATE)       STATE(h) STATE(c)
#define SAVED(VALUE)        VALUE(f) VALUE(r) VALUE(n) VALUE(s)
#define VECTORS(VECTOR)     VECTOR(v_f) VECTOR(v_r)
#include "nn/cells/cell_begin.h"

FORWARD(v)
{
    V c = v->state.c;
    V f = v_sigmoid(v_fma(v->vector.v_f, c, v->in.f));
    V r = v_sigmoid(v_fma(v->vector.v_r, c, v->in.r));
    V new_c = v_mix(f, c, v->in.n);
    v->next.c = new_c;
    v->next.h = v_mix(r, new_c, v->in.s);
    v->saved.f = f;
    v->saved.r = r;
    v->saved.n = v->in.n;
    v->saved.s = v->in.s;
}

BACKWARD(v, d)
{
    V f = v->saved.f, r = v->saved.r, n = v->saved.n;
    V c = v->state.c, new_c = v->next.c;
    V d_h = d->next.h;
    V d_c = v_fma(d_h, r, d->next.c);
    V d_r = v_mul(v_mul(d_h, v_sub(new_c, v->saved.s)), v_sigmoid_slope(r));
    V d_f = v_mul(v_mul(d_c, v_sub(c, n)), v_sigmoid_slope(f));
    d->in.f = d_f;
    d->in.r = d_r;
    d->in.n = v_mul(d_c, v_sub(v_const(1), f));
    d->in.s = v_mul(d_h, v_sub(v_const(1), r));
    d->vector.v_f = v_mul(d_f, c);
    d->vector.v_r = v_mul(d_r, c);
    d->state.c = v_fma(d_f, v->vector.v_f, v_fma(d_r, v->vector.v_r, v_fma(d_c, f, d->state.c)));
}

#include "nn/cells/cell_end.h"

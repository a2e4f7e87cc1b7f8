/* A test cell with the operations that other cells do not use.
 *
 *     e' = exp(min(1, a)),  l' = log(1 + b b),  q' = a / (1 + |b|),  r' = sqrt(1 + a a)
 *     a = W_a x + U_a e + b_a,  b = W_b x + b_b */
#define CELL                toy_operations
#define GATE_INPUTS(INPUT)  INPUT(a, FROM_X | FROM_H) INPUT(b, FROM_X)
#define STATES(STATE)       STATE(e) STATE(l) STATE(q) STATE(r)
#define SAVED(VALUE)        VALUE(a) VALUE(b)
#include "nn/cells/cell_begin.h"

FORWARD(v)
{
    V one = v_const(1), a = v->in.a, b = v->in.b;
    v->next.e = v_exp(v_min(one, a));
    v->next.l = v_log(v_fma(b, b, one));
    v->next.q = v_div(a, v_add(one, v_abs(b)));
    v->next.r = v_sqrt(v_fma(a, a, one));
    v->saved.a = a;
    v->saved.b = b;
}

BACKWARD(v, d)
{
    V one = v_const(1), zero = v_const(0), a = v->saved.a, b = v->saved.b;
    V sign_b = v_sub(v_less(zero, b), v_less(b, zero));
    V d_q = v_div(d->next.q, v_add(one, v_abs(b)));
    V d_e = v_mul(v_mul(d->next.e, v->next.e), v_less(a, one));
    V d_l = v_div(v_mul(d->next.l, v_add(b, b)), v_fma(b, b, one));
    d->in.a = v_add(v_add(d_e, d_q), v_div(v_mul(d->next.r, a), v->next.r));
    d->in.b = v_sub(d_l, v_mul(v_mul(d_q, v->next.q), sign_b));
}

#include "nn/cells/cell_end.h"

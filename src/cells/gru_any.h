/* The GRUs of gru.h and gru_before.h with functions f (gates) and g (candidate) of the user's choice and a clip,
 * which bounds what enters them.
 *
 *     r  = f(W_r x + U_r h + b_r)
 *     z  = f(W_z x + U_z h + b_z)
 *     n  = g(n_x + r n_h)                      gru_any: the reset acts after the product
 *     n  = g(W_n x + U_n (r h) + b_n)          gru_before_any: before it
 *     h' = (1 - z) n + z h
 */
#include "cells/any.h"

#define CELL                gru_any
#define GATE_INPUTS(INPUT)  INPUT(r, FROM_X | FROM_H) INPUT(z, FROM_X | FROM_H) \
                            INPUT(n_x, FROM_X) INPUT(n_h, FROM_H)
#define STATES(STATE)       STATE(h)
#define SAVED(VALUE)        VALUE(r) VALUE(z) VALUE(n) VALUE(n_h)
#include "cells/cell_begin.h"

FORWARD(v)
{
    V r = any_gate(v->choice, 0, v->in.r);
    V z = any_gate(v->choice, 0, v->in.z);
    V n = any_gate(v->choice, 1, v_fma(r, v->in.n_h, v->in.n_x));

    v->next.h = v_mix(z, v->state.h, n);
    v->saved.r = r;
    v->saved.z = z;
    v->saved.n = n;
    v->saved.n_h = v->in.n_h;
}

BACKWARD(v, d)
{
    V r = v->saved.r, z = v->saved.z, n = v->saved.n;

    V d_h = d->next.h;
    V d_n = v_mul(v_mul(d_h, v_sub(v_const(1), z)), any_gate_slope(v->choice, 1, n));

    d->in.r = v_mul(v_mul(d_n, v->saved.n_h), any_gate_slope(v->choice, 0, r));
    d->in.z = v_mul(v_mul(d_h, v_sub(v->state.h, n)), any_gate_slope(v->choice, 0, z));
    d->in.n_x = d_n;
    d->in.n_h = v_mul(d_n, r);
    d->state.h = v_fma(d_h, z, d->state.h);
}

#include "cells/cell_end.h"

#define CELL                  gru_before_any
#define STATES(STATE)         STATE(h)
#define GATE_INPUTS(INPUT)    INPUT(r, FROM_X | FROM_H)
#define SAVED(VALUE)          VALUE(r)
#define LINKS(LINK)           LINK(rh)
#define GATE_INPUTS_2(INPUT)  INPUT(z, FROM_X | FROM_H) INPUT(n, FROM_X | FROM_LINK)
#define SAVED_2(VALUE)        VALUE(z) VALUE(n)
#include "cells/cell_begin.h"

FORWARD(v)
{
    V r = any_gate(v->choice, 0, v->in.r);

    v->link.rh = v_mul(r, v->state.h);
    v->saved.r = r;
}

FORWARD_2(v)
{
    V z = any_gate(v->choice, 0, v->in.z);
    V n = any_gate(v->choice, 1, v->in.n);

    v->next.h = v_mix(z, v->state.h, n);
    v->saved.z = z;
    v->saved.n = n;
}

BACKWARD_2(v, d)
{
    V z = v->saved.z, n = v->saved.n;
    V d_h = d->next.h;

    d->in.z = v_mul(v_mul(d_h, v_sub(v->state.h, n)), any_gate_slope(v->choice, 0, z));
    d->in.n = v_mul(v_mul(d_h, v_sub(v_const(1), z)), any_gate_slope(v->choice, 1, n));
    d->state.h = v_fma(d_h, z, d->state.h);
}

BACKWARD(v, d)
{
    V r = v->saved.r;
    V d_rh = d->link.rh;

    d->in.r = v_mul(v_mul(d_rh, v->state.h), any_gate_slope(v->choice, 0, r));
    d->state.h = v_fma(d_rh, r, d->state.h);
}

#include "cells/cell_end.h"

/* The LSTM of lstm.h with functions f (gates), g (candidate) and h (output) of the user's choice, a clip, and on
 * request coupled gates: f = 1 - i (ONNX's input_forget; Greff et al. 2017). With LSTM_PEEPHOLE its variant.
 *
 *     i  = f(W_i x + U_i h + b_i [+ p_i c ])
 *     f  = f(W_f x + U_f h + b_f [+ p_f c ])    coupled: 1 - i
 *     g  = g(W_g x + U_g h + b_g)
 *     o  = f(W_o x + U_o h + b_o [+ p_o c'])
 *     c' = f c + i g
 *     h' = o h(c')
 *
 * The clip bounds what enters the functions of the four gates. Weights of a gate that is coupled have no effect
 * and a gradient of zero.
 */
#include "cells/any.h"
#ifndef CELL
#define CELL                lstm_any
#endif
#ifdef LSTM_PEEPHOLE
#define VECTORS(VECTOR)     VECTOR(p_i) VECTOR(p_f) VECTOR(p_o)
#define PEEP(sum, p, c)     v_fma(v->vector.p, c, sum)
#else
#define PEEP(sum, p, c)     (sum)
#endif
#define GATE_INPUTS(INPUT)  INPUT(i, FROM_X | FROM_H) INPUT(f, FROM_X | FROM_H) \
                            INPUT(g, FROM_X | FROM_H) INPUT(o, FROM_X | FROM_H)
#define STATES(STATE)       STATE(h) STATE(c)
#define SAVED(VALUE)        VALUE(i) VALUE(f) VALUE(g) VALUE(o)
#include "cells/cell_begin.h"

FORWARD(v)
{
    V c = v->state.c;
    V i = any_gate(v->choice, 0, PEEP(v->in.i, p_i, c));
    V f = v->choice->coupled ? v_sub(v_const(1), i) : any_gate(v->choice, 0, PEEP(v->in.f, p_f, c));
    V g = any_gate(v->choice, 1, v->in.g);
    V new_c = v_fma(f, c, v_mul(i, g));
    V o = any_gate(v->choice, 0, PEEP(v->in.o, p_o, new_c));

    v->next.c = new_c;
    v->next.h = v_mul(o, any_value(&v->choice->function[2], new_c));
    v->saved.i = i;
    v->saved.f = f;
    v->saved.g = g;
    v->saved.o = o;
}

BACKWARD(v, d)
{
    V i = v->saved.i, f = v->saved.f, g = v->saved.g, o = v->saved.o;
    V c = v->state.c, new_c = v->next.c;
    V h_c = any_value(&v->choice->function[2], new_c);

    V d_h = d->next.h;
    V d_o = v_mul(v_mul(d_h, h_c), any_gate_slope(v->choice, 0, o));
    V d_c = v_fma(v_mul(d_h, o), any_slope(&v->choice->function[2], h_c), d->next.c);
    d_c = PEEP(d_c, p_o, d_o);
    V to_i = v_mul(d_c, g), d_f = v_const(0);
    if (v->choice->coupled)
        to_i = v_sub(to_i, v_mul(d_c, c));
    else
        d_f = v_mul(v_mul(d_c, c), any_gate_slope(v->choice, 0, f));
    V d_i = v_mul(to_i, any_gate_slope(v->choice, 0, i));

    d->in.i = d_i;
    d->in.f = d_f;
    d->in.g = v_mul(v_mul(d_c, i), any_gate_slope(v->choice, 1, g));
    d->in.o = d_o;
    d->state.c = v_fma(d_c, f, d->state.c);
    d->state.c = PEEP(PEEP(d->state.c, p_i, d_i), p_f, d_f);
#ifdef LSTM_PEEPHOLE
    d->vector.p_i = v_mul(d_i, c);
    d->vector.p_f = v_mul(d_f, c);
    d->vector.p_o = v_mul(d_o, new_c);
#endif
}

#include "cells/cell_end.h"
#undef PEEP
#ifndef LSTM_PEEPHOLE
#define LSTM_PEEPHOLE
#define CELL lstm_peephole_any
#include "cells/lstm_any.h"
#undef LSTM_PEEPHOLE
#endif

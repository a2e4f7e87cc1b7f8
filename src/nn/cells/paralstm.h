/* ParaLSTM: an LSTM with one gate for input and forget, whose gates read only their own unit's states.
 *
 *     f  = sigmoid(W_f x + b_f + a_f h + p_f c )       forget gate; the input gate is 1 - f
 *     g  = tanh   (W_g x + b_g + a_g h)                candidate
 *     c' = f c + (1 - f) g
 *     o  = sigmoid(W_o x + b_o + a_o h + p_o c')       output gate, reads the new c
 *     h' = o tanh(c')
 *
 * Danieli et al. 2025 (arXiv 2510.21450).
 */
#define CELL                paralstm
#define GATE_INPUTS(INPUT)  INPUT(f, FROM_X) INPUT(g, FROM_X) INPUT(o, FROM_X)
#define STATES(STATE)       STATE(h) STATE(c)
#define SAVED(VALUE)        VALUE(f) VALUE(g) VALUE(o)
#define VECTORS(VECTOR)     VECTOR(a_f) VECTOR(a_g) VECTOR(a_o) VECTOR(p_f) VECTOR(p_o)
#include "nn/cells/cell_begin.h"

FORWARD(v)
{
    V h = v->state.h, c = v->state.c;
    V f = v_sigmoid(v_fma(v->vector.p_f, c, v_fma(v->vector.a_f, h, v->in.f)));
    V g = v_tanh(v_fma(v->vector.a_g, h, v->in.g));
    V new_c = v_mix(f, c, g);
    V o = v_sigmoid(v_fma(v->vector.p_o, new_c, v_fma(v->vector.a_o, h, v->in.o)));
    v->next.c = new_c;
    v->next.h = v_mul(o, v_tanh(new_c));
    v->saved.f = f;
    v->saved.g = g;
    v->saved.o = o;
}

BACKWARD(v, d)
{
    V f = v->saved.f, g = v->saved.g, o = v->saved.o;
    V h = v->state.h, c = v->state.c, new_c = v->next.c;
    V tanh_c = v_tanh(new_c); /* cheaper to compute again than to store */
    V d_h = d->next.h;
    V d_o = v_mul(v_mul(d_h, tanh_c), v_sigmoid_slope(o));
    V d_c = v_fma(d_o, v->vector.p_o, v_fma(v_mul(d_h, o), v_tanh_slope(tanh_c), d->next.c));
    V d_f = v_mul(v_mul(d_c, v_sub(c, g)), v_sigmoid_slope(f));
    V d_g = v_mul(v_mul(d_c, v_sub(v_const(1), f)), v_tanh_slope(g));
    d->in.f = d_f;
    d->in.g = d_g;
    d->in.o = d_o;
    d->vector.a_f = v_mul(d_f, h);
    d->vector.a_g = v_mul(d_g, h);
    d->vector.a_o = v_mul(d_o, h);
    d->vector.p_f = v_mul(d_f, c);
    d->vector.p_o = v_mul(d_o, new_c);
    d->state.c = v_fma(d_f, v->vector.p_f, v_fma(d_c, f, d->state.c));
    d->state.h = v_fma(d_o, v->vector.a_o, v_fma(d_g, v->vector.a_g, v_fma(d_f, v->vector.a_f, d->state.h)));
}

#include "nn/cells/cell_end.h"

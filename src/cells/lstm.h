/* LSTM, long short-term memory; with LSTM_PEEPHOLE and LSTM_CLIP its variants (lstm_variants.h).
 *
 *     i  = sigmoid(W_i x + U_i h + b_i [+ p_i c ])     input gate
 *     f  = sigmoid(W_f x + U_f h + b_f [+ p_f c ])     forget gate
 *     g  = tanh   (W_g x + U_g h + b_g)                candidate
 *     o  = sigmoid(W_o x + U_o h + b_o [+ p_o c'])     output gate, sees the new c
 *     c' = f c + i g
 *     h' = o tanh(c')
 *
 * Hochreiter and Schmidhuber 1997; forget gate: Gers, Schmidhuber and Cummins 2000;
 * peepholes: Gers and Schmidhuber 2000. Gate order as in PyTorch. With a clip the four gates see
 * their sums within [-clip, clip], as ONNX Runtime computes it: the tanh of c' is not clipped.
 */
#ifndef CELL
#define CELL                lstm
#endif
#ifdef LSTM_PEEPHOLE
#define VECTORS(VECTOR)     VECTOR(p_i) VECTOR(p_f) VECTOR(p_o)
#define PEEP(sum, p, c)     v_fma(v->vector.p, c, sum)
#else
#define PEEP(sum, p, c)     (sum)
#endif
#ifdef LSTM_CLIP
#define OPTIONS(OPTION)     OPTION(clip)
#define CLIP(x)             v_clip(x, v->option.clip)
#define SIGMOID_SLOPE(s)    v_clipped_sigmoid_slope(s, v->option.clip)
#define TANH_SLOPE(t)       v_clipped_tanh_slope(t, v->option.clip)
#else
#define CLIP(x)             (x)
#define SIGMOID_SLOPE(s)    v_sigmoid_slope(s)
#define TANH_SLOPE(t)       v_tanh_slope(t)
#endif
#define GATE_INPUTS(INPUT)  INPUT(i, FROM_X | FROM_H) INPUT(f, FROM_X | FROM_H) \
                            INPUT(g, FROM_X | FROM_H) INPUT(o, FROM_X | FROM_H)
#define STATES(STATE)       STATE(h) STATE(c)
#define SAVED(VALUE)        VALUE(i) VALUE(f) VALUE(g) VALUE(o)
#include "cells/cell_begin.h"

FORWARD(v)
{
    V c = v->state.c;
    V i = v_sigmoid(CLIP(PEEP(v->in.i, p_i, c)));
    V f = v_sigmoid(CLIP(PEEP(v->in.f, p_f, c)));
    V g = v_tanh(CLIP(v->in.g));
    V new_c = v_fma(f, c, v_mul(i, g));
    V o = v_sigmoid(CLIP(PEEP(v->in.o, p_o, new_c)));

    v->next.c = new_c;
    v->next.h = v_mul(o, v_tanh(new_c));
    v->saved.i = i;
    v->saved.f = f;
    v->saved.g = g;
    v->saved.o = o;
}

BACKWARD(v, d)
{
    V i = v->saved.i, f = v->saved.f, g = v->saved.g, o = v->saved.o;
    V c = v->state.c, new_c = v->next.c;
    V tanh_c = v_tanh(new_c);                       /* cheaper to make again than to keep */

    V d_h = d->next.h;
    V d_o = v_mul(v_mul(d_h, tanh_c), SIGMOID_SLOPE(o));
    V d_c = v_fma(v_mul(d_h, o), v_tanh_slope(tanh_c), d->next.c);
    d_c = PEEP(d_c, p_o, d_o);
    V d_i = v_mul(v_mul(d_c, g), SIGMOID_SLOPE(i));
    V d_f = v_mul(v_mul(d_c, c), SIGMOID_SLOPE(f));

    d->in.i = d_i;
    d->in.f = d_f;
    d->in.g = v_mul(v_mul(d_c, i), TANH_SLOPE(g));
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
#undef LSTM_PEEPHOLE
#undef LSTM_CLIP
#undef PEEP
#undef CLIP
#undef SIGMOID_SLOPE
#undef TANH_SLOPE

/* LSTM, long short-term memory; with LSTM_PEEPHOLE, CELL_CLIPS and CELL_CHOOSES its variants (variants.h).
 *
 *     i  = sigmoid(W_i x + U_i h + b_i [+ p_i c ])     input gate
 *     f  = sigmoid(W_f x + U_f h + b_f [+ p_f c ])     forget gate; coupled: 1 - i
 *     g  = tanh   (W_g x + U_g h + b_g)                candidate
 *     o  = sigmoid(W_o x + U_o h + b_o [+ p_o c'])     output gate, reads the new c
 *     c' = f c + i g
 *     h' = o tanh(c')
 *
 * Hochreiter and Schmidhuber 1997; forget gate: Gers, Schmidhuber and Cummins 2000; peepholes: Gers and Schmidhuber
 * 2000; coupled gates: Greff et al. 2017 (ONNX's input_forget); the weights of f then have no effect and a gradient
 * of zero. Gate order as in PyTorch. A clip limits the sums of the four gates to [-clip, clip], like ONNX Runtime: the
 * tanh of c' is not clipped.
 */
#ifndef CELL
#define CELL                lstm
#endif
#define CELL_CALLED         "lstm"
#define CELL_FACTS          .projects = true, .couples = true, .peepholes = HAS_PEEPHOLES, .activations = 3,  \
                            .function = { ACTIVATION_SIGMOID, ACTIVATION_TANH, ACTIVATION_TANH },           \
                            .foreign = { .name = "LSTM", .in_torch = true, .onnx_gates = { 0, 2, 3, 1 },    \
                                         .onnx_vectors = { 0, 2, 1 }, .keras_gates = { 0, 1, 2, 3 },        \
                                         .keras_biases = 1 }
#ifdef LSTM_PEEPHOLE
#define VECTORS(VECTOR)     VECTOR(p_i) VECTOR(p_f) VECTOR(p_o)
#define PEEP(sum, p, c)     v_fma(v->vector.p, c, sum)
#define HAS_PEEPHOLES       true
#else
#define PEEP(sum, p, c)     (sum)
#define HAS_PEEPHOLES       false
#endif
#ifdef CELL_CLIPS
#define OPTIONS(OPTION)     OPTION(clip)
#endif
#define GATE_INPUTS(INPUT)  INPUT(i, FROM_X | FROM_H) INPUT(f, FROM_X | FROM_H) \
                            INPUT(g, FROM_X | FROM_H) INPUT(o, FROM_X | FROM_H)
#define STATES(STATE)       STATE(h) STATE(c)
#define SAVED(VALUE)        VALUE(i) VALUE(f) VALUE(g) VALUE(o)
#include "nn/cells/cell_begin.h"
#include "nn/cells/chosen_activations.h"

FORWARD(v)
{
    V c = v->state.c;
    V i = GATE(PEEP(v->in.i, p_i, c));
    V f = IS_INPUT_FORGET ? v_sub(v_const(1), i) : GATE(PEEP(v->in.f, p_f, c));
    V g = CANDIDATE(v->in.g);
    V new_c = v_fma(f, c, v_mul(i, g));
    V o = GATE(PEEP(v->in.o, p_o, new_c));
    v->next.c = new_c;
    v->next.h = v_mul(o, STATE_VALUE(new_c));
    v->saved.i = i;
    v->saved.f = f;
    v->saved.g = g;
    v->saved.o = o;
}

BACKWARD(v, d)
{
    V i = v->saved.i, f = v->saved.f, g = v->saved.g, o = v->saved.o;
    V c = v->state.c, new_c = v->next.c;
    V tanh_c = STATE_VALUE(new_c); /* cheaper to compute again than to store */
    V d_h = d->next.h;
    V d_o = v_mul(v_mul(d_h, tanh_c), GATE_SLOPE(o));
    V d_c = v_fma(v_mul(d_h, o), STATE_SLOPE(tanh_c), d->next.c);
    d_c = PEEP(d_c, p_o, d_o);
    V d_i = v_mul(IS_INPUT_FORGET ? v_sub(v_mul(d_c, g), v_mul(d_c, c)) : v_mul(d_c, g), GATE_SLOPE(i));
    V d_f = IS_INPUT_FORGET ? v_const(0) : v_mul(v_mul(d_c, c), GATE_SLOPE(f));

    d->in.i = d_i;
    d->in.f = d_f;
    d->in.g = v_mul(v_mul(d_c, i), CANDIDATE_SLOPE(g));
    d->in.o = d_o;
    d->state.c = v_fma(d_c, f, d->state.c);
    d->state.c = PEEP(PEEP(d->state.c, p_i, d_i), p_f, d_f);
#ifdef LSTM_PEEPHOLE
    d->vector.p_i = v_mul(d_i, c);
    d->vector.p_f = v_mul(d_f, c);
    d->vector.p_o = v_mul(d_o, new_c);
#endif
}

#include "nn/cells/cell_end.h"
#undef LSTM_PEEPHOLE
#undef PEEP
#undef HAS_PEEPHOLES

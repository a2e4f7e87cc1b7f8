/* GRU whose reset gate acts before the recurrent product (the paper; ONNX's default).
 *
 *     r  = sigmoid(W_r x + U_r h + b_r)                reset gate
 *     rh = r h                                         input of the second product
 *     z  = sigmoid(W_z x + U_z h + b_z)                update gate
 *     n  = tanh(W_n x + U_n rh + b_n)                  candidate
 *     h' = (1 - z) n + z h
 *
 * Cho et al. 2014. A step has two phases because U_n rh cannot start before rh is known. With CELL_CHOOSES its
 * functions are configurable (variants.h).
 */
#ifndef CELL
#define CELL                  gru_before
#endif
#define CELL_CALLED           "gru-before"
#define CELL_FACTS            .activations = 2, .function = { ACTIVATION_SIGMOID, ACTIVATION_TANH },          \
                              .foreign = { .name = "GRU", .kind = "before",                                 \
                                           .onnx_attribute = "linear_before_reset", .onnx_value = 0,        \
                                           .onnx_gates = { 1, 0, 2 }, .keras_gates = { 1, 0, 2 }, .keras_biases = 1 }
#define STATES(STATE)         STATE(h)
#define GATE_INPUTS(INPUT)    INPUT(r, FROM_X | FROM_H)
#define SAVED(VALUE)          VALUE(r)
#define INTERMEDIATES(INTERMEDIATE)           INTERMEDIATE(rh)
#define GATE_INPUTS_2(INPUT)  INPUT(z, FROM_X | FROM_H) INPUT(n, FROM_X | FROM_INTERMEDIATE)
#define SAVED_2(VALUE)        VALUE(z) VALUE(n)
#include "nn/cells/cell_begin.h"
#include "nn/cells/chosen_activations.h"

FORWARD(v)
{
    V r = GATE(v->in.r);
    v->intermediate.rh = v_mul(r, v->state.h);
    v->saved.r = r;
}

FORWARD_2(v)
{
    V z = GATE(v->in.z);
    V n = CANDIDATE(v->in.n);
    v->next.h = v_mix(z, v->state.h, n);
    v->saved.z = z;
    v->saved.n = n;
}

BACKWARD_2(v, d)
{
    V z = v->saved.z, n = v->saved.n;
    V d_h = d->next.h;
    d->in.z = v_mul(v_mul(d_h, v_sub(v->state.h, n)), GATE_SLOPE(z));
    d->in.n = v_mul(v_mul(d_h, v_sub(v_const(1), z)), CANDIDATE_SLOPE(n));
    d->state.h = v_fma(d_h, z, d->state.h);
}

BACKWARD(v, d)
{
    V r = v->saved.r;
    V d_rh = d->intermediate.rh;
    d->in.r = v_mul(v_mul(d_rh, v->state.h), GATE_SLOPE(r));
    d->state.h = v_fma(d_rh, r, d->state.h);
}

#include "nn/cells/cell_end.h"

/* GRU whose reset gate acts after the recurrent product ("reset_after": PyTorch, Keras 3, cuDNN).
 *
 *     r  = sigmoid(W_r x + U_r h + b_r)                reset gate
 *     z  = sigmoid(W_z x + U_z h + b_z)                update gate
 *     n  = tanh(n_x + r n_h)                           candidate, from two sums:
 *          n_x = W_n x + b_nx,  n_h = U_n h + b_nh
 *     h' = (1 - z) n + z h
 *
 * Cho et al. 2014 in the form of Appleyard et al. 2016. Gate order as in PyTorch. With CELL_CHOOSES its functions are
 * configurable (variants.h).
 */
#ifndef CELL
#define CELL                gru
#endif
#define CELL_CALLED         "gru"
#define CELL_FACTS          .activations = 2, .function = { ACTIVATION_SIGMOID, ACTIVATION_TANH },            \
                            .foreign = { .name = "GRU", .kind = "after", .in_torch = true,                  \
                                         .onnx_attribute = "linear_before_reset", .onnx_value = 1,          \
                                         .onnx_gates = { 1, 0, 2 }, .keras_gates = { 1, 0, 2 }, .keras_biases = 2 }
#define GATE_INPUTS(INPUT)  INPUT(r, FROM_X | FROM_H) INPUT(z, FROM_X | FROM_H) \
                            INPUT(n_x, FROM_X) INPUT(n_h, FROM_H)
#define STATES(STATE)       STATE(h)
#define SAVED(VALUE)        VALUE(r) VALUE(z) VALUE(n) VALUE(n_h)
#include "nn/cells/cell_begin.h"
#include "nn/cells/chosen_activations.h"

FORWARD(v)
{
    V r = GATE(v->in.r);
    V z = GATE(v->in.z);
    V n = CANDIDATE(v_fma(r, v->in.n_h, v->in.n_x));
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
    V d_n = v_mul(v_mul(d_h, v_sub(v_const(1), z)), CANDIDATE_SLOPE(n));

    d->in.r = v_mul(v_mul(d_n, v->saved.n_h), GATE_SLOPE(r));
    d->in.z = v_mul(v_mul(d_h, v_sub(v->state.h, n)), GATE_SLOPE(z));
    d->in.n_x = d_n;
    d->in.n_h = v_mul(d_n, r);
    d->state.h = v_fma(d_h, z, d->state.h);
}

#include "nn/cells/cell_end.h"

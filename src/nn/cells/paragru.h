/* ParaGRU: a GRU whose gates read only their own unit's state.
 *
 *     r  = sigmoid(W_r x + b_r + a_r h)                reset gate
 *     z  = sigmoid(W_z x + b_z + a_z h)                update gate: weight of the candidate
 *     n  = tanh   (W_n x + b_n + a_n (r h))            candidate
 *     h' = (1 - z) h + z n
 *
 * Danieli et al. 2025 (arXiv 2510.21450). Polarity as in minGRU, the opposite of the GRUs here.
 */
#define CELL                paragru
#define GATE_INPUTS(INPUT)  INPUT(r, FROM_X) INPUT(z, FROM_X) INPUT(n, FROM_X)
#define STATES(STATE)       STATE(h)
#define SAVED(VALUE)        VALUE(r) VALUE(z) VALUE(n)
#define VECTORS(VECTOR)     VECTOR(a_r) VECTOR(a_z) VECTOR(a_n)
#include "nn/cells/cell_begin.h"

FORWARD(v)
{
    V h = v->state.h;
    V r = v_sigmoid(v_fma(v->vector.a_r, h, v->in.r));
    V z = v_sigmoid(v_fma(v->vector.a_z, h, v->in.z));
    V n = v_tanh(v_fma(v->vector.a_n, v_mul(r, h), v->in.n));
    v->next.h = v_mix(z, n, h);
    v->saved.r = r;
    v->saved.z = z;
    v->saved.n = n;
}

BACKWARD(v, d)
{
    V r = v->saved.r, z = v->saved.z, n = v->saved.n;
    V h = v->state.h;
    V d_h = d->next.h;
    V d_n = v_mul(v_mul(d_h, z), v_tanh_slope(n));
    V d_z = v_mul(v_mul(d_h, v_sub(n, h)), v_sigmoid_slope(z));
    V d_rh = v_mul(d_n, v->vector.a_n);
    V d_r = v_mul(v_mul(d_rh, h), v_sigmoid_slope(r));
    V past = v_fma(d_h, v_sub(v_const(1), z), v_fma(d_rh, r, d->state.h));
    d->in.r = d_r;
    d->in.z = d_z;
    d->in.n = d_n;
    d->vector.a_r = v_mul(d_r, h);
    d->vector.a_z = v_mul(d_z, h);
    d->vector.a_n = v_mul(d_n, v_mul(r, h));
    d->state.h = v_fma(d_z, v->vector.a_z, v_fma(d_r, v->vector.a_r, past));
}

#include "nn/cells/cell_end.h"

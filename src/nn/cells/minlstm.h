/* minLSTM: gates depend only on x, so h' is linear in h and time can be computed by a scan.
 *
 *     f  = sigmoid(W_f x + b_f)                        forget gate
 *     i  = sigmoid(W_i x + b_i)                        input gate
 *     n  = W_n x + b_n                                 candidate
 *     z  = i / (f + i)                                 the gates normalized to sum 1; 0 if both are 0
 *     h' = (1 - z) h + z n
 *
 * Feng et al. 2024 (arXiv 2410.01201), the form without the logarithm, with normalized gates.
 */
#define CELL                minlstm
#define GATE_INPUTS(INPUT)  INPUT(f, FROM_X) INPUT(i, FROM_X) INPUT(n, FROM_X)
#define STATES(STATE)       STATE(h)
#define SAVED(VALUE)        VALUE(f) VALUE(i) VALUE(n)
#include "nn/cells/cell_begin.h"

#define SHARE_OF_INPUT(f, i)    v_div(i, v_add(v_add(f, i), v_const(1e-30f)))   /* never 0 / 0 */

FORWARD(v)
{
    V f = v_sigmoid(v->in.f), i = v_sigmoid(v->in.i), n = v->in.n;
    v->next.h = v_mix(SHARE_OF_INPUT(f, i), n, v->state.h);
    v->saved.f = f;
    v->saved.i = i;
    v->saved.n = n;
}

BACKWARD(v, d)
{
    V f = v->saved.f, i = v->saved.i;
    V z = SHARE_OF_INPUT(f, i);
    V d_h = d->next.h;
    V d_z = v_mul(v_mul(d_h, v_sub(v->saved.n, v->state.h)), v_sigmoid_slope(z));
    d->in.f = v_mul(d_z, v_sub(f, v_const(1)));
    d->in.i = v_mul(d_z, v_sub(v_const(1), i));
    d->in.n = v_mul(d_h, z);
    d->state.h = v_fma(d_h, v_sub(v_const(1), z), d->state.h);
}

#include "nn/cells/cell_end.h"
#undef SHARE_OF_INPUT

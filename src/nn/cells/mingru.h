/* minGRU: gates depend only on x, so h' is linear in h and time can be computed by a scan.
 *
 *     z  = sigmoid(W_z x + b_z)                        update gate: weight of the candidate
 *     n  = W_n x + b_n                                 candidate
 *     h' = (1 - z) h + z n
 *
 * Feng et al. 2024 (arXiv 2410.01201), the form without the logarithm. Polarity as in the
 * paper, the opposite of the GRUs here.
 */
#define CELL                mingru
#define GATE_INPUTS(INPUT)  INPUT(z, FROM_X) INPUT(n, FROM_X)
#define STATES(STATE)       STATE(h)
#define SAVED(VALUE)        VALUE(z) VALUE(n)
#include "nn/cells/cell_begin.h"

FORWARD(v)
{
    V z = v_sigmoid(v->in.z);
    V n = v->in.n;
    v->next.h = v_mix(z, n, v->state.h);
    v->saved.z = z;
    v->saved.n = n;
}

BACKWARD(v, d)
{
    V z = v->saved.z;
    V d_h = d->next.h;
    d->in.z = v_mul(v_mul(d_h, v_sub(v->saved.n, v->state.h)), v_sigmoid_slope(z));
    d->in.n = v_mul(d_h, z);
    d->state.h = v_fma(d_h, v_sub(v_const(1), z), d->state.h);
}

#include "nn/cells/cell_end.h"

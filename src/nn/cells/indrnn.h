/* IndRNN: each unit reads only its own state.
 *
 *     h' = relu(W x + b + u h)
 *
 * Li et al. 2018 (arXiv 1803.04831).
 */
#define CELL                indrnn
#define GATE_INPUTS(INPUT)  INPUT(a, FROM_X)
#define STATES(STATE)       STATE(h)
#define SAVED(VALUE) /* none: the slope needs only h' */
#define VECTORS(VECTOR)     VECTOR(u)
#include "nn/cells/cell_begin.h"

FORWARD(v) { v->next.h = v_relu(v_fma(v->vector.u, v->state.h, v->in.a)); }

BACKWARD(v, d)
{
    V d_a = v_mul(d->next.h, v_relu_slope(v->next.h));
    d->in.a = d_a;
    d->vector.u = v_mul(d_a, v->state.h);
    d->state.h = v_fma(d_a, v->vector.u, d->state.h);
}

#include "nn/cells/cell_end.h"

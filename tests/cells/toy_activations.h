/* A test cell with every activation of v_activation.h as a state of its own, so that the checks of cells also check
 * them. alpha = 0.3, beta = 0.7. */
#include "nn/vector/v_activation.h"

#define CELL                toy_activations
#define GATE_INPUTS(INPUT)                                                                      \
    INPUT(softsign, FROM_X | FROM_H) INPUT(relu, FROM_X) INPUT(tanh, FROM_X)                     \
    INPUT(sigmoid, FROM_X) INPUT(affine, FROM_X) INPUT(leaky_relu, FROM_X)                       \
    INPUT(thresholded_relu, FROM_X) INPUT(scaled_tanh, FROM_X) INPUT(hard_sigmoid, FROM_X)       \
    INPUT(elu, FROM_X) INPUT(softplus, FROM_X)
#define STATES(STATE)                                                                           \
    STATE(softsign) STATE(relu) STATE(tanh) STATE(sigmoid) STATE(affine) STATE(leaky_relu)       \
    STATE(thresholded_relu) STATE(scaled_tanh) STATE(hard_sigmoid) STATE(elu) STATE(softplus)
#define SAVED(VALUE) /* none: slopes are computed from the values */
#include "nn/cells/cell_begin.h"

#define APPLY(name) v->next.name = v_##name##_of(v->in.name, v_const(0.3f), v_const(0.7f));
#define SLOPE(name) \
    d->in.name = v_mul(d->next.name, v_##name##_slope_of(v->next.name, v_const(0.3f), v_const(0.7f)));

FORWARD(v){ALL_ACTIVATIONS(APPLY)}

BACKWARD(v, d)
{
    ALL_ACTIVATIONS(SLOPE)
}

#include "nn/cells/cell_end.h"

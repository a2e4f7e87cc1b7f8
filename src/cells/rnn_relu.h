/* RNN with relu instead of tanh (Le, Jaitly and Hinton 2015 start U at the identity).
 *
 *     h' = max(0, W x + U h + b)
 */
#define CELL                rnn_relu
#define GATE_INPUTS(INPUT)  INPUT(a, FROM_X | FROM_H)
#define STATES(STATE)       STATE(h)
#define SAVED(VALUE)        /* nothing: the slope of relu needs only h' */
#include "cells/cell_begin.h"

FORWARD(v)
{
    v->next.h = v_relu(v->in.a);
}

BACKWARD(v, d)
{
    d->in.a = v_mul(d->next.h, v_relu_slope(v->next.h));
}

#include "cells/cell_end.h"

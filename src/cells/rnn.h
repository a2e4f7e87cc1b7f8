/* RNN, the plain recurrent network with tanh (Elman 1990).
 *
 *     h' = tanh(W x + U h + b)
 */
#define CELL                rnn
#define GATE_INPUTS(INPUT)  INPUT(a, FROM_X | FROM_H)
#define STATES(STATE)       STATE(h)
#define SAVED(VALUE)        /* nothing: the slope of tanh needs only h' */
#include "cells/cell_begin.h"

FORWARD(v)
{
    v->next.h = v_tanh(v->in.a);
}

BACKWARD(v, d)
{
    d->in.a = v_mul(d->next.h, v_tanh_slope(v->next.h));
}

#include "cells/cell_end.h"

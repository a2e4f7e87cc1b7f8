/* The plain recurrent network with a function of the user's choice and a clip, which bounds what enters it.
 *
 *     h' = f(W x + U h + b)
 */
#include "cells/any.h"

#define CELL                rnn_any
#define CELL_IS_RARE
#define GATE_INPUTS(INPUT)  INPUT(a, FROM_X | FROM_H)
#define STATES(STATE)       STATE(h)
#define SAVED(VALUE)        /* nothing: the slope needs only h' */
#include "cells/cell_begin.h"

FORWARD(v)
{
    v->next.h = any_gate(v->choice, 0, v->in.a);
}

BACKWARD(v, d)
{
    d->in.a = v_mul(d->next.h, any_gate_slope(v->choice, 0, v->next.h));
}

#include "cells/cell_end.h"

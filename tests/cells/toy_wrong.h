/* A cell with two mistakes that the compiler cannot detect and a record must: FORWARD does not write what it saves, and
 * BACKWARD reads the input, which has been overwritten. */
#define CELL                toy_wrong
#define GATE_INPUTS(INPUT)  INPUT(a, FROM_X)
#define STATES(STATE)       STATE(h)
#define SAVED(VALUE)        VALUE(a)
#include "nn/cells/cell_begin.h"

FORWARD(v) { v->next.h = v_tanh(v->in.a); }

BACKWARD(v, d) { d->in.a = v_mul(d->next.h, v_tanh_slope(v_tanh(v->in.a))); }

#include "nn/cells/cell_end.h"

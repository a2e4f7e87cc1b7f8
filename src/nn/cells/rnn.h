/* RNN, the plain recurrent network with tanh (Elman 1990); with RNN_RELU and CELL_CHOOSES its variants (variants.h):
 * with relu (Le, Jaitly and Hinton 2015 initialize U to the identity), or a configurable function and a clip.
 *
 *     h' = tanh(W x + U h + b)
 */
#ifndef CELL
#define CELL                rnn
#endif
#define CELL_FORMULA        "rnn"
#ifdef RNN_RELU
#define CELL_CALLED         "rnn-relu"
#define RNN_FUNCTION        ACTIVATION_RELU
#define RNN_KIND            "relu"
#else
#define CELL_CALLED         "rnn"
#define RNN_FUNCTION        ACTIVATION_TANH
#define RNN_KIND            "tanh"
#endif
#define CELL_FACTS          .activations = 1, .function = { RNN_FUNCTION },                                   \
                            .foreign = { .name = "RNN", .kind = RNN_KIND, .in_torch = true }
#define GATE_INPUTS(INPUT)  INPUT(a, FROM_X | FROM_H)
#define STATES(STATE)       STATE(h)
#define SAVED(VALUE) /* none: the slope needs only h' */
#include "nn/cells/cell_begin.h"
#include "nn/cells/chosen_activations.h"
#if defined CELL_CHOOSES
#define FUNCTION(sum)       GATE(sum)
#define SLOPE(y)            GATE_SLOPE(y)
#elif defined RNN_RELU
#define FUNCTION(sum)       v_relu(sum)
#define SLOPE(y)            v_relu_slope(y)
#else
#define FUNCTION(sum)       v_tanh(sum)
#define SLOPE(y)            v_tanh_slope(y)
#endif

FORWARD(v) { v->next.h = FUNCTION(v->in.a); }

BACKWARD(v, d) { d->in.a = v_mul(d->next.h, SLOPE(v->next.h)); }

#include "nn/cells/cell_end.h"
#undef RNN_RELU
#undef RNN_FUNCTION
#undef RNN_KIND
#undef FUNCTION
#undef SLOPE

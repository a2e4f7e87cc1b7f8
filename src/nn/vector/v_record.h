/* V is a node of an expression: running a cell's function records its operations. Nothing is loaded or stored;
 * cell_record.h names the inputs and stores the results. With V_RECORD_ACTIVATIONS, sigmoid, tanh, exp and log are not
 * nodes but the expressions of v_math.h. */
#include "nn/record/record.h"

typedef const struct node *V;
#define CELL_CODE static inline __attribute__((unused))

CELL_CODE V v_const(double c) { return record_constant(c); }
CELL_CODE V v_add(V a, V b) { return record_operation(NODE_ADD, a, b, NULL); }
CELL_CODE V v_sub(V a, V b) { return record_operation(NODE_SUB, a, b, NULL); }
CELL_CODE V v_mul(V a, V b) { return record_operation(NODE_MUL, a, b, NULL); }
CELL_CODE V v_div(V a, V b) { return record_operation(NODE_DIV, a, b, NULL); }
CELL_CODE V v_min(V a, V b) { return record_operation(NODE_MIN, a, b, NULL); }
CELL_CODE V v_max(V a, V b) { return record_operation(NODE_MAX, a, b, NULL); }
CELL_CODE V v_fma(V a, V b, V c) { return record_operation(NODE_FMA, a, b, c); }
CELL_CODE V v_abs(V a) { return record_operation(NODE_ABS, a, NULL, NULL); }
CELL_CODE V v_sqrt(V a) { return record_operation(NODE_SQRT, a, NULL, NULL); }

#ifndef V_RECORD_ACTIVATIONS
CELL_CODE V v_less(V a, V b) { return record_operation(NODE_LESS, a, b, NULL); }
CELL_CODE V v_exp(V a) { return record_operation(NODE_EXP, a, NULL, NULL); }
CELL_CODE V v_log(V a) { return record_operation(NODE_LOG, a, NULL, NULL); }
CELL_CODE V v_sigmoid(V a) { return record_operation(NODE_SIGMOID, a, NULL, NULL); }
CELL_CODE V v_tanh(V a) { return record_operation(NODE_TANH, a, NULL, NULL); }

#include "nn/vector/v_derived.h"
#else
#include <math.h>
#include <stdint.h>

CELL_CODE V v_fnma(V a, V b, V c) { return v_fma(v_mul(v_const(-1), a), b, c); }
CELL_CODE V v_select_less(V a, V b, V yes, V no) { return record_choice(a, b, yes, no); }
CELL_CODE V v_exponent_of_low_bits(V t) { return record_operation(NODE_EXPONENT_OF_LOW_BITS, t, NULL, NULL); }
CELL_CODE V v_low_bits_of_exponent(V a) { return record_operation(NODE_LOW_BITS_OF_EXPONENT, a, NULL, NULL); }
CELL_CODE V v_mantissa(V a) { return record_operation(NODE_MANTISSA, a, NULL, NULL); }

#include "nn/vector/v_math.h"
#endif

/* V is a node of an expression: running a cell's function writes down what it computes. Nothing
 * is loaded or stored; cell_record.h names the inputs and takes the results. */
#include "cells/record.h"

typedef const struct node *V;
#define CELL_CODE static inline __attribute__((unused))

CELL_CODE V v_const(double c)             { return record_constant(c); }
CELL_CODE V v_add(V a, V b)               { return record_operation(NODE_ADD, a, b, NULL); }
CELL_CODE V v_sub(V a, V b)               { return record_operation(NODE_SUB, a, b, NULL); }
CELL_CODE V v_mul(V a, V b)               { return record_operation(NODE_MUL, a, b, NULL); }
CELL_CODE V v_div(V a, V b)               { return record_operation(NODE_DIV, a, b, NULL); }
CELL_CODE V v_min(V a, V b)               { return record_operation(NODE_MIN, a, b, NULL); }
CELL_CODE V v_max(V a, V b)               { return record_operation(NODE_MAX, a, b, NULL); }
CELL_CODE V v_less(V a, V b)              { return record_operation(NODE_LESS, a, b, NULL); }
CELL_CODE V v_fma(V a, V b, V c)          { return record_operation(NODE_FMA, a, b, c); }
CELL_CODE V v_abs(V a)                    { return record_operation(NODE_ABS, a, NULL, NULL); }
CELL_CODE V v_sqrt(V a)                   { return record_operation(NODE_SQRT, a, NULL, NULL); }
CELL_CODE V v_exp(V a)                    { return record_operation(NODE_EXP, a, NULL, NULL); }
CELL_CODE V v_log(V a)                    { return record_operation(NODE_LOG, a, NULL, NULL); }
CELL_CODE V v_sigmoid(V a)                { return record_operation(NODE_SIGMOID, a, NULL, NULL); }
CELL_CODE V v_tanh(V a)                   { return record_operation(NODE_TANH, a, NULL, NULL); }

#include "cells/v/v_derived.h"

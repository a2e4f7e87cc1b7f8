/* Records the activations of dense layers and their slopes, which no cell's file holds. Softmax is of a
 * whole row and has none. */
#include "cells/record.h"
#include "cells/v/v_record.h"
#include "cells/v/v_activation.h"

void record_activation(const struct activation *activation, struct record *record)
{
    record_begin(record, activation_name(activation->kind));
    V x = record_input("x"), alpha = record_constant(activation->alpha),
      beta = record_constant(activation->beta);
    V y = NULL;
    switch (activation->kind) {
#define VALUE_OF(ID, name) case ACTIVATION_##ID: y = v_##name##_of(x, alpha, beta); break;
    VALUE_OF(RELU, relu)              VALUE_OF(TANH, tanh)          VALUE_OF(SIGMOID, sigmoid)
    VALUE_OF(AFFINE, affine)          VALUE_OF(LEAKY_RELU, leaky_relu)
    VALUE_OF(THRESHOLDED_RELU, thresholded_relu)                    VALUE_OF(SCALED_TANH, scaled_tanh)
    VALUE_OF(HARD_SIGMOID, hard_sigmoid)                            VALUE_OF(ELU, elu)
    VALUE_OF(SOFTSIGN, softsign)      VALUE_OF(SOFTPLUS, softplus)
#undef VALUE_OF
    case ACTIVATION_LINEAR: y = x; break;
    case ACTIVATION_SOFTMAX: case ACTIVATION_COUNT: break;          /* refused by the record */
    }
    record_result("y", y);
}

/* From the value: the input is "x" all the same. */
void record_slope(const struct activation *a, struct record *record)
{
    record_begin(record, activation_name(a->kind));
    V y = record_input("x"), alpha = record_constant(a->alpha), beta = record_constant(a->beta), slope = NULL;
    switch (a->kind) {
#define SLOPE_OF(ID, name) case ACTIVATION_##ID: slope = v_##name##_slope_of(y, alpha, beta); break;
    SLOPE_OF(RELU, relu)              SLOPE_OF(TANH, tanh)          SLOPE_OF(SIGMOID, sigmoid)
    SLOPE_OF(AFFINE, affine)          SLOPE_OF(LEAKY_RELU, leaky_relu)
    SLOPE_OF(THRESHOLDED_RELU, thresholded_relu)                    SLOPE_OF(SCALED_TANH, scaled_tanh)
    SLOPE_OF(HARD_SIGMOID, hard_sigmoid)                            SLOPE_OF(ELU, elu)
    SLOPE_OF(SOFTSIGN, softsign)      SLOPE_OF(SOFTPLUS, softplus)
#undef SLOPE_OF
    case ACTIVATION_LINEAR: slope = v_const(1); break;
    case ACTIVATION_SOFTMAX: case ACTIVATION_COUNT: break;          /* refused by the record */
    }
    record_result("y", slope);
}

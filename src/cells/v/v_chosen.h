/* An activation function that is chosen when the program runs, by its number in cells/activation.h: for dense
 * layers, and for the cells that let users choose theirs (chosen_activations.h). Linear and softmax pass x on: the
 * first by its nature, the second because it is no function of one number. */
#ifndef V_CHOSEN_H
#define V_CHOSEN_H
#include "cells/activation.h"
#include "cells/v/v_activation.h"

CELL_CODE V v_chosen(enum activation_kind kind, V x, V alpha, V beta)
{
    switch (kind) {
#define VALUE_OF(ID, name) case ACTIVATION_##ID: return v_##name##_of(x, alpha, beta);
    VALUE_OF(RELU, relu)
    VALUE_OF(TANH, tanh) VALUE_OF(SIGMOID, sigmoid) VALUE_OF(AFFINE, affine) VALUE_OF(LEAKY_RELU, leaky_relu)
        VALUE_OF(THRESHOLDED_RELU, thresholded_relu) VALUE_OF(SCALED_TANH, scaled_tanh)
            VALUE_OF(HARD_SIGMOID, hard_sigmoid) VALUE_OF(ELU, elu) VALUE_OF(SOFTSIGN, softsign)
                VALUE_OF(SOFTPLUS, softplus)
#undef VALUE_OF
                    case ACTIVATION_LINEAR:
    case ACTIVATION_SOFTMAX:
    case ACTIVATION_COUNT: break;
    }
    return x;
}

/* From the value y; needs what v_activation.h says of alpha. */
CELL_CODE V v_chosen_slope(enum activation_kind kind, V y, V alpha, V beta)
{
    switch (kind) {
#define SLOPE_OF(ID, name) case ACTIVATION_##ID: return v_##name##_slope_of(y, alpha, beta);
    SLOPE_OF(RELU, relu)
    SLOPE_OF(TANH, tanh) SLOPE_OF(SIGMOID, sigmoid) SLOPE_OF(AFFINE, affine) SLOPE_OF(LEAKY_RELU, leaky_relu)
        SLOPE_OF(THRESHOLDED_RELU, thresholded_relu) SLOPE_OF(SCALED_TANH, scaled_tanh)
            SLOPE_OF(HARD_SIGMOID, hard_sigmoid) SLOPE_OF(ELU, elu) SLOPE_OF(SOFTSIGN, softsign)
                SLOPE_OF(SOFTPLUS, softplus)
#undef SLOPE_OF
                    case ACTIVATION_LINEAR:
    case ACTIVATION_SOFTMAX:
    case ACTIVATION_COUNT: break;
    }
    return v_const(1);
}

#endif

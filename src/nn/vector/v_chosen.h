/* An activation function selected at run time by its number in nn/cells/activation.h, for dense layers and for cells
 * with configurable functions (chosen_activations.h). Linear and softmax return x: softmax is not elementwise. */
#pragma once
#include "nn/cells/activation.h"
#include "nn/vector/v_activation.h"

#define CHOSEN_ACTIVATIONS(OF) \
    OF(RELU, relu) OF(TANH, tanh) OF(SIGMOID, sigmoid) OF(AFFINE, affine) OF(LEAKY_RELU, leaky_relu) \
    OF(THRESHOLDED_RELU, thresholded_relu) OF(SCALED_TANH, scaled_tanh) OF(HARD_SIGMOID, hard_sigmoid) OF(ELU, elu) \
    OF(SOFTSIGN, softsign) OF(SOFTPLUS, softplus)

CELL_CODE V v_chosen(enum activation_kind kind, V x, V alpha, V beta)
{
    switch (kind) {
#define VALUE_OF(ID, name) case ACTIVATION_##ID: return v_##name##_of(x, alpha, beta);
        CHOSEN_ACTIVATIONS(VALUE_OF)
#undef VALUE_OF
    default: return x;
    }
}

/* Returns the slope from the value y. v_activation.h lists the conditions on alpha. */
CELL_CODE V v_chosen_slope(enum activation_kind kind, V y, V alpha, V beta)
{
    switch (kind) {
#define SLOPE_OF(ID, name) case ACTIVATION_##ID: return v_##name##_slope_of(y, alpha, beta);
        CHOSEN_ACTIVATIONS(SLOPE_OF)
#undef SLOPE_OF
    default: return v_const(1);
    }
}

#undef CHOSEN_ACTIVATIONS

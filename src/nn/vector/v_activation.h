/* The activation functions of ONNX's recurrent operators: the value from x, and the slope from the value,
 * so that backward does not need x. alpha and beta are V; functions ignore those they do not use.
 * At a jump the slope is that of the flat or lower side. NaN in, NaN out.
 *
 *     V v_NAME_of(V x, V alpha, V beta)         V v_NAME_slope_of(V value, V alpha, V beta)
 *
 * The slopes need alpha >= 0 for leaky_relu and elu, alpha > 0 for hard_sigmoid, and alpha != 0
 * for scaled_tanh: otherwise the value does not determine the slope.
 */
#pragma once

#define ALL_ACTIVATIONS(NAMED)                                                                 \
    NAMED(relu) NAMED(tanh) NAMED(sigmoid) NAMED(affine) NAMED(leaky_relu)                     \
    NAMED(thresholded_relu) NAMED(scaled_tanh) NAMED(hard_sigmoid) NAMED(elu) NAMED(softsign) \
    NAMED(softplus)

/* e^x - 1 = 2 t / (1 - t) with t = tanh(x / 2), for x <= 0, where it does not cancel. */
CELL_CODE V v_expm1_of_negative(V x)
{
    V t = v_tanh(v_mul(v_const(0.5f), x));
    return v_div(v_add(t, t), v_sub(v_const(1), t));
}

/* Replaces infinities by the largest float, so that x / x and 0 x are finite. */
CELL_CODE V v_finite(V x) { return v_clip(x, v_const(3.40282347e38f)); }

CELL_CODE V v_square(V x) { return v_mul(x, x); }

#define ACTIVATION(name, value, slope)                                                             \
    CELL_CODE V v_##name##_of(V x, V alpha, V beta)       { (void)alpha, (void)beta; return value; } \
    CELL_CODE V v_##name##_slope_of(V y, V alpha, V beta) { (void)y, (void)alpha, (void)beta; return slope; }

ACTIVATION(relu, v_relu(x), v_relu_slope(y))
ACTIVATION(tanh, v_tanh(x), v_tanh_slope(y))
ACTIVATION(sigmoid, v_sigmoid(x), v_sigmoid_slope(y))
ACTIVATION(affine, v_fma(alpha, x, beta), alpha)

/* x or alpha x */
ACTIVATION(leaky_relu, v_fma(alpha, v_min(v_const(0), x), v_relu(x)), v_mix(v_step(y), v_const(1), alpha))

/* x if x >= alpha, otherwise 0 */
ACTIVATION(thresholded_relu, v_mul(v_finite(x), v_sub(v_const(1), v_less(x, alpha))), v_step(v_abs(y)))

/* alpha tanh(beta x) */
ACTIVATION(scaled_tanh, v_mul(alpha, v_tanh(v_mul(beta, x))), v_mul(beta, v_sub(alpha, v_div(v_square(y), alpha))))

/* alpha x + beta within [0, 1] */
ACTIVATION(hard_sigmoid, v_max(v_const(0), v_min(v_const(1), v_fma(alpha, x, beta))),
           v_mul(alpha, v_mul(v_step(y), v_less(y, v_const(1)))))

/* x or alpha (e^x - 1) */
ACTIVATION(elu, v_fma(alpha, v_expm1_of_negative(v_min(v_const(0), x)), v_relu(x)),
           v_mix(v_step(y), v_const(1), v_add(v_min(v_const(0), y), alpha)))

/* x / (1 + |x|) */
ACTIVATION(softsign, v_div(v_finite(x), v_add(v_const(1), v_abs(v_finite(x)))), v_square(v_sub(v_const(1), v_abs(y))))

/* log(1 + e^x); its slope 1 - e^-y is the sigmoid of x. */
ACTIVATION(softplus, v_softplus(x), v_sub(v_const(0), v_expm1_of_negative(v_sub(v_const(0), y))))

#undef ACTIVATION

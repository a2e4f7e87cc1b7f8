/* Functions shared by losses, in V operations. Include after a V header. */
#pragma once

/* Converts the raw result z to a standard deviation or scale of at least 1e-3. Targets are assumed to be scaled to
 * about 1. */
CELL_CODE V v_scale(V z) { return v_add(v_softplus(z), v_const(1e-3f)); }

/* Replaces differences of log-gamma and digamma, which cancel in Student's t where it is nearly normal. With x = 1 / u
 * and 0 < u <= 1:
 *      rest(u) = log(x) / 2 - (log gamma(x + 1/2) - log gamma(x))
 * *slope is its derivative by u, which contains digamma(x + 1/2) - digamma(x). Both are polynomials (rest = u P(u))
 * with relative errors of 2.1e-8 and 3.3e-8 before rounding (tools/fit_log_gamma.py); in float 2e-7 (test_losses.c). */
CELL_CODE V v_log_gamma_rest(V u, V *slope)
{
    const float p[] = {0.125f,           -1.59074119e-07f, -0.00520497561f, -2.94272504e-05f, 0.00168852229f,
                       -0.000238185006f, -0.00127509027f,  0.0013298121f,   -0.000594839104f, 0.00010657774f};
    V rest = v_const(p[9]), by_u = v_mul(v_const(10), rest);
    for (int i = 8; i >= 0; i--) {
        rest = v_fma(rest, u, v_const(p[i]));
        by_u = v_fma(by_u, u, v_mul(v_const((float)(i + 1)), v_const(p[i])));
    }
    *slope = by_u;
    return v_mul(rest, u);
}

/* The matrix product as plainly as it can be said: what struct product means, for the ISAs that are
 * the reference. Not fast, and not tiled: product_simd.h is, with the same bits. */
#include <math.h>

static void product(const struct product *p)
{
    const real *a = p->a, *b = p->b, *bias = p->bias;
    real *c = p->c;
    for (size_t m = 0; m < p->m; m++)
        for (size_t n = 0; n < p->n; n++) {
            const real *column = b + n / PANEL * p->b_panel + n % PANEL;
            real was = p->start == ZERO ? 0 : c[m * p->c_row + n], sum = p->start == AS_IS ? was : 0;
            if (bias)
                sum += bias[n];
            for (size_t k = 0; k < p->k; k++)
                sum = REAL_FMA(a[m * p->a_row + k * p->a_col], column[k * p->b_row], sum);
            c[m * p->c_row + n] = p->start == ZERO_THEN_ADD ? was + sum : sum;
        }
}

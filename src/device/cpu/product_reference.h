/* The matrix product as plainly as it can be said: what struct product means, for the ISAs that are
 * the reference. Not fast, and not tiled: product_simd.h is, with the same bits. */
#include <math.h>

static real chain(const struct product *p, const real *a, const real *b, size_t first, size_t end, real sum)
{
    for (size_t k = first; k < end; k++) sum = REAL_FMA(a[(ptrdiff_t)k * p->a_col], b[k * p->b_row], sum);
    return sum;
}

static void product(const struct product *p)
{
    const real *a = p->a, *b = p->b, *bias = p->bias;
    const size_t *end = p->chains ? p->end : &p->k, chains = p->chains ? p->chains : 1;
    const size_t strip = p->a_strip ? p->a_strip : STRIP * p->a_row;
    for (size_t m = 0; m < p->m; m++, comm_poll())
        for (size_t n = 0; n < p->n; n++) {
            real *c = (real *)p->c + m * p->c_row + n, start = p->start == AS_IS ? *c : 0;
            if (bias)
                start += bias[n];
            for (size_t i = 0; i < chains; i++, start = 0) {
                real sum = chain(p, a + m / STRIP * strip + m % STRIP * p->a_row,
                                 b + n / PANEL * p->b_panel + n % PANEL, i ? end[i - 1] : 0, end[i], start);
                *c = p->start == ZERO_THEN_ADD ? *c + sum : sum;
            }
        }
}

/* The matrix product in its simplest form: the definition of struct product, for the reference ISAs. Not tiled and not
 * fast; product_simd.h gives the same bits. */
#include <math.h>

/* Adds to the sums of `lanes` units. They are independent, so that a processor computes several at once. */
CELL_CODE void chains(const struct product *p, const real *a, const real *b, size_t first, size_t end, size_t lanes,
                      real *sum)
{
    for (size_t k = first; k < end; k++) {
        const real x = a[(ptrdiff_t)k * p->a_col], *w = b + k * p->b_row;
#pragma GCC unroll 16
        for (size_t n = 0; n < lanes; n++) sum[n] = REAL_FMA(x, w[n], sum[n]);
    }
}

enum { LANES = 8 };
_Static_assert(PANEL % LANES == 0, "LANES units are in one panel");

static void product_units(const struct product *p, size_t m, size_t n, size_t lanes)
{
    const size_t *end = p->chains ? p->end : &p->k, count = p->chains ? p->chains : 1;
    const size_t strip = p->a_strip ? p->a_strip : STRIP * p->a_row;
    const real *bias = p->bias, *a = (const real *)p->a + m / STRIP * strip + m % STRIP * p->a_row;
    const real *b = (const real *)p->b + n / PANEL * p->b_panel + n % PANEL;
    real *c = (real *)p->c + m * p->c_row + n, sum[LANES];
    for (size_t l = 0; l < lanes; l++) sum[l] = (p->start == AS_IS ? c[l] : 0) + (bias ? bias[n + l] : 0);
    for (size_t i = 0; i < count; i++) {
        if (lanes == LANES)
            chains(p, a, b, i ? end[i - 1] : 0, end[i], LANES, sum);
        else
            chains(p, a, b, i ? end[i - 1] : 0, end[i], lanes, sum);
        for (size_t l = 0; l < lanes; l++) {
            c[l] = p->start == ZERO_THEN_ADD ? c[l] + sum[l] : sum[l];
            sum[l] = 0;
        }
    }
}

static void product(const struct product *p)
{
    for (size_t m = 0; m < p->m; m++, comm_poll())
        for (size_t n = 0, lanes; n < p->n; n += lanes) {
            lanes = p->n - n < LANES ? p->n - n : LANES;
            product_units(p, m, n, lanes);
        }
}

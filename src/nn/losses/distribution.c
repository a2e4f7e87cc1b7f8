/* Quantiles of the distributions that losses learn, in double with libm. Used for predictions, not for training. */
#include "nn/losses/distribution.h"
#include "nn/vector/v_f64.h"
#include "nn/losses/loss_functions.h"
#include <math.h>

static const double pi = 3.14159265358979323846;

/* ---- levels ---------------------------------------------------------------------------- */

/* Returns the k-th smallest result. Levels rise, but the learned quantiles may cross. */
static double in_order(const struct loss_choice *c, const float *z, int k)
{
    for (int i = 0; i < c->levels; i++) {
        int below = 0;
        for (int j = 0; j < c->levels; j++) below += z[j] < z[i] || (z[j] == z[i] && j < i);
        if (below == k)
            return (double)z[i];
    }
    return NAN; /* a result is NaN */
}

double quantile_of_levels(const struct loss_choice *c, const float *z, double q)
{
    int k = 0;
    while (k < c->levels && (double)c->level[k] < q) k++;
    if (k == 0 || k == c->levels)
        return in_order(c, z, k == 0 ? 0 : c->levels - 1);
    const double low = (double)c->level[k - 1], high = (double)c->level[k], part = (q - low) / (high - low);
    return (1 - part) * in_order(c, z, k - 1) + part * in_order(c, z, k);
}

double median_of_levels(const struct loss_choice *c, const float *z) { return quantile_of_levels(c, z, 0.5); }

/* ---- distributions --------------------------------------------------------------------- */

/* Solves tail(x) = p <= 1/2 by Newton's method from the left. The tail is convex there, so the steps rise to the root
 * and never pass it. */
static double tail_quantile(double p, double x, double n, double (*tail)(double x, double n),
                            double (*density)(double x, double n))
{
    for (int i = 0; i < 200; i++) {
        const double step = (tail(x, n) - p) / density(x, n);
        x += step;
        if (!(step > 1e-12 * (1 + x)))
            break;
    }
    return x;
}

static double normal_tail(double x, double n)
{
    (void)n;
    return erfc(x / sqrt(2)) / 2;
}

static double normal_density(double x, double n)
{
    (void)n;
    return exp(-x * x / 2) / sqrt(2 * pi);
}

/* Returns a quantile of the standard normal distribution. */
static double normal_quantile(double q)
{
    const double x = tail_quantile(q < 0.5 ? q : 1 - q, 0, 0, normal_tail, normal_density);
    return q < 0.5 ? -x : x;
}

double gaussian_quantile(const struct loss_choice *c, const float *z, double q)
{
    (void)c;
    return (double)z[0] + v_scale((double)z[1]) * normal_quantile(q);
}

/* gamma((n + 1) / 2) / (gamma(n / 2) sqrt(n pi)) */
static double t_factor(double n)
{
    double slope;
    return exp(-v_log_gamma_rest(2 / n, &slope)) / sqrt(2 * pi);
}

static double t_density(double x, double n) { return t_factor(n) * exp(-(n + 1) / 2 * log1p(x * x / n)); }

/* Returns the continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8) at x < (a + 1) / (a + b
 * + 2). Evaluated forward by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 / (1 - (a + b) / (a + 1) * x), f = d;
    for (int m = 1; m < 500; m++) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / (1 + even * d), c = 1 + even / c, f *= c * d;
        d = 1 / (1 + odd * d), c = 1 + odd / c, f *= c * d;
        if (fabs(c * d - 1) < 1e-15)
            break;
    }
    return f;
}

/* Half the incomplete beta function of n / 2 and 1 / 2 at n / (n + x^2). x^(a) (1 - x)^(b) / B(a, b) is a density. */
static double t_tail(double x, double n)
{
    const double at = n / (n + x * x), factor = t_density(x, n) * x;
    if (x == 0)
        return 0.5;
    return at < (n / 2 + 1) / (n / 2 + 2.5) ? factor / n * beta_fraction(n / 2, 0.5, at)
                                            : 0.5 - factor * beta_fraction(0.5, n / 2, 1 - at);
}

double student_t_quantile(const struct loss_choice *c, const float *z, double q)
{
    (void)c;
    const double n = 2 + v_softplus((double)z[2]), p = q < 0.5 ? q : 1 - q;
    const double x = tail_quantile(p, fabs(normal_quantile(q)), n, t_tail, t_density);
    return (double)z[0] + v_scale((double)z[1]) * (q < 0.5 ? -x : x);
}

/* ---- estimates -------------------------------------------------------------------------- */

double first_result(const struct loss_choice *c, const float *z)
{
    (void)c;
    return (double)z[0];
}

double probability_of_logit(const struct loss_choice *c, const float *z)
{
    (void)c;
    return v_sigmoid((double)z[0]);
}

double rate_of_log(const struct loss_choice *c, const float *z)
{
    (void)c;
    return exp((double)z[0]);
}

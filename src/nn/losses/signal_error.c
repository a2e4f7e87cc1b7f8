#include "nn/losses/signal_error.h"

#include <math.h>
#include <stdbool.h>

static const double EMPHASIS = 0.85, TINY = 1e-5, OF_ERROR = 0.75, OF_OFFSET = 0.25;

static bool is_pair(const double *y, size_t t) { return t > 0 && !isnan(y[t]) && !isnan(y[t - 1]); }

static double emphasized(const double *x, size_t t) { return x[t] - EMPHASIS * x[t - 1]; }

static double square(double x) { return x * x; }

/* Adds the gradient of the first term, and returns the term. */
static double add_error(const double *z, const double *y, size_t steps, double *slope)
{
    double energy = 0, error = 0, pairs = 0;
    for (size_t t = 1; t < steps; t++) {
        if (!is_pair(y, t))
            continue;
        pairs++;
        energy += square(emphasized(y, t));
        error += square(emphasized(z, t) - emphasized(y, t));
    }
    if (pairs == 0)
        return 0;
    const double scale = OF_ERROR / (energy + pairs * TINY);
    for (size_t t = 1; t < steps; t++) {
        if (!is_pair(y, t))
            continue;
        const double d = 2 * scale * (emphasized(z, t) - emphasized(y, t));
        slope[t] += d;
        slope[t - 1] -= EMPHASIS * d;
    }
    return scale * error;
}

/* Adds the gradient of the second term, and returns the term. */
static double add_offset(const double *z, const double *y, size_t steps, double *slope, size_t counted)
{
    double difference = 0, energy = 0;
    const double n = (double)counted;
    for (size_t t = 0; t < steps; t++) {
        difference += isnan(y[t]) ? 0 : z[t] - y[t];
        energy += isnan(y[t]) ? 0 : square(y[t]);
    }
    const double scale = OF_OFFSET / (energy / n + TINY);
    for (size_t t = 0; t < steps; t++) slope[t] += isnan(y[t]) ? 0 : 2 * scale * difference / square(n);
    return scale * square(difference / n);
}

double signal_slopes(const double *z, const double *y, size_t steps, double *slope, size_t *counted)
{
    *counted = 0;
    for (size_t t = 0; t < steps; t++) {
        slope[t] = 0;
        *counted += !isnan(y[t]);
    }
    if (*counted == 0)
        return 0;
    const double error = add_error(z, y, steps, slope);
    return error + add_offset(z, y, steps, slope, *counted);
}

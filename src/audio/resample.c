#include "audio/resample.h"

#include <math.h>

#include "base/memory.h"

enum { TAPS_MAX = 1 << 26 };

struct resampler {
    size_t from, to; /* divided by their greatest common divisor */
    size_t width;    /* zeros before the sound */
    size_t taps;     /* of each of the `to` phases */
    float *kernel;   /* [to, taps] */
};

static const struct {
    double crossings, rolloff, beta; /* beta 0: Hann */
} filters[] = {[RESAMPLE_BEST] = {64, 0.9475937167399596, 14.769656459379492}, [RESAMPLE_FAST] = {6, 0.99, 0}};

static const double pi = 3.14159265358979323846;

/* The modified Bessel function of order 0, by its power series: the terms of x <= 15 are positive and fall quickly. */
static double bessel_0(double x)
{
    double term = 1, sum = 1;
    for (int k = 1; term > 1e-18 * sum; k++) {
        term *= x / (2 * k) * (x / (2 * k));
        sum += term;
    }
    return sum;
}

static double window_at(double t, double crossings, double beta)
{
    const double part = t / crossings, c = cos(pi * part / 2);
    return beta > 0 ? bessel_0(beta * sqrt(fmax(0, 1 - part * part))) / bessel_0(beta) : c * c;
}

static void fill_kernel(struct resampler *r, enum resample_quality quality)
{
    const double crossings = filters[quality].crossings, beta = filters[quality].beta;
    const double base = (double)(r->from < r->to ? r->from : r->to) * filters[quality].rolloff;
    for (size_t phase = 0; phase < r->to; phase++)
        for (size_t tap = 0; tap < r->taps; tap++) {
            const double at = ((double)tap - (double)r->width) / (double)r->from - (double)phase / (double)r->to;
            const double t = fmin(fmax(at * base, -crossings), crossings);
            const double sinc = t == 0 ? 1 : sin(pi * t) / (pi * t);
            r->kernel[phase * r->taps + tap] = (float)(base / (double)r->from * sinc * window_at(t, crossings, beta));
        }
}

static int divisor(int a, int b) { return b ? divisor(b, a % b) : a; }

unroll_status resampler_new(int from, int to, enum resample_quality quality, struct resampler **resampler)
{
    const int common = divisor(from, to);
    struct resampler r = {.from = (size_t)(from / common), .to = (size_t)(to / common)};
    const double base = (double)(r.from < r.to ? r.from : r.to) * filters[quality].rolloff;
    r.width = (size_t)ceil(filters[quality].crossings * (double)r.from / base);
    r.taps = 2 * r.width + r.from;
    if (r.taps * r.to > TAPS_MAX)
        return fail(UNROLL_UNSUPPORTED,
                    "a conversion from %d to %d samples a second needs %zu filter taps, more than %d; fix: choose a "
                    "rate with a larger common divisor, such as %d",
                    from, to, r.taps * r.to, TAPS_MAX, from);
    TRY(ALLOCATE(r.kernel, r.to * r.taps, "for a resampling filter"));
    fill_kernel(&r, quality);
    unroll_status status = ALLOCATE(*resampler, 1, "for a resampling filter");
    if (status == UNROLL_OK)
        **resampler = r;
    else
        release(r.kernel);
    return status;
}

void resampler_free(struct resampler *r)
{
    if (r)
        release(r->kernel);
    release(r);
}

size_t resampler_count(const struct resampler *r, size_t samples)
{
    return (size_t)(((__uint128_t)samples * r->to + r->from - 1) / r->from);
}

/* Eight partial sums and a tree. `first` may be before the sound, and the last tap after it. */
static float filtered(const float *kernel, size_t taps, const float *input, size_t samples, ptrdiff_t first)
{
    float sum[8] = {0};
    const ptrdiff_t end = (ptrdiff_t)samples - first;
    const size_t from = first < 0 ? (size_t)-first : 0;
    const size_t to = end < 0 ? 0 : (size_t)end < taps ? (size_t)end : taps;
    size_t j = from;
    for (const float *x = input + (first + (ptrdiff_t)from); j + 8 <= to; j += 8, x += 8)
        for (int lane = 0; lane < 8; lane++) sum[lane] += kernel[j + (size_t)lane] * x[lane];
    for (int lane = 0; j < to; j++, lane++) sum[lane] += kernel[j] * input[first + (ptrdiff_t)j];
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

void resampler_run(const struct resampler *r, const float *input, size_t samples, float *output)
{
    const size_t count = resampler_count(r, samples);
    for (size_t i = 0; i < count; i++) {
        const size_t block = i / r->to, phase = i % r->to;
        const ptrdiff_t first = (ptrdiff_t)(block * r->from) - (ptrdiff_t)r->width;
        output[i] = filtered(r->kernel + phase * r->taps, r->taps, input, samples, first);
    }
}

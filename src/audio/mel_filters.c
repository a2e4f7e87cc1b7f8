/* Triangular filters on the mel scale: Stevens, Volkmann and Newman 1937; O'Shaughnessy 1987 (htk); Slaney 1998;
 * Povey et al. 2011 (Kaldi, whose triangles are linear in mel). */
#include <math.h>

#include "audio/feature_kinds.h"

enum { SLANEY_BREAK = 1000 };

static double mel_of(enum mel_scale scale, double f)
{
    if (scale == SCALE_HTK)
        return 2595 * log10(1 + f / 700);
    if (scale == SCALE_KALDI)
        return 1127 * log(1 + f / 700);
    return f < SLANEY_BREAK ? 3 * f / 200 : 15 + 27 * log(f / SLANEY_BREAK) / log(6.4);
}

static double hertz_of(enum mel_scale scale, double mel)
{
    if (scale == SCALE_HTK)
        return 700 * (pow(10, mel / 2595) - 1);
    if (scale == SCALE_KALDI)
        return 700 * (exp(mel / 1127) - 1);
    return mel < 15 ? 200 * mel / 3 : SLANEY_BREAK * exp((mel - 15) * log(6.4) / 27);
}

/* Edge number i of a bank of filters, in the unit in which the triangles are linear. */
static double edge_at(const struct features_plan *p, int mels, int i)
{
    const double low = mel_of(p->scale, p->low), high = mel_of(p->scale, p->high);
    const double mel = low + (high - low) * i / (mels + 1);
    return p->scale == SCALE_KALDI ? mel : hertz_of(p->scale, mel);
}

struct triangle {
    double left, center, right, height;
};

static struct triangle triangle_at(const struct features_plan *p, int mels, int m)
{
    struct triangle t = {edge_at(p, mels, m), edge_at(p, mels, m + 1), edge_at(p, mels, m + 2), 1};
    if (p->norm)
        t.height = 2 / (t.right - t.left);
    return t;
}

static double weight_at(const struct features_plan *p, const struct triangle *t, int bin)
{
    const double f = (double)p->rate * bin / p->size, x = p->scale == SCALE_KALDI ? mel_of(p->scale, f) : f;
    const double rise = (x - t->left) / (t->center - t->left), fall = (t->right - x) / (t->right - t->center);
    return t->height * fmax(0, fmin(rise, fall));
}

static bool is_empty(const struct features_plan *p, int mels, int m)
{
    const struct triangle t = triangle_at(p, mels, m);
    for (int bin = 0; bin <= p->size / 2; bin++)
        if (weight_at(p, &t, bin) > 0)
            return false;
    return true;
}

static bool has_empty(const struct features_plan *p, int mels)
{
    for (int m = 0; m < mels; m++)
        if (is_empty(p, mels, m))
            return true;
    return false;
}

unroll_status mel_plan(struct features_plan *p)
{
    int most = p->mels;
    if (p->high > p->rate / 2.0 || p->low < 0 || p->low >= p->high)
        return fail(UNROLL_USAGE,
                    "features: filters from %g to %g Hz do not fit %d samples a second; fix: low below high, and high "
                    "up to %g",
                    p->low, p->high, p->rate, p->rate / 2.0);
    while (most > 1 && has_empty(p, most)) most--;
    if (most == p->mels)
        return UNROLL_OK;
    return fail(UNROLL_USAGE,
                "features: some of %d filters are empty, because a transform of %d samples at a rate of %d has too few "
                "frequencies; fix: up to %d filters, or a longer window",
                p->mels, p->size, p->rate, most);
}

void mel_init(struct unroll_features *f)
{
    const struct features_plan *p = &f->plan;
    const int bins = p->size / 2 + 1;
    int *ends = (int *)features_array(f, ARRAY_FILTERS);
    float *weight = features_array(f, ARRAY_FILTERS) + 2 * p->mels;
    for (int m = 0; m < p->mels; m++, weight += bins) {
        const struct triangle t = triangle_at(p, p->mels, m);
        ends[2 * m] = bins, ends[2 * m + 1] = 0;
        for (int bin = 0; bin < bins; bin++) {
            weight[bin] = (float)weight_at(p, &t, bin);
            if (weight[bin] > 0) {
                ends[2 * m] = bin < ends[2 * m] ? bin : ends[2 * m];
                ends[2 * m + 1] = bin + 1;
            }
        }
    }
}

void mel_compute(struct unroll_features *f, float *to)
{
    const struct features_plan *p = &f->plan;
    const int bins = p->size / 2 + 1, *ends = (const int *)features_array(f, ARRAY_FILTERS);
    const float *weight = features_array(f, ARRAY_FILTERS) + 2 * p->mels, *x = features_array(f, ARRAY_SPECTRUM);
    const double least = p->scale == SCALE_KALDI ? 0x1p-23 : 1e-10; /* Kaldi: the epsilon of float */
    float *power = features_array(f, ARRAY_SCRATCH);
    for (int k = 0; k < bins; k++) power[k] = x[2 * k] * x[2 * k] + x[2 * k + 1] * x[2 * k + 1];
    for (int m = 0; m < p->mels; m++, weight += bins) {
        float sum = 0;
        for (int k = ends[2 * m]; k < ends[2 * m + 1]; k++) sum += weight[k] * power[k];
        to[m] = (float)log(fmax((double)sum, least));
    }
}

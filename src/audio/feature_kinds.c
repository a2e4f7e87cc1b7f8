/* The kinds of features, a row each. */
#include "audio/feature_kinds.h"

#include <math.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

enum { BANDS = 32, BAND_EDGES = 34, BAND_RATE = 48000, BAND_WINDOW = 960, BAND_HOP = 480, MOST = 1 << 16 };

/* Copies the windowed samples to the frame, fills it with zeros and transforms it. */
static void transform(struct unroll_features *f, const float *samples, float scale)
{
    const float *window = features_array(f, ARRAY_WINDOW);
    float *frame = features_array(f, ARRAY_FRAME);
    for (int i = 0; i < f->plan.window; i++) frame[i] = samples[i] * scale * window[i];
    memset(frame + f->plan.window, 0, (size_t)(f->plan.size - f->plan.window) * sizeof *frame);
    fft_run(&f->fft, features_array(f, ARRAY_TABLES), frame, features_array(f, ARRAY_SCRATCH),
            features_array(f, ARRAY_SPECTRUM));
}

/* ---- log-mel and mfcc ---- */

static unroll_status plan_mel(struct features_plan *p, const double number[], bool *is_kept)
{
    p->window = (int)lround(number[1]);
    p->hop = (int)lround(number[2]);
    p->count = (int)number[0];
    p->size = fft_size_for(p->window);
    if (p->scale == SCALE_KALDI)
        for (p->size = 2; p->size < p->window;) p->size *= 2;
    *is_kept = number[0] == p->count && p->count >= 1 && p->count <= 1024;
    return UNROLL_OK;
}

static unroll_status plan_log_mel(struct features_plan *p, const double number[], bool *is_kept)
{
    TRY(plan_mel(p, number, is_kept));
    p->mels = p->width = p->count;
    return UNROLL_OK;
}

static unroll_status plan_mfcc(struct features_plan *p, const double number[], bool *is_kept)
{
    TRY(plan_mel(p, number, is_kept));
    p->width = p->count;
    *is_kept = *is_kept && p->count <= p->mels;
    return UNROLL_OK;
}

static void init_log_mel(struct unroll_features *f)
{
    const struct features_plan *p = &f->plan;
    float *window = features_array(f, ARRAY_WINDOW);
    for (int i = 0; i < p->window; i++) {
        const double hann = .5 - .5 * cos(2 * pi * i / (p->scale == SCALE_KALDI ? p->window - 1 : p->window));
        window[i] = (float)(p->scale == SCALE_KALDI ? pow(hann, .85) : hann);
    }
    mel_init(f);
}

/* Transforms a frame; Kaldi removes its mean first. */
static void transform_speech(struct unroll_features *f, const float *samples)
{
    const struct features_plan *p = &f->plan;
    const bool kaldi = p->scale == SCALE_KALDI;
    float *frame = features_array(f, ARRAY_SCRATCH), mean = 0;
    const float scale = kaldi ? 32768 : 1, emphasis = (float)p->preemphasis;
    for (int i = 0; i < p->window; i++) mean += samples[i] * scale;
    mean = kaldi ? mean / (float)p->window : 0;
    for (int i = 0; i < p->window; i++) frame[i] = samples[i] * scale - mean;
    for (int i = p->window - 1; i >= 0 && emphasis != 0; i--) frame[i] -= emphasis * frame[i ? i - 1 : 0];
    transform(f, frame, 1);
}

static void compute_log_mel(struct unroll_features *f, const float *samples, float *to)
{
    transform_speech(f, samples);
    mel_compute(f, to);
}

static void init_mfcc(struct unroll_features *f)
{
    const struct features_plan *p = &f->plan;
    float *cosine = features_array(f, ARRAY_COSINES);
    init_log_mel(f);
    for (int c = 0; c < p->count; c++)
        for (int m = 0; m < p->mels; m++)
            *cosine++ = (float)(sqrt((c ? 2.0 : 1.0) / p->mels) * cos(pi * c * (m + .5) / p->mels));
}

static void compute_mfcc(struct unroll_features *f, const float *samples, float *to)
{
    const struct features_plan *p = &f->plan;
    const float *cosine = features_array(f, ARRAY_COSINES);
    float *mel = features_array(f, ARRAY_COSINES) + p->count * p->mels;
    transform_speech(f, samples);
    mel_compute(f, mel);
    for (int c = 0; c < p->count; c++, cosine += p->mels) {
        float sum = 0;
        for (int m = 0; m < p->mels; m++) sum += cosine[m] * mel[m];
        to[c] = sum;
    }
}

/* ---- samples ---- */

static unroll_status plan_samples(struct features_plan *p, const double number[], bool *is_kept)
{
    p->window = p->hop = p->width = (int)number[0];
    *is_kept = number[0] == p->width && p->width >= 1 && p->width <= MOST;
    return UNROLL_OK;
}

static void init_samples(struct unroll_features *f) { (void)f; }

static void compute_samples(struct unroll_features *f, const float *samples, float *to)
{
    memcpy(to, samples, (size_t)f->plan.width * sizeof *to);
}

/* ---- spectrum ---- */

static unroll_status plan_spectrum(struct features_plan *p, const double number[], bool *is_kept)
{
    p->window = p->size = (int)number[0];
    p->hop = (int)lround(number[1]);
    p->width = p->size + 2;
    *is_kept = number[0] == p->size && p->size >= 2 && p->size <= MOST;
    if (*is_kept && !fft_can(p->size))
        return fail(
            UNROLL_USAGE,
            "features: a spectrum of %d samples is not possible; fix: use an even size without a prime factor above "
            "5, such as %d",
            p->size, fft_size_for(p->size));
    return UNROLL_OK;
}

static void init_spectrum(struct unroll_features *f)
{
    float *window = features_array(f, ARRAY_WINDOW);
    for (int i = 0; i < f->plan.window; i++) window[i] = (float)sqrt(.5 - .5 * cos(2 * pi * i / f->plan.window));
}

static void compute_spectrum(struct unroll_features *f, const float *samples, float *to)
{
    const float *x = features_array(f, ARRAY_SPECTRUM);
    const int bins = f->plan.size / 2 + 1;
    transform(f, samples, 1);
    for (int k = 0; k < bins; k++) to[k] = x[2 * k], to[bins + k] = x[2 * k + 1];
}

/* ---- bands: those of RNNoise (Valin 2018, and its version of 2024) ---- */

static const int band_edge[BAND_EDGES] = {0,   2,   4,   6,   8,   10,  12,  15,  18,  21, 24,  28,
                                          32,  36,  41,  47,  53,  60,  68,  77,  87,  98, 110, 124,
                                          140, 157, 176, 198, 223, 251, 282, 317, 356, 400};

static unroll_status plan_bands(struct features_plan *p, const double number[], bool *is_kept)
{
    p->window = p->size = BAND_WINDOW;
    p->hop = BAND_HOP;
    p->width = BANDS;
    *is_kept = number[0] == BANDS;
    return p->rate == BAND_RATE ? UNROLL_OK
                                : fail(UNROLL_USAGE,
                                       "features: bands are defined for %d samples a second, and the rate is %d; fix: "
                                       "rate=%d, or other features",
                                       BAND_RATE, p->rate, BAND_RATE);
}

static void init_bands(struct unroll_features *f)
{
    float *window = features_array(f, ARRAY_WINDOW);
    for (int i = 0; i < BAND_WINDOW; i++) {
        const double s = sin(pi * (i + .5) / BAND_WINDOW);
        window[i] = (float)sin(pi / 2 * s * s);
    }
}

static void compute_bands(struct unroll_features *f, const float *samples, float *to)
{
    const float *x = features_array(f, ARRAY_SPECTRUM);
    float sum[BAND_EDGES] = {0};
    transform(f, samples, 32768.0f / BAND_WINDOW);
    for (int i = 0; i + 1 < BAND_EDGES; i++) {
        const int size = band_edge[i + 1] - band_edge[i];
        for (int j = 0; j < size; j++) {
            const float *bin = x + 2 * (band_edge[i] + j);
            const float energy = bin[0] * bin[0] + bin[1] * bin[1], part = (float)j / (float)size;
            sum[i] += (1 - part) * energy;
            sum[i + 1] += part * energy;
        }
    }
    sum[1] = (sum[0] + sum[1]) * 2 / 3;
    sum[BANDS] = (sum[BANDS] + sum[BANDS + 1]) * 2 / 3;
    for (int i = 0; i < BANDS; i++) to[i] = (float)log10(1e-2 + (double)sum[i + 1]);
}

const struct feature_kind feature_kinds[] = {
    {"log-mel", "logarithms of energies in bands of the mel scale", "40,25ms,10ms", 3, true, plan_log_mel, init_log_mel,
     compute_log_mel},
    {"mfcc", "cepstral coefficients of the mel scale", "13,25ms,10ms", 3, true, plan_mfcc, init_mfcc, compute_mfcc},
    {"samples", "the samples", "1", 1, false, plan_samples, init_samples, compute_samples},
    {"spectrum", "real and imaginary parts of a transform", "512,256", 2, false, plan_spectrum, init_spectrum,
     compute_spectrum},
    {"bands", "the 32 bands of RNNoise", "32", 1, false, plan_bands, init_bands, compute_bands},
    {0}};

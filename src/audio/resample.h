/* Changes the sampling rate by a polyphase filter, a windowed sinc with the constants of torchaudio's resample: Smith
 * 2002, "Digital audio resampling". The order of each sum is fixed. */
#pragma once
#include <stddef.h>

#include "base/status.h"

enum resample_quality {
    RESAMPLE_BEST, /* Kaiser window, 64 zero crossings, rolloff 0.9476, beta 14.77 */
    RESAMPLE_FAST  /* Hann window, 6 zero crossings, rolloff 0.99 */
};

struct resampler;

unroll_status resampler_new(int from, int to, enum resample_quality quality, struct resampler **resampler);
void resampler_free(struct resampler *resampler); /* NULL is a no-op */
/* Returns the number of samples that `samples` become: ceil(to samples / from). */
size_t resampler_count(const struct resampler *resampler, size_t samples);
/* Converts a whole sound of one channel; output [resampler_count]. Samples before and after it are zero. */
void resampler_run(const struct resampler *resampler, const float *input, size_t samples, float *output);

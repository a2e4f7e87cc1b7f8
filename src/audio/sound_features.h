/* Features of sounds: a table of kinds, and frames of a sound that arrive hop by hop (unroll_features in
 * unroll_stream.h). Frame t ends at sample (t + 1) hop, with zeros before the sound, so that a stream has the frames of
 * the whole sound. */
#pragma once
#include "audio/fft.h"
#include "base/status.h"
#include "unroll_stream.h"

#define FEATURES_DEFAULT "mfcc:13,25ms,10ms"
#define FEATURES_STORED "mfcc:13;25ms;10ms" /* the same as an option of a reader */

enum mel_scale { SCALE_SLANEY, SCALE_HTK, SCALE_KALDI };

/* What a text asks for, and the places of all arrays. */
struct features_plan {
    const struct feature_kind *kind;
    int rate, channels;
    int window, hop, stack; /* samples of a frame, between frames; frames side by side in a step */
    int size;               /* of the transform; 0: none */
    int mels, count;        /* filters; values that the kind's own number gives */
    int width;              /* values of a frame of one channel */
    enum mel_scale scale;
    int norm;           /* 1: filters of equal area; 0: of height 1 */
    double low, high;   /* Hz */
    double preemphasis; /* x[i] -= preemphasis x[i - 1] */
    bool mean;          /* minus the mean of each value over the whole sound: not for streams */
    int first[8];       /* places of arrays in floats: enum feature_array */
    int floats;
};

/* Parses a text and checks it against the rate. */
unroll_status features_plan(const char *text, int rate, int channels, struct features_plan *plan);
/* Makes features that may need the whole sound. */
unroll_status features_init(void *memory, size_t bytes, const char *text, int rate, int channels,
                            unroll_features **made);
void features_reset(unroll_features *features); /* to the beginning of a sound */
/* Returns the number of steps of a sound of this length. */
static inline size_t features_steps(const struct features_plan *plan, size_t samples)
{
    return samples / ((size_t)plan->hop * (size_t)plan->stack);
}

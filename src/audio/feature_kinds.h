/* A kind of features: how its numbers are read, how much memory it needs, and how it computes a frame. */
#pragma once
#include "audio/sound_features.h"

/* Arrays of the features' memory, in floats. */
enum feature_array {
    ARRAY_WINDOW,   /* [window] */
    ARRAY_TABLES,   /* [2 size] of the transform */
    ARRAY_SCRATCH,  /* [2 size] */
    ARRAY_FRAME,    /* [size] the windowed samples and zeros */
    ARRAY_SPECTRUM, /* [size + 2] */
    ARRAY_FILTERS,  /* [mels, 2] first and last bin as int, then [mels, size / 2 + 1] weights */
    ARRAY_COSINES,  /* [count, mels], then [mels] for the sums */
    ARRAY_HISTORY   /* [channels, window] */
};

struct unroll_features {
    struct features_plan plan;
    struct fft fft;
    float data[] __attribute__((aligned(64)));
};

static inline float *features_array(struct unroll_features *f, enum feature_array array)
{
    return f->data + f->plan.first[array];
}

struct feature_kind {
    const char *name, *about, *usual; /* "log-mel", .., its numbers if none are given: "40,25ms,10ms" */
    int numbers;                      /* of its own, before the keys */
    bool has_mels;                    /* keys of mel filters */
    /* Checks the numbers and sets window, hop, size, mels, count and width. */
    unroll_status (*plan)(struct features_plan *plan, const double number[], bool *is_kept);
    void (*init)(struct unroll_features *f);
    void (*compute)(struct unroll_features *f, const float *samples, float *to); /* samples [window] */
};

extern const struct feature_kind feature_kinds[]; /* ends with a row without a name */

/* ---- mel_filters.c ---- */

unroll_status mel_plan(struct features_plan *plan); /* checks that no filter is empty */
void mel_init(struct unroll_features *f);
/* Computes the logarithms of the filters' energies, [mels], from the spectrum. */
void mel_compute(struct unroll_features *f, float *to);

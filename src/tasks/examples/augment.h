/* Data augmentation: training sequences are changed a little in each epoch: by shifts in time, masked steps, noise,
 * and, for the bands of sounds, by another tempo, other heights of a voice, masked bands and another level (Jaitly and
 * Hinton 2013, "Vocal tract length perturbation"; Park et al. 2019, "SpecAugment"). The change of a row is a function
 * of seed, epoch and the position of its first step in the data, whichever thread fills the batch. Only inputs change,
 * so sequences with one target may be shifted and masked; with a target for each step, only noise is added. */
#pragma once
#include "tasks/examples/features.h"

enum { AUGMENT_BANDS = 40 };

struct augment {
    double noise;   /* standard deviation, relative to that of the numbers */
    double shift;   /* largest shift in steps, in either direction; the ends are repeated */
    double mask;    /* largest number of consecutive steps that are masked as missing */
    double stretch; /* largest change of a row's length, relative to it; rows of ragged batches only */
    double warp;    /* number k of a feature is read at (k + 1) f - 1, with f from 1 - warp to 1 + warp */
    double bands;   /* largest number of consecutive numbers of a feature that are 0 at all steps */
    double level;   /* largest value that is added to all numbers of a feature */
    double tilt;    /* largest value that is added to the last number of a feature and subtracted from the first */
    double floor;   /* a noise floor, up to this far below the loudest step; numbers below it are raised to it */
    uint64_t seed;
    bool cepstral; /* numbers are cepstra, whose bands are changed: level, tilt and floor are of logarithms of energies
                    */
    float cosine[AUGMENT_BANDS][AUGMENT_BANDS]; /* of the transform between them */
};

extern const char augment_of_bands[], augment_of_steps[]; /* the defaults for sounds, with a target for each step */

/* Parses "noise=0.1,shift=4,mask=8"; NULL or "none": no augmentation. pooled: sequences have one target. */
unroll_status augment_read(const char *text, bool pooled, uint64_t seed, struct augment *augment);
/* Sets up the change of features that are cepstra. */
unroll_status augment_cepstra(const struct features *features, struct augment *augment);
/* Changes a row of `length` steps; returns its new length, at most that of the shape. */
int augment_row(const struct augment *augment, const struct features *features, int64_t epoch, size_t step, int length,
                int row, const struct shape *shape, struct task_batch *batch);

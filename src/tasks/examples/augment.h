/* Data augmentation: training sequences are changed a little in each epoch by shifts in time, masked steps, and noise.
 * The change of a row is a function of seed, epoch and the position of its first step in the data, whichever thread
 * fills the batch. Only inputs change, so sequences with one target may be shifted and masked; with a target for each
 * step, only noise is added. */
#pragma once
#include "tasks/examples/features.h"

struct augment {
    double noise; /* standard deviation, relative to that of the numbers */
    double shift; /* largest shift in steps, in either direction; the ends are repeated */
    double mask;  /* largest number of consecutive steps that are masked as missing */
    uint64_t seed;
};

/* Parses "noise=0.1,shift=4,mask=8"; NULL: no augmentation. pooled: sequences have one target. */
unroll_status augment_read(const char *text, bool pooled, uint64_t seed, struct augment *augment);
void augment_row(const struct augment *augment, const struct features *features, int64_t epoch, size_t step, int length,
                 int row, int rows, struct task_batch *batch);

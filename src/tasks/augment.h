/* Training sequences made a little different in each epoch: moved in time, with masked steps, with noise. What is done
 * to a row is a function of seed, epoch and the place of its first step in the data, whoever fills the batch and when.
 * Only inputs change, so sequences with one answer may be moved and masked; where each step has a target noise alone is
 * added. */
#ifndef TASKS_AUGMENT_H
#define TASKS_AUGMENT_H
#include "tasks/features.h"

struct augment {
    double noise; /* standard deviation, in those of the numbers */
    double shift; /* steps that a sequence is moved by at most, to either side; what is at its ends is repeated */
    double mask;  /* steps in a row that are made missing, at most */
    uint64_t seed;
};

/* "noise=0.1,shift=4,mask=8"; NULL: nothing. pooled: the sequences have one answer. */
unroll_status augment_read(const char *text, bool pooled, uint64_t seed, struct augment *augment);
void augment_row(const struct augment *augment, const struct features *features, int64_t epoch, size_t step, int length,
                 int row, int rows, struct task_batch *batch);

#endif

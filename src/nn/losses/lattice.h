/* Connectionist temporal classification (Graves et al. 2006) of one sequence, in double: the probability of labels is
 * the sum over all paths that give them when repeats are merged and blanks removed. Class 0 is the blank. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the steps that the labels need: one each, and a blank between equal neighbors. */
size_t lattice_needs(const int32_t *label, size_t labels);

/* Returns the number of doubles in `scratch` for a sequence with at most one label for each step. */
static inline size_t lattice_scratch(size_t classes, size_t steps)
{
    return (steps + 4) * (2 * steps + 5) + steps + classes;
}

/* Returns the number of doubles of a kernel: z, labels, slopes and scratch. */
static inline size_t lattice_row_doubles(size_t classes, size_t steps)
{
    return 2 * steps * classes + (steps + 1) / 2 + lattice_scratch(classes, steps);
}

/* Returns -log p(label) of logits z [steps, classes], which it overwrites with their log-softmax; slope [steps,
 * classes] <- the gradient by the logits. The labels, 1 .. classes - 1, must not need more steps. in_logs: uses
 * logarithms only, which is slow; otherwise it does so if scaled probabilities are not exact. */
double lattice_slopes(double *z, size_t steps, size_t classes, const int32_t *label, size_t labels, bool in_logs,
                      double *slope, double *scratch);

/* Class weights for training that give rare classes the same influence as frequent ones. */
#pragma once
#include "tasks/task.h"

/* Computes weights from the counted targets of an epoch: counted / (occurring classes x count of the class), so that
 * their mean over the counted targets is 1; 0 for classes that do not occur. *weights: [outputs], to be released by the
 * caller. */
unroll_status class_weights_new(const unroll_model *model, const struct part *part, float **weights);

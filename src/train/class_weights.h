/* Weights of classes in training that make rare ones count as much as frequent ones. */
#ifndef TRAIN_CLASS_WEIGHTS_H
#define TRAIN_CLASS_WEIGHTS_H
#include "tasks/task.h"

/* Of what an epoch of a part counts: counted / (classes that occur x those of the class), so that their mean over what
 * is counted is 1; 0 of a class that does not occur. *weights: [outputs], to be released. */
unroll_status class_weights_new(const unroll_model *model, const struct part *part, float **weights);

#endif

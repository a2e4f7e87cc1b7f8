/* Compares two evaluations field by field: their structs have bytes between the fields that nothing sets. */
#ifndef UNROLL_TESTS_TRAIN_SAME_EVALUATION_H
#define UNROLL_TESTS_TRAIN_SAME_EVALUATION_H

#include <stdbool.h>
#include <string.h>

#include "unroll_train.h"

/* Whether both have the same bits of loss, baseline and each metric. */
static inline bool same_evaluation(const unroll_evaluation *a, const unroll_evaluation *b)
{
    if (memcmp(&a->loss, &b->loss, sizeof a->loss) || memcmp(&a->floor, &b->floor, sizeof a->floor) ||
        a->metrics != b->metrics || a->compared != b->compared || a->higher != b->higher || a->examples != b->examples)
        return false;
    for (int i = 0; i < a->metrics; i++)
        if (strcmp(a->metric[i].name, b->metric[i].name) || a->metric[i].digits != b->metric[i].digits ||
            memcmp(&a->metric[i].value, &b->metric[i].value, sizeof a->metric[i].value))
            return false;
    return true;
}

#endif

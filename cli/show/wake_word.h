/* Prints where a stream of sound has the wake word of a model: "12.34,seven,0.998", a line each time. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "unroll_train.h"

enum { WAKE_NAME = 256 };

struct wake_word {
    char name[WAKE_NAME]; /* "": the model has none */
    double second;        /* steps */
    double threshold;     /* of log odds */
    int64_t step, last;   /* the next one; the last one above the threshold */
};

void wake_word_find(const unroll_model *model, struct wake_word *word);
/* Takes the probabilities of none and the word at the next step. Prints a line if the word is heard, and not for a
 * second after a step in which it was. Returns whether it printed one. */
bool wake_word_step(struct wake_word *word, const float probability[2]);

/* What drawing text (sample.c) and searching for it (beam.c) share. */
#ifndef TRAIN_SAMPLE_H
#define TRAIN_SAMPLE_H
#include <stdint.h>

#include "unroll.h"

/* The number of the unknown word; -1: the model has none. */
int sample_unknown(const unroll_model *model);
/* Feeds the tokens of a prompt one by one; of none a line end. */
unroll_status sample_prompt(const unroll_model *model, const char *prompt,
                            unroll_status (*feed)(void *arg, int32_t token), void *arg);
/* After the checks of the request. */
unroll_status sample_beam(unroll_model *model, const unroll_sample_config *config,
                          int (*write)(void *arg, const char *symbol), void *arg);

#endif

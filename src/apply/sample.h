/* Shared by sampling (sample.c) and beam search (beam.c). */
#pragma once
#include <stdint.h>

#include "unroll.h"

/* Returns the number of the unknown word; -1: the model has none. */
int sample_unknown(const unroll_model *model);
/* Feeds the tokens of a prompt one by one; an empty prompt is a line end. */
unroll_status sample_prompt(const unroll_model *model, const char *prompt,
                            unroll_status (*feed)(void *arg, int32_t token), void *arg);
/* Runs a beam search; the request must have been checked. */
unroll_status sample_beam(unroll_model *model, const unroll_sample_config *config,
                          int (*write)(void *arg, const char *symbol), void *arg);

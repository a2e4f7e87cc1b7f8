/* Sounds through a model with one input and one output, such as an effect: a wav file in, a wav file of floats out. */
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/options/options.h"
#include "unroll_train.h"

/* True if the model was trained for the task effect. */
bool is_effect(const unroll_model *model);

/* Reads a wav file and writes the sound after the model, sample by sample. live: sends each block of samples at once,
 * with a header that leaves the length open. Ends early, without an error, if *stopped is not 0. Prints errors. */
unroll_status sound_effect_run(unroll_model *model, const struct settings *settings, FILE *from, FILE *to, bool live,
                               const volatile sig_atomic_t *stopped);
/* Reads the wav file at `source` ("-": standard input) and writes `target` whole, or nothing. */
unroll_status sound_effect_file(unroll_model *model, const struct settings *settings, const char *source,
                                const char *target);

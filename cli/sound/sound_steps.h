/* Steps of a model that reads sounds: its features, computed from raw samples as they arrive. */
#pragma once
#include <stdbool.h>
#include <stdio.h>

#include "audio/wav.h"
#include "cli/run/frames.h"
#include "unroll_stream.h"

enum { SOUND_TEXT = 256 };

struct sound_steps {
    char features[SOUND_TEXT]; /* "": the model does not read sounds */
    int rate;
    enum sound_channels how;
    unroll_features *made;
    void *memory;
    float *samples; /* of a step */
};

/* Reads from the model's schema which features it has. */
void sound_steps_find(const unroll_model *model, struct sound_steps *steps);
/* Reads the header of a wav file and checks that the model reads such sounds; width: of the model. */
unroll_status sound_steps_open(struct sound_steps *steps, struct frames *frames, FILE *file, int width);
/* Computes the next step; *more is false at the end. */
unroll_status sound_steps_next(struct sound_steps *steps, struct frames *frames, float *step, bool *more);
void sound_steps_close(struct sound_steps *steps);

/* Reads whole sounds: wav files by our own parser; flac, ogg, opus, mp3 and aiff by libsndfile, loaded at run time. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

struct sound {
    int channels, rate;
    size_t frames;  /* samples of each channel */
    float *samples; /* [frames, channels]; NULL if they are not wanted */
    bool is_cut;    /* the file has fewer samples than its header declares */
};

bool sound_is_named(const char *path);             /* true for a name that ends like that of a sound */
bool sound_begins(const char *head, size_t bytes); /* true for the first bytes of a sound */

/* Reads a sound from the bytes of its file. Without `samples` only the other fields are set. name: for messages. */
unroll_status sound_read(const char *name, const void *bytes, size_t size, bool samples, struct sound *sound);
void sound_end(struct sound *sound);

/* Parses wav files (RIFF, Microsoft and IBM 1991; extensible formats, Microsoft 2001) from any source of bytes. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WAV_ERROR = 240, WAV_MAX_RATE = 768000, WAV_MAX_CHANNELS = 1024 };

struct wav {
    int channels, rate;
    int sample_bytes; /* 1 to 4, or 8 */
    bool is_float;    /* else integers: unsigned of 1 byte, signed of more */
    int64_t bytes;    /* of samples, as the header declares; -1: unknown, until the end of the file */
};

/* Reads up to `count` bytes; fewer only at the end. False: an error, for which the source has its own message. */
typedef bool wav_read(void *source, void *to, size_t count, size_t *got);

/* Reads the header, up to the first sample. False: `error` has the message, or "" if the source failed. */
bool wav_read_header(wav_read *read, void *source, struct wav *wav, char error[WAV_ERROR]);
/* Converts samples to floats: integers are divided by their largest magnitude, floats are unchanged. */
void wav_to_floats(const struct wav *wav, const void *bytes, size_t samples, float *to);

enum sound_channels { CHANNELS_MIX, CHANNELS_FIRST, CHANNELS_ALL };
/* Reduces the channels in place: their mean, the first one, or all. */
void sound_mix(float *samples, size_t frames, int channels, enum sound_channels how);

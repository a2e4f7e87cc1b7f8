/* Frames from a file as they come: raw floats, lines of numbers, the samples of a sound, a NumPy array. Nothing is read
 * ahead of the frame that is asked for beyond what the file's own buffer holds. Not text: cmd_stream.c's.
 * Refusals are kept as a sentence, so that the readers can be tested without a terminal. */
#ifndef CLI_FRAMES_H
#define CLI_FRAMES_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "unroll.h"

enum frame_format { FRAMES_CSV, FRAMES_F32, FRAMES_WAV, FRAMES_NPY };

struct frames {
    FILE *file;
    enum frame_format format;
    int width;           /* numbers of a frame */
    int64_t frame, line; /* read so far */
    char *text;          /* csv: a line; else the bytes of a frame */
    size_t text_size;
    int sample_bytes; /* wav: 2, integers; 4, floats, also of npy */
    bool in_a_row;    /* wav: one channel, of which so many samples in a row are a frame */
    int64_t left;     /* wav, npy: bytes that are still to come; -1: until the end */
    char header[80];  /* csv: the row of names above the numbers, which is left out; "": there is none */
    char error[240];  /* why the last call did not return UNROLL_OK */
};

/* Reads the header of a wav or a .npy. The file stays the caller's; frames_close gives back only memory. */
unroll_status frames_open(struct frames *frames, FILE *file, enum frame_format format, int width);
void frames_close(struct frames *frames);

/* frame [width]. false in *more: the file has ended, or a signal has interrupted reading. */
unroll_status frames_next(struct frames *frames, float *frame, bool *more);

#endif

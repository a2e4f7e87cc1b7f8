/* Reads frames from a file as they arrive: raw floats, lines of numbers, the samples of a sound, or a NumPy array.
 * Beyond the file's own buffer nothing is read ahead. cmd_stream.c reads text. Errors are returned as messages, so
 * that the readers can be tested without a terminal. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "audio/wav.h"
#include "unroll.h"

enum frame_format { FRAMES_CSV, FRAMES_F32, FRAMES_WAV, FRAMES_NPY };

struct frames {
    FILE *file;
    enum frame_format format;
    int width;           /* numbers per frame */
    int64_t frame, line; /* read so far */
    char *text;          /* csv: a line; otherwise the bytes of a frame */
    size_t text_size;
    struct wav wav;  /* wav: its samples; npy: floats of 4 bytes */
    bool drops_rest; /* samples of a sound after the last whole frame are not used */
    bool in_a_row;   /* wav: one channel, of which `width` consecutive samples form a frame */
    int64_t left;    /* wav, npy: bytes left; -1: until the end of the file */
    char header[80]; /* csv: the header row that was skipped; "": none */
    char error[240]; /* why the last call did not return UNROLL_OK */
};

/* Reads the header of a wav or .npy file. The caller keeps the file open; frames_close only frees memory. */
unroll_status frames_open(struct frames *frames, FILE *file, enum frame_format format, int width);
/* Reads the header of a wav file whose frames have `hop` samples of each channel; sets width. */
unroll_status frames_open_sound(struct frames *frames, FILE *file, int hop);
void frames_close(struct frames *frames);

/* Reads a frame [width]. *more is false at the end of the file or after a signal. */
unroll_status frames_next(struct frames *frames, float *frame, bool *more);

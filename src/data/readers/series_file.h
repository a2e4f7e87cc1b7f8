/* A file with a single series: an .npy of [T] or [T, F], or lines with equally many numbers. These are separated by
 * commas, tabs or spaces; a header is optional. Tables with columns of different types are read by csv. */
#pragma once
#include "data/readers/series_line.h"

/* Recognizes a series by its name: .npy, .csv, .tsv. */
bool series_file_is(const char *name);

/* Reads the current member: its numbers, [steps, *width], replace the content of `series`. */
unroll_status series_file_read(struct input *input, struct series_line *series, size_t *width);

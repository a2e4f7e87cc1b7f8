/* A file that is one series: an .npy of [T] or [T, F], or lines of as many numbers, with commas, tabs or blanks between
 * and a header or not. Not a table, whose columns have types of their own (csv). */
#ifndef DATA_SERIES_FILE_H
#define DATA_SERIES_FILE_H
#include "data/series_line.h"

/* By its name: .npy, .csv, .tsv. */
bool series_file_is(const char *name);

/* The current member: its numbers, [steps, *width], are what `series` then has. */
unroll_status series_file_read(struct input *input, struct series_line *series, size_t *width);

#endif

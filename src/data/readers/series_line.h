/* A line that is a series: numbers between separators, as in the files of the UCR and UEA archives. */
#pragma once
#include "io/input.h"

struct series_line {
    float *number; /* [count] */
    size_t count, room;
};

/* Allocates memory for `count` numbers. */
unroll_status series_line_reserve(struct series_line *series, const struct input *input, size_t count);

/* Appends the numbers of a text such as "1.5,?,3" up to `end`. ? and NaN are missing: NaN. A run of separators ' '
 * counts as one. */
unroll_status series_line_add(struct series_line *series, const struct input *input, const char *at, const char *end,
                              char separator);

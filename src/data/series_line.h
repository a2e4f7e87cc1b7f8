/* A line that is a series: numbers between separators, as the files of the UCR and UEA archives have them. */
#ifndef DATA_SERIES_LINE_H
#define DATA_SERIES_LINE_H
#include "data/input.h"

struct series_line {
    float *number; /* [count] */
    size_t count, room;
};

/* Memory for so many numbers. */
unroll_status series_line_reserve(struct series_line *series, const struct input *input, size_t count);

/* "1.5,?,3" up to `end` becomes numbers more; ? and NaN are missing, NaN. Of separators ' ' a run is one. */
unroll_status series_line_add(struct series_line *series, const struct input *input, const char *at, const char *end,
                              char separator);

#endif

/* Series of numbers in a data set: one channel of numbers, step by step; the interval between steps, the season, and
 * later times. forecast.c trains on them. */
#pragma once
#include <math.h>

#include "data/dataset.h"
#include "data/builder/table_cell.h"

/* One number per step: a number of a column, or for a category or set 1 if the entry is `part`, otherwise 0. */
struct channel {
    const struct column *column;
    int part;
};

/* Returns the number at a step of the data set, in this sequence; NaN: missing. */
static inline float channel_at(const struct channel *channel, size_t sequence, size_t step)
{
    const struct column *column = channel->column;
    size_t entry = column->of_sequence ? sequence : step;
    if (column->type != COLUMN_CATEGORY)
        return column->numbers[entry * (size_t)column->width + (size_t)channel->part];
    int32_t id = column_id(column, entry);
    return id < 0 ? NAN : (float)(id == channel->part);
}

/* Returns the number of channels of a column; 0 for tokens and times. */
int column_channels(const struct column *column);

/* The interval between steps: calendar months, if any, otherwise seconds; all 0: the data have no times. */
struct interval {
    double seconds;
    int months;
    bool weekdays;           /* days without Saturdays and Sundays */
    int day;                 /* for months: the day of the month; shorter months use their last */
    struct time_style style; /* the format of times in the data */
};

/* Finds the interval. Refuses times that are missing, duplicate or too irregular, with row and time. */
unroll_status series_interval(const unroll_dataset *data, struct interval *interval);
/* Returns the time k steps later. */
double interval_after(const struct interval *interval, double time, int k);
/* Formats "2016-07-01 13:00:00", or "2016-07-01" at midnight if the interval is whole days or months, in the data's
 * style. */
void interval_format(const struct interval *interval, double time, char text[TIME_TEXT]);

/* Finds the number of steps after which the channels repeat, from the autocorrelation of the first 70% of the longest
 * sequence, without held-out data. 1: no season. With times, days, weeks and years are tried first. */
unroll_status series_season(const unroll_dataset *data, const struct channel *channel, int channels,
                            const struct interval *interval, int *season);

/* Returns the step that a seasonal naive forecast, made after step `origin` of a sequence, repeats for step origin + k:
 * that in the last known season. < 0: none. */
int64_t seasonal_step(const struct channel *channel, const unroll_dataset *data, size_t sequence, size_t origin, int k,
                      int season);

/* Series of numbers, as forecasts see those of a data set: one channel of numbers, a step after the other; how far
 * apart their steps are, when they repeat, how times go on. Not what is learned of them (forecast.c). */
#ifndef TASKS_SERIES_H
#define TASKS_SERIES_H
#include <math.h>

#include "data/dataset.h"
#include "data/table_cell.h"

/* One number a step: a part of a column of numbers, or of a category or set 1 where the entry is `part`, else 0. */
struct channel {
    const struct column *column;
    int part;
};

/* NaN: missing. step: of the data set, and of the sequence so numbered. */
static inline float channel_at(const struct channel *channel, size_t sequence, size_t step)
{
    const struct column *column = channel->column;
    size_t entry = column->of_sequence ? sequence : step;
    if (column->type != COLUMN_CATEGORY)
        return column->numbers[entry * (size_t)column->width + (size_t)channel->part];
    int32_t id = column_id(column, entry);
    return id < 0 ? NAN : (float)(id == channel->part);
}

/* How many channels a column has; 0: none, of tokens and times. */
int column_channels(const struct column *column);

/* The distance of steps: calendar months if there are any, else seconds; all 0: the data have no times. */
struct interval {
    double seconds;
    int months;
    bool weekdays;           /* days, of which Saturdays and Sundays are none */
    int day;                 /* of months: the day of the month, in shorter ones their last */
    struct time_style style; /* as the data have their times */
};

/* Refuses times that are missing, the same twice, or too irregular to be steps, with row and time. */
unroll_status series_interval(const unroll_dataset *data, struct interval *interval);
/* k steps behind a time. */
double interval_after(const struct interval *interval, double time, int k);
/* "2016-07-01 13:00:00", or "2016-07-01" at midnight where the interval is whole days or months; in the data's style.
 */
void interval_format(const struct interval *interval, double time, char text[TIME_TEXT]);

/* After how many steps the channels repeat: from the autocorrelation of the longest sequence, of its first 70%, so that
 * what is held out is not asked. 1: they don't. Where there are times, days, weeks and years are tried first. */
unroll_status series_season(const unroll_dataset *data, const struct channel *channel, int channels,
                            const struct interval *interval, int *season);

/* The step that a seasonal naive forecast made behind step `origin` of a sequence repeats for the step origin + k: of
 * the last season that is there. < 0: there is none. */
int64_t seasonal_step(const struct channel *channel, const unroll_dataset *data, size_t sequence, size_t origin, int k,
                      int season);

#endif

/* Properties of series before training: the interval between steps and the season. */
#include "tasks/examples/series.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/compare.h"
#include "base/memory.h"

static const double minute = 60, hour = 3600, day = 86400, week = 604800, year = 31557600;

int column_channels(const struct column *column)
{
    switch (column->type) {
    case COLUMN_NUMBERS:
    case COLUMN_SET: return column->width;
    case COLUMN_CATEGORY: return column->vocabulary_size;
    default: return 0;
    }
}

/* ---- times ---- */

static struct tm calendar(double time)
{
    time_t whole = (time_t)floor(time);
    struct tm parts;
    return *gmtime_r(&whole, &parts);
}

/* Returns the months between two times with the same time of day and day of the month, where a shorter month's last day
 * counts as equal; otherwise 0. */
static int months_between(double from, double to)
{
    struct tm a = calendar(from), b = calendar(to);
    const bool last = (calendar(to + day).tm_mon != b.tm_mon && b.tm_mday < a.tm_mday) ||
                      (calendar(from + day).tm_mon != a.tm_mon && a.tm_mday < b.tm_mday);
    const bool same = (a.tm_mday == b.tm_mday || last) && a.tm_hour == b.tm_hour && a.tm_min == b.tm_min;
    return same ? (b.tm_year - a.tm_year) * 12 + b.tm_mon - a.tm_mon : 0;
}

static bool is_weekend(double time)
{
    const int weekday = calendar(time).tm_wday;
    return weekday == 0 || weekday == 6;
}

static double weekday_after(double time)
{
    do time += day;
    while (is_weekend(time));
    return time;
}

static int days_in_month(int year, int month)
{
    struct tm parts = {.tm_year = year, .tm_mon = month + 1, .tm_mday = 0};
    timegm(&parts);
    return parts.tm_mday;
}

double interval_after(const struct interval *interval, double time, int k)
{
    for (int i = 0; interval->weekdays && i < k; i++) time = weekday_after(time);
    if (interval->weekdays)
        return time;
    if (interval->months == 0)
        return time + interval->seconds * k;
    const double fraction = time - floor(time);
    struct tm parts = calendar(time);
    const int months = parts.tm_year * 12 + parts.tm_mon + interval->months * k;
    parts.tm_year = months / 12, parts.tm_mon = months % 12;
    const int last = days_in_month(parts.tm_year, parts.tm_mon), wanted = interval->day ? interval->day : parts.tm_mday;
    parts.tm_mday = wanted < last ? wanted : last;
    return (double)timegm(&parts) + fraction;
}

void interval_format(const struct interval *interval, double time, char text[TIME_TEXT])
{
    const bool days = interval->months || (interval->seconds >= day && fmod(interval->seconds, day) == 0);
    time_text(time, &interval->style, text);
    const bool at_midnight = strlen(text) == strlen("2016-07-01") && text[4] == '-';
    if (at_midnight && !days && interval->style.form != TIME_STEP)
        strcat(text, " 00:00:00");
}

static size_t longest_sequence(const unroll_dataset *data)
{
    size_t longest = 0;
    for (size_t s = 0; s < data->sequences; s++)
        if (data->begin[s + 1] - data->begin[s] > data->begin[longest + 1] - data->begin[longest])
            longest = s;
    return longest;
}

/* Checks that times are present and increasing in each series. */
static unroll_status check_order(const unroll_dataset *data, const double *times)
{
    char text[TIME_TEXT];
    for (size_t s = 0; s < data->sequences; s++)
        for (size_t i = data->begin[s]; i < data->begin[s + 1]; i++) {
            if (isnan(times[i]))
                return fail(UNROLL_DATA,
                            "'%s', row %zu has no time in column '%s'; fix: fill it in, or leave the row out",
                            data->name, i + 1, data->column[data->time].name);
            if (i == data->begin[s] || times[i] > times[i - 1])
                continue;
            time_text(times[i], &data->column[data->time].style, text);
            return fail(
                UNROLL_DATA,
                "'%s', rows %zu and %zu: the time %s occurs twice in a series; fix: name the column that divides the "
                "rows into series (group), or leave one of the rows out",
                data->name, i, i + 1, text);
        }
    return UNROLL_OK;
}

/* Returns the median interval of the first neighbors, in months if all are whole months. */
static struct interval median_interval(const double *times, size_t count)
{
    enum { NEIGHBORS = 2000 };
    double seconds[NEIGHBORS];
    int months[NEIGHBORS];
    bool monthly = true;
    int date = calendar(times[0]).tm_mday;
    size_t n = count - 1 < NEIGHBORS ? count - 1 : NEIGHBORS;
    for (size_t i = 0; i < n; i++) {
        seconds[i] = times[i + 1] - times[i];
        months[i] = months_between(times[i], times[i + 1]);
        monthly &= months[i] > 0;
        const int next = calendar(times[i + 1]).tm_mday;
        date = next > date ? next : date;
    }
    qsort(seconds, n, sizeof *seconds, compare_doubles);
    qsort(months, n, sizeof *months, compare_ints);
    return (struct interval){
        .seconds = seconds[n / 2], .months = monthly ? months[n / 2] : 0, .day = monthly ? date : 0};
}

/* True if the interval is regular. In days, a step of the clock to or from daylight saving time is not a gap. */
static bool is_regular(const struct interval *interval, double from, double to)
{
    if (interval->months)
        return months_between(from, to) == interval->months;
    if (interval->weekdays)
        from = weekday_after(from) - interval->seconds;
    return fabs(to - from - interval->seconds) <= interval->seconds * 0.05;
}

/* True for days without any weekends, as for exchanges and offices. */
static bool are_weekdays(const unroll_dataset *data, const double *times, const struct interval *interval)
{
    size_t weekends = 0;
    if (interval->months || interval->seconds != day)
        return false;
    for (size_t i = 0; i < data->steps; i++) {
        if (is_weekend(times[i]))
            return false;
        weekends += i > 0 && times[i] - times[i - 1] == 3 * day && calendar(times[i]).tm_wday == 1;
    }
    return weekends > 0;
}

/* Finds the median interval of the longest series. Fails if more than one step in MAX_IRREGULAR of all series
 * differs. */
unroll_status series_interval(const unroll_dataset *data, struct interval *interval)
{
    enum { MAX_IRREGULAR = 20 }; /* at most one in this many */
    size_t steps = 0, others = 0, at = 0;
    char from[TIME_TEXT], to[TIME_TEXT];
    *interval = (struct interval){0};
    if (data->time < 0 || data->sequences == 0)
        return UNROLL_OK;
    const double *times = data->column[data->time].times;
    size_t longest = longest_sequence(data), begin = data->begin[longest];
    TRY(check_order(data, times));
    if (data->begin[longest + 1] - begin < 2)
        return UNROLL_OK;
    *interval = median_interval(times + begin, data->begin[longest + 1] - begin);
    interval->style = data->column[data->time].style;
    interval->weekdays = are_weekdays(data, times, interval);
    for (size_t s = 0; s < data->sequences; s++)
        for (size_t i = data->begin[s] + 1; i < data->begin[s + 1]; i++, steps++)
            if (!is_regular(interval, times[i - 1], times[i]))
                at = others++ ? at : i;
    if (others <= steps / MAX_IRREGULAR)
        return UNROLL_OK;
    time_text(times[at - 1], &data->column[data->time].style, from);
    time_text(times[at], &data->column[data->time].style, to);
    return fail(
        UNROLL_DATA,
        "'%s': %zu of %zu steps are not as far apart as the others, first those of rows %zu and %zu, %s and %s; fix: "
        "give rows at equal intervals, with empty cells where a value is missing, or leave the times out with "
        "`columns` %s=ignore",
        data->name, others, steps, at, at + 1, from, to, data->column[data->time].name);
}

/* ---- seasons ---- */

enum { MAX_LAG = 1100, MAX_STEPS = 12000, MAX_CHANNELS = 8, CALENDAR = 5 };

struct lags {
    double of[MAX_LAG + 1];      /* autocorrelation, mean over the channels */
    double below[MAX_LAG + 1];   /* its mean over the shorter lags */
    double squares[MAX_LAG + 1]; /* sum of its squares over the shorter lags */
    int count;
    size_t steps;
};

/* Removes mean and slope. Missing numbers become 0; `there` is 1 where numbers are present, minus its mean. */
static void detrend(float *x, float *there, size_t n)
{
    double count = 0, t_sum = 0, x_sum = 0, tt = 0, tx = 0;
    for (size_t t = 0; t < n; t++) {
        there[t] = !isnan(x[t]);
        if (isnan(x[t]))
            continue;
        count++, t_sum += (double)t, x_sum += (double)x[t];
    }
    double t_mean = count ? t_sum / count : 0, x_mean = count ? x_sum / count : 0;
    for (size_t t = 0; t < n; t++)
        if (there[t] != 0) {
            tt += ((double)t - t_mean) * ((double)t - t_mean);
            tx += ((double)t - t_mean) * ((double)x[t] - x_mean);
        }
    double slope = tt > 0 ? tx / tt : 0;
    for (size_t t = 0; t < n; t++)
        x[t] = isnan(x[t]) ? 0 : (float)((double)x[t] - x_mean - slope * ((double)t - t_mean));
}

static double product_at_lag(const float *x, size_t n, size_t lag)
{
    float sum[8] = {0}; /* eight sums, to be vectorized */
    double all = 0;
    size_t end = n - lag, t = 0;
    for (; t + 8 <= end; t += 8)
        for (size_t i = 0; i < 8; i++) sum[i] += x[t + i] * x[t + i + lag];
    for (; t < end; t++) all += (double)(x[t] * x[t + lag]);
    for (size_t i = 0; i < 8; i++) all += (double)sum[i];
    return all;
}

/* Adds the autocorrelation. With missing numbers, it is corrected by the number of pairs present: more pairs are
 * present at lags at which numbers are missing again. */
static void add_autocorrelation(struct lags *lags, const float *x, const float *there, size_t n, double share)
{
    double variance = product_at_lag(x, n, 0), count = product_at_lag(there, n, 0);
    for (int lag = 1; variance > 0 && lag <= lags->count; lag++) {
        double pairs = count < (double)n ? product_at_lag(there, n, (size_t)lag) / (double)(n - (size_t)lag) : 1;
        double whole = count < (double)n ? count / (double)n : 1;
        if (pairs > 0)
            lags->of[lag] += share * product_at_lag(x, n, (size_t)lag) / variance * whole / pairs;
    }
}

static void sum_lags(struct lags *lags)
{
    double sum = 0;
    lags->of[0] = 1;
    for (int lag = 1; lag <= lags->count; lag++) {
        sum += lags->of[lag];
        lags->below[lag] = sum / lag;
        lags->squares[lag] = lags->squares[lag - 1] + lags->of[lag] * lags->of[lag];
    }
}

/* True for a lag whose autocorrelation is the highest nearby (for a lag from the calendar, nearly), is significant,
 * falls to half on both sides and rises again after twice the lag. Significant means `deviations` standard deviations:
 * those of noise for the calendar, otherwise Bartlett's for a series with only the shorter lags. */
static bool is_season(const struct lags *lags, int lag, double deviations, bool calendar)
{
    const double *a = lags->of;
    double noise = 1 / sqrt((double)lags->steps),
           deviation = noise * sqrt(calendar ? 1 : 1 + 2 * lags->squares[lag - 1]);
    int around = lag / 8 > 2 ? lag / 8 : 2;
    double lowest = a[lag], before = lag < 3 ? a[1] : a[2], again = -1;
    if ((size_t)lag * 4 > lags->steps || lag + around > lags->count)
        return false;
    if (a[lag] < 0.1 || a[lag] < deviations * deviation || a[lag] < lags->below[lag] + 0.1)
        return false;
    for (int i = lag - around; i <= lag + around; i++)
        if (i >= 1 && a[i] > a[lag] + (calendar ? 0.1 * a[lag] + 2 * noise : 0))
            return false;
    /* the first lag is skipped: changes of noise are negatively correlated at lag 1 */
    for (int i = 2; i < lag; i++) before = a[i] < before ? a[i] : before;
    double falls_to = fmin(a[lag] / 2, a[lag] - 4 * noise);
    if (before > falls_to)
        return false;
    for (int i = lag; i <= 2 * lag && i <= lags->count; i++) lowest = a[i] < lowest ? a[i] : lowest;
    if (2 * lag + around > lags->count)
        return true;
    for (int i = 2 * lag - around; i <= 2 * lag + around; i++) again = a[i] > again ? a[i] : again;
    return lowest < falls_to && again > a[lag] / 3;
}

/* Returns the shortest of those that are nearly as strong as the strongest: of a day and its multiples, the day. */
static int strongest_season(const struct lags *lags, const int *candidate, int candidates, double deviations)
{
    double strongest = 0;
    int season = 1;
    for (int pass = 0; pass < 2; pass++)
        for (int i = candidates - 1; i >= 0; i--) { /* longer ones first */
            int lag = candidate ? candidate[i] : i + 2;
            if (!is_season(lags, lag, deviations, candidate != NULL))
                continue;
            if (pass == 0)
                strongest = fmax(strongest, lags->of[lag]);
            else if (lags->of[lag] >= 0.9 * strongest - 2 / sqrt((double)lags->steps))
                season = lag;
        }
    return season;
}

static int calendar_seasons(const struct interval *interval, int lag[CALENDAR])
{
    const double cycle[CALENDAR] = {minute, hour, day, week, year};
    double seconds = interval->months     ? year / 12 * interval->months
                     : interval->weekdays ? week / 5
                                          : interval->seconds;
    int count = 0;
    for (int i = 0; seconds > 0 && i < CALENDAR; i++) {
        double steps = floor(cycle[i] / seconds + 0.5);
        if (steps >= 2 && steps <= MAX_LAG)
            lag[count++] = (int)steps;
    }
    return count;
}

/* Computes the autocorrelations of all channels, of their numbers or of the changes between them. */
static void measure_lags(const unroll_dataset *data, const struct channel *channel, int channels, size_t sequence,
                         bool changes, float *x, struct lags *lags)
{
    size_t length = (size_t)(0.7 * (double)(data->begin[sequence + 1] - data->begin[sequence]));
    size_t count = length < MAX_STEPS ? length : MAX_STEPS, first = data->begin[sequence] + length - count;
    int taken = channels < MAX_CHANNELS ? channels : MAX_CHANNELS;
    *lags = (struct lags){.steps = count, .count = count / 2 < MAX_LAG ? (int)(count / 2) : MAX_LAG};
    for (int c = 0; c < taken; c++) {
        for (size_t t = 0; t < count; t++) x[t] = channel_at(&channel[c], sequence, first + t);
        for (size_t t = 0; changes && t + 1 < count; t++) x[t] = x[t + 1] - x[t];
        size_t n = changes && count ? count - 1 : count;
        detrend(x, x + MAX_STEPS, n);
        add_autocorrelation(lags, x, x + MAX_STEPS, n, 1.0 / taken);
    }
    sum_lags(lags);
}

/* Finds the season. Short seasons show in the changes, where slow variations do not hide them; long ones in the
 * numbers, where noise does not. Seasons suggested by the calendar need less evidence. */
unroll_status series_season(const unroll_dataset *data, const struct channel *channel, int channels,
                            const struct interval *interval, int *season)
{
    int candidate[CALENDAR], candidates = calendar_seasons(interval, candidate);
    struct lags *lags;
    float *x;
    *season = 1;
    if (data->sequences == 0 || channels == 0)
        return UNROLL_OK;
    TRY(ALLOCATE(lags, 1, "to find a season"));
    unroll_status status = ALLOCATE(x, 2 * MAX_STEPS, "to find a season");
    for (int changes = 1; status == UNROLL_OK && changes >= 0 && *season == 1; changes--) {
        measure_lags(data, channel, channels, longest_sequence(data), changes, x, lags);
        *season = strongest_season(lags, candidate, candidates, 2);
        if (*season == 1)
            *season = strongest_season(lags, NULL, lags->count - 2, changes ? 4 : 3);
    }
    release(x);
    release(lags);
    return status;
}

int64_t seasonal_step(const struct channel *channel, const unroll_dataset *data, size_t sequence, size_t origin, int k,
                      int season)
{
    size_t begin = data->begin[sequence];
    int64_t back = (int64_t)season * (k / season + 1), at = (int64_t)origin + k - back;
    if (at < 0) /* shorter than a season: repeats the last one */
        season = 1, at = (int64_t)origin - 1;
    while (at >= 0 && isnan(channel_at(channel, sequence, begin + (size_t)at))) at -= season;
    return at < 0 ? -1 : (int64_t)begin + at;
}

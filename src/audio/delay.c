#include "audio/delay.h"

#include <math.h>

enum { MOST_READ = 1 << 17, HOP = 1 << 13 };

/* Returns where the `length` samples with the most energy begin, in steps of HOP. */
static size_t loudest(const float *x, size_t count, size_t length)
{
    size_t best = 0;
    double sum = 0, most = 0;
    for (size_t i = 0; i < length; i++) sum += (double)x[i] * (double)x[i];
    most = sum;
    for (size_t from = 0; from + length + HOP <= count; from += HOP) {
        for (size_t i = from; i < from + HOP; i++)
            sum += (double)x[i + length] * (double)x[i + length] - (double)x[i] * (double)x[i];
        if (sum > most)
            most = sum, best = from + HOP;
    }
    return best;
}

/* Correlates the differences of x from first to end with those of y, which are `lag` later, where both exist. */
static double correlation(const float *x, const float *y, size_t count, size_t first, size_t end, int lag)
{
    double sum[4] = {0};
    const ptrdiff_t last = (ptrdiff_t)count - 1;
    ptrdiff_t from = (ptrdiff_t)first, to = (ptrdiff_t)end;
    from = from + lag < 1 ? 1 - lag : from < 1 ? 1 : from;
    to = to + lag > last ? last - lag : to;
    for (ptrdiff_t t = from; t < to; t++)
        sum[t & 3] += (double)(x[t] - x[t - 1]) * (double)(y[t + lag] - y[t + lag - 1]);
    return fabs(sum[0] + sum[1] + sum[2] + sum[3]);
}

int sound_delay(const float *x, const float *y, size_t count, int most)
{
    const double clearly = 1.02;
    const size_t length = count < MOST_READ ? count : MOST_READ, first = loudest(x, count, length);
    double best = correlation(x, y, count, first, first + length, 0);
    int found = 0;
    for (int lag = 1; lag <= most && (size_t)lag < count / 2; lag++)
        for (int sign = 1; sign >= -1; sign -= 2) {
            const double here = correlation(x, y, count, first, first + length, sign * lag);
            if (here > clearly * best)
                best = here, found = sign * lag;
        }
    return found;
}

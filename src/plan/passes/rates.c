/* Divides work by rates, and decides when to divide again (rates.h). Nothing is measured here. */
#include "plan/passes/rates.h"
#include "base/share.h"
#include "plan/ir/plan.h"
#include <string.h>

double rate_along(const struct plan_config *c, int axis, int at)
{
    int ranks = 1, there[M_N];
    double least = 0;
    for (int m = 0; m < M_N; m++) ranks *= c->mesh[m];
    for (int rank = 0; c->rate && rank < ranks; rank++) {
        mesh_coordinate(c->mesh, rank, there);
        if (there[axis] == at && (least == 0 || c->rate[rank] < least))
            least = c->rate[rank];
    }
    return least > 0 ? least : 1;
}

static bool are_alike(const double *rate, int n)
{
    for (int i = 1; i < n; i++)
        if (rate[i] < rate[0] || rate[i] > rate[0])
            return false;
    return true;
}

/* Returns the rank that would finish first with one more. */
static int next_of(const uint32_t *count, const double *rate, int n)
{
    int best = 0;
    for (int i = 1; i < n; i++)
        if ((count[i] + 1) * rate[best] < (count[best] + 1) * rate[i])
            best = i;
    return best;
}

void rates_divide(uint32_t size, int n, int at, const double *rate, uint32_t *first, uint32_t *count)
{
    uint32_t each[RANKS_MAX] = {0}, left = size;
    double sum = 0;
    if (are_alike(rate, n) || size <= (uint32_t)n) {
        shard_range(size, n, at, 1, first, count);
        return;
    }
    for (int i = 0; i < n; i++) sum += rate[i];
    for (int i = 0; i < n; i++) {
        each[i] = (uint32_t)((double)(size - (uint32_t)n) * rate[i] / sum) + 1; /* at least one each; the sum is at most
                                                                                 * size */
        left -= each[i];
    }
    for (; left > 0; left--) each[next_of(each, rate, n)]++;
    *first = 0;
    for (int i = 0; i < at; i++) *first += each[i];
    *count = each[at];
}

double imbalance(const double *seconds, int n)
{
    double sum = 0, most = 0;
    for (int i = 0; i < n; i++) {
        sum += seconds[i];
        most = seconds[i] > most ? seconds[i] : most;
    }
    return sum > 0 ? most * n / sum - 1 : 0;
}

bool pace_window(struct pace *pace, int n, const double *seconds, const double *work, double *rate)
{
    static const double tolerated = 0.15;
    bool divides = true;
    pace->windows = imbalance(seconds, n) > tolerated ? pace->windows + 1 : 0;
    if (pace->windows < PACE_WINDOWS)
        return false;
    for (int i = 0; i < n; i++) {
        divides = divides && seconds[i] > 0 && work[i] > 0;
        rate[i] = work[i] * PACE_UPDATES / seconds[i];
    }
    pace->windows = 0;
    return divides;
}

bool pace_update(struct pace *pace, int n, const double *seconds, const double *work, double *rate)
{
    for (int i = 0; i < n; i++) pace->seconds[i] += seconds[i];
    if (++pace->updates < PACE_UPDATES)
        return false;
    const bool divides = pace_window(pace, n, pace->seconds, work, rate);
    memset(pace->seconds, 0, sizeof pace->seconds);
    pace->updates = 0;
    return divides;
}

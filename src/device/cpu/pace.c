/* Chooses between the caller's thread and all of them by looking at both now and then. A look costs at most 2%
 * of the time: the way that lost is not tried again until fifty times its time has passed. */
#include "device/cpu/pace.h"
#include <float.h>

/* A guess of a part's time on one thread. Only its magnitude matters: it decides which parts are not worth a
 * look (a wake-up takes longer), and with which way the first look begins. */
#define FLOPS_OF_A_NANOSECOND  50.0
#define BYTES_OF_A_NANOSECOND  20.0
#define SMALL                  10e3     /* nanoseconds */
#define LARGE                  1e6

#define LOOKS_SHARE            50.0     /* time between looks for each that a look lost */
#define WORTH_IT               0.95     /* of the time alone: less is not worth a second processor */
#define HOPELESS               2.0      /* times the favourite's: one run says enough */

void pace_init(struct pace *pace, const struct plan *plan, enum part part)
{
    double guess = 0;
    for (int i = plan->part[part].first; i < plan->part[part].end; i++)
        guess += plan->op[i].flops / FLOPS_OF_A_NANOSECOND + plan->op[i].bytes / BYTES_OF_A_NANOSECOND;
    *pace = (struct pace){ .small = guess < SMALL, .together = guess > LARGE, .best = { DBL_MAX, DBL_MAX } };
}

bool pace_together(const struct pace *pace)
{
    bool other = pace->runs >= PACE_RUNS && pace->runs < 2 * PACE_RUNS;
    return !pace->small && pace->together != other;
}

static void look_again(struct pace *pace)
{
    pace->runs = 0;
    for (int way = 0; way < 2; way++) {
        pace->best[way] = DBL_MAX;
        pace->spent[way] = 0;
    }
}

static void decide(struct pace *pace)
{
    pace->together = pace->best[1] < WORTH_IT * pace->best[0];
    pace->credit = LOOKS_SHARE * pace->spent[!pace->together];
    pace->runs = 2 * PACE_RUNS;
}

void pace_ran(struct pace *pace, double nanoseconds, double work)
{
    if (pace->small)
        return;
    if (pace->runs == 2 * PACE_RUNS) {
        pace->credit -= nanoseconds;
        if (pace->credit <= 0)
            look_again(pace);
        return;
    }
    int way = pace_together(pace);
    double time = nanoseconds / (1 + work);
    pace->spent[way] += nanoseconds;
    pace->best[way] = time < pace->best[way] ? time : pace->best[way];
    bool hopeless = ++pace->runs > PACE_RUNS && time > HOPELESS * pace->best[!way];
    if (hopeless || pace->runs == 2 * PACE_RUNS)
        decide(pace);
}

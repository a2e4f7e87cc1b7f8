/* Chooses between the caller's thread and all of them by looking at both now and then. A look costs at most
 * 2% of the time: the way that lost is tried again when fifty times what it took has passed, or ten times
 * sooner when the way that won turns out slower than it: the machine has changed. */
#include "device/cpu/pace.h"
#include <math.h>

/* A guess of a part's time on one thread. Only its magnitude matters: it decides which parts are not worth a
 * look (a wake-up takes longer), and with which way the first look begins. */
#define FLOPS_OF_A_NANOSECOND  50.0
#define BYTES_OF_A_NANOSECOND  20.0
#define SMALL                  10e3     /* nanoseconds */
#define LARGE                  1e6

#define LOOKS_SHARE            50.0     /* time between looks for each that a look lost */
#define WORTH_IT               0.95     /* of the time alone: less is not worth a second processor */
#define HOPELESS               2.0      /* times the favourite's: one run says enough */
#define HURRY                  10.0

static void look_again(struct pace *pace)
{
    pace->runs = 0;
    for (int way = 0; way < 2; way++) {
        pace->least[way] = pace->median[way] = INFINITY;
        pace->spent[way] = 0;
    }
}

void pace_init(struct pace *pace, const struct plan *plan, enum part part)
{
    double guess = 0;
    for (int i = plan->part[part].first; i < plan->part[part].end; i++)
        guess += plan->op[i].flops / FLOPS_OF_A_NANOSECOND + plan->op[i].bytes / BYTES_OF_A_NANOSECOND;
    *pace = (struct pace){ .small = guess < SMALL, .together = guess > LARGE };
    look_again(pace);
}

bool pace_together(const struct pace *pace)
{
    bool other = pace->runs >= PACE_RUNS && pace->runs < 2 * PACE_RUNS;
    return !pace->small && pace->together != other;
}

static void decide(struct pace *pace)
{
    pace->together = pace->median[1] < WORTH_IT * pace->median[0];
    pace->credit = LOOKS_SHARE * pace->spent[!pace->together];
    pace->runs = 2 * PACE_RUNS;
}

static void look(struct pace *pace, double nanoseconds, double time)
{
    int way = pace_together(pace);
    double more = time > pace->least[way] ? time : pace->least[way];
    pace->spent[way] += nanoseconds;
    pace->median[way] = more < pace->median[way] ? more : pace->median[way];
    pace->least[way] = time < pace->least[way] ? time : pace->least[way];
    bool hopeless = ++pace->runs > PACE_RUNS && time > HOPELESS * pace->median[!way];
    if (hopeless || pace->runs == 2 * PACE_RUNS)
        decide(pace);
}

void pace_ran(struct pace *pace, double nanoseconds, double work)
{
    double time = nanoseconds / (1 + work);
    if (pace->small)
        return;
    if (pace->runs < 2 * PACE_RUNS) {
        look(pace, nanoseconds, time);
        return;
    }
    pace->credit -= nanoseconds * (time > pace->median[!pace->together] ? HURRY : 1);
    if (pace->credit <= 0)
        look_again(pace);
}

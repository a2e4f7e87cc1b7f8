/* Chooses between the caller's thread and all of them by looking at both now and then. The way that lost is tried
 * again when four times what it took has passed, because a look may fall into a moment when others use the
 * processors; each look that finds the same doubles that, to fifty times: then a look costs at most 2% of the
 * time. It comes ten times sooner when the way that won turns out slower than the other was: the machine has
 * changed. Large parts begin together, without a look. */
#include "device/cpu/pace.h"
#include <math.h>
#include <string.h>

/* A guess of a part's time on one thread. Only its magnitude matters: it decides which parts are not worth a
 * look (a wake-up takes longer), and with which way the first look begins. */
#define FLOPS_OF_A_NANOSECOND  50.0
#define BYTES_OF_A_NANOSECOND  20.0
#define SMALL                  10e3     /* nanoseconds */
#define LARGE                  1e6

#define TRUST_LEAST            4.0      /* time between looks for each that a look lost */
#define TRUST_MOST             50.0
#define WORTH_IT               0.95     /* of the time alone: less is not worth a second processor */
#define HOPELESS               1.4      /* times the favourite's: a run alone says enough, or two together, of which
                                         * the first woke threads up */
#define BEFORE_FIRST_LOOK      8.0      /* times the guess of a large part */
#define HURRY                  10.0

unroll_status pace_parse(const char *name, bool *chooses)
{
    *chooses = !name || !strcmp(name, "chosen");
    return *chooses || !strcmp(name, "together")
         ? UNROLL_OK : fail(UNROLL_USAGE, "RNN_PACE is '%s'; fix: chosen or together", name);
}

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
    *pace = (struct pace){ .small = guess < SMALL, .together = guess > LARGE, .trust = TRUST_LEAST };
    look_again(pace);
    if (pace->together) {
        pace->runs = 2 * PACE_RUNS;
        pace->credit = BEFORE_FIRST_LOOK * guess;
    }
}

bool pace_together(const struct pace *pace)
{
    bool other = pace->runs >= PACE_RUNS && pace->runs < 2 * PACE_RUNS;
    return !pace->small && pace->together != other;
}

static void decide(struct pace *pace)
{
    bool together = pace->median[1] < WORTH_IT * pace->median[0];
    double more = fmin(2 * pace->trust, TRUST_MOST);
    pace->trust = together == pace->together ? more : TRUST_LEAST;
    pace->together = together;
    pace->credit = pace->trust * pace->spent[!together];
    pace->runs = 2 * PACE_RUNS;
}

static void look(struct pace *pace, double nanoseconds, double time)
{
    int way = pace_together(pace);
    double more = time > pace->least[way] ? time : pace->least[way];
    pace->spent[way] += nanoseconds;
    pace->median[way] = more < pace->median[way] ? more : pace->median[way];
    pace->least[way] = time < pace->least[way] ? time : pace->least[way];
    bool hopeless = ++pace->runs > PACE_RUNS + way && time > HOPELESS * pace->median[!way];
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

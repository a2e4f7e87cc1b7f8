/* Chooses between the caller's thread and all of them by looking at both now and then. The way that lost is tried
 * again when four times what it took has passed, because a look may fall into a moment when others use the
 * processors; each look that finds the same doubles that, to fifty times: then a look costs at most 2% of the
 * time. It comes ten times sooner when the way that won turns out slower than the other was: the machine has
 * changed. Large parts begin together, without a look. */
#include "device/cpu/adaptive_threads.h"
#include <math.h>
#include <string.h>

/* A guess of a phase's time on one thread. Only its magnitude matters: it decides which parts are not worth a
 * look (a wake-up takes longer), and with which way the first look begins. */
#define FLOPS_OF_A_NANOSECOND  50.0
#define BYTES_OF_A_NANOSECOND  20.0
#define SMALL                  10e3     /* nanoseconds */
#define LARGE                  1e6

#define TRUST_MIN            4.0      /* time between looks for each that a look lost */
#define TRUST_MAX             50.0
#define WORTH_IT               0.95     /* of the time alone: less is not worth a second processor */
#define HOPELESS               1.4      /* times the favourite's: a run alone says enough, or two together, of which
                                         * the first woke threads up */
#define BEFORE_FIRST_LOOK      8.0      /* times the guess of a large part */
#define HURRY                  10.0

unroll_status adaptive_parse(const char *name, bool *chooses)
{
    *chooses = !name || !strcmp(name, "chosen");
    return *chooses || !strcmp(name, "together")
               ? UNROLL_OK
               : fail(UNROLL_USAGE, "UNROLL_ADAPTIVE is '%s'; fix: chosen or together", name);
}

static void look_again(struct adaptive *adaptive)
{
    adaptive->runs = 0;
    for (int way = 0; way < 2; way++) {
        adaptive->min[way] = adaptive->median[way] = INFINITY;
        adaptive->spent[way] = 0;
    }
}

void adaptive_init(struct adaptive *adaptive, const struct plan *plan, enum phase phase)
{
    double guess = 0;
    for (int i = plan->phase[phase].first; i < plan->phase[phase].end; i++)
        guess += plan->op[i].flops / FLOPS_OF_A_NANOSECOND + plan->op[i].bytes / BYTES_OF_A_NANOSECOND;
    *adaptive = (struct adaptive){.small = guess<SMALL, .together = guess> LARGE, .trust = TRUST_MIN};
    look_again(adaptive);
    if (adaptive->together) {
        adaptive->runs = 2 * ADAPTIVE_RUNS;
        adaptive->credit = BEFORE_FIRST_LOOK * guess;
    }
}

bool adaptive_together(const struct adaptive *adaptive)
{
    bool other = adaptive->runs >= ADAPTIVE_RUNS && adaptive->runs < 2 * ADAPTIVE_RUNS;
    return !adaptive->small && adaptive->together != other;
}

static void decide(struct adaptive *adaptive)
{
    bool together = adaptive->median[1] < WORTH_IT * adaptive->median[0];
    double more = fmin(2 * adaptive->trust, TRUST_MAX);
    adaptive->trust = together == adaptive->together ? more : TRUST_MIN;
    adaptive->together = together;
    adaptive->credit = adaptive->trust * adaptive->spent[!together];
    adaptive->runs = 2 * ADAPTIVE_RUNS;
}

static void look(struct adaptive *adaptive, double nanoseconds, double time)
{
    int way = adaptive_together(adaptive);
    double more = time > adaptive->min[way] ? time : adaptive->min[way];
    adaptive->spent[way] += nanoseconds;
    adaptive->median[way] = more < adaptive->median[way] ? more : adaptive->median[way];
    adaptive->min[way] = time < adaptive->min[way] ? time : adaptive->min[way];
    bool hopeless = ++adaptive->runs > ADAPTIVE_RUNS + way && time > HOPELESS * adaptive->median[!way];
    if (hopeless || adaptive->runs == 2 * ADAPTIVE_RUNS)
        decide(adaptive);
}

void adaptive_ran(struct adaptive *adaptive, double nanoseconds, double work)
{
    double time = nanoseconds / (1 + work);
    if (adaptive->small)
        return;
    if (adaptive->runs < 2 * ADAPTIVE_RUNS) {
        look(adaptive, nanoseconds, time);
        return;
    }
    adaptive->credit -= nanoseconds * (time > adaptive->median[!adaptive->together] ? HURRY : 1);
    if (adaptive->credit <= 0)
        look_again(adaptive);
}

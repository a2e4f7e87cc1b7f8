/* Chooses between one thread and all threads by trying both occasionally. The slower way is tried again after four
 * times the duration of the trial, because other programs may have disturbed it. Each trial with the same result
 * doubles this factor, up to fifty: a trial then costs at most 2% of the time. The next trial comes ten times sooner if
 * the faster way becomes slower than the other one was, because the machine has changed. Large phases start with all
 * threads, without a trial. */
#include "device/cpu/executor/adaptive_threads.h"
#include <math.h>
#include <string.h>

/* A rough estimate of a phase's time on one thread. It decides which phases are too small for a trial (waking threads
 * takes longer), and which way the first trial starts with. */
#define FLOPS_OF_A_NANOSECOND  50.0
#define BYTES_OF_A_NANOSECOND  20.0
#define SMALL                  10e3     /* nanoseconds */
#define LARGE                  1e6

#define TRUST_MIN            4.0      /* time between trials, as a multiple of the time lost in one */
#define TRUST_MAX             50.0
#define WORTH_IT               0.95     /* of the time of one thread: a smaller gain is not worth more processors */
#define HOPELESS               1.4      /* times the favorite's: one run alone is then enough, or two together, because
                                         * the first one woke the threads */
#define BEFORE_FIRST_LOOK      8.0      /* times the estimate of a large phase */
#define HURRY                  10.0

unroll_status adaptive_parse(const char *name, bool *chooses)
{
    *chooses = !name || !strcmp(name, "chosen");
    return *chooses || !strcmp(name, "together")
               ? UNROLL_OK
               : fail(UNROLL_USAGE, "UNROLL_ADAPTIVE is '%s'; fix: choose one of chosen, together", name);
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

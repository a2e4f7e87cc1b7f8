/* Measures the peak rate of floating-point operations, for comparison with a program's speed. A value computed from the
 * clock would be wrong: clocks change with the load and the ISA. */
#include <stdalign.h>

#include "base/system/clock.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/team.h"
#include "device/cpu/kernels/kernel.h"
#include "unroll_advanced.h"

enum { LARGEST_WIDTH = 16, FIRST_ROUNDS = 1 << 12 };

static const double measured_seconds = 0.1, shortest_run = 0.004;

struct thread_load {
    alignas(64) double sink[LARGEST_WIDTH];
    uint64_t operations;
};

struct peak_load {
    const struct cpu_isa *isa;
    uint64_t rounds;
    struct thread_load *thread; /* [threads] */
};

static void do_share(void *arg, int me)
{
    const struct peak_load *load = arg;
    load->thread[me].operations = load->isa->peak(load->rounds, load->thread[me].sink);
}

/* Returns the operations per second of the fastest run that was long enough to time. */
static double best_rate(struct peak_load *load, struct team *team)
{
    double best = 0, begin = clock_seconds();
    while (best == 0 || clock_seconds() - begin < measured_seconds) {
        double operations = 0, from = clock_seconds();
        team_run(team, do_share, load);
        double seconds = clock_seconds() - from;
        for (int i = 0; i < team_size(team); i++) operations += (double)load->thread[i].operations;
        if (seconds < shortest_run)
            load->rounds *= 2;
        else if (operations / seconds > best)
            best = operations / seconds;
    }
    return best;
}

unroll_status unroll_measure_peak(const char *isa, int threads, double *gflops)
{
    struct peak_load load = {.rounds = FIRST_ROUNDS};
    struct team *team;
    TRY(cpu_isa_of_kernels(isa, &load.isa));
    if (threads < 0 || threads > TEAM_LARGEST)
        return fail(UNROLL_USAGE, "`threads` = %d is outside 0..%d (0: all); fix: use a number in this range", threads,
                    (int)TEAM_LARGEST);
    TRY(team_new(threads ? threads : cpu_count(), &team));
    load.thread = allocate_zeroed((size_t)team_size(team), sizeof *load.thread);
    if (load.thread)
        *gflops = best_rate(&load, team) / 1e9;
    team_free(team);
    if (load.thread == NULL)
        return fail(UNROLL_RESOURCE, "no memory to measure the peak");
    release(load.thread);
    return UNROLL_OK;
}

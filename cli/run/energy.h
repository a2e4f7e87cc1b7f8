/* Joules of a run, from the power that the user states or from the machine's counters. On each machine only the
 * first rank counts, for everything that runs there. Each source is a line of the table in energy.c. The modeled
 * joules of a plan are in extensions/cluster/planner/mesh_time.c. */
#pragma once
#include "cli/run/ranks.h"

struct energy {
    const struct energy_source *source; /* NULL: no source on this machine, or another rank counts */
    double watts, began;                /* given; seconds_now() at the start */
    double joules;                      /* so far */
    struct energy_counter *counter;     /* [counters] of the kernel */
    int counters;
    const char *name; /* of the first rank's source, the same on all ranks; NULL: none */
};

/* Opens --watts, or else the kernel's counters (powercap) if they are readable. Collective. */
unroll_status energy_open(struct energy *, const struct settings *, const struct ranks *);
/* Returns the joules since energy_open. Counters wrap around, in half an hour at full load, so call it more often. */
double energy_joules(struct energy *);
void energy_close(struct energy *);

/* Joules of a run, from what the user says of the machine's power or from the machine's own counters. Each machine's
 * are counted once, by the first of its ranks, and are of all that runs on it. Each source is a line of the table in
 * energy.c. Not the modelled joules of a plan: those are plan/mesh_time.c's. */
#ifndef CLI_ENERGY_H
#define CLI_ENERGY_H
#include "ranks.h"

struct energy {
    const struct energy_source *source; /* NULL: nothing is known of this machine, or another rank counts it */
    double watts, began;                /* given; seconds_now() */
    double joules;                      /* so far */
    struct energy_counter *counter;     /* [counters] of the kernel */
    int counters;
    const char *name; /* of the source that the first rank has, the same for all; NULL: none */
};

/* --watts, or else the kernel's counters (powercap) where they can be read. Collective. */
unroll_status energy_open(struct energy *, const struct settings *, const struct ranks *);
/* Since then. Counters go round, at full load in half an hour: to be asked more often. */
double energy_joules(struct energy *);
void energy_close(struct energy *);

#endif

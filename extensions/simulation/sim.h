/* Simulated devices: a plan runs, its operations take the time of their price and compute nothing, and its messages
 * are empty. For ranks of extensions/simulation/simgrid.h (bench/simulate.c). Not available to sessions, because it
 * has no data. */
#ifndef DEVICE_SIM_SIM_H
#define DEVICE_SIM_SIM_H
#include "extensions/cluster/planner/price.h"

/* Runs phases of a plan on this rank. speed: clock rate relative to the fastest. */
unroll_status sim_run(const struct plan *, const struct cluster *, struct unroll_comm *, double speed, enum phase first,
                      enum phase last);

#endif

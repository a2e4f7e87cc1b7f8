/* Simulated devices: a plan is run, its operations take the time of their price and compute nothing, its messages are
 * hollow. For ranks of comm/simgrid.h (bench/simulate.c); no device that a session could have, as it has no
 * numbers. */
#ifndef DEVICE_SIM_SIM_H
#define DEVICE_SIM_SIM_H
#include "plan/price.h"

/* Runs phases of a plan on this rank. speed: of its clock, a part of the fastest. */
unroll_status sim_run(const struct plan *, const struct cluster *, struct unroll_comm *, double speed, enum phase first,
                      enum phase last);

#endif

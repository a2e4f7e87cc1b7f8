/* Worlds of simulated ranks: SimGrid's actors in this thread, on the hosts of a simulated platform. For a user see
 * bench/simulate.c. */
#ifndef COMM_SIMGRID_H
#define COMM_SIMGRID_H
#include "comm/comm.h"

/* Calls rank(comm, arg) for each rank, on the hosts n0, n1, ... of a platform (a SimGrid file), until all have
 * returned. May be called once in a process. Fails if SimGrid is missing (unsupported) or memory runs out; ranks
 * report their own errors. */
typedef void simulated_rank(struct unroll_comm *, void *arg);
unroll_status comm_simgrid_run(const char *platform, int ranks, simulated_rank *, void *arg);

#endif

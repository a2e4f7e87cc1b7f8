/* Worlds of simulated ranks: SimGrid's actors in this thread, on the hosts of a platform that is simulated. Not who
 * runs there and what they do: bench/simulate.c. */
#ifndef COMM_SIMGRID_H
#define COMM_SIMGRID_H
#include "comm/comm.h"

/* Runs rank(comm, arg) for each rank, on the hosts n0, n1, ... of a platform (a file of SimGrid), until all have ended.
 * Once a process. Errors: unsupported without SimGrid; resource; ranks tell theirs themselves. */
typedef void simulated_rank(struct unroll_comm *, void *arg);
unroll_status comm_simgrid_run(const char *platform, int ranks, simulated_rank *, void *arg);

#endif

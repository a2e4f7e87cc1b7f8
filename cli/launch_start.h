/* Starts ranks through MPI's own launcher, and ends them with all that they started, whatever state they are in. Not
 * when: cmd_launch.c. */
#ifndef CLI_LAUNCH_START_H
#define CLI_LAUNCH_START_H
#include <sys/types.h>

#include "launch_hosts.h"

struct launch_start {
    pid_t mpirun;    /* 0: it has ended */
    int status;      /* of waitpid(), when it has ended */
    char folder[64]; /* what Open MPI keeps on this machine lies there, and is removed at the end */
    char memory[64]; /* likewise, what it shares */
};

/* Once: whatever loses its parent below this process is its child from now on. */
unroll_status start_open(struct launch_start *);
/* Ranks as placed; words: the program and its arguments, NULL ends. */
unroll_status start_ranks(struct launch_start *, const struct launch_hosts *, int ranks, char *const words[]);
/* One process without MPI, at a place among others (MEMBER_PLACE); -1: it can't be started. */
pid_t start_process(char *const words[], int place);
/* Has mpirun ended? */
bool start_has_ended(struct launch_start *);
/* mpirun alone, if it has not ended. */
void start_kill(const struct launch_start *);
/* Kills all processes below this one, and removes what they left. Waits until they are gone, 5 s at most. */
void start_sweep(struct launch_start *);
void start_close(struct launch_start *);

#endif

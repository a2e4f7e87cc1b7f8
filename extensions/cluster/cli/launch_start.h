/* Starts ranks through MPI's launch program, and ends them with all their children, whatever state they are in. The
 * timing is decided in cmd_launch.c. */
#ifndef CLI_LAUNCH_START_H
#define CLI_LAUNCH_START_H
#include <sys/types.h>

#include "extensions/cluster/cli/launch_hosts.h"

struct launch_start {
    pid_t mpirun;    /* 0: it has ended */
    int status;      /* from waitpid(), after it has ended */
    char folder[64]; /* for Open MPI's files on this machine; removed at the end */
    char memory[64]; /* the same for its shared memory */
};

/* Called once: from now on, orphaned descendants of this process become its children. */
unroll_status start_open(struct launch_start *);
/* Starts ranks as placed; words: the program and its arguments, terminated by NULL. */
unroll_status start_ranks(struct launch_start *, const struct launch_hosts *, int ranks, char *const words[]);
/* Starts one process without MPI, at a place among others (MEMBER_PLACE); returns -1 on failure. */
pid_t start_process(char *const words[], int place);
/* Returns whether mpirun has ended. */
bool start_has_ended(struct launch_start *);
/* Kills mpirun only, if it is running. */
void start_kill(const struct launch_start *);
/* Kills all descendants of this process and removes their files. Waits at most 5 s until they are gone. */
void start_sweep(struct launch_start *);
void start_close(struct launch_start *);

#endif

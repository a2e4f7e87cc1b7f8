/* A small process beside each rank of MPI, which outlives it by a moment: it says how to go on when a rank is killed,
 * and helps launchers to end the others at once and to learn how this one ended. It sees nothing of the work. */
#ifndef CLI_GUARD_H
#define CLI_GUARD_H
#include <sys/types.h>

/* Before MPI begins and before there are threads. Without a guard a rank runs as well: no failure is told. */
void guard_start(void);
/* From now on: what is printed if this process is killed. */
void guard_will_say(const char *line);
/* The process of rank 0, where that is another one on this machine. */
void guard_lead(pid_t process);
/* Nothing is left to say: the run ends in another way. Signal handlers may call it. */
void guard_hush(void);
/* Likewise, and no rank has anything to do but to end. */
void guard_done(void);

#endif

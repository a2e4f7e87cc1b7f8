/* A small process for each rank of MPI, which outlives it briefly. If the rank is killed, it prints how to resume,
 * and helps launchers to end the other ranks at once and to get the rank's status. It has no access to the training
 * itself. */
#pragma once
#include <sys/types.h>

/* Call before MPI begins and before there are threads. A rank without a guard runs as well, but its failure is not
 * reported. */
void guard_start(void);
/* Sets the line that is printed if this process is killed. */
void guard_will_say(const char *line);
/* Sets the process of rank 0, if that is another process on this machine. */
void guard_lead(pid_t process);
/* Cancels the line, because the run ends in another way. Signal handlers may call it. */
void guard_hush(void);
/* The same, when all ranks only have to end. */
void guard_done(void);

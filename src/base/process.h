/* Forks. A child that fork() made has its parent's memory, but none of its threads, and can't talk to what the parent
 * opened: drivers of devices, other ranks. Whoever made such a thing keeps the number of the process and looks before
 * he uses it. Not for processes that are begun anew (exec, posix_spawn). */
#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H
#include <stdatomic.h>

#include "base/status.h"

/* Another one than that of all processes before it, in a child; no call of the system. */
unsigned process_number(void);

/* The refusal of what belongs to the process that this one was forked from. */
unroll_status refuse_forked(const char *what);

/* What a process opens for good. */
struct opened {
    atomic_uint by;
}; /* process_number() + 1; 0: nobody */
unroll_status opened_check(struct opened *, const char *what); /* refused where a parent did */
void opened_here(struct opened *);

#endif

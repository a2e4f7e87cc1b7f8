/* Detects forks. A forked child has its parent's memory but not its threads, and cannot use what the parent opened:
 * drivers of devices, other ranks. The owner of such a resource stores the process number and compares it before each
 * use. Processes started by exec or posix_spawn are not affected. */
#pragma once
#include <stdatomic.h>

#include "base/status.h"

/* Returns a number that differs from those of all ancestors, without a system call. */
unsigned process_number(void);

/* Fails with the message for resources of a parent process. */
unroll_status refuse_forked(const char *what);

/* A resource that a process never closes. */
struct opened {
    atomic_uint by;
}; /* process_number() + 1; 0: not opened */
unroll_status opened_check(struct opened *, const char *what); /* fails if an ancestor opened it */
void opened_here(struct opened *);

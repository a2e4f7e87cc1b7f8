/* Hook for long computations, which call it between blocks of far less than a millisecond so that active sums progress.
 * If no rank communicates on this thread, it costs one comparison. */
#pragma once
#include <stdbool.h>

struct unroll_comm;

/* The rank whose communication queue is this thread, while it computes; NULL: none. */
extern _Thread_local struct unroll_comm *comm_of_thread __attribute__((visibility("hidden")));

void comm_poll_now(void);

static inline void comm_poll(void)
{
    if (comm_of_thread)
        comm_poll_now();
}

/* True if a sum is active on this thread: blocks should then be small. */
bool comm_wants_polls(void);

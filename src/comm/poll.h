/* The hook of long computations: between blocks of far less than a millisecond they let sums over ranks go on. Where no
 * rank communicates on this thread it is a comparison. No message is made here. */
#ifndef COMM_POLL_H
#define COMM_POLL_H
#include <stdbool.h>

struct unroll_comm;

/* The rank whose communication queue this thread is, while it computes; NULL: none. */
extern _Thread_local struct unroll_comm *comm_of_thread __attribute__((visibility("hidden")));

void comm_poll_now(void);

static inline void comm_poll(void)
{
    if (comm_of_thread)
        comm_poll_now();
}

/* Something is under way on this thread: blocks that are usually larger should be small. */
bool comm_wants_polls(void);

#endif

/* An engine carries messages between ranks: one struct of functions, one file each. What groups do is in
 * comm.c, the same for all engines. */
#ifndef COMM_ENGINE_H
#define COMM_ENGINE_H
#include "comm/comm.h"

struct engine {
    const char *name;
    unroll_status (*send)(struct comm *, int to, uint32_t tag, const void *data, size_t bytes);
    unroll_status (*recv)(struct comm *, int from, uint32_t tag, void *data, size_t bytes);
};

/* The first part of what an engine keeps for each rank. */
struct comm {
    const struct engine *engine;
    int rank, ranks;
};

#endif

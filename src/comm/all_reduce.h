/* Algorithms of sums as data: for each, what a member sends and receives in each round. No message is sent here. */
#ifndef COMM_ALL_REDUCE_H
#define COMM_ALL_REDUCE_H
#include "comm/comm.h"

struct shape {
    int size, place; /* of the group, and of the member in it */
    size_t count;    /* numbers; SHARDS: of one shard */
    int shards;
};

/* In a round a member sends at most one message, then receives at most one. */
struct round {
    int to, from; /* places; -1: nobody. from the member itself: adds its own numbers at sent_first */
    size_t sent_first, sent, received_first, received;
    bool adds; /* what is received, to what is there; else it replaces it */
};

struct algorithm_row {
    const char *name, *about;
    bool (*round)(const struct shape *, int number, struct round *); /* NULL: without rounds of ours */
    bool (*suits)(int size, size_t bytes, bool ordered);             /* is it the choice of "auto"? NULL: never */
};
unroll_status algorithm_add(const struct algorithm_row *); /* for tests */

/* False: there is no such round, the sum has ended. */
bool algorithm_round(enum algorithm, const struct shape *, int number, struct round *);

#endif

/* All-reduce algorithms as data: what each member sends and receives in each round. The messages are sent in
 * collective.c. */
#pragma once
#include "comm/comm.h"

struct sum_shape {
    int size, place; /* of the group; the member's index in it */
    size_t count;    /* values; for COMM_SHARDS: of one shard */
    int shards;
};

/* In each round a member sends at most one message, then receives at most one. */
struct round {
    int to, from; /* places; -1: none. If `from` is the member itself, it adds its own values at sent_first */
    size_t sent_first, sent, received_first, received;
    bool adds; /* add the received values instead of overwriting */
};

struct algorithm_row {
    const char *name, *about;
    bool (*round)(const struct sum_shape *, int number, struct round *); /* NULL: not run as rounds of messages */
    bool (*suits)(int size, size_t bytes, bool ordered);                 /* should "auto" choose it? NULL: never */
};
unroll_status algorithm_add(const struct algorithm_row *); /* for tests */

/* Computes one round of a member. Returns false after the last round. */
bool algorithm_round(enum algorithm, const struct sum_shape *, int number, struct round *);

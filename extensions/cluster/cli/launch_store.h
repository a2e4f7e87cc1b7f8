/* The control state of a launcher: the owner of a run, and its newest start. Without --control this is the launcher
 * itself, and a lock on the run's directory. With etcd there is one key for the owner, bound to its lease, and one
 * for the newest start, changed only by compare and swap. The members are not stored: they follow from the start. */
#ifndef CLI_LAUNCH_STORE_H
#define CLI_LAUNCH_STORE_H
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "extensions/cluster/cli/etcd.h"

struct launch_store {
    bool is_etcd;
    struct etcd etcd;     /* for the thread that begins starts; the keeper has a copy */
    char *owner, *newest; /* keys, as base64 */
    char lease[24];       /* its id */
    char revision[24];    /* at which the owner's key was created */
    int64_t ttl;          /* milliseconds */
    atomic_llong until;   /* the run is ours until this time, in milliseconds of a clock that includes sleep */
    atomic_bool lost;     /* another launcher owns the run */
    atomic_bool ends;
    bool is_kept; /* the thread that renews the lease is running */
    pthread_t keeper;
};

/* where: NULL, or "etcd:HOST:PORT,.."; run: its directory. Waits until no other launcher owns the run, or stops()
 * returns true. */
unroll_status store_open(struct launch_store *, const char *where, const char *run, double seconds,
                         bool (*stops)(void));
/* Begins a new start and returns its number, larger than all earlier ones. Fails if the run is not ours. */
unroll_status store_begin(struct launch_store *, int ranks, int64_t *epoch);
/* Returns for how many milliseconds ranks may be granted a lease. */
int64_t store_grants(const struct launch_store *);
bool store_is_lost(const struct launch_store *);
void store_close(struct launch_store *);

#endif

/* To whom a run belongs, and which start of it is the newest: the control state of a launcher. Without --control it is
 * the launcher itself, and a lock on the run's directory; with etcd one key for the owner, which goes with its lease,
 * and one for the newest start, changed by compare and swap alone. Not who the members are: they follow from the start.
 */
#ifndef CLI_LAUNCH_STORE_H
#define CLI_LAUNCH_STORE_H
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "etcd.h"

struct launch_store {
    bool is_etcd;
    struct etcd etcd;     /* of the thread that begins starts; the other has a copy */
    char *owner, *newest; /* keys, as base64 */
    char lease[24];       /* its number */
    char revision[24];    /* at which the owner's key was made */
    int64_t ttl;          /* milliseconds */
    atomic_llong until;   /* of a clock that goes on while the machine sleeps: the run is ours, milliseconds */
    atomic_bool lost;     /* it is somebody else's */
    atomic_bool ends;
    bool is_kept; /* the thread that renews the lease runs */
    pthread_t keeper;
};

/* where: NULL, or "etcd:HOST:PORT,.."; run: its directory. Waits until nobody else has the run. stops: given up when
 * it says so. */
unroll_status store_open(struct launch_store *, const char *where, const char *run, double seconds,
                         bool (*stops)(void));
/* A new start with so many ranks: its number, larger than those of all before. Refused when the run is not ours. */
unroll_status store_begin(struct launch_store *, int ranks, int64_t *epoch);
/* For how many milliseconds ranks may be granted a lease. */
int64_t store_grants(const struct launch_store *);
bool store_is_lost(const struct launch_store *);
void store_close(struct launch_store *);

#endif

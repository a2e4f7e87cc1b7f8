/* Communication between the ranks of a mesh. Transports (self, threads, mpi) carry messages; the collectives are
 * schedules of messages, the same for all transports. Only one thread of a rank, its communication queue, makes
 * calls. */
#pragma once
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unroll_comm;

enum { RANKS_MAX = 1024 };

/* ---- worlds ---------------------------------------------------------------------------- */

/* Opens this process as one rank: "self", "mpi", or NULL for mpi if it was started as one of several processes, else
 * self. A wait longer than the timeout, in seconds, fails with UNROLL_COMMUNICATION and names rank, peer and tag. */
unroll_status comm_open(const char *transport, double timeout_seconds, struct unroll_comm **comm);
void comm_close(struct unroll_comm *);
/* Number of ranks that the launcher of this process started, according to its environment variables, or 1.
 * comm_local_ranks: the number of them on this machine. */
int comm_launched_ranks(void);
int comm_local_ranks(void);
/* Index of this rank among those on its machine, from 0; if the launcher does not set one, its rank. */
int comm_local_rank(const struct unroll_comm *);

/* Creates a world of ranks inside this process: comm[r] is for rank r's threads. */
unroll_status comm_threads_new(int ranks, double timeout_seconds, struct unroll_comm **comm);
/* Reports that the rank of `comm` has failed: waits of the other ranks fail from now on. */
void comm_threads_end(struct unroll_comm *comm);
void comm_threads_free(struct unroll_comm **comm, int ranks);

int comm_rank(const struct unroll_comm *);
int comm_ranks(const struct unroll_comm *);
const char *comm_transport(const struct unroll_comm *);
/* Ends all ranks as far as the transport can, with this exit code. No effect if ranks are threads. */
void comm_abort(struct unroll_comm *, int code);

/* Makes waits of this rank fail from now on, like a timeout. May be called from any thread. */
void comm_interrupt(struct unroll_comm *);

/* Applies the same timeout to waits for other ranks that do not wait for a message, such as those on a device. Idles
 * briefly and returns true, or returns false if the timeout has passed. */
struct wait_timeout {
    int looks;
    bool asked;
    double begin;
};
bool comm_within_timeout(struct unroll_comm *, struct wait_timeout *);
double comm_timeout(const struct unroll_comm *);
/* Describe a failed wait: "; rank 1 does not answer", or nothing; and the first rank that answers, or -1 if no wait
 * failed. */
enum { SILENCE_SIZE = 64 };
const char *comm_silence(const struct unroll_comm *, char text[SILENCE_SIZE]);
int comm_first(const struct unroll_comm *);

/* Simulated ranks. comm_spend lets simulated time pass, in which active sums progress
 * as in comm_poll. Messages and sums may have NULL data: the bytes are simulated only. */
bool comm_is_simulated(const struct unroll_comm *);
unroll_status comm_spend(struct unroll_comm *, double seconds);
double comm_seconds(const struct unroll_comm *); /* its clock; only differences are meaningful */

/* ---- messages -------------------------------------------------------------------------- */

/* Tags have 28 bits, the range that every MPI supports. Tags of plans are below TAG_CONTROL; all other messages use
 * it. */
enum { TAG_CONTROL = 1 << 27 };

/* Sends are buffered: the data may be changed after the call. Messages between two ranks are matched by tag, and in
 * order among equal tags. */
unroll_status comm_send(struct unroll_comm *, int to, uint32_t tag, const void *data, size_t bytes);
unroll_status comm_recv(struct unroll_comm *, int from, uint32_t tag, void *data, size_t bytes);

/* ---- collectives ----------------------------------------------------------------------- */

/* All-reduce algorithms. The order of additions is fixed, so that all members get the same bits, whatever the order of
 * arrival. */
enum algorithm {
    COMM_SHARDS = -1, /* the tree over virtual shards, of which members hold consecutive ones; not selectable by name */
    COMM_AUTO,        /* chosen by algorithm_choose */
    COMM_TREE,
    COMM_HALVING_DOUBLING, /* for 2^n ranks, the same bits as the tree */
    COMM_RING,
    COMM_RING_2D,
    COMM_GATHER_BROADCAST,
    COMM_NATIVE, /* implemented by the transport, which decides on the order of additions */
    COMM_ALGORITHMS
};
const char *algorithm_name(int index); /* NULL after the last selectable one */
const char *algorithm_about(int index);
/* Finds an algorithm by name; NULL means "auto". With `exact`, algorithms whose sums differ from those of a single
 * process are refused. */
unroll_status algorithm_find(const char *name, bool exact, int *found);
/* Chooses an algorithm for a sum of `bytes` bytes. `ordered`: each member has already added its shards in the order of
 * the tree. */
enum algorithm algorithm_choose(int size, size_t bytes, bool ordered);

/* Joins a group before its first COMM_NATIVE sum. Blocks without a timeout until all members have joined: all ranks
 * must join their groups in the same order, that of the member lists. Fails if the transport has no sums of its own. */
unroll_status comm_join(struct unroll_comm *, const int *ranks, int size);

/* An in-place all-reduce. ranks[size] is the group in rank order and includes the caller. `ranks` and `data` must
 * remain valid until comm_sum_end. With COMM_SHARDS, member i holds the shards from shards * i / size on, `count`
 * values each, and the first one receives the sum. Other algorithms require shards = 1. */
struct sum {
    const int *ranks;
    int size;
    uint32_t tag;
    void *data;
    size_t count;
    bool is_double; /* or float */
    enum algorithm algorithm;
    int shards;
};

/* Start and finish an all-reduce. Active sums progress in comm_progress, in comm_poll (poll.h) and in every wait.
 * Several may be active if their tags differ. */
unroll_status comm_sum_begin(struct unroll_comm *, const struct sum *);
unroll_status comm_sum_end(struct unroll_comm *, const struct sum *);
unroll_status comm_progress(struct unroll_comm *);

/* Registers a function that serves other ranks whenever sums progress, or NULL. It must not block. */
typedef unroll_status comm_service(void *arg);
void comm_serve(struct unroll_comm *, comm_service *, void *arg);

/* Totals so far. communication: seconds with active sums or waits for messages; exposed: the part in which this rank
 * only waited. sent: bytes passed to the transport as messages, without those of native sums. */
struct comm_totals {
    double communication, exposed;
    uint64_t sent;
};
struct comm_totals comm_totals(const struct unroll_comm *);

/* All-reduce with the tree: the order of additions is that of the group, at any size. */
unroll_status comm_all_reduce(struct unroll_comm *, const int *ranks, int size, uint32_t tag, void *data, size_t count,
                              int is_double);
/* Broadcasts rank 0's data to all ranks of the world. */
unroll_status comm_broadcast(struct unroll_comm *, uint32_t tag, void *data, size_t bytes);

/* Called by all ranks with their status. All return the failure of the lowest failing rank, with its message. If
 * `number` differs between ranks, all fail with a message that names `what`. NULL comm: a single rank. */
unroll_status comm_agree(struct unroll_comm *, unroll_status mine, uint64_t number, const char *what);

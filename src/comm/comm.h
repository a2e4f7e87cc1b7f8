/* Communication between the ranks of a mesh. Transports (self, threads, mpi) carry messages; the
 * collectives here are schedules over them, the same for all transports. All calls of a rank are made by one of its
 * threads: its communication queue. */
#ifndef COMM_COMM_H
#define COMM_COMM_H
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unroll_comm;

/* ---- worlds ---------------------------------------------------------------------------- */

/* This process as one rank: "self", "mpi", or NULL: mpi if it was started as one of several, else self. No wait
 * takes longer than the timeout, in seconds: it then fails with UNROLL_COMMUNICATION and names rank, peer, tag. */
unroll_status comm_open(const char *transport, double timeout_seconds, struct unroll_comm **comm);
void comm_close(struct unroll_comm *);
/* As many ranks as whatever launched this process says that it started; 1 if nothing says so. And how many of them
 * share this machine. */
int comm_launched_ranks(void);
int comm_local_ranks(void);
/* Which of those this one is, from 0 on; where nothing says so, its rank. */
int comm_local_rank(const struct unroll_comm *);

/* All ranks of a world inside this process: comm[r] is for rank r's threads. */
unroll_status comm_threads_new(int ranks, double timeout_seconds, struct unroll_comm **comm);
/* Rank of `comm` has failed: waits of the others for it, and for whom else, fail from now on. */
void comm_threads_end(struct unroll_comm *comm);
void comm_threads_free(struct unroll_comm **comm, int ranks);

int comm_rank(const struct unroll_comm *);
int comm_ranks(const struct unroll_comm *);
const char *comm_transport(const struct unroll_comm *);
/* Ends all ranks as far as the transport can, with this exit code; does nothing where ranks are threads. */
void comm_abort(struct unroll_comm *, int code);

/* From any thread: waits of this rank fail from now on, as those that are too long. */
void comm_interrupt(struct unroll_comm *);

/* Whoever waits for other ranks without a message, on a device, keeps the same timeout. False: it has passed; else a
 * little time has. */
struct wait_timeout {
    int looks;
    bool asked;
    double begin;
};
bool comm_within_timeout(struct unroll_comm *, struct wait_timeout *);
double comm_timeout(const struct unroll_comm *);
/* After a wait that failed: "; rank 1 does not answer", or nothing; and the first rank that does, -1: no wait failed.
 */
enum { SILENCE_SIZE = 64 };
const char *comm_silence(const struct unroll_comm *, char text[SILENCE_SIZE]);
int comm_first(const struct unroll_comm *);

/* Ranks of a simulation (comm/simgrid.h): is it one? Then seconds that a rank computes pass as they are spent,
 * in which sums under way go on as they do in comm_poll; and messages and sums may be hollow: data NULL, whose bytes
 * travel and are nothing. */
bool comm_is_simulated(const struct unroll_comm *);
unroll_status comm_spend(struct unroll_comm *, double seconds);
double comm_seconds(const struct unroll_comm *); /* its clock: differences mean something */

/* ---- messages -------------------------------------------------------------------------- */

/* Tags have 28 bits, which every MPI takes: those of plans, and this one for what is no operation of a plan. */
enum { TAG_CONTROL = 1 << 27 };

/* Buffered: returns when the data may be changed. Messages between two ranks are matched by tag,
 * among equal tags in order. */
unroll_status comm_send(struct unroll_comm *, int to, uint32_t tag, const void *data, size_t bytes);
unroll_status comm_recv(struct unroll_comm *, int from, uint32_t tag, void *data, size_t bytes);

/* ---- collectives ----------------------------------------------------------------------- */

/* Who sends what to whom when a group adds up. In these orders of the sum all members get the same bits, whatever
 * arrives first. */
enum algorithm {
    COMM_SHARDS = -1, /* the tree over virtual shards, of which members hold consecutive ones: nobody asks for it */
    COMM_AUTO,        /* algorithm_choose says which */
    COMM_TREE,
    COMM_HALVING_DOUBLING, /* of 2^n ranks the tree's bits */
    COMM_RING,
    COMM_RING_2D,
    COMM_GATHER_BROADCAST,
    COMM_NATIVE, /* the transport's own, in an order of its own */
    COMM_ALGORITHMS
};
const char *algorithm_name(int index); /* NULL after the last that can be asked for */
/* By its name; NULL: "auto". With `exact` those are refused that add in an order of their own, not in one process's. */
unroll_status algorithm_find(const char *name, bool exact, int *found);
/* Of a sum of so many bytes; `ordered`: the shards of each member were added in the order of the tree. */
enum algorithm algorithm_choose(int size, size_t bytes, bool ordered);

/* Before the first COMM_NATIVE sum of a group. Its members wait for each other, without a timeout: all ranks join
 * their groups in one order, that of the lists of members. Refused where the transport has no sums of its own. */
unroll_status comm_join(struct unroll_comm *, const int *ranks, int size);

/* In place: the sum over the group. ranks[size] is the group in rank order and holds the caller; it and data stay
 * until the end. SHARDS: member i holds the shards from shards * i / size on, one after the other, count numbers
 * each; the first then holds the sum. Other algorithms want shards = 1. */
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

/* Sums that have begun go on in comm_progress, in comm_poll (poll.h) and in every wait. Several may be under way, of
 * different tags. */
unroll_status comm_sum_begin(struct unroll_comm *, const struct sum *);
unroll_status comm_sum_end(struct unroll_comm *, const struct sum *);
unroll_status comm_progress(struct unroll_comm *);

/* What a rank does for others meanwhile: called where sums go on. It may not wait. NULL: nothing. */
typedef unroll_status comm_service(void *arg);
void comm_serve(struct unroll_comm *, comm_service *, void *arg);

/* Seconds so far in which sums were under way or a message was waited for; and of them those in which this rank did
 * nothing but wait: exposed. Bytes so far that this rank gave to its transport as messages; what native sums send is
 * not known. */
struct comm_totals {
    double communication, exposed;
    uint64_t sent;
};
struct comm_totals comm_totals(const struct unroll_comm *);

/* The tree: the sum in the order of the group whatever its size. */
unroll_status comm_all_reduce(struct unroll_comm *, const int *ranks, int size, uint32_t tag, void *data, size_t count,
                              int is_double);
/* What rank 0 holds, to all ranks of the world. */
unroll_status comm_broadcast(struct unroll_comm *, uint32_t tag, void *data, size_t bytes);

/* All ranks call it with how they fared so far. The first failure, by rank, becomes everybody's, with its words;
 * so does a number that is not the same everywhere, which `what` names. NULL: alone. */
unroll_status comm_agree(struct unroll_comm *, unroll_status mine, uint64_t number, const char *what);

#endif

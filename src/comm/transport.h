/* A transport carries messages between ranks: one file each and a row of transport_table.c. What groups do is in
 * collective.c, the same for all transports. */
#ifndef COMM_TRANSPORT_H
#define COMM_TRANSPORT_H
#include "base/clock.h"
#include "base/process.h"
#include "comm/comm.h"
#include <stdatomic.h>

/* A receive that has begun. */
struct request {
    int from; /* or TRANSPORT_ANY; TRANSPORT_SUM: what has begun is a sum of the
                 transport's own */
    uint32_t tag;
    void *data;
    size_t bytes;
    union {
        void *pointer;
        int number;
    } handle; /* the transport's */
};

enum { TRANSPORT_SUM = -1, TRANSPORT_ANY = -2 };

struct transport {
    const char *name;
    unroll_status (*send)(struct unroll_comm *, int to, uint32_t tag, const void *data, size_t bytes);
    unroll_status (*begin)(struct unroll_comm *, struct request *);
    unroll_status (*test)(struct unroll_comm *, struct request *, bool *done);
    void (*drop)(struct unroll_comm *, struct request *); /* nothing may be written to its data any more */
    void (*idle)(struct unroll_comm *, int looks);        /* between two tests; looks counts those without success */
    unroll_status (*push)(struct unroll_comm *,
                          bool *more); /* what was sent goes on, is there more?; NULL: by itself */
    /* Sums over a group, which it has joined, of the transport's own, in place (request->data); a group begins them in
     * one order. Tested like receives. NULL: there are none. */
    unroll_status (*join)(struct unroll_comm *, const int *ranks, int size);
    unroll_status (*sum)(struct unroll_comm *, struct request *, const struct sum *);
    void (*abort)(struct unroll_comm *, int code);
    void (*close)(struct unroll_comm *);
    /* Of simulated ranks; NULL: time is the clock's, and passes by itself. */
    double (*clock)(void);
    double (*spend)(struct unroll_comm *, double seconds); /* computes for at most so long; for how long */
};

struct collective;

/* What ping.c keeps of a rank. */
struct ping_words {
    int32_t from, kind, silent, silents, first;
};
struct ping {
    bool ended, over;           /* no looks any more; waits are in vain: */
    double waited;              /* seconds that the last one took */
    int silent, silents, first; /* the first rank that does not answer, how many; the first that does */
    bool listens;
    struct request request;
    struct ping_words words;
    unsigned char *answered; /* [ranks]; NULL: nobody was asked */
    double looked;           /* when, in seconds */
};

/* The first part of what a transport keeps for each rank. */
struct unroll_comm {
    const struct transport *transport;
    int rank, ranks;
    unsigned process;                   /* that opened it (base/process.h) */
    double timeout;                     /* seconds */
    struct collective *active, *unused; /* sums under way, oldest first; and those to use again */
    comm_service *service;              /* NULL: none */
    void *service_arg;
    bool serves;          /* it is being called */
    bool more;            /* to push */
    double polled;        /* when comm_poll last looked, in seconds */
    unroll_status failed; /* what a poll met: told by the next wait, in these words */
    char words[512];
    struct ping ping;
    struct comm_totals totals;
    atomic_bool interrupted;
    double began; /* when sums were under way again; 0: none is */
};

static inline double comm_clock(const struct unroll_comm *comm)
{
    return comm->transport->clock ? comm->transport->clock() : clock_seconds();
}

/* A row of the table. */
struct transport_row {
    const char *name;
    unroll_status (*open)(double timeout, struct unroll_comm **comm);
};
const struct transport_row *transport_at(int index); /* NULL after the last */
unroll_status comm_self_open(double timeout, struct unroll_comm **comm);
unroll_status comm_mpi_open(double timeout, struct unroll_comm **comm);

/* Refuses the ranks of the process that this one was forked from. */
unroll_status comm_check(const struct unroll_comm *);
unroll_status comm_late(struct unroll_comm *, struct request *); /* drops it, and says so */
/* A look at ping.c's messages in a wait; false: it has failed. */
bool comm_waits_on(struct unroll_comm *, struct wait_timeout *, double now);
void comm_ping_end(struct unroll_comm *);
void comm_waited(struct unroll_comm *, double begin); /* since then: counts as exposed */
void comm_collectives_free(struct unroll_comm *);

#endif

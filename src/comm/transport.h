/* Interface of transports, which carry messages between ranks: one file each, and a row in transport_table.c.
 * Collectives are in collective.c, the same for all transports. */
#pragma once
#include "base/system/clock.h"
#include "base/system/process.h"
#include "comm/comm.h"
#include <stdatomic.h>

/* A receive in progress. */
struct request {
    int from; /* a rank, TRANSPORT_ANY, or TRANSPORT_SUM: a sum by the transport itself */
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
    void (*drop)(struct unroll_comm *, struct request *); /* cancels the receive: its data is not written any more */
    void (*idle)(struct unroll_comm *, int looks);        /* between two tests; looks: unsuccessful tests so far */
    unroll_status (*push)(struct unroll_comm *,
                          bool *more); /* progresses sends; *more: some are left. NULL: not needed */
    /* In-place sums (request->data) by the transport itself, over a group that it has joined. A group starts them in
     * the same order; they are tested like receives. NULL: not available. */
    unroll_status (*join)(struct unroll_comm *, const int *ranks, int size);
    unroll_status (*sum)(struct unroll_comm *, struct request *, const struct sum *);
    void (*abort)(struct unroll_comm *, int code);
    void (*close)(struct unroll_comm *);
    /* For simulated ranks. NULL: real time. */
    double (*clock)(void);
    double (*spend)(struct unroll_comm *, double seconds); /* computes for at most `seconds`; returns the time spent */
};

struct collective;

/* State of ping.c for a rank. */
struct ping_words {
    int32_t from, kind, silent, silents, first;
};
struct ping {
    bool ended, over;           /* no more polls for pings; waits have failed because: */
    double waited;              /* seconds of the last wait */
    int silent, silents, first; /* first silent rank, number of silent ranks, first rank that answered */
    bool listens;
    struct request request;
    struct ping_words words;
    unsigned char *answered; /* [ranks]; NULL: no ping was sent */
    double looked;           /* time of the last poll, in seconds */
};

/* Common part of the state of all transports, one for each rank. */
struct unroll_comm {
    const struct transport *transport;
    int rank, ranks;
    unsigned process;                   /* the process that opened it (base/system/process.h) */
    double timeout;                     /* seconds */
    struct collective *active, *unused; /* active sums, oldest first; finished ones for reuse */
    comm_service *service;              /* NULL: none */
    void *service_arg;
    bool serves;          /* the service is running */
    bool more;            /* the transport has data to push */
    double polled;        /* time of the last progress in comm_poll, in seconds */
    unroll_status failed; /* error in a poll, returned by the next wait with this message */
    char words[512];
    struct ping ping;
    struct comm_totals totals;
    atomic_bool interrupted;
    double began; /* when sums became active; 0: none is */
};

static inline double comm_clock(const struct unroll_comm *comm)
{
    return comm->transport->clock ? comm->transport->clock() : clock_seconds();
}

/* A row of the transport table. */
struct transport_row {
    const char *name;
    unroll_status (*open)(double timeout, struct unroll_comm **comm);
};
unroll_status transport_find(const char *name, const struct transport_row **);
unroll_status comm_self_open(double timeout, struct unroll_comm **comm);

/* Worlds of processes, opened one after another as processes join and leave. Processes reach each other by
 * addresses, which the caller exchanges; it also numbers the worlds. A row of the table "world". */
enum { WORLD_ADDRESS = 4096 }; /* bytes, with the zero byte */
struct world_row {
    const char *name;
    unroll_status (*address)(char text[WORLD_ADDRESS]); /* of this process, the same in all of its worlds */
    /* Opens a world. Numbers increase from 1. Does not block, but the first message does. The previous world must be
     * closed. */
    unroll_status (*open)(int64_t number, int rank, int ranks, const char *const *addresses, double timeout_seconds,
                          struct unroll_comm **);
};

/* Fails in a process that was forked from the one that opened the ranks. */
unroll_status comm_check(const struct unroll_comm *);
unroll_status comm_late(struct unroll_comm *, struct request *); /* drops the request; returns a timeout error */
/* Processes pings during a wait. Returns false if the wait has failed. */
bool comm_waits_on(struct unroll_comm *, struct wait_timeout *, double now);
void comm_ping_end(struct unroll_comm *);
void comm_waited(struct unroll_comm *, double begin); /* counts the time since `begin` as exposed */
void comm_collectives_free(struct unroll_comm *);

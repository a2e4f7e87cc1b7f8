/* The transport of simulated ranks: SimGrid's actors, all in one thread of this process, each on its own host.
 * Messages are matched here and carried by a wire, which is also an actor, across the simulated network. Time is
 * simulated; a rank that computes or waits sleeps until something arrives. MPI's own sums are not modeled. */
#include "base/system/library.h"
#include "base/memory.h"
#include "extensions/simulation/simgrid.h"
#include "comm/transport.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Up to this size a message is sent without waiting for its receive, as MPI libraries do over TCP. */
enum { EAGER = 65536 };

struct rank_simgrid;

struct message {
    struct message *next;
    struct rank_simgrid *to;
    struct receive *receive; /* NULL: not posted yet */
    int from;
    uint32_t tag;
    size_t bytes;
    bool travels, arrived;
    void *data; /* [bytes]; NULL: no data */
};

struct receive {
    struct receive *next;
    int from;
    uint32_t tag;
    size_t bytes; /* actual size */
    void *data;
    struct message *message; /* in flight */
    bool done;
};

/* An actor that carries one message after another. */
struct wire {
    struct wire *next, *all;
    void *wakes; /* semaphore */
    struct message *message;
};

struct world {
    int ranks, ended;
    simulated_rank *run;
    void *arg;
    void **host;
    struct rank_simgrid *rank;
    struct wire *idle, *wires;
};

struct rank_simgrid {
    struct unroll_comm comm;  /* first: unroll_comm of this transport is a rank_simgrid */
    struct message *messages; /* without a matching receive, oldest first */
    struct receive *receives; /* without a matching message, oldest first */
    void *wakes;              /* semaphore */
    bool news, sleeps;        /* something has arrived since the last check; wake the rank in that case */
};

static struct world world; /* SimGrid also allows one per process */
static struct {
    void (*init)(int *, char **), (*load)(const char *), (*run)(void);
    void (*set)(const char *, double), (*log)(const char *);
    void *(*host)(const char *);
    void *(*actor)(const char *, void *host);
    void (*set_stack)(void *, unsigned), (*set_data)(void *, void *);
    void (*start)(void *, void (*)(int, char **), int, const char *const *);
    void (*daemonize)(void *);
    void *(*self)(void), *(*data)(void);
    void (*sleep)(double);
    void (*transfer)(void *from, void *to, double bytes);
    void *(*semaphore)(int);
    void (*acquire)(void *), (*release)(void *);
    int (*acquire_for)(void *, double);
    double (*clock)(void);
} simgrid;

static struct rank_simgrid *rank_of(const struct unroll_comm *comm) { return (struct rank_simgrid *)comm; }

/* ---- wires ----------------------------------------------------------------------------- */

static void deliver(struct message *m)
{
    struct receive *r = m->receive;
    r->bytes = m->bytes;
    r->message = NULL;
    r->done = true;
    if (m->data && r->data)
        memcpy(r->data, m->data, m->bytes);
    struct rank_simgrid *to = m->to;
    release(m->data);
    release(m);
    to->news = true;
    if (to->sleeps)
        simgrid.release(to->wakes);
}

static void wire_main(int argc, char **argv)
{
    struct wire *w = simgrid.data();
    (void)argc, (void)argv;
    simgrid.daemonize(simgrid.self());
    for (;; simgrid.acquire(w->wakes)) {
        struct message *m = w->message;
        simgrid.transfer(world.host[m->from], world.host[m->to->comm.rank], m->bytes ? (double)m->bytes : 1);
        m->arrived = true;
        if (m->receive)
            deliver(m);
        w->next = world.idle;
        world.idle = w;
    }
}

static void start(const char *name, void *host, unsigned stack, void (*code)(int, char **), void *data)
{
    const char *const arguments[] = {name, NULL};
    void *actor = simgrid.actor(name, host);
    simgrid.set_stack(actor, stack);
    simgrid.set_data(actor, data);
    simgrid.start(actor, code, 1, arguments);
}

static unroll_status travel(struct message *m)
{
    enum { STACK = 64 << 10 };
    struct wire *w = world.idle;
    m->travels = true;
    if (w) {
        world.idle = w->next;
        w->message = m;
        simgrid.release(w->wakes);
        return UNROLL_OK;
    }
    TRY(ALLOCATE(w, 1, "for a wire"));
    *w = (struct wire){.wakes = simgrid.semaphore(0), .message = m, .all = world.wires};
    world.wires = w;
    start("wire", world.host[0], STACK, wire_main, w);
    return UNROLL_OK;
}

/* ---- messages -------------------------------------------------------------------------- */

static bool fits(int from, uint32_t tag, const struct message *m)
{
    return (from == TRANSPORT_ANY || from == m->from) && tag == m->tag;
}

static unroll_status make_message(struct rank_simgrid *to, int from, uint32_t tag, const void *data, size_t bytes,
                                  struct message **made)
{
    struct message *m;
    TRY(ALLOCATE(m, 1, "for a message"));
    *m = (struct message){.to = to, .from = from, .tag = tag, .bytes = bytes};
    *made = m;
    if (!data || !bytes)
        return UNROLL_OK;
    m->data = allocate_zeroed(bytes, 1);
    if (!m->data) {
        release(m);
        return fail(UNROLL_RESOURCE, "no memory for a message of %zu bytes", bytes);
    }
    memcpy(m->data, data, bytes);
    return UNROLL_OK;
}

static unroll_status simulated_send(struct unroll_comm *comm, int to, uint32_t tag, const void *data, size_t bytes)
{
    struct rank_simgrid *other = &world.rank[to];
    struct message *m, **end = &other->messages;
    TRY(make_message(other, comm->rank, tag, data, bytes, &m));
    for (struct receive **at = &other->receives; *at; at = &(*at)->next)
        if (fits((*at)->from, (*at)->tag, m)) {
            m->receive = *at;
            (*at)->message = m;
            *at = (*at)->next;
            return travel(m);
        }
    while (*end) end = &(*end)->next;
    *end = m;
    return bytes <= EAGER ? travel(m) : UNROLL_OK;
}

/* Begins to receive: takes a message that was already sent, or waits for one. */
static unroll_status simulated_begin(struct unroll_comm *comm, struct request *request)
{
    struct rank_simgrid *own = rank_of(comm);
    struct receive *r, **end = &own->receives;
    TRY(ALLOCATE(r, 1, "for a message"));
    *r = (struct receive){.from = request->from, .tag = request->tag, .data = request->data};
    request->handle.pointer = r;
    for (struct message **at = &own->messages; *at; at = &(*at)->next)
        if (fits(r->from, r->tag, *at)) {
            struct message *m = *at;
            *at = m->next;
            m->receive = r;
            r->message = m;
            if (!m->travels)
                return travel(m);
            if (m->arrived)
                deliver(m);
            return UNROLL_OK;
        }
    while (*end) end = &(*end)->next;
    *end = r;
    return UNROLL_OK;
}

static unroll_status simulated_test(struct unroll_comm *comm, struct request *request, bool *done)
{
    struct receive *r = request->handle.pointer;
    *done = r->done;
    if (!*done)
        return UNROLL_OK;
    const size_t bytes = r->bytes;
    release(r);
    return bytes == request->bytes
               ? UNROLL_OK
               : fail(
                     UNROLL_COMMUNICATION,
                     "rank %d expected %zu bytes from rank %d (tag %u), not %zu: the ranks run different plans; fix: start all ranks with the same program and options",
                     comm->rank, request->bytes, request->from, (unsigned)request->tag, bytes);
}

/* Cancels a receive: its message in flight then waits for another one, as if the receive had never begun. */
static void simulated_drop(struct unroll_comm *comm, struct request *request)
{
    struct rank_simgrid *own = rank_of(comm);
    struct receive *r = request->handle.pointer, **at = &own->receives;
    while (*at && *at != r) at = &(*at)->next;
    if (*at)
        *at = r->next;
    if (r->message) {
        r->message->receive = NULL;
        r->message->next = own->messages;
        own->messages = r->message;
    }
    release(r);
}

/* ---- time ------------------------------------------------------------------------------ */

/* Sleeps until something arrives, because nothing else can change the result of a poll. The simulator detects
 * deadlocks. */
static void simulated_idle(struct unroll_comm *comm, int looks)
{
    struct rank_simgrid *r = rank_of(comm);
    (void)looks;
    r->sleeps = true;
    while (!r->news) simgrid.acquire(r->wakes);
    r->news = r->sleeps = false;
}

/* Sleeps until something arrives, for at most `seconds`. The semaphore alone is not enough: a wake at the end of the
 * time is lost. */
static bool sleep_till_news(struct rank_simgrid *r, double seconds)
{
    r->sleeps = true;
    if (!r->news)
        simgrid.acquire_for(r->wakes, seconds);
    const bool found = r->news;
    r->news = r->sleeps = false;
    return found;
}

static double simulated_clock(void) { return simgrid.clock(); }

/* A computing rank polls its messages at intervals, as in comm_poll: returns at the next poll after something has
 * arrived. */
static double simulated_spend(struct unroll_comm *comm, double seconds)
{
    const double look = 200e-6, began = simgrid.clock();
    struct rank_simgrid *r = rank_of(comm);
    if (!comm->active) {
        simgrid.sleep(seconds);
        return seconds;
    }
    const bool found = sleep_till_news(r, seconds);
    const double passed = simgrid.clock() - began, whole = found ? fmin(seconds, look * ceil(passed / look)) : passed;
    if (whole > passed)
        simgrid.sleep(whole - passed);
    return whole;
}

/* ---- worlds ---------------------------------------------------------------------------- */

static void simulated_abort(struct unroll_comm *comm, int code)
{
    (void)comm;
    exit(code);
}

static void simulated_close(struct unroll_comm *comm) { (void)comm; } /* the world is freed as a whole */

static const struct transport transport = {.name = "simgrid",
                                           .send = simulated_send,
                                           .begin = simulated_begin,
                                           .test = simulated_test,
                                           .drop = simulated_drop,
                                           .idle = simulated_idle,
                                           .abort = simulated_abort,
                                           .close = simulated_close,
                                           .clock = simulated_clock,
                                           .spend = simulated_spend};

static void rank_main(int argc, char **argv)
{
    struct rank_simgrid *r = simgrid.data();
    (void)argc, (void)argv;
    world.run(&r->comm, world.arg);
    world.ended++;
}

/* Uses the platform's bandwidths and latencies, reduced only by packet headers; TCP windows are not modeled. */
static void load(const char *platform)
{
    static char *arguments[] = {"unroll", NULL};
    int count = 1;
    simgrid.init(&count, arguments);
    simgrid.log("root.thresh:critical");
    simgrid.set("network/bandwidth-factor", 0.97);
    simgrid.set("network/latency-factor", 1);
    simgrid.set("network/TCP-gamma", 0);
    simgrid.set("network/weight-S", 8775);
    simgrid.load(platform);
}

/* Loads SimGrid and finds its functions. */
static unroll_status open_library(void)
{
    const struct symbol symbols[] = {
        {"simgrid_init", &simgrid.init, false},
        {"sg_cfg_set_double", &simgrid.set, false},
        {"xbt_log_control_set", &simgrid.log, false},
        {"simgrid_load_platform", &simgrid.load, false},
        {"simgrid_run", &simgrid.run, false},
        {"simgrid_get_clock", &simgrid.clock, false},
        {"sg_host_by_name", &simgrid.host, false},
        {"sg_host_sendto", &simgrid.transfer, false},
        {"sg_actor_init", &simgrid.actor, false},
        {"sg_actor_set_stacksize", &simgrid.set_stack, false},
        {"sg_actor_set_data", &simgrid.set_data, false},
        {"sg_actor_start_", &simgrid.start, false},
        {"sg_actor_daemonize", &simgrid.daemonize, false},
        {"sg_actor_self", &simgrid.self, false},
        {"sg_actor_self_get_data", &simgrid.data, false},
        {"sg_actor_sleep_for", &simgrid.sleep, false},
        {"sg_sem_init", &simgrid.semaphore, false},
        {"sg_sem_acquire", &simgrid.acquire, false},
        {"sg_sem_acquire_timeout", &simgrid.acquire_for, false},
        {"sg_sem_release", &simgrid.release, false},
    };
    return library_open(LIBRARY_SIMGRID, symbols, sizeof symbols / sizeof *symbols, NULL);
}

/* Makes a rank on each host and starts its actor. */
static unroll_status make_ranks(void)
{
    enum { STACK = 1 << 20 };
    TRY(ALLOCATE(world.host, (size_t)world.ranks, "for %d hosts", world.ranks));
    TRY(ALLOCATE(world.rank, (size_t)world.ranks, "for %d ranks", world.ranks));
    for (int i = 0; i < world.ranks; i++) {
        struct rank_simgrid *r = &world.rank[i];
        char name[32];
        snprintf(name, sizeof name, "n%d", i);
        if (!(world.host[i] = simgrid.host(name)))
            return fail(UNROLL_DATA,
                        "the simulated platform has no host %s; fix: use a platform with a host for each rank", name);
        r->comm = (struct unroll_comm){.transport = &transport,
                                       .rank = i,
                                       .ranks = world.ranks,
                                       .timeout = 1e6,
                                       .process = process_number(),
                                       .ping.ended = true}; /* no rank is ever silent here */
        r->wakes = simgrid.semaphore(0);
        start(name, world.host[i], STACK, rank_main, r);
    }
    return UNROLL_OK;
}

static void free_world(void)
{
    for (struct wire *w = world.wires, *next; w; w = next) {
        next = w->all;
        release(w);
    }
    for (int i = 0; i < world.ranks && world.rank; i++) comm_collectives_free(&world.rank[i].comm);
    release(world.rank);
    release(world.host);
    world = (struct world){0};
}

unroll_status comm_simgrid_run(const char *platform, int ranks, simulated_rank *run, void *arg)
{
    TRY(open_library());
    world = (struct world){.ranks = ranks, .run = run, .arg = arg};
    load(platform);
    unroll_status status = make_ranks();
    if (status == UNROLL_OK)
        simgrid.run();
    if (status == UNROLL_OK && world.ended < ranks)
        status = fail(UNROLL_COMMUNICATION,
                      "%d of %d simulated ranks wait for ever; fix: report it with the network and the options",
                      ranks - world.ended, ranks);
    free_world();
    return status;
}

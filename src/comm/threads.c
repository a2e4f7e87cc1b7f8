/* The engine for ranks that are threads of one process: each rank has a mailbox, a send copies the message
 * into it. Not for speed (threads of one rank share memory anyway): for tests, and for several ranks on
 * one machine without another library. */
#include "base/memory.h"
#include "comm/engine.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

struct message {
    struct message *next;
    int      from;
    uint32_t tag;
    size_t   bytes, room;
    unsigned char data[];
};

/* What arrived and was not fetched, in order of arrival; and messages to use again, so that a training
 * step asks for no memory once the first few have run. */
struct rank_threads {
    struct unroll_comm comm;                       /* first: a comm of this engine is a rank_threads */
    struct rank_threads **world;            /* [ranks] */
    pthread_mutex_t lock;
    pthread_cond_t arrival;
    uint64_t arrivals, seen;                /* so far; and when the rank last looked in vain */
    struct message *arrived, *free;
};

/* ---- sending --------------------------------------------------------------------------- */

/* A free message that is large enough, or a new one. The lock is held. */
static struct message *take_free(struct rank_threads *box, size_t bytes)
{
    for (struct message **at = &box->free; *at; at = &(*at)->next)
        if ((*at)->room >= bytes) {
            struct message *found = *at;
            *at = found->next;
            return found;
        }
    struct message *made = allocate_zeroed(1, sizeof *made + bytes);
    if (made)
        made->room = bytes;
    return made;
}

static unroll_status threads_send(struct unroll_comm *comm, int to, uint32_t tag, const void *data, size_t bytes)
{
    struct rank_threads *box = ((struct rank_threads *)comm)->world[to];
    pthread_mutex_lock(&box->lock);
    struct message *m = take_free(box, bytes);
    if (m) {
        struct message **end = &box->arrived;
        while (*end)
            end = &(*end)->next;
        m->next = NULL;
        m->from = comm->rank;
        m->tag = tag;
        m->bytes = bytes;
        memcpy(m->data, data, bytes);
        *end = m;
        box->arrivals++;
        pthread_cond_broadcast(&box->arrival);
    }
    pthread_mutex_unlock(&box->lock);
    if (!m)
        return fail(UNROLL_RESOURCE, "no memory for a message of %zu bytes from rank %d to rank %d", bytes,
                    comm->rank, to);
    return UNROLL_OK;
}

/* ---- receiving ------------------------------------------------------------------------- */

static struct message **find(struct rank_threads *box, int from, uint32_t tag)
{
    struct message **at = &box->arrived;
    while (*at && (((*at)->from != from && from != ENGINE_ANY) || (*at)->tag != tag))
        at = &(*at)->next;
    return at;
}

static struct timespec seconds_from_now(double seconds)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += (time_t)seconds;
    t.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    return t;
}

static unroll_status threads_begin(struct unroll_comm *comm, struct receipt *r)
{
    (void)comm, (void)r;                    /* the mailbox takes messages that nobody waits for */
    return UNROLL_OK;
}

static unroll_status threads_test(struct unroll_comm *comm, struct receipt *r, bool *done)
{
    struct rank_threads *box = (struct rank_threads *)comm;
    size_t arrived = 0;
    pthread_mutex_lock(&box->lock);
    struct message **at = find(box, r->from, r->tag), *m = *at;
    box->seen = box->arrivals;
    if (m) {
        *at = m->next;
        arrived = m->bytes;
        memcpy(r->data, m->data, arrived < r->bytes ? arrived : r->bytes);
        m->next = box->free;
        box->free = m;
    }
    pthread_mutex_unlock(&box->lock);
    *done = m != NULL;
    if (m && arrived != r->bytes)
        return fail(UNROLL_COMMUNICATION, "rank %d expected %zu bytes from rank %d (tag %u), not %zu: the "
                    "ranks run different plans", comm->rank, r->bytes, r->from, (unsigned)r->tag, arrived);
    return UNROLL_OK;
}

static void threads_drop(struct unroll_comm *comm, struct receipt *r)
{
    (void)comm, (void)r;
}

/* Until something new is in the mailbox. */
static void threads_idle(struct unroll_comm *comm, int looks)
{
    struct rank_threads *box = (struct rank_threads *)comm;
    struct timespec deadline = seconds_from_now(1e-3);
    int error = 0;
    (void)looks;
    pthread_mutex_lock(&box->lock);
    while (box->arrivals == box->seen && error != ETIMEDOUT)
        error = pthread_cond_timedwait(&box->arrival, &box->lock, &deadline);
    pthread_mutex_unlock(&box->lock);
}

/* Threads of one process: the caller ends it. And the world is freed as a whole. */
static void threads_abort(struct unroll_comm *comm, int code)
{
    (void)comm, (void)code;
}

static void threads_close(struct unroll_comm *comm)
{
    (void)comm;
}

/* ---- worlds ---------------------------------------------------------------------------- */

static const struct engine threads = {
    "threads", threads_send, threads_begin, threads_test, threads_drop, threads_idle, NULL, NULL, NULL, threads_abort,
    threads_close,
};

static struct rank_threads *new_rank(int rank, int ranks, double deadline, struct rank_threads **world)
{
    struct rank_threads *r = allocate_zeroed(1, sizeof *r);
    pthread_condattr_t monotonic;
    if (!r)
        return NULL;
    r->comm = (struct unroll_comm){ .engine = &threads, .rank = rank, .ranks = ranks, .deadline = deadline,
                                   .process = process_number() };
    r->world = world;
    pthread_mutex_init(&r->lock, NULL);             /* neither can fail on Linux with these attributes */
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&r->arrival, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return r;
}

static void release_all(struct message *m)
{
    while (m) {
        struct message *next = m->next;
        release(m);
        m = next;
    }
}

static void free_rank(struct rank_threads *r)
{
    comm_ping_end(&r->comm);
    comm_collectives_free(&r->comm);
    release_all(r->arrived);
    release_all(r->free);
    pthread_cond_destroy(&r->arrival);
    pthread_mutex_destroy(&r->lock);
    release(r);
}

static void free_world(struct rank_threads **world, int ranks)
{
    for (int i = 0; i < ranks && world[i]; i++)
        free_rank(world[i]);
    release(world);
}

unroll_status comm_threads_new(int ranks, double deadline_seconds, struct unroll_comm **comm)
{
    struct rank_threads **world = allocate_zeroed((size_t)ranks, sizeof *world);
    for (int i = 0; world && i < ranks; i++)
        if (!(world[i] = new_rank(i, ranks, deadline_seconds, world))) {
            free_world(world, ranks);
            world = NULL;
        }
    if (!world)
        return fail(UNROLL_RESOURCE, "no memory for the mailboxes of %d ranks", ranks);
    for (int i = 0; i < ranks; i++)
        comm[i] = &world[i]->comm;
    return UNROLL_OK;
}

void comm_threads_free(struct unroll_comm **comm, int ranks)
{
    if (comm && ranks > 0 && comm[0] && comm[0]->process == process_number())   /* threads may wait that are not here */
        free_world(((struct rank_threads *)comm[0])->world, ranks);
}

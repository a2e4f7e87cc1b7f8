/* Transport between ranks that are threads of one process. Each rank has a mailbox, and a send copies the message into
 * it. Intended for tests, and for several ranks on one machine without MPI, not for speed. */
#include "base/system/clock.h"
#include "base/memory.h"
#include "comm/transport.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>

struct message {
    struct message *next;
    int from;
    uint32_t tag;
    size_t bytes, capacity;
    unsigned char data[];
};

/* A mailbox: messages that arrived and were not yet received, in order of arrival, and free messages, so that a
 * training step allocates no memory after the first few. */
struct rank_threads {
    struct unroll_comm comm;     /* must be first: comm pointers of this transport are cast to rank_threads */
    struct rank_threads **world; /* [ranks] */
    pthread_mutex_t lock;
    pthread_cond_t arrival;
    uint64_t arrivals, seen; /* messages so far, and their number at the last unsuccessful test */
    int ended;               /* 1 + the first rank that failed; 0: none */
    struct message *arrived, *free;
};

/* ---- sending --------------------------------------------------------------------------- */

/* Returns a free message that is large enough, or a new one. The lock must be held. */
static struct message *take_free(struct rank_threads *mailbox, size_t bytes)
{
    for (struct message **at = &mailbox->free; *at; at = &(*at)->next)
        if ((*at)->capacity >= bytes) {
            struct message *found = *at;
            *at = found->next;
            return found;
        }
    struct message *made = allocate_zeroed(1, sizeof *made + bytes);
    if (made)
        made->capacity = bytes;
    return made;
}

/* Appends a copy of the data to the receiver's mailbox. */
static unroll_status threads_send(struct unroll_comm *comm, int to, uint32_t tag, const void *data, size_t bytes)
{
    struct rank_threads *mailbox = ((struct rank_threads *)comm)->world[to];
    pthread_mutex_lock(&mailbox->lock);
    struct message *m = take_free(mailbox, bytes);
    if (m) {
        struct message **end = &mailbox->arrived;
        while (*end) end = &(*end)->next;
        m->next = NULL;
        m->from = comm->rank;
        m->tag = tag;
        m->bytes = bytes;
        memcpy(m->data, data, bytes);
        *end = m;
        mailbox->arrivals++;
        pthread_cond_broadcast(&mailbox->arrival);
    }
    pthread_mutex_unlock(&mailbox->lock);
    if (!m)
        return fail(UNROLL_RESOURCE, "no memory for a message of %zu bytes from rank %d to rank %d", bytes, comm->rank,
                    to);
    return UNROLL_OK;
}

/* ---- receiving ------------------------------------------------------------------------- */

static struct message **find(struct rank_threads *mailbox, int from, uint32_t tag)
{
    struct message **at = &mailbox->arrived;
    while (*at && (((*at)->from != from && from != TRANSPORT_ANY) || (*at)->tag != tag)) at = &(*at)->next;
    return at;
}

static unroll_status threads_begin(struct unroll_comm *comm, struct request *r)
{
    (void)comm, (void)r; /* the mailbox also stores messages that were not requested */
    return UNROLL_OK;
}

/* Receives a message if it has arrived. Fails if a rank has failed or the sizes differ. */
static unroll_status threads_test(struct unroll_comm *comm, struct request *r, bool *done)
{
    struct rank_threads *mailbox = (struct rank_threads *)comm;
    size_t arrived = 0;
    pthread_mutex_lock(&mailbox->lock);
    struct message **at = find(mailbox, r->from, r->tag), *m = *at;
    mailbox->seen = mailbox->arrivals;
    if (m) {
        *at = m->next;
        arrived = m->bytes;
        memcpy(r->data, m->data, arrived < r->bytes ? arrived : r->bytes);
        m->next = mailbox->free;
        mailbox->free = m;
    }
    const int ended = m ? 0 : mailbox->ended;
    pthread_mutex_unlock(&mailbox->lock);
    *done = m != NULL;
    if (ended)
        return fail(UNROLL_COMMUNICATION, "rank %d has failed; fix: read the error message of that rank", ended - 1);
    if (m && arrived != r->bytes)
        return fail(
            UNROLL_COMMUNICATION,
            "rank %d expected %zu bytes from rank %d (tag %u), not %zu: the ranks run different plans; fix: start all ranks with the same program and options",
            comm->rank, r->bytes, r->from, (unsigned)r->tag, arrived);
    return UNROLL_OK;
}

static void threads_drop(struct unroll_comm *comm, struct request *r) { (void)comm, (void)r; }

/* Waits for a new message, at most a millisecond. */
static void threads_idle(struct unroll_comm *comm, int looks)
{
    struct rank_threads *mailbox = (struct rank_threads *)comm;
    struct timespec deadline = clock_in(1000000);
    int error = 0;
    (void)looks;
    pthread_mutex_lock(&mailbox->lock);
    while (mailbox->arrivals == mailbox->seen && error != ETIMEDOUT)
        error = pthread_cond_timedwait(&mailbox->arrival, &mailbox->lock, &deadline);
    pthread_mutex_unlock(&mailbox->lock);
}

/* No effect: the caller ends the process, and the world is freed as a whole. */
static void threads_abort(struct unroll_comm *comm, int code) { (void)comm, (void)code; }

static void threads_close(struct unroll_comm *comm) { (void)comm; }

/* ---- worlds ---------------------------------------------------------------------------- */

static const struct transport threads = {
    .name = "threads",
    .send = threads_send,
    .begin = threads_begin,
    .test = threads_test,
    .drop = threads_drop,
    .idle = threads_idle,
    .abort = threads_abort,
    .close = threads_close,
};

static struct rank_threads *new_rank(int rank, int ranks, double timeout, struct rank_threads **world)
{
    struct rank_threads *r = allocate_zeroed(1, sizeof *r);
    if (!r)
        return NULL;
    r->comm = (struct unroll_comm){
        .transport = &threads, .rank = rank, .ranks = ranks, .timeout = timeout, .process = process_number()};
    r->world = world;
    pthread_mutex_init(&r->lock, NULL);
    clock_condition(&r->arrival);
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
    for (int i = 0; i < ranks && world[i]; i++) free_rank(world[i]);
    release(world);
}

unroll_status comm_threads_new(int ranks, double timeout_seconds, struct unroll_comm **comm)
{
    struct rank_threads **world = allocate_zeroed((size_t)ranks, sizeof *world);
    for (int i = 0; world && i < ranks; i++)
        if (!(world[i] = new_rank(i, ranks, timeout_seconds, world))) {
            free_world(world, ranks);
            world = NULL;
        }
    if (!world)
        return fail(UNROLL_RESOURCE, "no memory for the mailboxes of %d ranks", ranks);
    for (int i = 0; i < ranks; i++) comm[i] = &world[i]->comm;
    return UNROLL_OK;
}

void comm_threads_end(struct unroll_comm *comm)
{
    struct rank_threads **world = ((struct rank_threads *)comm)->world;
    for (int i = 0; i < comm->ranks; i++) {
        pthread_mutex_lock(&world[i]->lock);
        if (!world[i]->ended)
            world[i]->ended = 1 + comm->rank;
        world[i]->arrivals++;
        pthread_cond_broadcast(&world[i]->arrival);
        pthread_mutex_unlock(&world[i]->lock);
    }
}

void comm_threads_free(struct unroll_comm **comm, int ranks)
{
    /* In a forked child the threads that may be waiting do not exist. */
    if (comm && ranks > 0 && comm[0] && comm[0]->process == process_number())
        free_world(((struct rank_threads *)comm[0])->world, ranks);
}

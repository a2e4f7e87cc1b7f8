/* The transport for ranks that are processes: messages through an MPI library found at run time. Funneled: only one
 * thread of a rank calls it. Sent messages are copied and kept until the library is finished with them. */
#include "base/memory.h"
#include "comm/transport.h"
#include "extensions/cluster/comm/mpi_abi.h"
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct parcel {
    struct parcel *next;
    union mpi_request handle;
    size_t capacity;
    bool is_old; /* from an earlier world: it may fail */
    unsigned char data[];
};

static struct parcel *outlasting; /* unfinished sends of a closed world, for the next one */

/* Groups of ranks that have joined for MPI's own sums. */
struct joined {
    struct joined *next;
    union mpi_request group;
    int size, ranks[];
};

struct rank_mpi {
    struct unroll_comm comm; /* first: unroll_comm of this transport is a rank_mpi */
    const struct mpi_abi *mpi;
    struct parcel *sent, *free; /* in flight; for reuse */
    struct joined *joined;
    double crowded; /* until this time, use sleeps instead of yields */
};

static unroll_status broken(const struct rank_mpi *r, int error, const char *what, int peer)
{
    char words[512];
    r->mpi->words(error, words);
    return fail(UNROLL_COMMUNICATION, "rank %d could not %s rank %d: %s: %s; fix: look for what ended the other rank",
                r->comm.rank, what, peer, r->mpi->name, words);
}

/* ---- sending --------------------------------------------------------------------------- */

static unroll_status look_after_sent(struct rank_mpi *r)
{
    for (struct parcel **at = &r->sent; *at;) {
        struct parcel *p = *at;
        int done = 0, no_bytes = -1, error = r->mpi->test(&p->handle, &done, &no_bytes);
        if (error && !p->is_old)
            return broken(r, error, "send to", -1);
        if (!done) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        p->is_old = false;
        p->next = r->free;
        r->free = p;
    }
    return UNROLL_OK;
}

/* Takes the smallest free parcel that is large enough, which saves large ones for large messages. */
static struct parcel *take_parcel(struct rank_mpi *r, size_t bytes)
{
    struct parcel **best = NULL;
    for (struct parcel **at = &r->free; *at; at = &(*at)->next)
        if ((*at)->capacity >= bytes && (!best || (*at)->capacity < (*best)->capacity))
            best = at;
    if (best) {
        struct parcel *found = *best;
        *best = found->next;
        return found;
    }
    struct parcel *made = allocate_zeroed(1, sizeof *made + bytes);
    if (made)
        made->capacity = bytes;
    return made;
}

static unroll_status check_size(size_t bytes)
{
    return bytes <= INT_MAX ? UNROLL_OK
                            : fail(UNROLL_UNSUPPORTED,
                                   "a message of %zu bytes: MPI takes at most %d at once; fix: "
                                   "more ranks along layer or hidden, or the ring",
                                   bytes, INT_MAX);
}

static unroll_status mpi_send(struct unroll_comm *comm, int to, uint32_t tag, const void *data, size_t bytes)
{
    struct rank_mpi *r = (struct rank_mpi *)comm;
    TRY(check_size(bytes));
    TRY(look_after_sent(r));
    struct parcel *p = take_parcel(r, bytes);
    if (!p)
        return fail(UNROLL_RESOURCE, "no memory for a message of %zu bytes from rank %d to rank %d", bytes, comm->rank,
                    to);
    memcpy(p->data, data, bytes);
    p->next = r->sent;
    r->sent = p;
    int error = r->mpi->send(p->data, (int)bytes, to, (int)tag, &p->handle);
    return error ? broken(r, error, "send to", to) : UNROLL_OK;
}

/* ---- receiving ------------------------------------------------------------------------- */

static unroll_status mpi_begin(struct unroll_comm *comm, struct request *request)
{
    struct rank_mpi *r = (struct rank_mpi *)comm;
    union mpi_request handle = {NULL};
    TRY(check_size(request->bytes));
    int error = r->mpi->recv(request->data, (int)request->bytes, request->from, (int)request->tag, &handle);
    memcpy(&request->handle, &handle, sizeof handle);
    return error ? broken(r, error, "receive from", request->from) : UNROLL_OK;
}

/* Tests a request, and checks the size of a received message. */
static unroll_status mpi_test(struct unroll_comm *comm, struct request *request, bool *done)
{
    struct rank_mpi *r = (struct rank_mpi *)comm;
    union mpi_request handle;
    int is_done = 0, bytes = request->from == TRANSPORT_SUM ? -1 : 0;
    memcpy(&handle, &request->handle, sizeof handle);
    int error = r->mpi->test(&handle, &is_done, &bytes);
    memcpy(&request->handle, &handle, sizeof handle);
    if (error)
        return broken(r, error, "receive from", request->from);
    if (r->sent)
        TRY(look_after_sent(r));
    *done = is_done;
    if (is_done && bytes >= 0 && (size_t)bytes != request->bytes)
        return fail(
            UNROLL_COMMUNICATION,
            "rank %d expected %zu bytes from rank %d (tag %u), not %d: the ranks run different plans; fix: start all ranks with the same program and options",
            comm->rank, request->bytes, request->from, (unsigned)request->tag, bytes);
    return UNROLL_OK;
}

static void mpi_drop(struct unroll_comm *comm, struct request *request)
{
    union mpi_request handle;
    memcpy(&handle, &request->handle, sizeof handle);
    if (request->from != TRANSPORT_SUM) /* MPI cannot cancel a sum: it is lost with the run */
        ((struct rank_mpi *)comm)->mpi->cancel(&handle);
}

/* Waits between two polls. Peers may need this processor to send the awaited message, so it is soon yielded. If
 * other programs are running, a yield may cost a scheduler slice of milliseconds; then short sleeps are used for ten
 * times as long. */
static void mpi_idle(struct unroll_comm *comm, int looks)
{
    enum { SPINS = 64, YIELDS = 2000, SHORT = 10000, LONG = 100000 }; /* nanoseconds */
    const double quick = 200e-6, times = 10;
    struct rank_mpi *r = (struct rank_mpi *)comm;
    if (looks < SPINS)
        return;
    double now = clock_seconds();
    if (looks >= YIELDS || now < r->crowded) {
        nanosleep(&(struct timespec){.tv_nsec = looks < YIELDS ? SHORT : LONG}, NULL);
        return;
    }
    sched_yield();
    double took = clock_seconds() - now;
    if (took > quick)
        r->crowded = now + times * took;
}

static unroll_status mpi_push(struct unroll_comm *comm, bool *more)
{
    struct rank_mpi *r = (struct rank_mpi *)comm;
    TRY(r->sent ? look_after_sent(r) : UNROLL_OK);
    *more = r->sent != NULL;
    return UNROLL_OK;
}

/* ---- sums of MPI's own ----------------------------------------------------------------- */

static struct joined *find_joined(const struct rank_mpi *r, const int *ranks, int size)
{
    struct joined *j = r->joined;
    while (j && (j->size != size || memcmp(j->ranks, ranks, (size_t)size * sizeof *ranks))) j = j->next;
    return j;
}

static unroll_status mpi_join(struct unroll_comm *comm, const int *ranks, int size)
{
    struct rank_mpi *r = (struct rank_mpi *)comm;
    if (find_joined(r, ranks, size))
        return UNROLL_OK;
    struct joined *made = allocate_zeroed(1, sizeof *made + (size_t)size * sizeof *ranks);
    if (!made)
        return fail(UNROLL_RESOURCE, "no memory for a group of %d ranks", size);
    made->size = size;
    memcpy(made->ranks, ranks, (size_t)size * sizeof *ranks);
    made->next = r->joined;
    r->joined = made;
    int error = r->mpi->join(ranks, size, &made->group);
    return error ? broken(r, error, "make a group with", ranks[0]) : UNROLL_OK;
}

static unroll_status mpi_sum(struct unroll_comm *comm, struct request *request, const struct sum *sum)
{
    struct rank_mpi *r = (struct rank_mpi *)comm;
    struct joined *group = find_joined(r, sum->ranks, sum->size);
    union mpi_request handle = {NULL};
    if (!group)
        return fail(UNROLL_COMMUNICATION,
                    "the %d ranks of a sum (tag %u) have not joined; fix: look for what ended the other ranks",
                    sum->size, (unsigned)sum->tag);
    if (sum->count > INT_MAX)
        return fail(UNROLL_UNSUPPORTED, "a sum of %zu numbers: MPI takes at most %d at once; fix: use `sum` auto",
                    sum->count, INT_MAX);
    int error = r->mpi->sum(sum->data, (int)sum->count, sum->is_double, &group->group, &handle);
    memcpy(&request->handle, &handle, sizeof handle);
    return error ? broken(r, error, "add up with", sum->ranks[0]) : UNROLL_OK;
}

/* ---- opening and ending ---------------------------------------------------------------- */

static void mpi_abort(struct unroll_comm *comm, int code)
{
    fflush(NULL);
    ((struct rank_mpi *)comm)->mpi->abort(code);
}

static void release_all(struct parcel *p)
{
    while (p) {
        struct parcel *next = p->next;
        release(p);
        p = next;
    }
}

/* MPI cannot be initialized twice in a process, so closing is final. */
static void mpi_close(struct unroll_comm *comm)
{
    struct rank_mpi *r = (struct rank_mpi *)comm;
    struct wait_timeout wait_timeout = {0};
    while (r->sent && look_after_sent(r) == UNROLL_OK && r->sent && comm_within_timeout(comm, &wait_timeout)) continue;
    r->mpi->finalize();
    while (r->joined) {
        struct joined *next = r->joined->next;
        release(r->joined);
        r->joined = next;
    }
    release_all(r->free);
    if (r->mpi->outlasts) {
        for (struct parcel *p = r->sent; p; p = p->next) p->is_old = true;
        outlasting = r->sent;
        r->sent = NULL;
    }
    if (!r->sent)
        release(r); /* else the library may still read unsent messages */
}

/* The launch program's environment reveals the library of the ranks; UNROLL_MPI decides if it is ambiguous. */
static bool prefers_mpich(void)
{
    const char *wish = getenv("UNROLL_MPI");
    if (wish && *wish)
        return !strcmp(wish, "mpich");
    return !getenv("OMPI_COMM_WORLD_SIZE") && !getenv("PMIX_RANK") && getenv("PMI_RANK");
}

unroll_status comm_open_messages(const char *name, const struct mpi_abi *abi, double timeout, struct unroll_comm **comm)
{
    static const struct transport with_sums = {.name = "mpi",
                                               .send = mpi_send,
                                               .begin = mpi_begin,
                                               .test = mpi_test,
                                               .drop = mpi_drop,
                                               .idle = mpi_idle,
                                               .push = mpi_push,
                                               .join = mpi_join,
                                               .sum = mpi_sum,
                                               .abort = mpi_abort,
                                               .close = mpi_close};
    static struct transport without;
    struct rank_mpi *r;
    int max_tag = 0;
    TRY(ALLOCATE(r, 1, "for a rank"));
    without = with_sums;
    without.name = name;
    without.join = NULL;
    without.sum = NULL;
    r->comm = (struct unroll_comm){
        .transport = abi->sum ? &with_sums : &without, .process = process_number(), .timeout = timeout};
    r->mpi = abi;
    int error = abi->init(&r->comm.rank, &r->comm.ranks, &max_tag);
    unroll_status status =
        error ? fail(UNROLL_COMMUNICATION, "%s could not begin (error %d); fix: start it with mpirun of the same MPI",
                     abi->name, error)
        : max_tag < 2 * TAG_CONTROL - 1
            ? fail(UNROLL_UNSUPPORTED, "%s has tags up to %d only, we use %d; fix: use another MPI (UNROLL_MPI)",
                   abi->name, max_tag, 2 * TAG_CONTROL - 1)
            : UNROLL_OK;
    if (status != UNROLL_OK) {
        release(r);
        return status;
    }
    r->sent = outlasting;
    outlasting = NULL;
    *comm = &r->comm;
    return UNROLL_OK;
}

unroll_status comm_mpi_open(double timeout, struct unroll_comm **comm)
{
    const struct mpi_abi *abi = prefers_mpich() ? &mpi_mpich : &mpi_openmpi;
    const char *wish = getenv("UNROLL_MPI");
    static struct opened opened;
    TRY(opened_check(&opened, "MPI"));
    if (wish && *wish && strcmp(wish, "mpich") && strcmp(wish, "openmpi"))
        return fail(UNROLL_USAGE, "UNROLL_MPI = '%.40s'; fix: openmpi or mpich", wish);
    TRY(abi->load());
    TRY(comm_open_messages("mpi", abi, timeout, comm));
    opened_here(&opened);
    TRY(comm_agree(*comm, UNROLL_OK, 0, "")); /* otherwise the world is lost, and this rank with it */
    abi->all_have_begun();
    return UNROLL_OK;
}

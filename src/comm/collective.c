/* All-reduces as rounds of messages that progress whenever the rank polls. The rounds come from all_reduce.c. They
 * determine the order of each sum, whatever the order of arrival. */
#include "base/memory.h"
#include "comm/transport.h"
#include "comm/poll.h"
#include "comm/all_reduce.h"
#include <string.h>

struct collective {
    struct collective *next;
    struct sum sum;
    struct sum_shape shape;
    int number; /* next round */
    struct round round;
    bool waits; /* the round's receive is pending */
    bool done;
    struct request request;
    size_t capacity;
    void *arrived; /* [room bytes] received values to be added */
};

static size_t element(const struct sum *s) { return s->is_double ? sizeof(double) : sizeof(float); }

/* ---- adding ---------------------------------------------------------------------------- */

static void add_floats(float *restrict to, const float *restrict from, size_t count)
{
    for (size_t i = 0; i < count; i++) to[i] += from[i];
}

static void add_doubles(double *restrict to, const double *restrict from, size_t count)
{
    for (size_t i = 0; i < count; i++) to[i] += from[i];
}

/* Returns the address of a value, or NULL in a simulation without data. */
static void *number_at(const struct collective *c, size_t index)
{
    return !c->sum.data ? NULL : (char *)c->sum.data + index * element(&c->sum);
}

static void add_received(const struct collective *c, const void *from)
{
    void *to = number_at(c, c->round.received_first);
    if (!to)
        return;
    if (c->sum.is_double)
        add_doubles(to, from, c->round.received);
    else
        add_floats(to, from, c->round.received);
}

/* ---- rounds ---------------------------------------------------------------------------- */

static unroll_status make_room(struct collective *c, size_t bytes)
{
    if (c->capacity >= bytes)
        return UNROLL_OK;
    release(c->arrived);
    c->arrived = allocate_zeroed(bytes, 1);
    c->capacity = c->arrived ? bytes : 0;
    return c->arrived ? UNROLL_OK : fail(UNROLL_RESOURCE, "no memory for %zu bytes of a sum over ranks", bytes);
}

/* Sends the round's message, if any, and starts its receive. */
static unroll_status begin_round(struct unroll_comm *comm, struct collective *c)
{
    const struct round *r = &c->round;
    size_t size = element(&c->sum);
    if (r->to >= 0 && r->sent)
        TRY(comm_send(comm, c->sum.ranks[r->to], c->sum.tag, number_at(c, r->sent_first), r->sent * size));
    if (r->from == c->shape.place)
        add_received(c, number_at(c, r->sent_first));
    c->waits = r->from >= 0 && r->from != c->shape.place && r->received;
    if (!c->waits)
        return UNROLL_OK;
    if (r->adds && c->sum.data)
        TRY(make_room(c, r->received * size));
    c->request = (struct request){.from = c->sum.ranks[r->from],
                                  .tag = c->sum.tag,
                                  .bytes = r->received * size,
                                  .data = r->adds && c->sum.data ? c->arrived : number_at(c, r->received_first)};
    return comm->transport->begin(comm, &c->request);
}

/* Runs rounds until one has to wait or the sum is done. */
static unroll_status go_on(struct unroll_comm *comm, struct collective *c)
{
    while (!c->done) {
        bool arrived = true;
        if (c->waits)
            TRY(comm->transport->test(comm, &c->request, &arrived));
        if (!arrived)
            return UNROLL_OK;
        if (c->waits && c->round.adds)
            add_received(c, c->arrived);
        c->waits = false;
        if (c->sum.algorithm != COMM_NATIVE && algorithm_round(c->sum.algorithm, &c->shape, c->number++, &c->round))
            TRY(begin_round(comm, c));
        else
            c->done = true;
    }
    return UNROLL_OK;
}

static void note_time(struct unroll_comm *comm, bool under_way)
{
    if (under_way == (comm->began > 0))
        return;
    double now = comm_clock(comm);
    comm->totals.communication += under_way ? 0 : now - comm->began;
    comm->began = under_way ? now : 0;
}

void comm_serve(struct unroll_comm *comm, comm_service *service, void *arg)
{
    comm->service = service;
    comm->service_arg = arg;
}

static unroll_status serve(struct unroll_comm *comm)
{
    if (!comm->service || comm->serves)
        return UNROLL_OK;
    comm->serves = true;
    unroll_status status = comm->service(comm->service_arg);
    comm->serves = false;
    return status;
}

unroll_status comm_progress(struct unroll_comm *comm)
{
    bool under_way = false;
    for (struct collective *c = comm ? comm->active : NULL; c; c = c->next) {
        if (!c->done)
            TRY(go_on(comm, c));
        under_way |= !c->done;
    }
    if (comm) {
        note_time(comm, under_way);
        TRY(serve(comm));
    }
    return comm && comm->transport->push ? comm->transport->push(comm, &comm->more) : UNROLL_OK;
}

/* ---- polls ----------------------------------------------------------------------------- */

_Thread_local struct unroll_comm *comm_of_thread;

/* Called often, so the clock limits how often it makes progress: a system call each time would cost more than it
 * gains. */
void comm_poll_now(void)
{
    const double often = 200e-6;
    struct unroll_comm *comm = comm_of_thread;
    if ((!(comm->began > 0) && !comm->more && !comm->service) || comm->failed != UNROLL_OK)
        return;
    double now = comm_clock(comm);
    if (now - comm->polled < often)
        return;
    comm->polled = now;
    comm->failed = comm_progress(comm);
    if (comm->failed != UNROLL_OK)
        strncpy(comm->words, unroll_last_error(), sizeof comm->words - 1);
}

bool comm_wants_polls(void) { return comm_of_thread && comm_of_thread->began > 0; }

/* ---- from begin to end ----------------------------------------------------------------- */

static unroll_status find_place(struct unroll_comm *comm, const int *ranks, int size, uint32_t tag, int *place)
{
    TRY(comm ? comm_check(comm) : UNROLL_OK);
    for (*place = 0; *place < size; ++*place)
        if (comm && ranks[*place] == comm->rank)
            return UNROLL_OK;
    *place = 0;
    if (!comm && size == 1)
        return UNROLL_OK;
    return fail(UNROLL_COMMUNICATION,
                "rank %d is not in the group of %d ranks with tag %u; fix: report it with the options",
                comm ? comm->rank : 0, size, (unsigned)tag);
}

static struct collective *take_unused(struct unroll_comm *comm)
{
    struct collective *c = comm->unused;
    if (!c)
        return allocate_zeroed(1, sizeof *c);
    comm->unused = c->next;
    return c;
}

/* Queues the sum as the last active one and starts it. Groups of one member need no work. */
unroll_status comm_sum_begin(struct unroll_comm *comm, const struct sum *sum)
{
    struct sum_shape shape = {.size = sum->size, .count = sum->count, .shards = sum->shards};
    TRY(find_place(comm, sum->ranks, sum->size, sum->tag, &shape.place));
    if (sum->size == 1 && sum->shards == 1)
        return UNROLL_OK;
    struct collective *c = comm ? take_unused(comm) : NULL, **end = comm ? &comm->active : NULL;
    if (!c)
        return fail(UNROLL_RESOURCE, "no memory for a sum over %d ranks", sum->size);
    void *arrived = c->arrived;
    *c = (struct collective){.sum = *sum, .shape = shape, .arrived = arrived, .capacity = c->capacity};
    while (*end) end = &(*end)->next;
    *end = c;
    if (sum->algorithm == COMM_NATIVE) {
        c->request = (struct request){.from = TRANSPORT_SUM, .tag = sum->tag, .data = sum->data};
        c->waits = true;
        TRY(comm->transport->sum(comm, &c->request, sum));
    }
    return comm_progress(comm);
}

unroll_status comm_join(struct unroll_comm *comm, const int *ranks, int size)
{
    int place;
    TRY(find_place(comm, ranks, size, 0, &place));
    if (comm->transport->join)
        return comm->transport->join(comm, ranks, size);
    return fail(UNROLL_UNSUPPORTED, "the transport '%s' has no native sum; fix: set `sum` auto", comm->transport->name);
}

static void put_away(struct unroll_comm *comm, struct collective **at)
{
    struct collective *c = *at;
    *at = c->next;
    c->next = comm->unused;
    comm->unused = c;
}

/* The timeout applies to each round. */
static unroll_status wait_for(struct unroll_comm *comm, struct collective *c)
{
    struct wait_timeout wait_timeout = {0};
    if (comm->failed != UNROLL_OK)
        return fail(comm->failed, "%s", comm->words);
    for (int number = c->number;; number = c->number) {
        TRY(comm_progress(comm));
        if (c->done)
            return UNROLL_OK;
        if (c->number != number)
            wait_timeout = (struct wait_timeout){0};
        if (!comm_within_timeout(comm, &wait_timeout))
            return comm_late(comm, &c->request);
    }
}

unroll_status comm_sum_end(struct unroll_comm *comm, const struct sum *sum)
{
    struct collective **at = comm ? &comm->active : NULL;
    while (at && *at && ((*at)->sum.tag != sum->tag || (*at)->sum.data != sum->data)) at = &(*at)->next;
    if (!at || !*at)
        return sum->size == 1 ? UNROLL_OK
                              : fail(UNROLL_COMMUNICATION,
                                     "a rank waits for a sum that was not started (tag %u); fix: report it with the "
                                     "options",
                                     (unsigned)sum->tag);
    TRY(comm_check(comm));
    double begin = comm_clock(comm);
    unroll_status status = wait_for(comm, *at);
    comm_waited(comm, begin);
    put_away(comm, at);
    return status;
}

unroll_status comm_all_reduce(struct unroll_comm *comm, const int *ranks, int size, uint32_t tag, void *data,
                              size_t count, int is_double)
{
    struct sum sum = {.ranks = ranks,
                      .size = size,
                      .tag = tag,
                      .data = data,
                      .count = count,
                      .is_double = is_double,
                      .algorithm = COMM_TREE,
                      .shards = 1};
    TRY(comm_sum_begin(comm, &sum));
    return comm_sum_end(comm, &sum);
}

static void free_list(struct collective *c)
{
    while (c) {
        struct collective *next = c->next;
        release(c->arrived);
        release(c);
        c = next;
    }
}

void comm_collectives_free(struct unroll_comm *comm)
{
    free_list(comm->active);
    free_list(comm->unused);
    comm->active = comm->unused = NULL;
}

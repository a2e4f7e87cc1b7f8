/* Messages with their arguments checked, and the collectives: schedules of messages that are the same for
 * all engines and whose sums have one order. No engine is known here. */
#include "comm/engine.h"
#include <stdbool.h>
#include <string.h>

int comm_rank(const struct comm *comm)
{
    return comm->rank;
}

static unroll_status check_peer(const struct comm *comm, int peer, uint32_t tag)
{
    if (peer >= 0 && peer < comm->ranks && peer != comm->rank)
        return UNROLL_OK;
    return fail(UNROLL_COMMUNICATION, "rank %d of %d can't exchange a message (tag %u) with rank %d",
                comm->rank,
                comm->ranks, (unsigned)tag, peer);
}

unroll_status comm_send(struct comm *comm, int to, uint32_t tag, const void *data, size_t bytes)
{
    TRY(check_peer(comm, to, tag));
    return comm->engine->send(comm, to, tag, data, bytes);
}

unroll_status comm_recv(struct comm *comm, int from, uint32_t tag, void *data, size_t bytes)
{
    TRY(check_peer(comm, from, tag));
    return comm->engine->recv(comm, from, tag, data, bytes);
}

/* ---- collectives ----------------------------------------------------------------------- */

/* A group as one member sees it. */
struct meeting {
    struct comm *comm;      /* NULL: alone */
    const int *ranks;
    int size, place;        /* place: the caller's index in ranks */
    uint32_t tag;
};

static unroll_status begin(struct meeting *m, struct comm *comm, const int *ranks, int size, uint32_t tag)
{
    *m = (struct meeting){ .comm = comm, .ranks = ranks, .size = size, .tag = tag };
    if (!comm && size == 1)
        return UNROLL_OK;
    while (m->place < size && ranks[m->place] != comm->rank)
        m->place++;
    if (m->place < size)
        return UNROLL_OK;
    return fail(UNROLL_COMMUNICATION, "rank %d is not in the group of %d ranks that meet at tag %u",
                comm->rank, size, (unsigned)tag);
}

static unroll_status send_to(const struct meeting *m, int place, const void *data, size_t bytes)
{
    return comm_send(m->comm, m->ranks[place], m->tag, data, bytes);
}

static unroll_status recv_from(const struct meeting *m, int place, void *data, size_t bytes)
{
    return comm_recv(m->comm, m->ranks[place], m->tag, data, bytes);
}

static void add_floats(float *restrict to, const float *restrict from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] += from[i];
}

static void add_doubles(double *restrict to, const double *restrict from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] += from[i];
}

/* A large sum goes in pieces of this many bytes, so that no memory is asked for and that the levels of the
 * tree overlap. */
enum { PIECE = 1 << 15 };

union piece { float f32[PIECE / sizeof(float)]; double f64[PIECE / sizeof(double)]; };

/* Up the tree: the partner at distance 1, 2, 4 .. adds what it has summed so far to mine. Place 0 ends with
 * the whole sum; the others leave after they have sent theirs. */
static unroll_status reduce_piece(const struct meeting *m, void *data, size_t count, bool is_double)
{
    size_t bytes = count * (is_double ? sizeof(double) : sizeof(float));
    union piece theirs;
    for (int distance = 1; distance < m->size; distance *= 2) {
        if (m->place & distance)
            return send_to(m, m->place - distance, data, bytes);
        if (m->place + distance >= m->size)
            continue;
        TRY(recv_from(m, m->place + distance, &theirs, bytes));
        if (is_double)
            add_doubles(data, theirs.f64, count);
        else
            add_floats(data, theirs.f32, count);
    }
    return UNROLL_OK;
}

/* Down the same tree: whoever has the data hands it to the partner at each smaller distance. */
static unroll_status broadcast(const struct meeting *m, void *data, size_t bytes)
{
    int distance = 1;
    while (distance < m->size && !(m->place & distance))
        distance *= 2;
    if (m->place)
        TRY(recv_from(m, m->place - distance, data, bytes));
    while ((distance /= 2) > 0)
        if (m->place + distance < m->size)
            TRY(send_to(m, m->place + distance, data, bytes));
    return UNROLL_OK;
}

unroll_status comm_all_reduce(struct comm *comm, const int *ranks, int size, uint32_t tag, void *data,
                              size_t count, int is_double)
{
    size_t element = is_double ? sizeof(double) : sizeof(float), piece = PIECE / element;
    struct meeting m;
    TRY(begin(&m, comm, ranks, size, tag));
    for (size_t done = 0; done < count; done += piece) {
        size_t n = count - done < piece ? count - done : piece;
        TRY(reduce_piece(&m, (char *)data + done * element, n, is_double));
    }
    return broadcast(&m, data, count * element);
}

unroll_status comm_all_gather(struct comm *comm, const int *ranks, int size, uint32_t tag, const void *mine,
                              void *all, size_t bytes)
{
    struct meeting m;
    TRY(begin(&m, comm, ranks, size, tag));
    for (int i = 0; i < size; i++)
        if (i != m.place)
            TRY(send_to(&m, i, mine, bytes));
    memmove((char *)all + (size_t)m.place * bytes, mine, bytes);
    for (int i = 0; i < size; i++)
        if (i != m.place)
            TRY(recv_from(&m, i, (char *)all + (size_t)i * bytes, bytes));
    return UNROLL_OK;
}

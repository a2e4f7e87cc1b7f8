/* Communication of a recurrence between ranks along time. Each rank runs its steps from a guessed state and sends the
 * states that it ends with to the next rank. A rank that receives other states than it started from repairs its steps
 * (rnn_pieces.h) and sends again. The first rank's states are final immediately, those of the i-th after i rounds. The
 * number of rounds therefore equals the number of ranks, whatever the states, and no rank continues from a state that
 * is not final. Messages contain a checksum to detect corruption. Backward does the same with gradients, in reverse
 * order. Included after rnn_piece_parts.h. */
#include "base/hash.h"

struct note {
    uint64_t sum;   /* checksum of the following states */
    uint32_t round; /* number of earlier messages */
    uint32_t final; /* the states will not change */
};

/* Makes all threads continue or fail like the first one, which alone has the error message. */
static unroll_status agree_on(const struct pieces *p, unroll_status status)
{
    struct piece_counts *counts = p->call->counts;
    if (p->me == 0)
        counts->failed = status != UNROLL_OK;
    gather_team(p);
    const bool failed = counts->failed;
    gather_team(p);
    return failed && p->me > 0 ? UNROLL_COMMUNICATION : status;
}

/* Other threads need not report the error again. */
static unroll_status told_why(const struct pieces *p, unroll_status status)
{
    return p->me > 0 && p->call->counts->failed ? UNROLL_OK : status;
}

static uint64_t sum_of_states(const struct pieces *p, size_t plane, size_t piece, size_t rows)
{
    uint64_t sum = HASH_BEGIN;
    for (size_t s = 0; s < p->states; s++)
        sum = hash_wide(sum, at_piece(p, plane + s, piece), rows * p->width * sizeof(real));
    return sum;
}

/* Returns the rank at a place in the order of execution. */
static int rank_at(const struct pieces *p, int place)
{
    return p->ranks->rank[p->call->direction ? p->ranks->size - 1 - place : place];
}

static unroll_status send_states(const struct pieces *p, int place, size_t plane, size_t piece, size_t rows,
                                 unsigned round, bool is_final)
{
    const struct note note = {sum_of_states(p, plane, piece, rows), round, is_final};
    const int to = rank_at(p, place);
    TRY(comm_send(p->call->comm, to, p->call->tag, &note, sizeof note));
    for (size_t s = 0; s < p->states; s++)
        TRY(comm_send(p->call->comm, to, p->call->tag, at_piece(p, plane + s, piece), rows * p->width * sizeof(real)));
    return UNROLL_OK;
}

static unroll_status receive_states(const struct pieces *p, int place, size_t plane, size_t piece, size_t rows,
                                    unsigned round, struct note *note)
{
    const int from = rank_at(p, place);
    TRY(comm_recv(p->call->comm, from, p->call->tag, note, sizeof *note));
    for (size_t s = 0; s < p->states; s++)
        TRY(comm_recv(p->call->comm, from, p->call->tag, at_piece(p, plane + s, piece),
                      rows * p->width * sizeof(real)));
    if (note->round != round || note->sum != sum_of_states(p, plane, piece, rows))
        return fail(UNROLL_COMMUNICATION,
                    "the states that rank %d sent in round %u were corrupted in transfer; fix: check memory and "
                    "network for faults, and resume from the last checkpoint",
                    from, round);
    return UNROLL_OK;
}

/* Sends the states of pieces [piece, piece + rows). step: 1 forward, -1 backward. */
static unroll_status tell(const struct pieces *p, int step, size_t plane, size_t piece, size_t rows, unsigned round,
                          bool is_final)
{
    const int to = p->place + step;
    const bool tells = p->me == 0 && to >= 0 && to < p->ranks->size;
    return agree_on(p, tells ? send_states(p, to, plane, piece, rows, round, is_final) : UNROLL_OK);
}

static unroll_status hear(const struct pieces *p, int step, size_t plane, size_t piece, size_t rows, unsigned round,
                          bool *is_final)
{
    struct note note;
    unroll_status status = UNROLL_OK;
    if (p->me == 0) {
        status = receive_states(p, p->place - step, plane, piece, rows, round, &note);
        p->call->counts->final = status == UNROLL_OK && note.final;
    }
    TRY(agree_on(p, status));
    *is_final = p->call->counts->final;
    return UNROLL_OK;
}

/* Broadcasts the states of the last rank, or backward those of the first. */
static unroll_status share_last(const struct pieces *p, int step, size_t plane, size_t piece, size_t rows)
{
    const int last = step > 0 ? p->ranks->size - 1 : 0;
    struct note note;
    unroll_status status = UNROLL_OK;
    if (p->me == 0 && p->place != last)
        status = receive_states(p, last, plane, piece, rows, 0, &note);
    for (int i = 0; i < p->ranks->size && p->me == 0 && p->place == last && status == UNROLL_OK; i++)
        if (i != last)
            status = send_states(p, i, plane, piece, rows, 0, true);
    return agree_on(p, status);
}

/* Ranks along time: what they tell each other of a recurrence. Each runs its own steps from a guess and tells the next
 * one the states that it leaves; who is told other states than it began with repairs (rnn_pieces.h) and tells the next
 * one again. The first rank's states are final at once, those of the i-th when it was told i times: so ranks are done
 * after as many rounds as there are ranks, whatever the states were, and nobody goes on with a state that is not final.
 * Messages carry a sum of their bytes, which says if something has damaged them. Backward it is the same against the
 * order of steps, with gradients. Included after rnn_piece_parts.h, not a header of its own. */
#include "base/hash.h"

struct note {
    uint64_t sum;   /* of the numbers that follow */
    uint32_t round; /* how often it was told before */
    uint32_t final; /* will not change */
};

/* All threads go on or end as the first one, which alone knows why. */
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

/* The others need not say it, too. */
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

/* Of the rank whose steps come so many places later. */
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
                    "the states that rank %d told in round %u did not come as they were sent; fix: look for faulty "
                    "memory or network, and go on from the last checkpoint",
                    from, round);
    return UNROLL_OK;
}

/* States of pieces [piece, piece + rows), those of all states; `step`: 1 forward, -1 backward. */
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

/* What the last rank of all has left, or backward the first, becomes everybody's. */
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

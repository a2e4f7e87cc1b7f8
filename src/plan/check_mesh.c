/* Proofs about the plans of a whole mesh, without arithmetic: messages match, have names of their own, and no order of
 * them can hang. */
#include "base/memory.h"
#include "plan/plan.h"
#include <string.h>

/* Each rank walks its communications in list order, as its lane does. A send and the begin of a sum never wait; a
 * receive waits for its message, the end of a sum for all members to have begun it, a group for all its members.
 * Where ranks meet (plan_config.meets) a send waits for its receive and the begin of a sum for all members, though what
 * a rank computes need not wait for that. If nobody can go on, that is the deadlock. */
struct walk {
    struct plan *const *plans;
    int ranks;
    int at[RANKS_MAX];                  /* the next operation of each rank */
    unsigned char *sent[RANKS_MAX];     /* [rank][op]: this send was already received */
    double now[RANKS_MAX];              /* FLOPs since the beginning, waits for others among them */
    double *when[RANKS_MAX];            /* [rank][op]: that this was sent, or began */
};

static bool communicates(const struct op *op)
{
    return op->group >= 0 || op->peer >= 0;
}

static const struct op *next_of(struct walk *w, int rank)
{
    const struct plan *p = w->plans[rank];
    while (w->at[rank] < p->ops && !communicates(&p->op[w->at[rank]]))
        w->now[rank] += p->op[w->at[rank]++].flops;
    return w->at[rank] < p->ops ? &p->op[w->at[rank]] : NULL;
}

static bool same_meeting(const struct plan *p, const struct op *a, const struct plan *q, const struct op *b)
{
    return a && b && b->group >= 0 && a->kind == b->kind && a->tag == b->tag &&
           !memcmp(&p->group[a->group], &q->group[b->group], sizeof *p->group);
}

/* A send of the peer that was passed already and nobody took. */
static bool take_message(struct walk *w, int rank, const struct op *op)
{
    const struct plan *peer = w->plans[op->peer];
    for (int i = 0; i < w->at[op->peer]; i++) {
        const struct op *send = &peer->op[i];
        if (send->kind == OP_SEND && send->peer == rank && send->tag == op->tag && !w->sent[op->peer][i] &&
            view_elements(peer, &send->view[COMM_X]) == view_elements(w->plans[rank], &op->view[COMM_X])) {
            w->sent[op->peer][i] = 1;
            if (w->when[op->peer][i] > w->now[rank])
                w->now[rank] = w->when[op->peer][i];
            return true;
        }
    }
    return false;
}

/* Where a member began the sum that op ends, or -1: it has not yet. */
static int find_begin(const struct walk *w, int member, const struct plan *p, const struct op *end)
{
    const struct plan *q = w->plans[member];
    for (int i = w->at[member]; i-- > 0;)
        if (q->op[i].kind == OP_SUM_BEGIN && q->op[i].tag == end->tag &&
            (end->choice || op_bytes(q, &q->op[i]) == op_bytes(p, end)) &&      /* of shards members hold several */
            !memcmp(&q->group[q->op[i].group], &p->group[end->group], sizeof *p->group))
            return i;
    return -1;
}

static bool end_sum(struct walk *w, int rank, const struct op *op)
{
    const struct plan *p = w->plans[rank];
    const struct group *group = &p->group[op->group];
    double latest = w->now[rank];
    for (int i = 0; i < group->size; i++) {
        int member = group->rank[i], begin = find_begin(w, member, p, op);
        if (begin < 0)
            return false;
        latest = w->when[member][begin] > latest ? w->when[member][begin] : latest;
    }
    w->now[rank] = latest;
    w->at[rank]++;
    return true;
}

/* All go on from when the last one came; of a sum that begins the computing does not wait. */
static void meet(struct walk *w, const struct group *group)
{
    double latest = 0;
    for (int i = 0; i < group->size; i++)
        if (w->now[group->rank[i]] > latest)
            latest = w->now[group->rank[i]];
    for (int i = 0; i < group->size; i++) {
        int rank = group->rank[i];
        const struct op *op = &w->plans[rank]->op[w->at[rank]];
        w->when[rank][w->at[rank]++] = latest;
        if (op->kind != OP_SUM_BEGIN)
            w->now[rank] = latest + op->flops;
    }
}

/* A message whose both ends are there. */
static bool meet_peer(struct walk *w, int rank, const struct op *op)
{
    const struct op *its = next_of(w, op->peer);
    const struct group ends = { 2, { rank, op->peer } };
    if (!its || its->peer != rank || its->kind == op->kind || its->tag != op->tag ||
        view_elements(w->plans[op->peer], &its->view[COMM_X]) != view_elements(w->plans[rank], &op->view[COMM_X]))
        return false;
    w->sent[op->kind == OP_SEND ? rank : op->peer][w->at[op->kind == OP_SEND ? rank : op->peer]] = 1;
    meet(w, &ends);
    return true;
}

static bool advance(struct walk *w, int rank)
{
    const struct op *op = next_of(w, rank);
    if (!op)
        return false;
    if (op->peer >= 0 && w->plans[rank]->config.meets)
        return meet_peer(w, rank, op);
    bool passes = (op->kind == OP_SEND || op->kind == OP_SUM_BEGIN) && !w->plans[rank]->config.meets;
    if (passes)
        w->when[rank][w->at[rank]] = w->now[rank];
    if (op->kind == OP_SUM_END)
        return end_sum(w, rank, op);
    if (passes || (op->kind == OP_RECV && take_message(w, rank, op))) {
        w->at[rank]++;
        return true;
    }
    if (op->group < 0)
        return false;
    const struct group *group = &w->plans[rank]->group[op->group];
    for (int i = 0; i < group->size; i++)
        if (!same_meeting(w->plans[rank], op, w->plans[group->rank[i]], next_of(w, group->rank[i])))
            return false;
    meet(w, group);
    return true;
}

/* Of two ranks that wait, what each waits for. */
static unroll_status report_deadlock(struct walk *w, int rank)
{
    const struct op *op = next_of(w, rank);
    char one[96], other[96];
    int peer = op->peer;
    if (op->group >= 0) {
        const struct group *group = &w->plans[rank]->group[op->group];
        for (int i = 0; i < group->size; i++)
            if (op->kind == OP_SUM_END ? find_begin(w, group->rank[i], w->plans[rank], op) < 0
                                       : !same_meeting(w->plans[rank], op, w->plans[group->rank[i]],
                                                       next_of(w, group->rank[i])))
                peer = group->rank[i];
    }
    const struct op *its = next_of(w, peer);
    return fail(UNROLL_COMMUNICATION, "deadlock: rank %d waits in '%s' for rank %d, which %s%s%s", rank,
                op_label(w->plans[rank], op, one, sizeof one), peer, its ? "waits in '" : "has ended",
                its ? op_label(w->plans[peer], its, other, sizeof other) : "", its ? "'" : "");
}

static unroll_status walk_mesh(struct walk *w)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (int rank = 0; rank < w->ranks; rank++)
            while (advance(w, rank))
                moved = true;
    }
    for (int rank = 0; rank < w->ranks; rank++)
        if (next_of(w, rank))
            return report_deadlock(w, rank);
    for (int rank = 0; rank < w->ranks; rank++)
        for (int i = 0; i < w->plans[rank]->ops; i++) {
            char label[96];
            if (w->plans[rank]->op[i].kind == OP_SEND && !w->sent[rank][i])
                return fail(UNROLL_COMMUNICATION, "rank %d sends '%s' to rank %d, which never receives it", rank,
                            op_label(w->plans[rank], &w->plans[rank]->op[i], label, sizeof label),
                            w->plans[rank]->op[i].peer);
        }
    return UNROLL_OK;
}

static unroll_status walk_all(struct walk *w)
{
    unroll_status status = UNROLL_OK;
    for (int i = 0; i < w->ranks; i++) {
        w->sent[i] = allocate_zeroed((size_t)w->plans[i]->ops + 1, 1);
        w->when[i] = allocate_zeroed((size_t)w->plans[i]->ops + 1, sizeof *w->when[i]);
        if (!w->sent[i] || !w->when[i])
            status = fail(UNROLL_RESOURCE, "no memory to check the messages of %d ranks", w->ranks);
    }
    if (status == UNROLL_OK)
        status = walk_mesh(w);
    for (int i = 0; i < w->ranks; i++) {
        release(w->sent[i]);
        release(w->when[i]);
    }
    return status;
}

/* ---- names and order ------------------------------------------------------------------- */

static bool has_member(const struct group *group, int rank)
{
    for (int i = 0; i < group->size; i++)
        if (group->rank[i] == rank)
            return true;
    return false;
}

/* Somebody gets messages of both operations from the same rank. */
static bool share_channel(const struct plan *p, const struct op *a, const struct op *b)
{
    const struct group *x = a->group >= 0 ? &p->group[a->group] : NULL, *y = b->group >= 0 ? &p->group[b->group] : NULL;
    if (!x && !y)
        return a->kind == b->kind && a->peer == b->peer;
    if (!x || !y)
        return has_member(x ? x : y, x ? b->peer : a->peer);
    for (int i = 0; i < x->size; i++)
        if (x->rank[i] != plan_rank(p) && has_member(y, x->rank[i]))
            return true;
    return false;
}

/* One thing under one tag: its begin and end, its pieces, its repetition; they follow one another. */
static bool is_same_message(const struct op *a, const struct op *b)
{
    bool kinds = a->kind == b->kind || (a->kind == OP_SUM_BEGIN && b->kind == OP_SUM_END);
    return kinds && a->chunk == b->chunk && a->group == b->group && a->peer == b->peer &&
           a->view[COMM_X].buffer == b->view[COMM_X].buffer &&
           !memcmp(a->view[COMM_X].first, b->view[COMM_X].first, sizeof a->view->first);
}

static unroll_status check_tags(const struct plan *p)
{
    for (int i = 0; i < p->ops; i++)
        for (int k = i + 1; communicates(&p->op[i]) && k < p->ops; k++) {
            const struct op *a = &p->op[i], *b = &p->op[k];
            char one[96], other[96];
            if (a->tag != b->tag || !communicates(b) || is_same_message(a, b) || !share_channel(p, a, b))
                continue;
            return fail(UNROLL_COMMUNICATION, "rank %d has one tag (%u) for '%s' and '%s': their messages could be taken "
                        "for each other", plan_rank(p), (unsigned)a->tag, op_label(p, a, one, sizeof one),
                        op_label(p, b, other, sizeof other));
        }
    return UNROLL_OK;
}

/* The next sum after number `from` that the plan begins over this group, or NULL. */
static const struct op *next_sum(const struct plan *p, const struct group *group, int *from)
{
    for (; *from < p->ops; ++*from)
        if (p->op[*from].kind == OP_SUM_BEGIN && !memcmp(&p->group[p->op[*from].group], group, sizeof *group))
            return &p->op[(*from)++];
    return NULL;
}

/* Members begin the sums of a group in one order, which collectives of MPI and NCCL ask for. */
static unroll_status check_order(struct plan *const *plans, int rank, const struct group *group)
{
    int here = 0, there = 0, first = group->rank[0];
    for (;;) {
        const struct op *a = next_sum(plans[rank], group, &here), *b = next_sum(plans[first], group, &there);
        char one[96] = "nothing", other[96] = "nothing";
        if (!a && !b)
            return UNROLL_OK;
        if (a && b && a->tag == b->tag)
            continue;
        if (a)
            op_label(plans[rank], a, one, sizeof one);
        if (b)
            op_label(plans[first], b, other, sizeof other);
        return fail(UNROLL_COMMUNICATION, "rank %d has '%s' where rank %d has '%s': a group begins its sums in one order",
                    rank, one, first, other);
    }
}

unroll_status check_mesh(struct plan *const *plans, int ranks)
{
    struct walk w = { .plans = plans, .ranks = ranks };
    for (int rank = 0; rank < ranks; rank++) {
        TRY(check_tags(plans[rank]));
        for (int i = 0; i < plans[rank]->groups; i++)
            TRY(check_order(plans, rank, &plans[rank]->group[i]));
    }
    return walk_all(&w);
}

unroll_status mesh_bubble(struct plan *const *plans, int ranks, double *bubble)
{
    struct walk w = { .plans = plans, .ranks = ranks };
    double work = 0, latest = 0;
    TRY(walk_all(&w));
    for (int rank = 0; rank < ranks; rank++) {
        for (int i = 0; i < plans[rank]->ops; i++)
            work += plans[rank]->op[i].flops;
        if (w.now[rank] > latest)
            latest = w.now[rank];
    }
    *bubble = latest > 0 ? 1 - work / (latest * ranks) : 0;
    return UNROLL_OK;
}

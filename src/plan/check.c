/* Proofs about a finished plan, without arithmetic: memory is never read before it is written nor
 * reused while in use, and the messages of a whole mesh match and cannot hang. */
#include "base/memory.h"
#include "plan/plan.h"
#include <string.h>

/* ---- memory of one rank ---------------------------------------------------------------- */

static bool share_bytes(const struct plan *p, const struct view *a, const struct view *b)
{
    if (a->buffer < 0 || b->buffer < 0)
        return false;
    if (a->buffer == b->buffer)
        return view_overlap(a, b);
    const struct buffer *x = &p->buffer[a->buffer], *y = &p->buffer[b->buffer];
    return x->segment == y->segment && x->offset < y->offset + y->bytes && y->offset < x->offset + x->bytes;
}

static const struct view *clash(const struct plan *p, const struct op *a, const struct op *b)
{
    for (int i = 0; i < a->views; i++)
        for (int k = 0; k < b->views; k++)
            if ((access_writes(a->view[i].access) || access_writes(b->view[k].access)) &&
                share_bytes(p, &a->view[i], &b->view[k]))
                return &a->view[i];
    return NULL;
}

static unroll_status check_races(const struct plan *p, const struct before *order)
{
    for (int i = 0; i < p->ops; i++)
        for (int k = i + 1; k < p->ops; k++) {
            if (before(order, i, k))
                continue;
            const struct view *v = clash(p, &p->op[i], &p->op[k]);
            char one[96], other[96];
            if (v)
                return fail(UNROLL_FAILURE, "the plan lets '%s' (lane %d) and '%s' (lane %d) use '%s' at once",
                            op_label(p, &p->op[i], one, sizeof one), p->op[i].lane,
                            op_label(p, &p->op[k], other, sizeof other), p->op[k].lane, p->buffer[v->buffer].name);
        }
    return UNROLL_OK;
}

enum found { NOT_WRITTEN, OTHER_SEGMENT, WRITTEN };

/* What the last operation that wrote any of this left there. Segments of time may share the memory. */
static enum found find_written(const struct plan *p, int before, const struct view *v)
{
    for (int i = before; i-- > 0;)
        for (int k = 0; p->op[i].touches >> v->buffer % 64 & 1 && k < p->op[i].views; k++) {
            const struct view *w = &p->op[i].view[k];
            if (access_writes(w->access) && view_overlap(w, v))
                return w->base == v->base ? WRITTEN : OTHER_SEGMENT;
        }
    return NOT_WRITTEN;
}

/* Activations have no value before an operation gives them one. */
static unroll_status check_reads(const struct plan *p)
{
    for (int i = 0; i < p->ops; i++)
        for (int k = 0; k < p->op[i].views; k++) {
            const struct view *v = &p->op[i].view[k];
            if (!access_reads(v->access) || p->buffer[v->buffer].segment != SEG_STEP)
                continue;
            enum found found = find_written(p, i, v);
            char label[96];
            if (found != WRITTEN)
                return fail(UNROLL_FAILURE, "the plan lets '%s' read '%s' %s",
                            op_label(p, &p->op[i], label, sizeof label), p->buffer[v->buffer].name,
                            found == NOT_WRITTEN ? "before anything wrote it" : "when it holds another segment of time");
        }
    return UNROLL_OK;
}

static unroll_status check_bounds(const struct plan *p)
{
    for (int i = 0; i < p->ops; i++)
        for (int k = 0; k < p->op[i].views; k++) {
            const struct view *v = &p->op[i].view[k];
            const struct buffer *b = v->buffer < 0 ? NULL : &p->buffer[v->buffer];
            for (int d = 0; b && d < b->rank; d++)
                if (!v->count[d] || v->first[d] + v->count[d] > b->size[d])
                    return fail(UNROLL_FAILURE, "a view of '%s' is empty or reaches beyond it", b->name);
            if (b && b->offset + b->bytes > p->segment_bytes[b->segment])
                return fail(UNROLL_FAILURE, "'%s' lies outside its segment", b->name);
        }
    return UNROLL_OK;
}

/* ---- sums under way -------------------------------------------------------------------- */

static bool is_end_of(const struct op *begin, const struct op *end)
{
    return end->kind == OP_SUM_END && end->tag == begin->tag && end->group == begin->group &&
           end->view[COMM_X].buffer == begin->view[COMM_X].buffer;
}

static unroll_status check_sum(const struct plan *p, int begin)
{
    char one[96], other[96];
    for (int i = begin + 1; i < p->ops; i++) {
        const struct view *v = is_end_of(&p->op[begin], &p->op[i]) ? NULL : clash(p, &p->op[begin], &p->op[i]);
        if (v)
            return fail(UNROLL_FAILURE, "the plan lets '%s' use '%s' while '%s' is under way",
                        op_label(p, &p->op[i], one, sizeof one), p->buffer[v->buffer].name,
                        op_label(p, &p->op[begin], other, sizeof other));
        if (is_end_of(&p->op[begin], &p->op[i]))
            return UNROLL_OK;
    }
    return fail(UNROLL_FAILURE, "the plan never ends '%s'", op_label(p, &p->op[begin], one, sizeof one));
}

/* One message holds all views: they fill a range of memory, gaps of alignment apart, which hold zeros. */
static unroll_status check_bucket(const struct plan *p, const struct op *op)
{
    for (int k = 1; k < op->views; k++) {
        const struct buffer *a = &p->buffer[op->view[k - 1].buffer], *b = &p->buffer[op->view[k].buffer];
        if (a->segment != b->segment || a->dtype != b->dtype || b->offset < a->offset + a->bytes ||
            b->offset - a->offset - a->bytes >= 64)
            return fail(UNROLL_FAILURE, "'%s' and '%s' are summed together, but lie apart", a->name, b->name);
    }
    return UNROLL_OK;
}

static unroll_status check_sums(const struct plan *p)
{
    for (int i = 0; i < p->ops; i++) {
        const struct op *op = &p->op[i];
        int begin = i;
        char label[96];
        if (op->part == PART_SUM && op->lane)
            return fail(UNROLL_FAILURE, "'%s' is on lane %d: sums are on the lane of communication",
                        op_label(p, op, label, sizeof label), op->lane);
        if (op->kind == OP_SUM_BEGIN) {
            TRY(check_bucket(p, op));
            TRY(check_sum(p, i));
        }
        while (op->kind == OP_SUM_END && begin > 0 &&
               !(p->op[begin].kind == OP_SUM_BEGIN && is_end_of(&p->op[begin], op)))
            begin--;
        if (op->kind == OP_SUM_END && p->op[begin].kind != OP_SUM_BEGIN)
            return fail(UNROLL_FAILURE, "the plan ends '%s', which never began", op_label(p, op, label, sizeof label));
    }
    return UNROLL_OK;
}

unroll_status pass_check(const struct plan *p)
{
    struct before *order;
    TRY(check_bounds(p));
    TRY(check_reads(p));
    TRY(check_sums(p));
    TRY(before_new(p, &order));
    unroll_status status = p->config.lanes > 1 ? check_races(p, order) : UNROLL_OK;    /* one lane: one order */
    before_free(order);
    return status;
}

/* ---- messages of a mesh ---------------------------------------------------------------- */

/* Each rank walks its communications in list order, as its lane does. A send and the begin of a sum never wait; a
 * receive waits for its message, the end of a sum for all members to have begun it, a group for all its members.
 * If nobody can go on, that is the deadlock. */
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
        if (q->op[i].kind == OP_SUM_BEGIN && q->op[i].tag == end->tag && op_bytes(q, &q->op[i]) == op_bytes(p, end) &&
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

/* All go on from when the last one came. */
static void meet(struct walk *w, const struct group *group)
{
    double latest = 0;
    for (int i = 0; i < group->size; i++)
        if (w->now[group->rank[i]] > latest)
            latest = w->now[group->rank[i]];
    for (int i = 0; i < group->size; i++) {
        int rank = group->rank[i];
        w->now[rank] = latest + w->plans[rank]->op[w->at[rank]++].flops;
    }
}

static bool advance(struct walk *w, int rank)
{
    const struct op *op = next_of(w, rank);
    if (!op)
        return false;
    bool passes = op->kind == OP_SEND || op->kind == OP_SUM_BEGIN;
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

unroll_status check_mesh(struct plan *const *plans, int ranks)
{
    struct walk w = { .plans = plans, .ranks = ranks };
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

/* Checks the plans of a whole mesh without executing them: messages match, have distinct tags, and no order of them can
 * deadlock. Plans are processed one after another; only their communications are kept. */
#include "base/hash.h"
#include "base/memory.h"
#include "plan/ir/plan.h"
#include <limits.h>
#include <string.h>

/* Each rank processes its communications in list order, like its queue. A send and the start of a sum never wait. A
 * receive waits for its message, the end of a sum until all members have started it, a group for all its members. On
 * devices with rendezvous, a send waits for its receive and the start of a sum for all members, but the rank's
 * computation continues. If no rank can continue, there is a deadlock. */

/* A communication between ranks. The k-th one with a name on one rank matches the k-th with that name on the others. */
struct meeting {
    int of[3]; /* its name: -1, from, to; or the group, whether it is a sum, the kind */
    uint32_t tag;
    int next;             /* the next one of the same name, + 1; 0: none */
    int seen[2];          /* the last rank processed for the first half (sends, begins) and for the second */
    int wanted, came;     /* ranks */
    double bytes, latest; /* latest: the time of the last arrival */
};

/* One communication of a rank. */
struct step {
    int op, meeting;
    bool comes, waits, begins; /* begins: it is the start of a sum */
    double before, flops;      /* FLOPs computed before it, and by itself; divided by the rank's rate, if rates are
                                * given */
};

struct queue {
    struct step *step;
    int steps, room, at;
    bool is_there;     /* has arrived at the current step and waits */
    double now, after; /* FLOPs since the start including waits, and after the last step */
};

/* A group shared by ranks, and the sums that its first member starts over it. */
struct meeting_members {
    struct group group;
    int *begun, count, room, here; /* [count] operations; here: the number started by the current rank */
    uint32_t *tag;                 /* [count] */
    int tags_room;
};

struct walk {
    struct plan *const *plans; /* NULL: created on demand from: */
    const struct unroll_model *model;
    struct plan_config config;
    int ranks;
    double work;         /* FLOPs of all ranks */
    struct queue *queue; /* [ranks] */
    struct meeting_members *members;
    int groups, groups_room;
    int *group_of;
    int group_of_room; /* [groups of the current plan] */
    struct meeting *meeting;
    int meetings, meetings_room;
    int *table;
    int slots; /* [slots] meetings by name, + 1; 0: free */
};

/* ---- plans ----------------------------------------------------------------------------- */

/* Returns the plan of a rank. If it is not stored it is created, and the caller frees `made`. */
static unroll_status plan_at(const struct walk *w, int rank, struct plan **made, const struct plan **plan)
{
    struct plan_config c = w->config;
    *made = NULL;
    *plan = w->plans ? w->plans[rank] : NULL;
    if (*plan)
        return UNROLL_OK;
    plan_config_at(&c, rank);
    TRY(plan_new(w->model, &c, made));
    *plan = *made;
    return UNROLL_OK;
}

static const char *label(const struct walk *w, int rank, int op, char room[96])
{
    struct plan *made;
    const struct plan *p;
    if (plan_at(w, rank, &made, &p) != UNROLL_OK)
        return "";
    op_label(p, &p->op[op], room, 96);
    plan_free(made);
    return room;
}

/* ---- names ----------------------------------------------------------------------------- */

static bool has_member(const struct group *group, int rank)
{
    for (int i = 0; i < group->size; i++)
        if (group->rank[i] == rank)
            return true;
    return false;
}

/* Returns whether some rank gets messages of both operations from the same rank. */
static bool shard_channel(const struct plan *p, const struct op *a, const struct op *b)
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

/* Returns whether two operations belong to one message: its start and end, its pieces, or its repetition, which are in
 * order. */
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
        for (int k = i + 1; op_communicates(&p->op[i]) && k < p->ops; k++) {
            const struct op *a = &p->op[i], *b = &p->op[k];
            char one[96], other[96];
            if (a->tag != b->tag || !op_communicates(b) || is_same_message(a, b) || !shard_channel(p, a, b))
                continue;
            return fail(
                UNROLL_COMMUNICATION,
                "rank %d uses the same tag (%u) for '%s' and '%s': their messages could be confused; fix: " REPORT_BUG,
                plan_rank(p), (unsigned)a->tag, op_label(p, a, one, sizeof one), op_label(p, b, other, sizeof other));
        }
    return UNROLL_OK;
}

/* ---- what ranks have in common --------------------------------------------------------- */

static int find_group(struct walk *w, const struct group *group)
{
    for (int i = 0; i < w->groups; i++)
        if (!memcmp(&w->members[i].group, group, sizeof *group))
            return i;
    struct meeting_members *all = plan_grown(w->members, w->groups, &w->groups_room, sizeof *all);
    if (!all)
        return -1;
    w->members = all;
    all[w->groups] = (struct meeting_members){.group = *group};
    return w->groups++;
}

static bool same_name(const struct meeting *a, const struct meeting *b)
{
    return a->tag == b->tag && !memcmp(a->of, b->of, sizeof a->of);
}

/* Returns the slot of a name, or the free one for it. */
static int *find_slot(const struct walk *w, const struct meeting *name)
{
    uint64_t hash = hash_number(hash_bytes(HASH_BEGIN, name->of, sizeof name->of), name->tag);
    for (int i = (int)(hash % (uint64_t)w->slots);; i = (i + 1) % w->slots)
        if (!w->table[i] || same_name(&w->meeting[w->table[i] - 1], name))
            return &w->table[i];
}

/* Keeps the table at most half full. */
static unroll_status grow_table(struct walk *w)
{
    if (2 * w->meetings < w->slots)
        return UNROLL_OK;
    struct walk larger = *w;
    larger.slots = w->slots ? 2 * w->slots : 256;
    TRY(ALLOCATE(larger.table, (size_t)larger.slots, "to check the messages of %d ranks", w->ranks));
    for (int i = 0; i < w->slots; i++)
        if (w->table[i])
            *find_slot(&larger, &w->meeting[w->table[i] - 1]) = w->table[i];
    release(w->table);
    *w = larger;
    return UNROLL_OK;
}

/* Finds the first communication of this name for which the rank has not yet added this half. */
static unroll_status find_meeting(struct walk *w, const struct meeting *name, int rank, int half, int *found)
{
    TRY(grow_table(w));
    int *slot = find_slot(w, name), *at = slot, last = -1;
    while (*at > 0 && w->meeting[*at - 1].seen[half] == rank) {
        last = *at - 1;
        at = &w->meeting[last].next;
    }
    *found = *at - 1;
    if (*found < 0) {
        struct meeting *all = plan_grown(w->meeting, w->meetings, &w->meetings_room, sizeof *all);
        if (!all)
            return UNROLL_RESOURCE;
        w->meeting = all;
        *found = w->meetings++;
        all[*found] = *name;
        *(last < 0 ? slot : &all[last].next) = *found + 1;
    }
    w->meeting[*found].seen[half] = rank;
    return UNROLL_OK;
}

/* Members must start the sums of a group in the order of the first one, as collectives of MPI and NCCL require. */
static unroll_status other_order(const struct walk *w, const struct meeting_members *m, int rank, int op)
{
    char one[96], other[96];
    return fail(
        UNROLL_COMMUNICATION,
        "rank %d has '%s' where rank %d has '%s': all ranks of a group must start sums in the same order; fix: " REPORT_BUG,
        rank, op < 0 ? "nothing" : label(w, rank, op, one), m->group.rank[0],
        m->here < m->count ? label(w, m->group.rank[0], m->begun[m->here], other) : "nothing");
}

/* Checks that all members of a group begin their sums in the same order; the first one defines it. */
static unroll_status note_begin(struct walk *w, struct meeting_members *m, int rank, int op, uint32_t tag)
{
    if (rank == m->group.rank[0]) {
        int *begun = plan_grown(m->begun, m->count, &m->room, sizeof *begun);
        m->begun = begun ? begun : m->begun;
        uint32_t *tags = plan_grown(m->tag, m->count, &m->tags_room, sizeof *tags);
        m->tag = tags ? tags : m->tag;
        if (!begun || !tags)
            return UNROLL_RESOURCE;
        m->begun[m->count] = op;
        m->tag[m->count++] = tag;
    } else if (m->here == m->count || m->tag[m->here] != tag)
        return other_order(w, m, rank, op);
    m->here++;
    return UNROLL_OK;
}

/* ---- the communications of a plan ------------------------------------------------------ */

/* Returns the name of an operation's communication, and which half of it this is. */
static void name_meeting(const struct walk *w, const struct plan *p, const struct op *op, struct meeting *name,
                         int *half)
{
    int here = plan_rank(p), group = op->group >= 0 ? w->group_of[op->group] : -1;
    bool sends = op->kind == OP_SEND, sums = op->kind == OP_SUM_BEGIN || op->kind == OP_SUM_END;
    *name = (struct meeting){.tag = op->tag, .seen = {-1, -1}};
    if (group < 0) {
        memcpy(name->of, (int[]){-1, sends ? here : op->peer, sends ? op->peer : here}, sizeof name->of);
        name->wanted = p->config.traits.rendezvous ? 2 : 1;
        name->bytes = (double)view_elements(p, &op->view[COMM_X]);
    } else {
        memcpy(name->of, (int[]){group, sums, sums ? 0 : (int)op->kind}, sizeof name->of);
        name->wanted = p->group[op->group].size;
        name->bytes = sums && !op->choice ? op_bytes(p, op) : 0; /* members hold several shards each */
    }
    *half = op->kind == OP_RECV || op->kind == OP_SUM_END;
}

/* Appends an operation that communicates to its rank's queue; `before` is the computation since the last one. */
static unroll_status add_step(struct walk *w, const struct plan *p, int index, double before)
{
    const struct op *op = &p->op[index];
    struct queue *queue = &w->queue[plan_rank(p)];
    struct meeting name;
    int half, found;
    name_meeting(w, p, op, &name, &half);
    TRY(find_meeting(w, &name, plan_rank(p), half, &found));
    if (w->meeting[found].bytes != name.bytes)
        w->meeting[found].wanted = INT_MAX; /* they differ: this wait never ends */
    if (op->kind == OP_SUM_BEGIN)
        TRY(note_begin(w, &w->members[name.of[0]], plan_rank(p), index, op->tag));
    struct step *all = plan_grown(queue->step, queue->steps, &queue->room, sizeof *all);
    if (!all)
        return UNROLL_RESOURCE;
    queue->step = all;
    bool rendezvous = p->config.traits.rendezvous, begins = op->kind == OP_SUM_BEGIN;
    bool computes = op->kind != OP_SUM_END && (op->peer < 0 || rendezvous);
    all[queue->steps++] =
        (struct step){.op = index,
                      .meeting = found,
                      .before = before,
                      .flops = computes ? op->flops / (p->config.rate ? p->config.rate[plan_rank(p)] : 1) : 0,
                      .comes = op->kind != OP_SUM_END && (rendezvous || op->kind != OP_RECV),
                      .waits = rendezvous || (op->kind != OP_SEND && !begins),
                      .begins = begins};
    return UNROLL_OK;
}

static unroll_status find_groups(struct walk *w, const struct plan *p)
{
    for (int i = 0; i < p->groups; i++) {
        int *all = plan_grown(w->group_of, i, &w->group_of_room, sizeof *all);
        if (!all)
            return UNROLL_RESOURCE;
        w->group_of = all;
        all[i] = find_group(w, &p->group[i]);
        if (all[i] < 0)
            return UNROLL_RESOURCE;
        w->members[all[i]].here = 0;
    }
    return UNROLL_OK;
}

/* Adds all communication of a rank's plan. */
static unroll_status add_plan(struct walk *w, const struct plan *p)
{
    const double rate = p->config.rate ? p->config.rate[plan_rank(p)] : 1;
    double before = 0;
    TRY(find_groups(w, p));
    for (int i = 0; i < p->ops; i++) {
        const double seconds = p->op[i].flops / rate;
        w->work += seconds;
        if (!op_communicates(&p->op[i])) {
            before += seconds;
            continue;
        }
        TRY(add_step(w, p, i, before));
        before = 0;
    }
    w->queue[plan_rank(p)].after = before;
    for (int i = 0; i < p->groups; i++) {
        const struct meeting_members *m = &w->members[w->group_of[i]];
        if (m->here < m->count)
            return other_order(w, m, plan_rank(p), -1);
    }
    return UNROLL_OK;
}

/* ---- the walk -------------------------------------------------------------------------- */

/* Moves a rank past one step if it can proceed; returns whether it did. */
static bool advance(struct walk *w, struct queue *queue)
{
    if (queue->at == queue->steps)
        return false;
    const struct step *s = &queue->step[queue->at];
    struct meeting *m = &w->meeting[s->meeting];
    if (!queue->is_there) {
        queue->now += s->before;
        m->came += s->comes;
        m->latest = s->comes && queue->now > m->latest ? queue->now : m->latest;
    }
    queue->is_there = s->waits && m->came < m->wanted;
    if (queue->is_there)
        return false;
    if (s->waits && !s->begins)
        queue->now = (m->latest > queue->now ? m->latest : queue->now) + s->flops;
    queue->at++;
    return true;
}

/* Returns whether the queue has reached this communication, or passed it. */
static bool has_come(const struct queue *queue, int meeting)
{
    for (int i = 0; i < queue->at + queue->is_there; i++)
        if (queue->step[i].meeting == meeting && queue->step[i].comes)
            return true;
    return false;
}

/* Reports two waiting ranks and their operations. */
static unroll_status report_deadlock(const struct walk *w, int rank)
{
    const struct queue *queue = &w->queue[rank];
    const struct step *s = &queue->step[queue->at];
    const struct meeting *m = &w->meeting[s->meeting];
    const struct meeting_members *members = m->of[0] >= 0 ? &w->members[m->of[0]] : NULL;
    int peer = members ? members->group.rank[0] : m->of[1] == rank ? m->of[2] : m->of[1];
    for (int i = 0; members && i < members->group.size; i++)
        if (!has_come(&w->queue[members->group.rank[i]], s->meeting))
            peer = members->group.rank[i];
    const struct queue *its = &w->queue[peer];
    const bool waits = its->at < its->steps;
    char one[96], other[96];
    return fail(UNROLL_COMMUNICATION, "deadlock: rank %d waits in '%s' for rank %d, which %s%s%s; fix: " REPORT_BUG,
                rank, label(w, rank, s->op, one), peer, waits ? "waits in '" : "has ended",
                waits ? label(w, peer, its->step[its->at].op, other) : "", waits ? "'" : "");
}

/* Advances all ranks until none can proceed. Fails if one is still waiting or a message is not received. */
static unroll_status walk_mesh(struct walk *w)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (int rank = 0; rank < w->ranks; rank++)
            while (advance(w, &w->queue[rank])) moved = true;
    }
    for (int rank = 0; rank < w->ranks; rank++)
        if (w->queue[rank].at < w->queue[rank].steps)
            return report_deadlock(w, rank);
    for (int rank = 0; rank < w->ranks; rank++)
        for (int i = 0; i < w->queue[rank].steps; i++) {
            const struct meeting *m = &w->meeting[w->queue[rank].step[i].meeting];
            char words[96];
            if (m->of[0] < 0 && m->seen[1] < 0)
                return fail(UNROLL_COMMUNICATION,
                            "rank %d sends '%s' to rank %d, which never receives it; fix: " REPORT_BUG, rank,
                            label(w, rank, w->queue[rank].step[i].op, words), m->of[2]);
        }
    return UNROLL_OK;
}

static void free_walk(struct walk *w)
{
    for (int i = 0; w->queue && i < w->ranks; i++) release(w->queue[i].step);
    for (int i = 0; i < w->groups; i++) {
        release(w->members[i].begun);
        release(w->members[i].tag);
    }
    release(w->members);
    release(w->group_of);
    release(w->meeting);
    release(w->table);
    release(w->queue);
}

static unroll_status walk_plan(struct walk *w, int rank)
{
    struct plan *made;
    const struct plan *p;
    TRY(plan_at(w, rank, &made, &p));
    unroll_status status = check_tags(p);
    if (status == UNROLL_OK)
        status = add_plan(w, p);
    plan_free(made);
    return status;
}

static unroll_status walk_all(struct walk *w)
{
    w->queue = allocate_zeroed((size_t)w->ranks, sizeof *w->queue);
    unroll_status status =
        w->queue ? UNROLL_OK : fail(UNROLL_RESOURCE, "no memory to check the messages of %d ranks", w->ranks);
    for (int rank = 0; rank < w->ranks && status == UNROLL_OK; rank++) status = walk_plan(w, rank);
    if (status == UNROLL_OK)
        status = walk_mesh(w);
    return status;
}

unroll_status check_mesh(struct plan *const *plans, int ranks)
{
    struct walk w = {.plans = plans, .ranks = ranks};
    unroll_status status = walk_all(&w);
    free_walk(&w);
    return status;
}

unroll_status check_mesh_of(const struct unroll_model *model, const struct plan_config *config)
{
    struct walk w = {.model = model, .config = *config, .ranks = 1};
    for (int m = 0; m < M_N; m++) w.ranks *= config->mesh[m];
    unroll_status status = walk_all(&w);
    free_walk(&w);
    return status;
}

unroll_status mesh_bubble(struct plan *const *plans, int ranks, double *bubble)
{
    struct walk w = {.plans = plans, .ranks = ranks};
    unroll_status status = walk_all(&w);
    double latest = 0;
    for (int rank = 0; rank < ranks && status == UNROLL_OK; rank++)
        if (w.queue[rank].now + w.queue[rank].after > latest)
            latest = w.queue[rank].now + w.queue[rank].after;
    *bubble = latest > 0 ? 1 - w.work / (latest * ranks) : 0;
    free_walk(&w);
    return status;
}

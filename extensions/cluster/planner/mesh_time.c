/* Simulates a training step of a mesh over time: the stages of a layer cut walk their lists, and messages and sums
 * overlap with computation. Ranks that differ along batch or hidden do the same at the same time, so one of each
 * stage is walked. Each rank has one message or sum in flight at a time. For the prices of operations see price.c. */
#include "base/memory.h"
#include "extensions/cluster/planner/price.h"
#include <math.h>
#include <string.h>

/* A message between two stages, or a sum whose members belong to one stage or several. */
struct timed_meeting {
    int from, to; /* stages of a message; for a sum: -1 and the first rank of its group */
    uint32_t tag;
    int came, wanted, left; /* stages that have begun it; that must begin it; that have not finished it */
    double latest, ready;   /* time when the last began; when it has ended */
};

struct timed_stage {
    const struct plan *plan;
    int at;              /* position in its list */
    double now, network; /* seconds; the network is free after this time */
};

struct timed_walk {
    const struct cluster *cluster;
    struct timed_stage stage[DEPTHS];
    int stages;
    struct timed_meeting *meeting;
    int meetings, room;
    struct prices *prices;
    struct mesh_time *time;
};

/* ---- prices ---------------------------------------------------------------------------- */

static int stage_of_rank(const struct plan *p, int rank)
{
    int at[M_N];
    mesh_coordinate(p->config.mesh, rank, at);
    return at[M_LAYER];
}

/* Returns the number of parallel sums in a unit: those of the groups along hidden. */
static int sums_together(const struct plan *p, const struct group *group)
{
    int hidden = p->config.mesh[M_HIDDEN];
    return group->size > 1 && group->rank[1] - group->rank[0] >= hidden ? hidden : 1;
}

static double exchange_seconds(struct timed_walk *w, const struct plan *p, const struct op *op)
{
    if (op->kind == OP_ALL_GATHER || op->kind == OP_RNN || op->kind == OP_RNN_BACK) {
        const struct group *group = &p->group[op->group];
        double steps = op->kind == OP_ALL_GATHER ? 1 : op->view[RNN_G].count[0];
        double rounds = op->kind == OP_RNN_BACK && !op->choice ? 2 * ceil(log2(group->size)) : 1;
        double one = message_seconds(w->cluster, group->rank[0], group->rank[group->size - 1], 0);
        return steps * rounds * one +
               message_seconds(w->cluster, group->rank[0], group->rank[group->size - 1], op_sends(p, op)) - one;
    }
    struct sum sum = sum_of_numbers(p, op, sum_numbers(p, op));
    return sum_seconds_of(w->prices, &sum, sums_together(p, &p->group[op->group]));
}

/* ---- meetings -------------------------------------------------------------------------- */

static struct timed_meeting *find(struct timed_walk *w, int from, int to, uint32_t tag)
{
    for (int i = 0; i < w->meetings; i++) {
        struct timed_meeting *m = &w->meeting[i];
        if (m->from == from && m->to == to && m->tag == tag && m->left > 0)
            return m;
    }
    return NULL;
}

/* Finds or creates a meeting; returns NULL if there is no memory. */
static struct timed_meeting *meet(struct timed_walk *w, int from, int to, uint32_t tag, int wanted)
{
    struct timed_meeting *m = find(w, from, to, tag);
    if (m)
        return m;
    m = plan_grown(w->meeting, w->meetings, &w->room, sizeof *m);
    if (!m)
        return NULL;
    w->meeting = m;
    m += w->meetings++;
    *m = (struct timed_meeting){.from = from, .to = to, .tag = tag, .wanted = wanted, .left = wanted};
    return m;
}

/* Counts the stages among the members of a group; one rank of each is walked. */
static int stages_of(const struct plan *p, const struct group *group, bool here[DEPTHS])
{
    int count = 0;
    memset(here, 0, DEPTHS * sizeof *here);
    for (int i = 0; i < group->size; i++) {
        bool *is = &here[stage_of_rank(p, group->rank[i])];
        count += !*is;
        *is = true;
    }
    return count;
}

/* The last stage to arrive begins the sum, when the networks of all are free. */
static unroll_status begin_sum(struct timed_walk *w, struct timed_stage *s, const struct op *op)
{
    const struct group *group = &s->plan->group[op->group];
    bool here[DEPTHS];
    int wanted = stages_of(s->plan, group, here);
    struct timed_meeting *m = meet(w, -1, group->rank[0], op->tag, wanted);
    if (!m)
        return UNROLL_RESOURCE;
    m->latest = fmax(m->latest, s->now);
    if (++m->came < m->wanted)
        return UNROLL_OK;
    double begin = m->latest;
    for (int i = 0; i < w->stages; i++) begin = here[i] ? fmax(begin, w->stage[i].network) : begin;
    m->ready = begin + exchange_seconds(w, s->plan, op);
    for (int i = 0; i < w->stages; i++) w->stage[i].network = here[i] ? m->ready : w->stage[i].network;
    return UNROLL_OK;
}

static unroll_status send(struct timed_walk *w, struct timed_stage *s, const struct op *op)
{
    int rank = plan_rank(s->plan);
    struct timed_meeting *m = meet(w, s->plan->config.at[M_LAYER], stage_of_rank(s->plan, op->peer), op->tag, 1);
    if (!m)
        return UNROLL_RESOURCE;
    double latency = message_seconds(w->cluster, rank, op->peer, 0);
    s->network =
        fmax(s->network, s->now) + message_seconds(w->cluster, rank, op->peer, op_sends(s->plan, op)) - latency;
    m->ready = s->network + latency;
    m->came = 1;
    return UNROLL_OK;
}

/* ---- the walk -------------------------------------------------------------------------- */

static int clock_of(const struct op *op) { return op->phase == PHASE_FORWARD ? 0 : op->phase == PHASE_UPDATE ? 2 : 1; }

static void compute(struct timed_walk *w, struct timed_stage *s, const struct op *op)
{
    struct stage_time *t = &w->time->stage[s->plan->config.at[M_LAYER]];
    const int which = clock_of(op);
    const double sends = op_sends(s->plan, op), copies = sends / w->cluster->message_bandwidth;
    const double speed = w->cluster->clocks ? w->cluster->clock[t->clock[which]].speed : 1;
    const double seconds = op_seconds(s->plan, op, w->cluster) / speed + copies;
    s->now += seconds;
    t->busy[which] += seconds;
    t->sent += sends;
    if ((op->kind == OP_RNN || op->kind == OP_RNN_BACK) && op->group >= 0) {
        s->now += exchange_seconds(w, s->plan, op); /* between steps: the rest of the group does the same */
        t->waits += exchange_seconds(w, s->plan, op);
    }
}

/* Returns false if the stage must wait for another one. */
static bool wait_for(struct timed_walk *w, struct timed_stage *s, struct timed_meeting *m)
{
    if (!m || m->came < m->wanted)
        return false;
    if (m->ready > s->now) {
        w->time->stage[s->plan->config.at[M_LAYER]].waits += m->ready - s->now;
        s->now = m->ready;
    }
    m->left--;
    return true;
}

/* Advances a stage by one operation, unless it must wait. *moved: it waits and has already arrived at the operation. */
static unroll_status advance(struct timed_walk *w, struct timed_stage *s, bool *moved)
{
    const struct op *op = &s->plan->op[s->at];
    const struct group *group = op->group >= 0 ? &s->plan->group[op->group] : NULL;
    const int here = s->plan->config.at[M_LAYER];
    bool goes_on = true;
    if (op->phase == PHASE_PACK) /* part of loading */
        goes_on = true;
    else if (op->kind == OP_SEND) {
        compute(w, s, op);
        TRY(send(w, s, op));
    } else if (op->kind == OP_RECV)
        goes_on = wait_for(w, s, find(w, stage_of_rank(s->plan, op->peer), here, op->tag));
    else if (op->kind == OP_SUM_BEGIN) {
        compute(w, s, op);
        TRY(begin_sum(w, s, op));
    } else if (op->kind == OP_SUM_END)
        goes_on = wait_for(w, s, find(w, -1, group->rank[0], op->tag));
    else if (op->kind == OP_ALL_REDUCE || op->kind == OP_ALL_GATHER) {
        if (!*moved) { /* arrives once, then waits */
            compute(w, s, op);
            TRY(begin_sum(w, s, op));
        }
        goes_on = wait_for(w, s, find(w, -1, group->rank[0], op->tag));
    } else
        compute(w, s, op);
    s->at += goes_on;
    *moved = !goes_on; /* for the next call: the stage has already arrived at this operation */
    return UNROLL_OK;
}

/* Advances all stages until they end; fails if they wait for each other. */
static unroll_status walk_stages(struct timed_walk *w)
{
    bool came[DEPTHS] = {false};
    for (bool moved = true; moved;) {
        moved = false;
        for (int i = 0; i < w->stages; i++) {
            struct timed_stage *s = &w->stage[i];
            while (s->at < s->plan->ops) {
                int before = s->at;
                TRY(advance(w, s, &came[i]));
                if (s->at == before)
                    break;
                moved = true;
            }
        }
    }
    for (int i = 0; i < w->stages; i++)
        if (w->stage[i].at < w->stage[i].plan->ops)
            return fail(
                UNROLL_COMMUNICATION,
                "stage %d of the mesh waits for ever in operation %d; fix: report it with the network and the options",
                i, w->stage[i].at);
    return UNROLL_OK;
}

unroll_status mesh_seconds(struct plan *const *plans, int stages, struct prices *prices, struct mesh_time *time)
{
    struct timed_walk w = {.cluster = prices->cluster, .prices = prices, .stages = stages, .time = time};
    time->stages = stages;
    time->seconds = 0;
    for (int i = 0; i < stages; i++) {
        w.stage[i].plan = plans[i];
        struct stage_time *t = &time->stage[i];
        int clock[MESH_CLOCKS];
        memcpy(clock, t->clock, sizeof clock);
        *t = (struct stage_time){.memory = 0};
        memcpy(t->clock, clock, sizeof clock);
        for (int k = 0; k < SEG_N; k++) t->memory += (double)plans[i]->segment_bytes[k];
    }
    unroll_status status = walk_stages(&w);
    for (int i = 0; i < stages; i++) time->seconds = fmax(time->seconds, w.stage[i].now);
    for (int i = 0; i < stages; i++) time->stage[i].waits += time->seconds - w.stage[i].now;
    release(w.meeting);
    return status;
}

/* ---- energy ---------------------------------------------------------------------------- */

double mesh_joules(const struct mesh_time *time, const struct cluster *c, int ranks)
{
    double joules = 0;
    for (int i = 0; i < time->stages && c->clocks; i++) {
        const struct stage_time *t = &time->stage[i];
        joules += t->waits * c->waiting_watts;
        for (int k = 0; k < MESH_CLOCKS; k++) joules += t->busy[k] * c->clock[t->clock[k]].watts;
    }
    return joules * ranks;
}

/* Lowers the one clock by one step that saves most energy within the time limit; *lowered is false if there is none. */
static unroll_status lower_one(struct plan *const *plans, int stages, struct prices *prices, double limit, int ranks,
                               struct mesh_time *time, bool *lowered)
{
    const struct cluster *c = prices->cluster;
    struct mesh_time best = *time;
    double least = mesh_joules(time, c, ranks);
    *lowered = false;
    for (int i = 0; i < stages; i++)
        for (int k = 0; k < MESH_CLOCKS; k++) {
            struct mesh_time tried = *time;
            if (++tried.stage[i].clock[k] == c->clocks)
                continue;
            TRY(mesh_seconds(plans, stages, prices, &tried));
            double joules = mesh_joules(&tried, c, ranks);
            if (tried.seconds > limit || joules >= least)
                continue;
            least = joules;
            best = tried;
            *lowered = true;
        }
    *time = best;
    return UNROLL_OK;
}

unroll_status mesh_lower_clocks(struct plan *const *plans, int stages, struct prices *prices, double longer, int ranks,
                                struct mesh_time *time)
{
    memset(time, 0, sizeof *time);
    TRY(mesh_seconds(plans, stages, prices, time));
    const double limit = longer * time->seconds;
    for (bool lowered = prices->cluster->clocks > 1; lowered;)
        TRY(lower_one(plans, stages, prices, limit, ranks, time, &lowered));
    return UNROLL_OK;
}

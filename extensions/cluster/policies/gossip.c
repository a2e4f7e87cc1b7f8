/* gossip: workers do not wait for each other. After an update, a worker sends its weights to another one, if its
 * previous message has arrived. The receiver is the next one of a ring, or drawn by seed, worker and update. A
 * worker averages its weights with those it receives (Lian et al., arXiv 1710.06952, for pairs). If all must meet,
 * late workers skip the steps that they missed. Arrivals depend on timing; arrivals.c records and replays them. */
#include "base/memory.h"
#include "base/philox.h"
#include "extensions/cluster/policies/meeting.h"
#include <string.h>

enum { TAG_WEIGHTS = TAG_OF_POLICY };
enum { HEAD_WEIGHTS = HEAD_OF_POLICY, HEAD_TAKEN };

/* State of a worker besides its vectors. */
struct gossip {
    struct meeting meeting;
    struct request weights;
    bool takes; /* a receive of weights has begun */
    int from;   /* sender and step of the weights */
    int64_t from_step;
    float *came, *out; /* [count] */
    bool waits;        /* the weights sent last have not been received yet */
};

static unroll_status read(const char *argument, struct sync_options *options)
{
    options->asynchronous = true;
    options->pairs = !strcmp(argument, "pairs");
    return !*argument || options->pairs
               ? UNROLL_OK
               : fail(UNROLL_USAGE, "`sync` = 'gossip:%.40s'; fix: use gossip, a ring, or gossip:pairs", argument);
}

static unroll_status open(struct exchange *e)
{
    struct gossip *g;
    TRY(ALLOCATE(g, 1, "for gossip"));
    e->state = g;
    TRY(ALLOCATE(g->came, e->vector.count, "for gossip"));
    TRY(ALLOCATE(g->out, e->vector.count, "for gossip"));
    return meeting_open(e, &g->meeting);
}

static void close_gossip(struct exchange *e)
{
    struct gossip *g = e->state;
    if (!g)
        return;
    if (g->takes)
        e->comm->transport->drop(e->comm, &g->weights);
    meeting_close(e, &g->meeting);
    release(g->came);
    release(g->out);
    release(g);
}

/* Returns the receiver after this update. */
static int choose(const struct exchange *e, int64_t step)
{
    if (!e->options.pairs)
        return (e->vector.worker + 1) % e->vector.workers;
    struct rng rng = rng_new(e->seed, (uint64_t)step * (uint64_t)e->vector.workers + (uint64_t)e->vector.worker);
    return (int)(((uint64_t)e->vector.worker + 1 + rng_below(&rng, (uint64_t)e->vector.workers - 1)) %
                 (uint64_t)e->vector.workers);
}

static unroll_status send_weights(struct exchange *e, int member, int64_t step)
{
    struct gossip *g = e->state;
    const struct arrival sent = {step, step, ARRIVAL_SENT, member};
    TRY(session_read_shares(e->session, SHARE_WEIGHTS, g->out));
    TRY(meeting_tell(e, member, HEAD_WEIGHTS, step));
    TRY(comm_send(e->comm, e->vector.rank[member], TAG_WEIGHTS, g->out, e->vector.count * sizeof *g->out));
    g->waits = true;
    return arrivals_note(&g->meeting.arrivals, &sent);
}

/* Averages this worker's weights with those received. */
static unroll_status make_mean(struct exchange *e, int from, int64_t theirs, int64_t step)
{
    struct gossip *g = e->state;
    const struct arrival came = {step, theirs, ARRIVAL_CAME, from};
    TRY(session_read_shares(e->session, SHARE_WEIGHTS, e->own));
    for (size_t i = 0; i < e->vector.count; i++) e->own[i] = (e->own[i] + g->came[i]) * 0.5f;
    TRY(arrivals_note(&g->meeting.arrivals, &came));
    return session_write_shares(e->session, SHARE_WEIGHTS, e->own);
}

/* ---- live ---------------------------------------------------------------------------------- */

static unroll_status take_head(struct exchange *e)
{
    struct gossip *g = e->state;
    const struct head *head = &g->meeting.head;
    g->waits &= head->kind != HEAD_TAKEN;
    if (head->kind != HEAD_WEIGHTS)
        return UNROLL_OK;
    g->from = head->from;
    g->from_step = head->step;
    g->weights = (struct request){.from = e->vector.rank[head->from],
                                  .tag = TAG_WEIGHTS,
                                  .data = g->came,
                                  .bytes = e->vector.count * sizeof *g->came};
    g->takes = true;
    return e->comm->transport->begin(e->comm, &g->weights);
}

/* Processes everything that has arrived. */
static unroll_status look(struct exchange *e, int64_t step, bool *something)
{
    struct gossip *g = e->state;
    bool done = true;
    for (*something = false; done; *something |= done) {
        if (g->takes) {
            TRY(e->comm->transport->test(e->comm, &g->weights, &done));
            if (!done)
                return UNROLL_OK;
            g->takes = false;
            TRY(make_mean(e, g->from, g->from_step, step));
            TRY(meeting_tell(e, g->from, HEAD_TAKEN, step));
        }
        TRY(meeting_hear(e, &g->meeting, step, &done));
        if (done)
            TRY(take_head(e));
    }
    return UNROLL_OK;
}

/* ---- replay ------------------------------------------------------------------------------- */

static unroll_status take_again(struct exchange *e, const struct arrival *a, int64_t step)
{
    struct gossip *g = e->state;
    struct head head;
    if (a->other >= e->vector.workers || a->other == e->vector.worker || a->step != step || a->kind == ARRIVAL_ANSWER)
        return fail(UNROLL_DATA, "arrivals of step %lld are of other workers; fix: use the files of this run",
                    (long long)a->step);
    if (a->kind == ARRIVAL_SENT)
        return send_weights(e, a->other, step);
    TRY(comm_recv(e->comm, e->vector.rank[a->other], TAG_HEAD, &head, sizeof head));
    if (head.kind != HEAD_WEIGHTS || head.step != a->theirs)
        return fail(UNROLL_DATA,
                    "worker %d sent weights of step %lld, the arrivals say %lld; fix: use the files of this run",
                    a->other, (long long)head.step, (long long)a->theirs);
    TRY(comm_recv(e->comm, e->vector.rank[a->other], TAG_WEIGHTS, g->came, e->vector.count * sizeof *g->came));
    return make_mean(e, a->other, head.step, step);
}

static unroll_status replay(struct exchange *e, int64_t step)
{
    struct gossip *g = e->state;
    struct arrival a;
    unroll_status status;
    while (arrivals_take(&g->meeting.arrivals, step, &a, &status))
        TRY(a.kind == ARRIVAL_JUMP ? meeting_jump_again(e, &a, step) : take_again(e, &a, step));
    return status;
}

/* ---- the policy --------------------------------------------------------------------------- */

static unroll_status after(struct exchange *e, int64_t step)
{
    struct gossip *g = e->state;
    bool something;
    e->step = step;
    if (g->meeting.arrivals.replays)
        return replay(e, step);
    TRY(look(e, step, &something));
    if (e->meet > g->meeting.called && step >= e->meet)
        return meeting_call(e, &g->meeting, step);
    return g->waits || e->jump > step ? UNROLL_OK : send_weights(e, choose(e, step), step);
}

/* Called when all workers meet: no worker sends weights any more, and messages in flight are received. */
static unroll_status settle(struct exchange *e)
{
    struct gossip *g = e->state;
    struct wait_timeout wait = {0};
    const double begin = clock_seconds();
    bool something;
    if (g->meeting.arrivals.replays)
        return replay(e, e->step);
    TRY(meeting_tell_all(e, HEAD_QUIET, e->step));
    while (g->meeting.quiet < e->vector.workers - 1 || g->takes || g->waits) {
        TRY(look(e, e->step, &something));
        TRY(meeting_wait(e, &wait, something));
    }
    comm_waited(e->comm, begin);
    meeting_over(e, &g->meeting);
    return UNROLL_OK;
}

static double bytes(const struct sync_options *options, const struct update_vector *vector, double *every)
{
    (void)options;
    *every = 1;
    return (double)(vector->count * sizeof(float) + 2 * sizeof(struct head));
}

const struct policy policy_gossip = {
    .name = "gossip",
    .about =
        "no worker waits: each update averages with the newest weights received from a neighbor; gossip:pairs: from any worker",
    .argument = "pairs",
    .diverges = true,
    .read = read,
    .open = open,
    .close = close_gossip,
    .after = after,
    .met = meeting_met,
    .settle = settle,
    .bytes = bytes};

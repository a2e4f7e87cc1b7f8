/* gossip: workers wait for nobody. After an update a worker sends its weights to another, the next one of a ring or one
 * drawn by seed, worker and update, if the last that it sent have arrived; and makes the mean of its weights and those
 * that came (Lian et al., arXiv 1710.06952, of pairs). Where all must meet, who is behind skips what it missed. What
 * comes when depends on the clock: arrivals.c keeps it, and makes it again. */
#include "base/memory.h"
#include "base/philox.h"
#include "parallel/meeting.h"
#include <string.h>

enum { TAG_WEIGHTS = TAG_OF_POLICY };
enum { HEAD_WEIGHTS = HEAD_OF_POLICY, HEAD_TAKEN };

/* What a worker keeps beside vectors. */
struct gossip {
    struct meeting meeting;
    struct request weights;
    bool takes; /* it has begun */
    int from;   /* whom it comes from, of which step */
    int64_t from_step;
    float *came, *out; /* [count] */
    bool waits;        /* what it sent was not taken yet */
};

static unroll_status read(const char *argument, struct sync_options *options)
{
    options->asynchronous = true;
    options->pairs = !strcmp(argument, "pairs");
    return !*argument || options->pairs
               ? UNROLL_OK
               : fail(UNROLL_USAGE, "sync = 'gossip:%.40s'; fix: gossip, a ring, or gossip:pairs", argument);
}

static unroll_status open(struct exchange *e)
{
    struct gossip *g;
    TRY(ALLOCATE(g, 1, "for gossip"));
    e->state = g;
    TRY(ALLOCATE(g->came, e->count, "for gossip"));
    TRY(ALLOCATE(g->out, e->count, "for gossip"));
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

/* To whom after this update. */
static int choose(const struct exchange *e, int64_t step)
{
    if (!e->options.pairs)
        return (e->place + 1) % e->size;
    struct rng rng = rng_new(e->seed, (uint64_t)step * (uint64_t)e->size + (uint64_t)e->place);
    return (int)(((uint64_t)e->place + 1 + rng_below(&rng, (uint64_t)e->size - 1)) % (uint64_t)e->size);
}

static unroll_status send_weights(struct exchange *e, int member, int64_t step)
{
    struct gossip *g = e->state;
    const struct arrival sent = {step, step, ARRIVAL_SENT, member};
    TRY(session_read_shares(e->session, SHARE_WEIGHTS, g->out));
    TRY(meeting_tell(e, member, HEAD_WEIGHTS, step));
    TRY(comm_send(e->comm, e->rank[member], TAG_WEIGHTS, g->out, e->count * sizeof *g->out));
    g->waits = true;
    return arrivals_note(&g->meeting.arrivals, &sent);
}

/* Of this worker's weights and those that came. */
static unroll_status make_mean(struct exchange *e, int from, int64_t theirs, int64_t step)
{
    struct gossip *g = e->state;
    const struct arrival came = {step, theirs, ARRIVAL_CAME, from};
    TRY(session_read_shares(e->session, SHARE_WEIGHTS, e->own));
    for (size_t i = 0; i < e->count; i++) e->own[i] = (e->own[i] + g->came[i]) * 0.5f;
    TRY(arrivals_note(&g->meeting.arrivals, &came));
    return session_write_shares(e->session, SHARE_WEIGHTS, e->own);
}

/* ---- as it comes -------------------------------------------------------------------------- */

static unroll_status take_head(struct exchange *e)
{
    struct gossip *g = e->state;
    const struct head *head = &g->meeting.head;
    g->waits &= head->kind != HEAD_TAKEN;
    if (head->kind != HEAD_WEIGHTS)
        return UNROLL_OK;
    g->from = head->from;
    g->from_step = head->step;
    g->weights = (struct request){
        .from = e->rank[head->from], .tag = TAG_WEIGHTS, .data = g->came, .bytes = e->count * sizeof *g->came};
    g->takes = true;
    return e->comm->transport->begin(e->comm, &g->weights);
}

/* What has come so far. */
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

/* ---- again -------------------------------------------------------------------------------- */

static unroll_status take_again(struct exchange *e, const struct arrival *a, int64_t step)
{
    struct gossip *g = e->state;
    struct head head;
    if (a->other >= e->size || a->other == e->place || a->step != step || a->kind == ARRIVAL_ANSWER)
        return fail(UNROLL_DATA, "arrivals of step %lld are of other workers; fix: the files of this run",
                    (long long)a->step);
    if (a->kind == ARRIVAL_SENT)
        return send_weights(e, a->other, step);
    TRY(comm_recv(e->comm, e->rank[a->other], TAG_HEAD, &head, sizeof head));
    if (head.kind != HEAD_WEIGHTS || head.step != a->theirs)
        return fail(UNROLL_DATA,
                    "worker %d sent weights of step %lld, the arrivals say %lld; fix: the files of this run", a->other,
                    (long long)head.step, (long long)a->theirs);
    TRY(comm_recv(e->comm, e->rank[a->other], TAG_WEIGHTS, g->came, e->count * sizeof *g->came));
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

/* All are here: nobody sends any more, and what is under way is taken. */
static unroll_status settle(struct exchange *e)
{
    struct gossip *g = e->state;
    struct wait_timeout wait = {0};
    const double begin = clock_seconds();
    bool something;
    if (g->meeting.arrivals.replays)
        return replay(e, e->step);
    TRY(meeting_tell_all(e, HEAD_QUIET, e->step));
    while (g->meeting.quiet < e->size - 1 || g->takes || g->waits) {
        TRY(look(e, e->step, &something));
        TRY(meeting_wait(e, &wait, something));
    }
    comm_waited(e->comm, begin);
    meeting_over(e, &g->meeting);
    return UNROLL_OK;
}

static double bytes(const struct sync_options *options, const struct plan *plan, double *every)
{
    (void)options;
    *every = 1;
    return (double)(plan_numbers(plan) * sizeof(float) + 2 * sizeof(struct head));
}

const struct policy policy_gossip = {
    .name = "gossip",
    .about = "nobody waits: after an update the mean with the weights of a neighbour that came, gossip:pairs: of any",
    .argument = "pairs",
    .diverges = true,
    .read = read,
    .open = open,
    .close = close_gossip,
    .after = after,
    .met = meeting_met,
    .settle = settle,
    .bytes = bytes};

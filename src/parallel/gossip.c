/* gossip: workers wait for nobody. After an update a worker sends its weights to another, the next one of a ring or one
 * drawn by seed, worker and update, if the last that it sent have arrived; and makes the mean of its weights and those
 * that came (Lian et al., arXiv 1710.06952, of pairs). Where all must meet, who is behind skips what it missed. What
 * comes when depends on the clock: arrivals.c keeps it, and makes it again. */
#include "base/philox.h"
#include "comm/transport.h"
#include "parallel/arrivals.h"
#include "parallel/policy.h"
#include "base/memory.h"
#include <string.h>

enum { TAG_HEAD = TAG_POLICY | 4, TAG_WEIGHTS };
enum kind { WEIGHTS, TAKEN, MEET, QUIET };

struct head {
    int32_t from, kind;
    int64_t step;
};

/* What a worker keeps beside vectors. */
struct gossip {
    struct arrivals arrivals;
    struct request head, weights;
    bool listens, takes; /* these have begun */
    struct head words;   /* of the last head */
    float *came, *out;   /* [count] */
    bool waits;          /* what it sent was not taken yet */
    int quiet;           /* workers that said in this meeting that they send no more */
    int64_t called;      /* the step of the last meeting to which it called the others */
};

static unroll_status read(const char *argument, struct sync_options *options)
{
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
    if (e->replay && e->arrivals)
        return fail(UNROLL_USAGE, "what comes again as `replay` says is there already; fix: leave out `arrivals`");
    return arrivals_open(&g->arrivals, e->replay ? e->replay : e->arrivals, comm_rank(e->comm), e->replay != NULL);
}

static void close_gossip(struct exchange *e)
{
    struct gossip *g = e->state;
    if (!g)
        return;
    if (g->listens)
        e->comm->transport->drop(e->comm, &g->head);
    if (g->takes)
        e->comm->transport->drop(e->comm, &g->weights);
    arrivals_close(&g->arrivals);
    release(g->came);
    release(g->out);
    release(g);
}

static unroll_status tell(struct exchange *e, int member, enum kind kind, int64_t step)
{
    const struct head head = {e->place, (int32_t)kind, step};
    return comm_send(e->comm, e->rank[member], TAG_HEAD, &head, sizeof head);
}

static unroll_status tell_all(struct exchange *e, enum kind kind, int64_t step)
{
    for (int i = 0; i < e->size; i++)
        if (i != e->place)
            TRY(tell(e, i, kind, step));
    return UNROLL_OK;
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
    TRY(tell(e, member, WEIGHTS, step));
    TRY(comm_send(e->comm, e->rank[member], TAG_WEIGHTS, g->out, e->count * sizeof *g->out));
    g->waits = true;
    return arrivals_note(&g->arrivals, &sent);
}

/* Of this worker's weights and those that came. */
static unroll_status make_mean(struct exchange *e, const struct head *head, int64_t step)
{
    struct gossip *g = e->state;
    const struct arrival came = {step, head->step, ARRIVAL_CAME, head->from};
    TRY(session_read_shares(e->session, SHARE_WEIGHTS, e->own));
    for (size_t i = 0; i < e->count; i++) e->own[i] = (e->own[i] + g->came[i]) * 0.5f;
    TRY(arrivals_note(&g->arrivals, &came));
    return session_write_shares(e->session, SHARE_WEIGHTS, e->own);
}

static unroll_status jump(struct exchange *e, int64_t from, int64_t to)
{
    struct gossip *g = e->state;
    const struct arrival jumped = {from, to, ARRIVAL_JUMP, e->place};
    e->jump = to;
    return arrivals_note(&g->arrivals, &jumped);
}

/* ---- as it comes -------------------------------------------------------------------------- */

static unroll_status begin_head(struct exchange *e)
{
    struct gossip *g = e->state;
    if (g->listens)
        return UNROLL_OK;
    g->head = (struct request){.from = TRANSPORT_ANY, .tag = TAG_HEAD, .data = &g->words, .bytes = sizeof g->words};
    g->listens = true;
    return e->comm->transport->begin(e->comm, &g->head);
}

static unroll_status take_head(struct exchange *e, int64_t step)
{
    struct gossip *g = e->state;
    const struct head *head = &g->words;
    g->waits &= head->kind != TAKEN;
    g->quiet += head->kind == QUIET;
    if (head->kind == MEET && head->step > step && head->step > e->jump)
        return jump(e, step, head->step);
    if (head->kind != WEIGHTS)
        return UNROLL_OK;
    if (head->from < 0 || head->from >= e->size)
        return fail(UNROLL_COMMUNICATION, "weights of worker %d of %d", (int)head->from, e->size);
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
            TRY(make_mean(e, &g->words, step));
            TRY(tell(e, g->words.from, TAKEN, step));
        }
        TRY(begin_head(e));
        TRY(e->comm->transport->test(e->comm, &g->head, &done));
        g->listens = !done;
        if (done)
            TRY(take_head(e, step));
    }
    return UNROLL_OK;
}

/* ---- again -------------------------------------------------------------------------------- */

static unroll_status take_again(struct exchange *e, const struct arrival *a, int64_t step)
{
    struct gossip *g = e->state;
    struct head head;
    if (a->other >= e->size || a->other == e->place || a->step != step)
        return fail(UNROLL_DATA, "arrivals of step %lld are of other workers; fix: the files of this run",
                    (long long)a->step);
    if (a->kind == ARRIVAL_SENT)
        return send_weights(e, a->other, step);
    TRY(comm_recv(e->comm, e->rank[a->other], TAG_HEAD, &head, sizeof head));
    if (head.kind != WEIGHTS || head.step != a->theirs)
        return fail(UNROLL_DATA,
                    "worker %d sent weights of step %lld, the arrivals say %lld; fix: the files of this run", a->other,
                    (long long)head.step, (long long)a->theirs);
    TRY(comm_recv(e->comm, e->rank[a->other], TAG_WEIGHTS, g->came, e->count * sizeof *g->came));
    return make_mean(e, &head, step);
}

static unroll_status jump_again(struct exchange *e, const struct arrival *a, int64_t step)
{
    if (a->step != step || a->theirs <= step || a->theirs != e->meet)
        return fail(
            UNROLL_DATA,
            "arrivals go from step %lld to %lld, and workers meet at %lld; fix: the options and files of one run",
            (long long)a->step, (long long)a->theirs, (long long)e->meet);
    e->jump = a->theirs;
    return UNROLL_OK;
}

static unroll_status replay(struct exchange *e, int64_t step)
{
    struct gossip *g = e->state;
    struct arrival a;
    unroll_status status;
    while (arrivals_take(&g->arrivals, step, &a, &status)) {
        TRY(a.kind == ARRIVAL_JUMP ? jump_again(e, &a, step) : take_again(e, &a, step));
    }
    return status;
}

/* ---- the policy --------------------------------------------------------------------------- */

static unroll_status after(struct exchange *e, int64_t step)
{
    struct gossip *g = e->state;
    bool something;
    e->step = step;
    if (g->arrivals.replays)
        return replay(e, step);
    TRY(look(e, step, &something));
    if (e->meet > g->called && step >= e->meet) {
        g->called = e->meet;
        return tell_all(e, MEET, step);
    }
    return g->waits || e->jump > step ? UNROLL_OK : send_weights(e, choose(e, step), step);
}

/* All are here: nobody sends any more, and what is under way is taken. */
static unroll_status settle(struct exchange *e)
{
    struct gossip *g = e->state;
    struct wait_timeout wait = {0};
    bool something;
    const int64_t step = e->step;
    if (g->arrivals.replays)
        return replay(e, step);
    TRY(tell_all(e, QUIET, step));
    while (g->quiet < e->size - 1 || g->takes || g->waits) {
        TRY(look(e, step, &something));
        TRY(comm_progress(e->comm));
        if (something)
            wait = (struct wait_timeout){0};
        else if (!comm_within_timeout(e->comm, &wait))
            return fail(UNROLL_COMMUNICATION,
                        "worker %d waited in vain for others to meet at step %lld; fix: see whether "
                        "a rank is stopped, or allow more time (`timeout`)",
                        e->place, (long long)step);
    }
    g->quiet -= e->size - 1;
    if (g->listens) /* nobody sends before all have come out of here: sums of all follow */
        e->comm->transport->drop(e->comm, &g->head);
    g->listens = false;
    return UNROLL_OK;
}

static bool met(const struct exchange *e, int64_t step) { return e->meet > 0 && step == e->meet; }

static double bytes(const struct sync_options *options, int workers, size_t count, double *every)
{
    (void)options, (void)workers;
    *every = 1;
    return (double)(count * sizeof(float) + 2 * sizeof(struct head));
}

const struct policy policy_gossip = {
    .name = "gossip",
    .about = "nobody waits: after an update the mean with the weights of a neighbour that came, gossip:pairs: of any",
    .argument = "pairs",
    .diverges = true,
    .asynchronous = true,
    .read = read,
    .open = open,
    .close = close_gossip,
    .after = after,
    .met = met,
    .settle = settle,
    .bytes = bytes};

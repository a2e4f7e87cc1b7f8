/* Pieces that respond to gradients as they arrive. A worker sends its gradients to a piece after the previous reply
 * and continues; later gradients are added up and sent as a mean with the next message. A piece replies at once, or
 * when no worker lags too far (Ho et al., "More Effective Distributed ML via a Stale Synchronous Parallel Parameter
 * Server", NIPS 2013), even while its rank computes or waits. The order of arrivals can be replayed. */
#include "extensions/cluster/policies/server.h"
#include "base/memory.h"
#include <string.h>

enum { TAG_PUSH = TAG_OF_POLICY + 8, TAG_ANSWER };
enum { NOTICE = sizeof(struct notice) / sizeof(float) };

static size_t box_bytes(const struct piece *piece) { return sizeof(struct notice) + piece->count * sizeof(float); }

static unroll_status serve(void *arg);

unroll_status shard_open(struct exchange *e)
{
    struct server *s = e->state;
    size_t most = 0;
    TRY(ALLOCATE(s->peer, (size_t)e->vector.workers, "for a parameter server"));
    for (int i = 0; i < e->vector.workers; i++) {
        const size_t count = NOTICE + s->piece[i].count;
        TRY(ALLOCATE(s->peer[i].box, count, "for what a server answers"));
        most = count > most ? count : most;
    }
    TRY(ALLOCATE(s->box, NOTICE + s->piece[e->vector.worker].count, "for gradients to a server"));
    TRY(ALLOCATE(s->out, most, "for gradients to a server"));
    TRY(meeting_open(e, &s->meeting));
    comm_serve(e->comm, serve, e);
    return UNROLL_OK;
}

void shard_close(struct exchange *e)
{
    struct server *s = e->state;
    if (!s->peer)
        return;
    comm_serve(e->comm, NULL, NULL);
    if (s->listens)
        e->comm->transport->drop(e->comm, &s->request);
    for (int i = 0; i < e->vector.workers; i++) {
        if (s->peer[i].asked && !s->meeting.arrivals.replays)
            e->comm->transport->drop(e->comm, &s->peer[i].request);
        release(s->peer[i].box);
    }
    meeting_close(e, &s->meeting);
    release(s->peer);
    release(s->box);
    release(s->out);
}

void shard_begin(struct exchange *e, int64_t step)
{
    struct server *s = e->state;
    for (int i = 0; i < e->vector.workers; i++) {
        struct peer *p = &s->peer[i];
        p->gradients = 0;
        p->sent = p->known = p->clock = step;
    }
    memset(s->held, 0, e->vector.count * sizeof *s->held);
}

static unroll_status note(struct exchange *e, int kind, int other, int64_t theirs)
{
    struct server *s = e->state;
    const struct arrival a = {s->line, theirs, kind, other};
    return arrivals_note(&s->meeting.arrivals, &a);
}

/* ---- this rank's piece -------------------------------------------------------------------- */

static int64_t least_clock(const struct exchange *e)
{
    const struct server *s = e->state;
    int64_t least = s->peer[0].clock;
    for (int i = 1; i < e->vector.workers; i++) least = s->peer[i].clock < least ? s->peer[i].clock : least;
    return least;
}

static bool is_near(const struct exchange *e, int64_t least, int64_t step)
{
    return e->options.bound == BOUND_NONE || least >= step - e->options.bound;
}

static unroll_status answer(struct exchange *e, int member, int64_t least)
{
    struct server *s = e->state;
    const struct piece *own = &s->piece[e->vector.worker];
    const struct notice notice = {e->vector.worker, 0, least};
    s->peer[member].owed = false;
    memcpy(s->out, &notice, sizeof notice);
    memcpy(s->out + NOTICE, s->weights + own->first, own->count * sizeof *s->out);
    return comm_send(e->comm, e->vector.rank[member], TAG_ANSWER, s->out, box_bytes(own));
}

static unroll_status answer_owed(struct exchange *e)
{
    struct server *s = e->state;
    const int64_t least = least_clock(e);
    for (int i = 0; i < e->vector.workers; i++)
        if (s->peer[i].owed && is_near(e, least, s->peer[i].clock))
            TRY(answer(e, i, least));
    return UNROLL_OK;
}

/* A sum of several gradients makes one update by their mean, at the rate of one worker's part. Workers of equal
 * speed therefore advance as far in one round as one update by the gradients of all. */
static unroll_status take_gradients(struct exchange *e, int member, const struct notice *n, float *gradients)
{
    struct server *s = e->state;
    const double part = e->options.rate / e->vector.workers;
    TRY(n->gradients > 0 ? server_update(e, part, 1.0 / n->gradients, gradients) : UNROLL_OK);
    s->peer[member].clock = n->step;
    s->peer[member].owed = member != e->vector.worker;
    return answer_owed(e);
}

static unroll_status take_push(struct exchange *e)
{
    struct server *s = e->state;
    struct notice n;
    memcpy(&n, s->box, sizeof n);
    if (n.from < 0 || n.from >= e->vector.workers || n.from == e->vector.worker || n.step < s->peer[n.from].clock)
        return fail(UNROLL_COMMUNICATION,
                    "gradients of worker %d of %d, step %lld; fix: start all workers with the same program and options",
                    (int)n.from, e->vector.workers, (long long)n.step);
    if (!is_near(e, least_clock(e), n.step - 1))
        return fail(
            UNROLL_COMMUNICATION,
            "worker %d made step %lld when not all had made step %lld; fix: start all workers with the same program and options",
            (int)n.from, (long long)n.step, (long long)(n.step - 1 - e->options.bound));
    TRY(note(e, ARRIVAL_CAME, n.from, n.step));
    return take_gradients(e, n.from, &n, s->box + NOTICE);
}

static unroll_status look_for_push(struct exchange *e, int from, bool *done)
{
    struct server *s = e->state;
    if (!s->listens) {
        s->request = (struct request){
            .from = from, .tag = TAG_PUSH, .data = s->box, .bytes = box_bytes(&s->piece[e->vector.worker])};
        s->listens = true;
        TRY(e->comm->transport->begin(e->comm, &s->request));
    }
    TRY(e->comm->transport->test(e->comm, &s->request, done));
    s->listens = !*done;
    return UNROLL_OK;
}

/* Replay: receives the next gradients that must arrive. */
static unroll_status look_again(struct exchange *e, bool *something)
{
    struct server *s = e->state;
    struct arrival a;
    struct notice n;
    unroll_status status;
    *something = false;
    if (!arrivals_look(&s->meeting.arrivals, s->line, &a, &status) || a.kind != ARRIVAL_CAME)
        return status;
    if (a.other >= e->vector.workers || a.other == e->vector.worker)
        return fail(UNROLL_DATA, "arrivals are of other workers; fix: use the files of this run");
    TRY(look_for_push(e, e->vector.rank[a.other], something));
    if (!*something)
        return UNROLL_OK;
    memcpy(&n, s->box, sizeof n);
    if (n.step != a.theirs)
        return fail(UNROLL_DATA,
                    "worker %d sent gradients of step %lld, the arrivals say %lld; fix: use the files of this run",
                    a.other, (long long)n.step, (long long)a.theirs);
    arrivals_take(&s->meeting.arrivals, s->line, &a, &status);
    TRY(status);
    return take_push(e);
}

static unroll_status serve_all(struct exchange *e, bool *something)
{
    struct server *s = e->state;
    *something = false;
    for (bool done = !s->busy && s->rates.size > 0; done; *something |= done) {
        if (s->meeting.arrivals.replays) {
            TRY(look_again(e, &done));
            continue;
        }
        TRY(look_for_push(e, TRANSPORT_ANY, &done));
        TRY(done ? take_push(e) : UNROLL_OK);
    }
    return UNROLL_OK;
}

static unroll_status serve(void *arg)
{
    bool something;
    return serve_all(arg, &something);
}

/* ---- the worker --------------------------------------------------------------------------- */

/* Sends the gradients held for a piece; applies them directly to this rank's own piece. */
static unroll_status push(struct exchange *e, int member)
{
    struct server *s = e->state;
    struct peer *p = &s->peer[member];
    const struct piece *piece = &s->piece[member];
    const struct notice n = {e->vector.worker, p->gradients, e->step};
    float *held = s->held + piece->first;
    TRY(note(e, ARRIVAL_SENT, member, e->step));
    p->gradients = 0;
    p->sent = e->step;
    if (member == e->vector.worker) {
        s->rates = s->next_rates;
        return take_gradients(e, member, &n, held);
    }
    memcpy(s->out, &n, sizeof n);
    memcpy(s->out + NOTICE, held, piece->count * sizeof *held);
    memset(held, 0, piece->count * sizeof *held);
    TRY(comm_send(e->comm, e->vector.rank[member], TAG_PUSH, s->out, box_bytes(piece)));
    p->asked = true;
    p->request =
        (struct request){.from = e->vector.rank[member], .tag = TAG_ANSWER, .data = p->box, .bytes = box_bytes(piece)};
    return s->meeting.arrivals.replays ? UNROLL_OK : e->comm->transport->begin(e->comm, &p->request);
}

static unroll_status take_answer(struct exchange *e, int member)
{
    struct server *s = e->state;
    struct peer *p = &s->peer[member];
    struct notice n;
    memcpy(&n, p->box, sizeof n);
    memcpy(s->weights + s->piece[member].first, p->box + NOTICE, s->piece[member].count * sizeof(float));
    p->asked = false;
    p->known = n.step;
    return note(e, ARRIVAL_ANSWER, member, n.step);
}

/* Processes everything that has arrived. */
static unroll_status look(struct exchange *e, bool *something)
{
    struct server *s = e->state;
    bool done;
    TRY(serve_all(e, something));
    for (int i = 0; i < e->vector.workers; i++) {
        if (!s->peer[i].asked)
            continue;
        TRY(e->comm->transport->test(e->comm, &s->peer[i].request, &done));
        TRY(done ? take_answer(e, i) : UNROLL_OK);
        *something |= done;
    }
    for (done = true; done; *something |= done) TRY(meeting_hear(e, &s->meeting, s->line, &done));
    return UNROLL_OK;
}

/* Sends to all pieces that have replied, this rank's own first. */
static unroll_status push_all(struct exchange *e, bool *all)
{
    struct server *s = e->state;
    *all = true;
    for (int k = 0; k < e->vector.workers; k++) {
        const int member = (e->vector.worker + k) % e->vector.workers;
        if (!s->peer[member].asked && s->peer[member].sent < e->step)
            TRY(push(e, member));
        *all &= !s->peer[member].asked;
    }
    return UNROLL_OK;
}

/* Returns whether the next step may begin. */
static bool is_bounded(const struct exchange *e)
{
    const struct server *s = e->state;
    for (int i = 0; i < e->vector.workers; i++)
        if (!is_near(e, i == e->vector.worker ? least_clock(e) : s->peer[i].known, e->step))
            return false;
    return true;
}

static unroll_status wait_for_bound(struct exchange *e)
{
    struct wait_timeout wait = {0};
    const double begin = clock_seconds();
    bool something, all;
    while (!is_bounded(e)) {
        TRY(look(e, &something));
        TRY(push_all(e, &all));
        TRY(meeting_wait(e, &wait, something));
    }
    comm_waited(e->comm, begin);
    return UNROLL_OK;
}

/* ---- replay ------------------------------------------------------------------------------- */

static unroll_status answer_again(struct exchange *e, const struct arrival *a)
{
    struct server *s = e->state;
    struct peer *p = &s->peer[a->other];
    if (!p->asked)
        return fail(UNROLL_DATA, "arrivals are of other workers; fix: use the files of this run");
    s->busy = true;
    unroll_status status =
        comm_recv(e->comm, e->vector.rank[a->other], TAG_ANSWER, p->box, box_bytes(&s->piece[a->other]));
    s->busy = false;
    return status == UNROLL_OK ? take_answer(e, a->other) : status;
}

static unroll_status do_again(struct exchange *e, const struct arrival *a)
{
    const struct server *s = e->state;
    if (a->kind == ARRIVAL_JUMP)
        return meeting_jump_again(e, a, s->line);
    if (a->other >= e->vector.workers || (a->kind == ARRIVAL_SENT && (a->theirs != e->step || s->peer[a->other].asked)))
        return fail(UNROLL_DATA, "arrivals are of other workers; fix: use the files of this run");
    return a->kind == ARRIVAL_SENT ? push(e, a->other) : answer_again(e, a);
}

static unroll_status replay(struct exchange *e)
{
    struct server *s = e->state;
    struct wait_timeout wait = {0};
    struct arrival a;
    unroll_status status;
    bool something;
    while (arrivals_look(&s->meeting.arrivals, s->line, &a, &status)) {
        if (a.kind == ARRIVAL_CAME) {
            TRY(serve_all(e, &something));
            TRY(meeting_wait(e, &wait, something));
            continue;
        }
        arrivals_take(&s->meeting.arrivals, s->line, &a, &status);
        TRY(do_again(e, &a));
    }
    return status;
}

/* ---- the policy --------------------------------------------------------------------------- */

unroll_status shard_after(struct exchange *e, int64_t step)
{
    struct server *s = e->state;
    bool something, all;
    (void)step;
    for (int i = 0; i < e->vector.workers; i++) s->peer[i].gradients += s->scale != 0;
    if (s->meeting.arrivals.replays)
        TRY(replay(e));
    else {
        TRY(push_all(e, &all));
        TRY(look(e, &something));
        TRY(e->options.bound == BOUND_NONE ? meeting_call(e, &s->meeting, e->step) : wait_for_bound(e));
    }
    s->line++;
    return session_write_shares(e->session, SHARE_WEIGHTS, s->weights);
}

/* Called when all workers meet: sends everything held, until all replies have arrived and no worker sends any more. */
static unroll_status send_last(struct exchange *e)
{
    struct server *s = e->state;
    struct wait_timeout wait = {0};
    const double begin = clock_seconds();
    bool told = false, all, something;
    while (!told || s->meeting.quiet < e->vector.workers - 1) {
        TRY(push_all(e, &all));
        if (all && !told)
            TRY(meeting_tell_all(e, HEAD_QUIET, e->step));
        told |= all;
        TRY(look(e, &something));
        TRY(meeting_wait(e, &wait, something));
    }
    comm_waited(e->comm, begin);
    meeting_over(e, &s->meeting);
    return UNROLL_OK;
}

unroll_status shard_settle(struct exchange *e)
{
    struct server *s = e->state;
    TRY(s->meeting.arrivals.replays ? replay(e) : send_last(e));
    s->line++;
    for (int i = 0; i < e->vector.workers; i++) s->peer[i].known = s->peer[i].sent = s->peer[i].clock = e->step;
    return UNROLL_OK;
}
